/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TRANSFER_STUCK_H
#define CORE_TRANSFER_STUCK_H

#include "core/transfer/transfer.h"

/* Where @x is at this moment. @s is its session, whose lock is held; NULL: it has none yet. */
struct stuck tcpx_xfer_locate(struct session *s, const struct tcpx_xfer *x);

/* Nothing of it is to be sent any more: only the target's answer lacks. Of a SEND that has its
 * receive. lock held. */
bool tcpx_xfer_is_owed(const struct tcpx_xfer *x);
/* Since when the first to fall silent of the channels that hold a chunk of @x has brought nothing; 0:
 * none holds one. lock held. */
uint64_t tcpx_xfer_held_ns(struct session *s, const struct tcpx_xfer *x);
/* It has failed, and its memory is not touched: channels that may have lent its pages to the kernel, and
 * wait for an acknowledgement, break. lock held. */
void tcpx_xfer_recall(struct session *s, const struct tcpx_xfer *x);
/* When chunks that no channel has last waited for staging buffers of other sessions; 0: never.
 * lock held. */
uint64_t tcpx_xfer_short_ns(struct session *s, const struct tcpx_xfer *x, uint64_t now_ns);
#define XFER_NAME 40
/* "transfer 7", or "message 5 of lane 3". */
void tcpx_xfer_name(uint64_t id, char *buf, size_t cap);
/* What of it is in place, and where it is stuck: stage, channel, NICs, addresses. lock held. */
void tcpx_xfer_describe(struct session *s, const struct tcpx_xfer *x, char *buf, size_t cap);

#endif
