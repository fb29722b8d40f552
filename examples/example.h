/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of the examples: the cause of a failure, and what each side gives back. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <tcpx/tcpx.h>

/* Every call of the library returns 0 or a negative code. DO ends the function at an error: it
 * returns 1, and main() gives back what both sides have taken until then. */
#define DO(call) do { int rc_ = (call); if (rc_) return failed(rc_, #call); } while (0)

/* A wait gives -EAGAIN when its time has passed. The library describes every other failure. */
static inline int
failed(int rc, const char *call)
{
	char why[1024] = "not within that time";

	if (rc != -EAGAIN)
		tcpx_last_error(NULL, why, sizeof(why));
	fprintf(stderr, "%s: %s\n", call, *why ? why : tcpx_strerror(rc));
	return 1;
}

/* An engine, and what was taken of it. */
struct side {
	tcpx_engine *engine;
	tcpx_peer *peer;
	tcpx_list *local, *remote;
	tcpx_xfer *xfer;
	tcpx_note *note;
	uint64_t mine, theirs; /* regions */
	unsigned char *memory; /* of malloc() */
};

/* Gives all of it back; what was not taken is NULL. */
static inline void
give_back(struct side *s)
{
	tcpx_note_free(s->note);
	tcpx_xfer_free(s->xfer);
	tcpx_list_free(s->local);
	tcpx_list_free(s->remote);
	tcpx_peer_free(s->peer);
	tcpx_close(s->engine); /* its regions end with it, and transfers that are under way */
	free(s->memory);       /* peers could write to it as long as it was a region */
}

/* An engine chooses a listening port of its own; peers read it from its metadata. */
static inline int
open_engine(struct side *s, const char *name)
{
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;

	setenv("TCPX_DEBUG", "WARN", 0); /* a library is silent unless it is asked */
	opts.name = name;
	opts.listen = "0";
	DO(tcpx_open(&opts, &s->engine));
	return 0;
}

/* What one side needs to reach the other's memory. Any way to carry it will do: a file, a
 * pipe, a message of another system. Any holder of it may use the memory. */
struct invitation {
	size_t engine_len, region_len;
	unsigned char engine[TCPX_METADATA_MAX], region[TCPX_BLOB_MAX];
};

static inline int
invite(const struct side *s, struct invitation *inv)
{
	*inv = (struct invitation){ .engine_len = sizeof(inv->engine),
				    .region_len = sizeof(inv->region) };
	DO(tcpx_metadata(s->engine, inv->engine, &inv->engine_len));
	DO(tcpx_mem_export(s->engine, s->mine, inv->region, &inv->region_len));
	return 0;
}

static inline int
accept_invitation(struct side *s, const struct invitation *inv)
{
	DO(tcpx_mem_import(s->engine, inv->region, inv->region_len, &s->theirs));
	DO(tcpx_peer_add(s->engine, inv->engine, inv->engine_len, &s->peer));
	return 0;
}

#endif
