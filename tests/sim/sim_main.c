/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim [--babble] [--seeds A..B] [--seconds N] [--verbose]: runs a world for each seed, and begins none
 * after N seconds; with babblers in each, or in a weather that the seed draws. Prints every seed that
 * broke a property; exit status 1 if there is one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "sim/sim.h"

#define HANG_S 300 /* a world takes a tenth of a second */

int
main(int argc, char **argv)
{
	uint64_t first = 1, last = 300, bad = 0, seconds = UINT64_MAX / TCPX_SEC;
	uint64_t began_ns = tcpx_clock_now(&tcpx_clock_system);
	struct sim_totals t = { 0 };
	bool verbose = false, babble = false;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--verbose")) {
			verbose = true;
		} else if (!strcmp(argv[i], "--babble")) {
			babble = true;
		} else if (!strcmp(argv[i], "--seeds") && i + 1 < argc &&
			   sscanf(argv[i + 1], "%" SCNu64 "..%" SCNu64, &first, &last) >= 1) {
			if (!strstr(argv[++i], ".."))
				last = first;
		} else if (!strcmp(argv[i], "--seconds") && i + 1 < argc &&
			   sscanf(argv[i + 1], "%" SCNu64, &seconds) == 1) {
			i++;
		} else {
			fprintf(stderr, "usage: sim [--babble] [--seeds A..B] [--seconds N] [--verbose]\n");
			return 2;
		}
	}
	for (uint64_t seed = first; seed <= last; seed++) {
		if ((tcpx_clock_now(&tcpx_clock_system) - began_ns) / TCPX_SEC >= seconds)
			break;
		sim_watch(seed, HANG_S);
		bad += !sim_world_run(seed, babble, verbose, &t);
		fflush(stdout);
	}
	alarm(0);
	printf("%" PRIu64 " worlds, %" PRIu64 " bad; %" PRIu64 " ends: %" PRIu64 " done, %" PRIu64
	       " cancelled, %" PRIu64 " failed as asked, %" PRIu64 " failed by the network\n",
	       t.worlds, bad, t.xfers, t.done, t.cancelled, t.failed, t.failed_unasked);
	printf("%" PRIu64 " notes, %.1f MB, %" PRIu64 " control resumes, %" PRIu64
	       " channels lost (%" PRIu64 " suspected), %" PRIu64 " opened again, %" PRIu64
	       " chunks sent again, %.1f virtual seconds\n",
	       t.notes, (double)t.bytes / 1e6, t.resumes, t.channels_lost, t.suspected, t.healed,
	       t.resent,
	       (double)t.virtual_ns / 1e9);
	printf("%" PRIu64 " lanes, %" PRIu64 " of %" PRIu64 " ends of messages done, %" PRIu64
	       " credits compared\n", t.lanes, t.messages_done, t.messages, t.credits);
	printf("%" PRIu64 " bits wrong; found in %" PRIu64 " chunks and %" PRIu64 " control frames\n",
	       t.flips, t.chunks_corrupt, t.frames_corrupt);
	printf("%" PRIu64 " times a process got no CPU, %" PRIu64 " peers dialled by address, %" PRIu64
	       " processes that started again\n", t.naps, t.dials, t.restarts);
	printf("%" PRIu64 " sessions given up, %" PRIu64 " peers added again\n", t.given_up, t.added_again);
	if (babble)
		sim_babble_print(&t);
	return bad ? 1 : 0;
}
