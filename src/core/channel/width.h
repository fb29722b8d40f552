/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many channels a direction of a session has. Narrow it has the first of each pair of NICs,
 * wide all of the plan; the others rest meanwhile, and are no lost ones. The side that sends decides,
 * by its load, and says so (WIDTH). Channels open as lost ones do (heal.h). lock held.
 */
#ifndef CORE_CHANNEL_WIDTH_H
#define CORE_CHANNEL_WIDTH_H

#include <stdbool.h>
#include <stdint.h>

struct session;

/* @bytes more are to be sent: perhaps the loop will widen. Any thread. */
void tcpx_width_load(struct session *s, uint64_t bytes, uint64_t now_ns);
/* Widens this side's direction, or narrows it. Lease of the session's loop. */
void tcpx_width_check(struct session *s, uint64_t now_ns);
/* WIDTH has come: of the peer's direction. 0, or TCPX_EPROTO. */
int tcpx_width_said(struct session *s, bool wide);

#endif
