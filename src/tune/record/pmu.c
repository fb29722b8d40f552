/* SPDX-License-Identifier: Apache-2.0 */
/* perf_event_open(2). */
#include "tune/record/pmu.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* perf's node-load-misses: loads that miss the memory of the CPU's own node. */
#define NODE_LOAD_MISSES (PERF_COUNT_HW_CACHE_NODE | PERF_COUNT_HW_CACHE_OP_READ << 8 | \
			  PERF_COUNT_HW_CACHE_RESULT_MISS << 16)

static const struct {
	const char *name;
	uint32_t type;
	uint64_t config;
} table[TCPX_PMU_EVENTS] = {
	[TCPX_PMU_INSTRUCTIONS] = { "instructions", PERF_TYPE_HARDWARE,
				    PERF_COUNT_HW_INSTRUCTIONS },
	[TCPX_PMU_CYCLES] = { "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
	[TCPX_PMU_LLC_MISSES] = { "llc_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
	[TCPX_PMU_REMOTE_LOADS] = { "numa_remote_loads", PERF_TYPE_HW_CACHE, NODE_LOAD_MISSES },
};

const char *
tcpx_pmu_name(enum tcpx_pmu_event event)
{
	return (unsigned)event < TCPX_PMU_EVENTS ? table[event].name : "?";
}

const char *
tcpx_pmu_why(int error)
{
	switch (error) {
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
		return "this machine has no such counter";
	case EACCES:
	case EPERM:
		return "not permitted: kernel.perf_event_paranoid, or a container's filter";
	case ENOSYS:
		return "the kernel has no perf events";
	case EMFILE:
	case ENFILE:
		return "no file descriptor is left";
	default:
		return "the kernel refuses it";
	}
}

void
tcpx_pmu_none(struct tcpx_pmu *pmu, const char *why)
{
	for (unsigned i = 0; i < TCPX_PMU_EVENTS; i++) {
		pmu->fd[i] = -1;
		pmu->why[i] = why;
	}
}

void
tcpx_pmu_open(long pid, struct tcpx_pmu *pmu)
{
	tcpx_pmu_none(pmu, NULL);
	for (unsigned i = 0; i < TCPX_PMU_EVENTS; i++) {
		/* user space only: any user may count that with the usual
		 * perf_event_paranoid */
		struct perf_event_attr attr = {
			.type = table[i].type, .size = sizeof(attr),
			.config = table[i].config, .disabled = 1, .inherit = 1,
			.enable_on_exec = 1, .exclude_kernel = 1, .exclude_hv = 1,
			.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
				       PERF_FORMAT_TOTAL_TIME_RUNNING,
		};

		pmu->fd[i] = (int)syscall(SYS_perf_event_open, &attr, (pid_t)pid, -1, -1,
					  PERF_FLAG_FD_CLOEXEC);
		if (pmu->fd[i] < 0)
			pmu->why[i] = tcpx_pmu_why(errno);
	}
}

void
tcpx_pmu_close(struct tcpx_pmu *pmu)
{
	for (unsigned i = 0; i < TCPX_PMU_EVENTS; i++)
		if (pmu->fd[i] >= 0)
			close(pmu->fd[i]);
	tcpx_pmu_none(pmu, "closed");
}

struct tcpx_maybe
tcpx_pmu_read(const struct tcpx_pmu *pmu, enum tcpx_pmu_event event)
{
	struct {
		uint64_t value, enabled, running;
	} now;

	if (pmu->fd[event] < 0)
		return tcpx_maybe_not(pmu->why[event]);
	if (read(pmu->fd[event], &now, sizeof(now)) != sizeof(now))
		return tcpx_maybe_not("the counter cannot be read");
	if (now.enabled && !now.running)
		return tcpx_maybe_not("the counter was lent to others all the time");
	if (now.running && now.running < now.enabled)
		now.value = (uint64_t)((double)now.value * (double)now.enabled /
				       (double)now.running);
	return tcpx_maybe_is((int64_t)now.value);
}
