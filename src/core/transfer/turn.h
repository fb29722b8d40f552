/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose chunks the channels of a session take in turn: each transfer is one, and each lane, whose
 * messages go oldest first. session.lock held.
 */
#ifndef CORE_TRANSFER_TURN_H
#define CORE_TRANSFER_TURN_H

#include <stdbool.h>

#include "core/transfer/transfer.h"

/* It has chunks to be taken. No-op if it is known to have. */
void tcpx_turn_join(struct session *s, struct tcpx_xfer *x);
/* It has none, or none any more. */
void tcpx_turn_leave(struct session *s, struct tcpx_xfer *x);
/* Has it chunks to be taken? */
bool tcpx_turn_has(const struct tcpx_xfer *x);
/* It has sent @len bytes. */
void tcpx_turn_charge(struct session *s, struct tcpx_xfer *x, uint32_t len);

/* Whose chunk is next at that node. */
static inline struct tcpx_xfer *
turn_of(struct tcpx_drr_node *n)
{
	return tcpx_container(n, struct turn, drr)->next;
}

#endif
