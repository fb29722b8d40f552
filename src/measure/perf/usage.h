/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of a run on one side: CPU time, context switches, the work of its engine's
 * channels and counters, and what the kernel counted at its NICs, between two looks.
 * Differences add up over runs and travel as JSON.
 */
#ifndef MEASURE_PERF_USAGE_H
#define MEASURE_PERF_USAGE_H

#include <jansson.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/err.h"
#include "tcpx/tcpx.h"
#include "measure/report/row.h"

enum { USAGE_CHANNELS = 256, USAGE_THREADS = 64, USAGE_NICS = 64 };

struct usage_thread {
	struct tcpx_thread_info info;
	struct tcpx_cpuset ran_on; /* CPUs it was seen on */
};

/* As a difference the figures that add up (base/figures.h) are of the interval. */
struct usage {
	uint64_t now_ns; /* CLOCK_MONOTONIC; as a difference: length of the interval */
	double cpu_s;    /* user and system, all threads of the process              */
	uint64_t ctxt_switches;
	struct tcpx_counters count;
	size_t channels, threads, nics;
	struct tcpx_channel_info channel[USAGE_CHANNELS];
	struct usage_thread thread[USAGE_THREADS];
	struct row_nic_counters nic[USAGE_NICS]; /* side "" */
};

/* CPU time and switches only. */
void usage_read_process(struct usage *u);
/* Everything as of now, for channels of sessions with @peer ("" all), the engine's NICs,
 * each once, and the loopback. For an interval that begins after this look, call
 * usage_read_process() once more. */
void usage_read(tcpx_engine *engine, const char *peer, struct usage *u);
/* Adds after - before to @sum; @before NULL: @after is a difference. What was not there
 * before counts from 0. */
void usage_add_difference(struct usage *sum, const struct usage *before,
			  const struct usage *after);

/* The congestion control of the engine's channels: the first one's; "" none. Borrowed. */
const char *usage_congestion(const struct usage *u);
/* Adds @name to a list "cubic, reno", once; what does not fit is left out. */
void usage_add_name(char *list, size_t cap, const char *name);

json_t *usage_format(const struct usage *u);
/* Missing fields are 0; what does not fit is left out. TCPX_EBLOB, logged. */
TCPX_MUST_CHECK int usage_parse(const json_t *msg, struct usage *u);

#endif
