/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of the examples: an exit with a message when a call fails, and two engines. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <stdio.h>
#include <stdlib.h>
#include <tcpx/tcpx.h>

/* Every call of the library returns 0 or a negative code, which has a name and a sentence. */
static inline void
must(int rc, const char *what)
{
	if (rc == 0)
		return;
	fprintf(stderr, "%s: %s (%s)\n", what, tcpx_strerror(rc), tcpx_strerror_name(rc));
	exit(1);
}

/* An engine chooses a listening port of its own; peers read it from its metadata. */
static inline tcpx_engine *
open_engine(const char *name)
{
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	tcpx_engine *engine;

	setenv("TCPX_DEBUG", "WARN", 0); /* a library is silent unless it is asked */
	opts.name = name;
	opts.listen = "0";
	must(tcpx_open(&opts, &engine), "tcpx_open");
	return engine;
}

/* What one side needs to reach the other's memory. Any way to carry it will do: a file, a
 * pipe, a message of another system. Any holder of it may use the memory. */
struct invitation {
	size_t engine_len, region_len;
	unsigned char engine[TCPX_METADATA_MAX], region[TCPX_BLOB_MAX];
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
