/* SPDX-License-Identifier: Apache-2.0 */
/* Making the channels of a session. lock held. */
#ifndef CORE_CHANNEL_WIRING_H
#define CORE_CHANNEL_WIRING_H

#include <stdint.h>

#include "core/session/session.h"

int tcpx_wiring_listen(struct session *s);  /* acceptor: HANDLES */
/* Handles the peer's HANDLES: once for each side. 0, or why the session fails. */
int tcpx_wiring_handles(struct session *s, const struct tcpx_handles *h);
/* Tries unfinished channels again. */
void tcpx_wiring_step(struct session *s, uint64_t now_ns);

/* Fails the session, as too few channels connect within that time, with the pairs of NICs
 * that were tried. */
void tcpx_wiring_overdue(struct session *s, uint64_t patience_ns);

#endif
