/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the two sides of a measurement say to each other: JSON objects in notes, cut in
 * parts where one is longer than a note. Everything that arrives is checked here, with
 * the values that are allowed; the rest of the tool sees plain structs.
 *
 *	client			server
 *	job            ->       job_ok     memory, NICs, GPUs
 *	case           ->       case_ok    one size: layouts, slots of the ring
 *	arm            ->       armed      fills and poisons slots
 *	run            ->       ready      the barrier; then transfers, then a note "E". A
 *	                                   timed run: "T"..., "G", transfers, "E", "T"..., "D"
 *	               <-       ran        its interval, CPU time, channels
 *	verify         ->       verdict    compares slots
 *	raw, raw_call, mark     raw_ok, raw_called, marked
 *	path           ->       path_go    both sides copy to and from their GPUs now
 *	               <-       path_ran   at what speed
 *	look           ->       view       channels, when something is stuck
 *	reach          ->       reach_at   ports to connect to (tool/reach.h); any time
 *	bye
 */
#ifndef MEASURE_JOB_JOB_H
#define MEASURE_JOB_JOB_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "tcpx/tcpx.h"
#include "tool/gpu/place.h"
#include "tool/notes.h"

enum {
	JOB_DEPTH_MAX = 256,
	JOB_LANES_MAX = 64,
	JOB_LAT_SLOTS = 4,            /* transfers that a latency run leaves behind */
	JOB_SLOTS_MAX = 16384,        /* of a ring                                 */
	JOB_PIECES_MAX = 1000000,     /* of a transfer                             */
	JOB_BLOB_BYTES = 4096,
	JOB_TEXT = 64,                /* room for a label or a text                */
	JOB_NOTE_TIME = 'T',          /* the client's time; answered (perf_sync.h) */
	JOB_NOTE_GO = 'G',            /* the last time before the run              */
	JOB_NOTE_END = 'E',           /* after the last acknowledgement of a run: its two
	                               * times, or none where nothing is timed     */
	JOB_NOTE_DONE = 'D',          /* after the last time of a timed run        */
	JOB_NOTE_PING = 'P'           /* rides in each transfer of a latency run   */
};

enum job_op { JOB_WRITE, JOB_READ, JOB_SENDRECV, JOB_LANE };
extern const char *const job_op_names[]; /* NULL-terminated */

/* A client's job for its session. "out" is from the client to the server. */
struct job {
	enum job_op op;
	bool bi, lat, spin;
	uint64_t depth;      /* transfers in flight, 1 to job_depth_most()         */
	uint64_t lanes;      /* each way; at least 1                               */
	uint64_t span_bytes; /* memory of one transfer, at most                    */
	uint64_t ring_bytes; /* of all in a ring, one way; the server may have less */
	bool mem_said;       /* else the server chooses                            */
	struct place mem;    /* of the server                                      */
	bool cpu_said;       /* the server runs on one CPU; job_ok repeats it if so */
	uint64_t cpu;
	char label[JOB_TEXT]; /* as the server's; "" none                          */
	char text[JOB_TEXT]; /* at the begin of what the client sends; "" none     */
	char near[JOB_TEXT]; /* the client's memory, as text for people            */
	uint64_t iters;      /* timed transfers of a size; 0: not known in advance */
};

/* One size. */
struct job_case {
	uint64_t size, descs, seed;
};

/* Slots of a ring from @slot on; of plain sockets, or of ours. */
struct job_slots {
	uint64_t slot, slots;
	bool raw;
};

bool job_has_out(const struct job *job);
bool job_has_in(const struct job *job);
/* Slots that a ring needs at least. */
uint64_t job_slots_least(const struct job *job);
/* Does transfer data go both ways? Then 2. */
unsigned job_ways(const struct job *job);
/* Does each transfer meet a receive that the other side posts? */
bool job_is_met(const struct job *job);
/* Transfers in flight, at most. */
uint64_t job_depth_most(enum job_op op);

json_t *job_format(const struct job *job);
/* 0, or TCPX_EBLOB (logged, with the field and what is allowed). */
TCPX_MUST_CHECK int job_parse(const json_t *msg, struct job *job);
json_t *job_case_format(const struct job_case *c);
TCPX_MUST_CHECK int job_case_parse(const json_t *msg, const struct job *job, struct job_case *c);

json_t *job_slots_format(struct job_slots s);
/* TCPX_EBLOB also for slots that a ring of @most has not. */
TCPX_MUST_CHECK int job_slots_parse(const json_t *msg, uint64_t most, struct job_slots *s);

/* Member @name as a whole number in [min, max]; TCPX_EBLOB, logged. */
TCPX_MUST_CHECK int job_number(const json_t *msg, const char *name, uint64_t min, uint64_t max,
			       uint64_t *out);
/* A real or whole number, 0 if there is none. */
double job_real(const json_t *msg, const char *name);
/* A text, "" if there is none; borrowed from @msg. */
const char *job_text(const json_t *msg, const char *name);
/* Bytes as hex digits; @name is for the message on malformed text. */
json_t *job_hex(const void *data, size_t len);
TCPX_MUST_CHECK int job_bytes(const json_t *hex, const char *name, void *out, size_t cap,
			      size_t *len);

#endif
