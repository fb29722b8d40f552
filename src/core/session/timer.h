/* SPDX-License-Identifier: Apache-2.0 */
/* A session's deadlines and its end. */
#ifndef CORE_SESSION_TIMER_H
#define CORE_SESSION_TIMER_H

#include <stdint.h>

#include "core/session/session.h"

void tcpx_session_work(struct work *w, uint64_t now_ns);

/* Timers of all sessions of loop 0. Its lease held, no lock. */
void tcpx_sessions_timer(struct tcpx_engine *e, uint64_t now_ns);
/* Moves all deadlines of its sessions. Likewise. */
void tcpx_sessions_late(struct tcpx_engine *e, const struct pause *p);

/* For the provider: a channel of the session @owner has come. Any thread. */
void tcpx_session_arrived(void *owner);
/* Of session.dials: a channel that it connects may go on. */
void tcpx_session_dialled(struct source *src, unsigned ready, uint64_t now_ns);
void tcpx_session_arrival(struct work *w, uint64_t now_ns);

#endif
