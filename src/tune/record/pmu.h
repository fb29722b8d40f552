/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters of the processor for a process and its children, in user space: instructions,
 * cycles, misses of the last cache, loads from memory of another node. Virtual machines often
 * have none; then each has its reason.
 *
 * Threads: the caller's. Nothing is logged: a machine without counters is no failure.
 */
#ifndef TUNE_RECORD_PMU_H
#define TUNE_RECORD_PMU_H

#include <stdint.h>

#include "host/maybe.h"

enum tcpx_pmu_event {
	TCPX_PMU_INSTRUCTIONS, TCPX_PMU_CYCLES, TCPX_PMU_LLC_MISSES, TCPX_PMU_REMOTE_LOADS,
	TCPX_PMU_EVENTS
};

struct tcpx_pmu {
	int fd[TCPX_PMU_EVENTS];          /* -1: none              */
	const char *why[TCPX_PMU_EVENTS]; /* static; NULL: counted */
};

/* Sets no counters, for this reason. Static. */
void tcpx_pmu_none(struct tcpx_pmu *pmu, const char *why);
/* @pid: has no children yet; counting begins with its next exec(). */
void tcpx_pmu_open(long pid, struct tcpx_pmu *pmu);
void tcpx_pmu_close(struct tcpx_pmu *pmu);
/* The count so far, scaled up for the time in which the counter was shared. */
struct tcpx_maybe tcpx_pmu_read(const struct tcpx_pmu *pmu, enum tcpx_pmu_event event);

/* "llc_misses"; static. */
const char *tcpx_pmu_name(enum tcpx_pmu_event event);
/* The meaning of an errno of perf_event_open(2) for people; static. */
const char *tcpx_pmu_why(int error);

#endif
