/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of the loops in a thread that is none of theirs: they have no threads, or have them no more. */
#ifndef CORE_ENGINE_STEP_H
#define CORE_ENGINE_STEP_H

#include <stdint.h>

struct tcpx_engine;

/* One turn of each loop. Loop 0 sleeps so long at most, if it has nothing to do. */
void tcpx_engine_turn(struct tcpx_engine *e, int64_t timeout_ns);
/* With manual: one turn of each loop, no waiting. */
void tcpx_engine_step(struct tcpx_engine *e);
/* With manual: the earliest deadline of any loop; 0: work is queued; UINT64_MAX: none. */
uint64_t tcpx_engine_timer(struct tcpx_engine *e);

#endif
