/* SPDX-License-Identifier: Apache-2.0 */
/* Opening transfers: a posted one waits until the session, the credit and its event allow it. */
#ifndef CORE_TRANSFER_LAUNCH_H
#define CORE_TRANSFER_LAUNCH_H

#include <stdint.h>

#include "core/transfer/transfer.h"

/* Has the peer sent nothing lately, but messages of up to TCPX_EAGER_FRAME in frames? session.lock held. */
bool tcpx_launch_is_one_way(const struct session *s);
/* How a lane's message is cut: those that are open together keep all channels busy together.
 * session.lock held. */
uint32_t tcpx_launch_lane_chunk(const struct session *s, const struct tcpx_xfer *x);

/* Opens the transfers of xfers.waiting, each kind in order, while credit lasts. session.lock held. */
void tcpx_launch_waiting(struct session *s, uint64_t now_ns);
/* Opens the transfers of all sessions whose event has happened. Lease of loop 0 held, no lock. */
void tcpx_launch_after_events(struct tcpx_engine *e);

#endif
