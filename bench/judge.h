/* SPDX-License-Identifier: Apache-2.0 */
/* What hostile, greedy and unruly judge by. */
#ifndef BENCH_JUDGE_H
#define BENCH_JUDGE_H

#include <stdint.h>
#include <sys/types.h>

#include "tcpx/tcpx.h"

/* Memory of a process that is resident now; 0: not known. */
long judge_resident_kib(pid_t pid);
/* Sorts samples; the least is the first. */
void judge_sort(float *sample, uint32_t count);
/* From now on turns of the engine's loops are timed, by the clock of their thread: others' load does not
 * count. One engine of a process. */
void judge_turns(tcpx_engine *e);
/* The longest turn since the last call. */
double judge_turn_us(void);

#endif
