/* SPDX-License-Identifier: Apache-2.0 */
/* Takes channels' reports on chunks (struct channel_calls): sent, acknowledged, given back by a broken
 * channel and sent again. */
#ifndef CORE_TRANSFER_PROGRESS_H
#define CORE_TRANSFER_PROGRESS_H

#include <stdint.h>

#include "core/channel/channel.h"

int tcpx_chunk_place(struct channel *c, const struct tcpx_head *h, struct rx_record *r,
		     enum chunk_place *how);
int tcpx_chunk_applied(struct channel *c, const struct rx_record *r, uint64_t now_ns);
void tcpx_chunk_missed(struct channel *c, const struct rx_record *r, bool passed);
void tcpx_chunk_corrupt(struct channel *c, const struct rx_record *r, const struct tcpx_head *h,
			uint32_t sum, uint64_t now_ns);
void tcpx_chunk_acked(struct channel *c, struct tx_record *r, uint64_t now_ns);
void tcpx_chunk_given_back(struct channel *c, struct tx_record *r);
void tcpx_chunk_put(struct payload *p);

#endif
