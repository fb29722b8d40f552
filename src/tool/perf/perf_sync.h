/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the server measures a run by its own clock. A note that says "now" takes its way, and
 * much longer when a thread is not let run at once. So the client says its time again and
 * again, before a run and after it, and the telling that took least counts: what is left of
 * the way is the same at both ends and cancels out.
 */
#ifndef TOOL_PERF_SYNC_H
#define TOOL_PERF_SYNC_H

#include "tool/perf/perf_client.h"

/* The server's clock less the client's, plus the shortest way that a note took. */
struct sync {
	bool any;
	int64_t offset_ns;
};

void sync_init(struct sync *s);
/* A note that said @said_ns came in at @now_ns. */
void sync_hear(struct sync *s, uint64_t said_ns, uint64_t now_ns);
/* When it was @said_ns there, by the clock here. */
uint64_t sync_map(const struct sync *s, uint64_t said_ns);

/* The notes: a letter, then times, each 8 bytes. */
enum { SYNC_NOTE_BYTES = 17 };
size_t sync_format(char note[SYNC_NOTE_BYTES], char kind, const uint64_t *ns, size_t count);
/* 0, or -EINVAL unless it holds exactly @count times. */
TCPX_MUST_CHECK int sync_parse(const char *note, size_t len, uint64_t *ns, size_t count);

/* Client: tells its time until one telling was quick, and that the run begins now. */
TCPX_MUST_CHECK int sync_begin(struct perf *p);
/* Client: tells when the run began and ended. */
TCPX_MUST_CHECK int sync_end(struct perf *p, uint64_t begin_ns, uint64_t end_ns);

#endif
