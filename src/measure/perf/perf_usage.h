/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of a run on one side: CPU time, context switches, and the work of its engine's
 * channels and counters between two looks. Differences add up over runs and travel as JSON.
 */
#ifndef TOOL_PERF_USAGE_H
#define TOOL_PERF_USAGE_H

#include <jansson.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "tcpx/tcpx.h"
#include "measure/perf/perf_nics.h"

enum { USAGE_CHANNELS = 256, USAGE_THREADS = 64 };

/* One channel, one session; as a difference: what it did meanwhile. */
struct usage_channel {
	uint64_t session;
	char nic[32], peer_nic[32];
	uint32_t index, generation, in_flight, in_flight_max;
	int sending, up;
	uint64_t bytes, chunks, stalls, in_flight_sum, retransmits, lent_bytes;
	char tx_mode[16];
	int cpu;          /* CPU that handled the connection's last packet; -1 unknown    */
	uint32_t napi_id; /* of the queue of its last packet; 0 unknown                   */
};

struct usage_thread {
	char name[16], requested[64], granted[64];
	int tid;
	struct tcpx_cpuset ran_on; /* CPUs it was seen on */
};

struct usage {
	uint64_t now_ns; /* CLOCK_MONOTONIC; as a difference: length of the interval */
	double cpu_s;    /* user and system, all threads of the process              */
	uint64_t ctxt_switches;
	uint64_t chunks_tx, chunks_rx, queue_ns, wire_ns, ack_ns, unpack_ns, channels_lost;
	size_t channels, threads;
	struct usage_channel channel[USAGE_CHANNELS];
	struct usage_thread thread[USAGE_THREADS];
	struct usage_nics nics;
};

/* CPU time and switches only. */
void usage_read_process(struct usage *u);
/* Everything as of now, for channels of sessions with @peer ("" all). For an interval that
 * begins after this look, call usage_read_process() once more. */
void usage_read(tcpx_engine *engine, const char *peer, struct usage *u);
/* Adds after - before to @sum. Channels are matched by session, index, generation and
 * direction; one that was not there before counts from 0. */
void usage_add_difference(struct usage *sum, const struct usage *before,
			  const struct usage *after);
/* Adds a difference to @sum. */
void usage_add(struct usage *sum, const struct usage *difference);

json_t *usage_format(const struct usage *u);
/* Missing fields are 0; more channels or threads than fit are left out. */
void usage_parse(const json_t *msg, struct usage *u);

#endif
