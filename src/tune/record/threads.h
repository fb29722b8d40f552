/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's data on the threads of a process, and cheap repeated looks: where each last
 * ran, and its time. Threads may end between two looks.
 */
#ifndef TUNE_RECORD_THREADS_H
#define TUNE_RECORD_THREADS_H

#include <stdint.h>

#include "base/err.h"

struct tcpx_thread_stat {
	long tid;
	char name[64];
	char state;           /* 'R', 'S', 'Z'                             */
	int cpu;              /* its last CPU; -1 unknown                  */
	uint64_t user, system; /* ticks of 1/USER_HZ s                     */
	uint64_t start;       /* ticks since boot: detects a reused id     */
};

/* Parses the line of proc/PID/task/TID/stat; a name may hold ")" and blanks.
 * -EINVAL; not logged. */
TCPX_MUST_CHECK int tcpx_thread_stat_parse(const char *text, struct tcpx_thread_stat *out);

/*
 * tcpx_threads_read - all threads of a process, rising by id
 * @out: room for @cap; what does not fit is left out
 * Return: their number, also beyond @cap; -ESRCH: no such process; -errno. Not logged.
 */
TCPX_MUST_CHECK int tcpx_threads_read(const char *root, long pid, struct tcpx_thread_stat *out,
				      unsigned cap);

struct tcpx_thread_switches {
	uint64_t voluntary, involuntary;
};

/* Parses the text of proc/PID/task/TID/status. -EINVAL: the values are missing; not logged. */
TCPX_MUST_CHECK int tcpx_thread_switches_parse(const char *text,
					       struct tcpx_thread_switches *out);
/* -errno; not logged. */
TCPX_MUST_CHECK int tcpx_thread_switches_read(const char *root, long pid, long tid,
					      struct tcpx_thread_switches *out);

/* Living processes that a thread has started: the first @cap in @out. Return: the number in
 * @out; -errno (-ENOENT: the kernel has no such file). Not logged. */
TCPX_MUST_CHECK int tcpx_thread_children_read(const char *root, long pid, long tid, long *out,
					      unsigned cap);

#endif
