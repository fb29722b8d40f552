/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waking the application: the descriptor of tcpx_event_fd(), readable while a completion or a
 * note waits, and the futex of threads that wait for sessions. Any thread may call.
 */
#ifndef CORE_LOOP_EVENT_H
#define CORE_LOOP_EVENT_H

struct tcpx_engine;

/* Makes the descriptor, if there is one, readable by the counts. events.lock held. */
void tcpx_event_level(struct tcpx_engine *e);
/* events.notes or events.unobserved has changed: sets the descriptor. */
void tcpx_event_changed(struct tcpx_engine *e);
/* A transfer has ended and the application has not tested it yet; drop: now it has. */
void tcpx_event_add(struct tcpx_engine *e);
void tcpx_event_drop(struct tcpx_engine *e);
/* A session or tcpx_close_wait() may go on: wakes the threads that wait on changes.count. */
void tcpx_event_session(struct tcpx_engine *e);

#endif
