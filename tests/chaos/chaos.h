/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chaos in a lab of its own: processes move bytes among each other while NICs and processes
 * fail by a plan from a seed; what ends otherwise than it may is a finding.
 */
#ifndef CHAOS_CHAOS_H
#define CHAOS_CHAOS_H

#include <jansson.h>
#include <sys/types.h>

#include "chaos/area.h"
#include "measure/lab/lab.h"

#define CHAOS_COMMAND "chaos"

enum { CHAOS_LIVES = 64, CHAOS_CODES = 16, CHAOS_FINDINGS_MAX = 20 };

/* What the parent knows of a process. */
struct chaos_child {
	pid_t pid;                      /* 0: none runs */
	int netlink;                    /* a routing socket in its namespace */
	uint64_t gone_ns[CHAOS_LIVES];  /* end of life % CHAOS_LIVES; 0: it lives */
	uint64_t outcomes, gaps;        /* read so far */
	int starting, late;             /* windows of the judge; -1: none */
	uint64_t leave_ns;              /* asked to close; 0: not */
	bool late_told;
	/* the present fault */
	bool faulty;
	struct chaos_event event;
	int window;
	uint64_t until_ns;
};

struct chaos_run {
	struct lab lab;
	unsigned processes, nics;
	uint64_t seed, seconds, stall_ms, rate_bps;
	const char *json;               /* file; NULL: none */
	struct chaos_area *area;
	size_t area_bytes;
	struct chaos_judge judge;
	struct chaos_plan plan;
	struct chaos_event next;
	struct chaos_child child[CHAOS_HOSTS_MAX];
	uint64_t start_ns, scan_ns;
	bool stopped;                   /* by a signal */
	/* figures */
	unsigned faults[CHAOS_FAULTS], skipped;
	struct {
		int code;
		unsigned count;
	} codes[CHAOS_CODES];
	uint64_t longest_ns, calm_longest_ns;   /* without a session: in all; after the last fault */
	bool down_told[CHAOS_HOSTS_MAX][CHAOS_HOSTS_MAX];
	uint64_t hang_told[CHAOS_HOSTS_MAX][CHAOS_JOBS];
	unsigned gap_count;
	uint64_t gap_longest_ns;
	json_t *findings;
};

/* Runs it: an exit code. */
int chaos_run(struct chaos_run *r);

#endif
