/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of chaos.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "chaos/chaos.h"
#include "tool/opt.h"
#include "tool/tool.h"

struct args {
	const char *name, *json;
	unsigned processes, nics, rate_mbps;
	uint64_t seed, seconds, stall_ms;
};
#define S struct args

static int
take_name(const struct opt_parser *p, int id, void *args)
{
	struct args *a = args;

	if (!lab_name_allowed(p->value))
		return opt_refuse(p, id, "allowed are up to 31 of a-z 0-9 - _, a letter first");
	a->name = p->value;
	return TOOL_OK;
}

static const struct opt opts[] = {
	{ 'p', "processes", "N", "processes, each on an emulated host of its own (4)",
	  OPT_INT(processes, 2, CHAOS_HOSTS_MAX) },
	{ 'n', "nics", "K", "NICs of each host (2)", OPT_INT(nics, 1, CHAOS_NICS_MAX) },
	{ 's', "seed", "N", "of the faults and transfers; the result names it (at random)",
	  OPT_NUMBER(seed, 0, INT64_MAX) },
	{ 'd', "duration", "S", "seconds with faults (60)", OPT_NUMBER(seconds, 1, 1000000) },
	{ 0, "stall", "MS", "stall deadline of the engines; faults last up to twice as long "
	  "(5000)", OPT_NUMBER(stall_ms, 1000, 60000) },
	{ 'r', "rate", "MBITS", "Mbit/s that each NIC may send (200)",
	  OPT_INT(rate_mbps, 20, 100000) },
	{ 0, "name", "NAME", "name of the lab (chaos)", OPT_TAKE(take_name) },
	{ 0, "json", "FILE", "write the result as JSON; - is stdout", OPT_TEXT(json) },
};

int
main(int argc, char **argv)
{
	static const struct opt_command cmd = {
		CHAOS_COMMAND, "[OPTIONS]",
		"Moves bytes of all kinds between processes in a lab of its own, while NICs and "
		"processes fail at random. Every byte is compared, and every error code must be "
		"explained by a fault. Needs root. Exit code 1: there are findings.",
		opts, ARRAY_LEN(opts),
		"  chaos --processes 8 --duration 600\n"
		"  chaos --seed 7 --json result.json\n", false, NULL,
	};
	struct args a = { "chaos", NULL, 4, 2, 200, 0, 60, 5000 };
	struct chaos_run *r;
	struct opt_parser p;
	uint32_t any; /* short enough to be typed again */
	int rc;

	if (tcpx_random_bytes(&any, sizeof(any)))
		return TOOL_DENIED;
	a.seed = any;
	if (!opt_read(&p, &cmd, argc, argv, &a))
		return p.exit;
	rc = opt_words(&p, 0);
	if (rc)
		return rc;
	if (geteuid())
		return tool_fail(TOOL_DENIED, CHAOS_COMMAND, "needs root, for network namespaces "
				 "(uid is %d)", (int)geteuid());
	r = tool_need(calloc(1, sizeof(*r)));
	r->processes = a.processes;
	r->nics = a.nics;
	r->seed = a.seed;
	r->seconds = a.seconds;
	r->stall_ms = a.stall_ms;
	r->rate_bps = a.rate_mbps * 1000000ull;
	r->json = a.json;
	r->lab = (struct lab){ .hosts = a.processes, .nics = a.nics, .mtu = 1500 };
	snprintf(r->lab.name, sizeof(r->lab.name), "%s", a.name);
	for (unsigned k = 0; k < a.nics; k++)
		r->lab.rate_bps[k] = r->rate_bps;
	rc = chaos_run(r);
	free(r);
	return rc;
}
