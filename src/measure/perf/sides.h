/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPUs of the two sides' threads in a comparison. Left free, one kind of ping-pong may
 * share a CPU while the other wakes an idle one, and their ratio means nothing. Only the
 * calling thread is ever placed, and only after the engine's threads exist.
 */
#ifndef MEASURE_PERF_SIDES_H
#define MEASURE_PERF_SIDES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cpuset.h"
#include "base/err.h"

enum { SIDES_TEXT = 48 };

struct sides {
	bool placed;            /* else the kernel places both                     */
	unsigned client, server; /* CPUs                                           */
};

/* The first CPU that this thread may use for the client, the second for the server; one
 * and the same if there is only one. -errno (not logged) if the mask cannot be read. */
TCPX_MUST_CHECK int sides_choose(struct sides *sides);
/* "sides: CPU 0 and CPU 1", "both sides on CPU 0", "" if they are not placed; returns buf. */
const char *sides_format(const struct sides *sides, char buf[SIDES_TEXT]);

/* A placed thread and its mask before; zeroed at first. */
struct placed {
	bool on;
	struct tcpx_cpuset before;
};

/* The calling thread runs on @cpu alone until thread_release(). Placed already: nothing
 * happens. Codes of the kernel, logged. */
TCPX_MUST_CHECK int thread_place(struct placed *p, unsigned cpu);
/* By the same thread; nothing happens if it was not placed. */
void thread_release(struct placed *p);

#endif
