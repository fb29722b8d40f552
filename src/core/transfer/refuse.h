/* SPDX-License-Identifier: Apache-2.0 */
/* What the peer opens and does not get. session.lock held. */
#ifndef CORE_TRANSFER_REFUSE_H
#define CORE_TRANSFER_REFUSE_H

#include <stdint.h>

struct session;
struct tcpx_list;

/* The id is known from here on. Later chunks without a transfer go to a sink, and channels
 * that waited for it are woken. */
void tcpx_xfer_known(struct session *s, uint64_t id);
/* So many entries were read for nothing: the peer pays for that. */
void tcpx_refuse_charge(struct session *s, uint32_t entries);
/* The peer's transfer ends before it began. @text is for the peer. */
void tcpx_refuse(struct session *s, uint64_t id, int code, const char *text);
/* ... for its list, of which @entries were read. */
void tcpx_refuse_list(struct session *s, uint64_t id, int code, uint32_t entries);
/* ... for memory here that cannot be @done ("read"). */
void tcpx_refuse_memory(struct session *s, uint64_t id, int code, const char *done,
			const struct tcpx_list *l);

#endif
