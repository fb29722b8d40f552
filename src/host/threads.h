/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel tells of the threads of a process, and cheap looks at them again and again:
 * where each last ran, and how much time it took. Threads may end between two looks.
 */
#ifndef HOST_THREADS_H
#define HOST_THREADS_H

#include <stdint.h>

#include "base/err.h"

struct tcpx_thread_stat {
	long tid;
	char name[64];
	char state;           /* 'R', 'S', 'Z'                             */
	int cpu;              /* where it ran last; -1 not told            */
	uint64_t user, system; /* ticks of 1/USER_HZ s                     */
	uint64_t start;       /* ticks since boot: tells a reused id       */
};

/* The line of proc/PID/task/TID/stat; a name may hold ")" and blanks. -EINVAL; not logged. */
TCPX_MUST_CHECK int tcpx_thread_stat_parse(const char *text, struct tcpx_thread_stat *out);

/*
 * tcpx_threads_read - all threads of a process, rising by id
 * @out: room for @cap; what does not fit is left out
 * Return: how many there are, also beyond @cap; -ESRCH: no such process; -errno. Not logged.
 */
TCPX_MUST_CHECK int tcpx_threads_read(const char *root, long pid, struct tcpx_thread_stat *out,
				      unsigned cap);

struct tcpx_thread_switches {
	uint64_t voluntary, involuntary;
};

/* The text of proc/PID/task/TID/status. -EINVAL: it does not tell; not logged. */
TCPX_MUST_CHECK int tcpx_thread_switches_parse(const char *text,
					       struct tcpx_thread_switches *out);
/* -errno; not logged. */
TCPX_MUST_CHECK int tcpx_thread_switches_read(const char *root, long pid, long tid,
					      struct tcpx_thread_switches *out);

/* Processes that a thread has started and that are still there: the first @cap in @out.
 * Return: how many are in @out; -errno (-ENOENT: the kernel does not tell). Not logged. */
TCPX_MUST_CHECK int tcpx_thread_children_read(const char *root, long pid, long tid, long *out,
					      unsigned cap);

#endif
