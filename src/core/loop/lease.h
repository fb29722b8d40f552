/* SPDX-License-Identifier: Apache-2.0 */
/* Who runs a loop: its I/O thread, or a waiting application thread. */
#ifndef CORE_LOOP_LEASE_H
#define CORE_LOOP_LEASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/loop/loop.h"

#define TESTS_BEFORE_HELP  64 /* fruitless polls in a row after which an application
		       * does the I/O itself */
#define NAP_MAX_NS (8 * TCPX_MS) /* longest an idle loop stays lent after long use */
#define DUE_NS     1000      /* between two looks of threads that test               */
#define SELDOM_NS  30000     /* ... for what threads of other loops move             */
#define POLL_NS    100000    /* a polled loop goes back after this time without a poll */
#define LEASE_NS   (TCPX_MS / 4) /* a borrowed loop goes back after this idle time */

/* Does its I/O thread sleep, because an application thread has run the loop lately? Any thread. */
bool tcpx_lease_is_lent(const struct loop *l);
/* Not each test of many transfers looks for events: is it long since the last look? @by_others: threads of
 * other loops move what is tested, so that looks may be rare while this loop has no payload. Any thread. */
bool tcpx_lease_is_due(const struct loop *l, bool by_others);
/* A message of a lane has been tested in vain: is it one of many such tests, of any messages? Each
 * message of a ping-pong is tested a few times only. Any thread. */
bool tcpx_lease_spins(struct loop *l);
/* One turn of the loop on this thread, or a yield if another thread runs it. */
void tcpx_lease_help(struct loop *l);
/* Waits until done(arg), doing the loop's I/O on this thread where it can. word: a futex to
 * sleep on where it cannot, changed before it is woken. 0, or -EAGAIN after timeout_ms. */
int tcpx_lease_wait(struct loop *l, bool (*done)(void *), void *arg, _Atomic uint32_t *word,
		    _Atomic int *sleepers, int timeout_ms);
int tcpx_loop_start(struct loop *l);
void tcpx_loop_started(struct loop *l); /* waits until the thread has its id and its CPUs */
void tcpx_loop_stop(struct loop *l); /* joins the thread */

#endif
