/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping on a word until another thread changes it. */
#ifndef CORE_LOOP_FUTEX_H
#define CORE_LOOP_FUTEX_H

#include <stdint.h>

/* Sleeps while *word is @value, at most @timeout_ns (< 0: without limit). It may also return
 * early: callers look again. */
int tcpx_futex_wait(void *word, uint32_t value, int64_t timeout_ns);
void tcpx_futex_wake(void *word, int count);

#endif
