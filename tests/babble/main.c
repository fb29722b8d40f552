/* SPDX-License-Identifier: Apache-2.0 */
/*
 * babble [--seeds A..B] [--seconds N] [--verbose] [SEEDS...]: runs a world for each seed, those
 * of the files SEEDS first, and stops after N seconds. Prints each seed that broke a property; exit
 * status 1 if there is one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "babble/babble.h"

#define HANG_SECONDS 300 /* of one world, which takes some milliseconds */

static uint64_t
one(uint64_t seed, bool verbose, struct babble_totals *t)
{
	bool ok;

	babble_watch(seed, HANG_SECONDS);
	ok = babble_world(seed, verbose, t);
	alarm(0);
	fflush(stdout);
	return !ok;
}

/* A seed a line, and why it is kept behind it. */
static uint64_t
of_file(const char *path, bool verbose, struct babble_totals *t)
{
	FILE *f = fopen(path, "r");
	uint64_t bad = 0, seed;
	char line[256];

	if (!f) {
		perror(path);
		return 1;
	}
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNu64, &seed) == 1)
			bad += one(seed, verbose, t);
	fclose(f);
	return bad;
}

int
main(int argc, char **argv)
{
	uint64_t first = 1, last = 200, bad = 0, end_ns = UINT64_MAX, seconds;
	struct babble_totals t = { 0 };
	bool verbose = false;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--verbose")) {
			verbose = true;
		} else if (!strcmp(argv[i], "--seconds") && i + 1 < argc &&
			   sscanf(argv[++i], "%" SCNu64, &seconds) == 1) {
			end_ns = tcpx_clock_now(&tcpx_clock_system) + seconds * TCPX_SEC;
		} else if (!strcmp(argv[i], "--seeds") && i + 1 < argc &&
			   sscanf(argv[i + 1], "%" SCNu64 "..%" SCNu64, &first, &last) >= 1) {
			if (!strstr(argv[++i], ".."))
				last = first;
		} else if (argv[i][0] != '-') {
			bad += of_file(argv[i], verbose, &t);
		} else {
			fprintf(stderr, "usage: babble [--seeds A..B] [--seconds N] [--verbose] "
				"[SEEDS...]\n");
			return 2;
		}
	}
	for (uint64_t seed = first; seed <= last && tcpx_clock_now(&tcpx_clock_system) < end_ns; seed++)
		bad += one(seed, verbose, &t);
	printf("# %" PRIu64 " worlds, %" PRIu64 " bad; %" PRIu64 " sessions of babblers, %" PRIu64
	       " resumed, %" PRIu64 " refused or ended; %" PRIu64 " frames, %" PRIu64 " lies\n",
	       t.worlds, bad, t.sessions, t.resumes, t.refused, t.frames, t.lies);
	printf("# %" PRIu64 " transfers of others, %.1f MB; %" PRIu64 " lanes, %" PRIu64
	       " of their messages succeeded\n", t.transfers, (double)t.bytes / 1e6, t.lanes, t.messages);
	return bad ? 1 : 0;
}
