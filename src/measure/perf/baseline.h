/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plain sockets with the same work: send and recv over the same ring of memory, number of
 * connections, addresses and threads; no protocol. A round is one transfer for each in flight;
 * its receiver answers one byte when it has everything. Rounds follow each other round the ring.
 */
#ifndef MEASURE_PERF_BASELINE_H
#define MEASURE_PERF_BASELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "measure/perf/layout.h"

enum { BASELINE_CONNS = 256, BASELINE_THREADS = 64, BASELINE_NAMES = 40 };

struct baseline_conn {
	bool out;               /* data goes from client to server              */
	char from[64], to[64];  /* the client's and the server's address        */
};

/* The terms of both sides. Pointers are borrowed until close. */
struct baseline_plan {
	bool client;            /* set by the call that takes the plan          */
	bool echo;              /* one connection, whose bytes come back        */
	bool placed;            /* the server's thread echoes on @cpu alone     */
	unsigned cpu;
	const struct layout *out, *in; /* this side's                            */
	uint8_t *out_mem, *in_mem;
	uint64_t span, depth;
	uint64_t slots;         /* of the ring, whole rounds; 0: depth          */
	unsigned threads;
	uint64_t token;         /* a connection identifies itself by it         */
	char congestion[16];    /* congestion control; "" the system's          */
	size_t conns;
	struct baseline_conn conn[BASELINE_CONNS]; /* the server uses only .out  */
};

struct baseline;

/* Server: listens, and takes part in rounds on its own threads until closed. */
TCPX_MUST_CHECK int baseline_serve(const struct baseline_plan *plan, uint16_t *port,
				   struct baseline **out);
/* Client: connects to the server's @port. */
TCPX_MUST_CHECK int baseline_connect(const struct baseline_plan *plan, uint16_t port,
				     struct baseline **out);
void baseline_close(struct baseline *b);

/* Most bytes of one sendmsg() or recvmsg(). Between runs. */
void baseline_set_call(struct baseline *b, uint64_t bytes);
/* Client: runs this many rounds. *ns: from the first thread's start to the last one's end. */
TCPX_MUST_CHECK int baseline_run(struct baseline *b, uint64_t rounds, uint64_t *ns);
/* Client with echo: one round trip of the layout's bytes, from and to @slot. */
TCPX_MUST_CHECK int baseline_echo(struct baseline *b, uint64_t slot);

/* The congestion control of the connections by which this side sends, read back from the kernel:
 * "cubic", "" if it sends nothing. Returns buf. */
const char *baseline_congestion(struct baseline *b, char buf[BASELINE_NAMES]);

#endif
