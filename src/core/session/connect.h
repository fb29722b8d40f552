/* SPDX-License-Identifier: Apache-2.0 */
/* The control stream's connection. Lease and lock held. */
#ifndef CORE_SESSION_CONNECT_H
#define CORE_SESSION_CONNECT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/session/session.h"

/* Opener: connects, or goes on with that; then sends START. */
void tcpx_control_connect(struct session *s, uint64_t now_ns);

/* Cuts the connection, of which the peer's kernel acknowledges nothing. */
void tcpx_control_silent(struct session *s, uint64_t now_ns);
/* The NIC of ours on which the connection stands; -1: none of those that carry data. */
int tcpx_control_nic(const struct session *s);
/* Cuts the connection if what it holds does not pass, while small packets do; it is made
 * again for those. True: it is cut. */
bool tcpx_control_is_stuck(struct session *s, uint64_t now_ns);
/* Cuts the connection if it stands on a NIC of ours that is down, and another is not. */
void tcpx_control_leave_nic(struct session *s, uint64_t now_ns);
/* Opener, in every turn until the proof is there: then sends HELLO or RESUME. */
int tcpx_control_introduce(struct session *s);

#endif
