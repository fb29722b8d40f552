/* SPDX-License-Identifier: Apache-2.0 */
/* A receiving channel's state of messages. Lease held, lock not. */
#ifndef CORE_CHANNEL_LANDING_H
#define CORE_CHANNEL_LANDING_H

#include <stdint.h>

#include "core/channel/channel.h"

struct rx_record *tcpx_landing_record(struct channel *c, uint64_t seq);
void tcpx_landing_let_go(struct channel *c, struct rx_record *r);
/* The message of @r is in place and its slot SPENT: acknowledged in its turn. Frees *r. */
int tcpx_landing_placed(struct channel *c, struct rx_record *r);
/* The same, but it is acknowledged later. */
void tcpx_landing_wait(struct channel *c, uint64_t seq, struct rx_record *r);
/* Those that wait are acknowledged, if they are settled. 0; -EAGAIN: some are not; or what ends the
 * channel. */
int tcpx_landing_settle(struct channel *c);
/* The connection is closed and no batch is in flight: frees the state of message seq. */
void tcpx_landing_forget(struct channel *c, uint64_t seq);
void tcpx_landing_drop(struct channel *c); /* the message in the middle of which it is */

#endif
