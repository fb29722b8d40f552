/* SPDX-License-Identifier: Apache-2.0 */
/* What both examples need: an end with a message when a call fails, and two engines. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <stdio.h>
#include <stdlib.h>
#include <tcpx/tcpx.h>

/* Every call of the library gives 0 or a negative code with a name and a sentence. */
static inline void
must(int rc, const char *what)
{
	if (rc == 0)
		return;
	fprintf(stderr, "%s: %s (%s)\n", what, tcpx_strerror(rc), tcpx_strerror_name(rc));
	exit(1);
}

/* An engine listens on a port of its own choice here; its metadata tells peers which. */
static inline tcpx_engine *
open_engine(const char *name)
{
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	tcpx_engine *engine;

	opts.name = name;
	opts.listen = "0";
	must(tcpx_open(&opts, &engine), "tcpx_open");
	return engine;
}

/* What one side must be given to reach the other's memory: carried by any means one has,
 * a file, a pipe, a message of another system. Whoever holds it may use the memory. */
struct invitation {
	size_t engine_len, region_len;
	unsigned char engine[4096], region[64];
};

static inline struct invitation
invite(tcpx_engine *engine, uint64_t region)
{
	struct invitation inv = { .engine_len = sizeof(inv.engine),
				  .region_len = sizeof(inv.region) };

	must(tcpx_metadata(engine, inv.engine, &inv.engine_len), "tcpx_metadata");
	must(tcpx_mem_export(engine, region, inv.region, &inv.region_len), "tcpx_mem_export");
	return inv;
}

#endif
