/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server times a run by its own clock, between the client's begin and end. A note that says
 * "now" takes time on its way, and much more when a thread does not run at once. So the client
 * sends its time repeatedly, before a run and after it, and the fastest note counts. Its delay
 * is the same for begin and end and cancels out.
 */
#ifndef MEASURE_PERF_SYNC_H
#define MEASURE_PERF_SYNC_H

#include "measure/perf/client.h"

/* The server's clock minus the client's, plus the shortest delay of a note. */
struct sync {
	bool any;
	int64_t offset_ns;
};

void sync_init(struct sync *s);
/* Server: a note with the client's time @said_ns has arrived at @now_ns. */
void sync_hear(struct sync *s, uint64_t said_ns, uint64_t now_ns);
/* Server: the client's time @said_ns as a time of the server's clock. */
uint64_t sync_map(const struct sync *s, uint64_t said_ns);
/* Server: the length of a run from @begin_ns, by the server's clock, to the client's @end_said_ns.
 * @took_said_ns: the length by the client's clock, which counts where the other is shorter by more than a
 * thousandth: the notes before the run were slower then than those after it. */
uint64_t sync_took(const struct sync *s, uint64_t begin_ns, uint64_t end_said_ns, uint64_t took_said_ns);

/* A note: a letter (JOB_NOTE_ in job.h), then at most two times of 8 bytes. */
enum { SYNC_NOTE_BYTES = 17 };
/* Writes a note. Returns its length. */
size_t sync_format(char note[SYNC_NOTE_BYTES], char kind, const uint64_t *ns, size_t count);
/* Reads a note's times. 0, or -EINVAL unless it holds exactly @count. */
TCPX_MUST_CHECK int sync_parse(const char *note, size_t len, uint64_t *ns, size_t count);

/* Client: sends its time until a note was fast, then the note that the run begins. */
TCPX_MUST_CHECK int sync_begin(struct perf *p);
/* Client: sends begin and end of the run, its time again, and the note that it is done. */
TCPX_MUST_CHECK int sync_end(struct perf *p, uint64_t begin_ns, uint64_t end_ns);

#endif
