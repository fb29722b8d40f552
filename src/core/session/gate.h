/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses may connect to an engine (TCPX_ALLOW), on its control and data ports. */
#ifndef CORE_SESSION_GATE_H
#define CORE_SESSION_GATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

#define GATE_SOURCES 32

/* The sources refused last, so that each is logged once. */
struct gate {
	pthread_mutex_t lock; /* the innermost */
	struct tcpx_addr told[GATE_SOURCES];
	uint32_t told_count, next;
	uint64_t told_ns;     /* the time of the newest line         */
	uint64_t untold;      /* refused since                       */
};

/* @arg: the engine. False: counted as refused, and logged: each address once as far as
 * GATE_SOURCES go, at most one a second. */
bool tcpx_gate_admits(void *arg, const struct tcpx_addr *from);

#endif
