/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TRANSFER_STUCK_H
#define CORE_TRANSFER_STUCK_H

#include "core/transfer/transfer.h"

/* Where @x is at this moment. @s is its session, whose lock is held; NULL: it has none yet. */
struct stuck tcpx_xfer_locate(struct session *s, const struct tcpx_xfer *x);

#endif
