/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines of transfers. session.lock and the lease of its loop held. */
#ifndef CORE_TRANSFER_DEADLINE_H
#define CORE_TRANSFER_DEADLINE_H

#include <stdint.h>

#include "core/session/session.h"

/* Ends a transfer that is stuck while others move, and fails the session if nothing moves. */
void tcpx_xfers_check(struct session *s, uint64_t now_ns);
/* Moves the deadlines. */
void tcpx_xfers_late(struct session *s, const struct pause *p);

#endif
