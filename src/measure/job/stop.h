/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An end that somebody asks for with SIGINT or SIGTERM: what was measured is kept. The
 * second signal ends the program at once.
 */
#ifndef MEASURE_JOB_STOP_H
#define MEASURE_JOB_STOP_H

#include <stdint.h>

/* From here on the first of both signals is noted. */
void perf_stop_watch(void);
/* Its number; 0: nobody has asked. */
int perf_stop_asked(void);
/* How long a wait that was to end at @until_ns goes on: after a signal not much longer. */
uint64_t perf_stop_limit(uint64_t until_ns);

#endif
