/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of channel, chosen once when a channel is made. A stream channel is one connection:
 * headers and acknowledgements travel in band, payload is received in place and sent from user
 * memory. A comm channel is a comm of a plugin: headers and acknowledgements are frames of the
 * control stream, payload lies in slots of the channel.
 * Lease held, lock not, unless noted.
 */
#ifndef CORE_CHANNEL_KIND_H
#define CORE_CHANNEL_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "core/channel/channel.h"

#define CHANNEL_TURN 16 /* landed or small messages a turn */
/* Pieces of user memory a turn, where the kernel gathers and scatters them: 0.1 us each, and a message
 * may have a million. A turn may exceed it by CORE_IOV. */
#define CHANNEL_PIECES 512

struct channel_kind {
	bool in_place; /* messages are received in place or in a buffer, not in slots */
	bool heads;    /* headers come on the control stream                           */
	bool silent;   /* an idle one does not report that the peer has died           */
	bool receiver_listens; /* the receiving side listens, not the acceptor of the session */
	/* Receives for a turn. 0: there may be more; -EAGAIN; or what ends the channel. */
	int (*receive)(struct channel *c, uint64_t now_ns);
	/* Sends rx.acks.due; -EAGAIN. */
	int (*acknowledge)(struct channel *c);
	/* The provider may use the slot of message seq again. */
	int (*release)(struct channel *c, uint64_t seq);
	/* Starts or continues the open message. more: the next one follows at once. 0: all of it is sent;
	 * 1: it goes on in the next turn; -EAGAIN; or what ends the channel. */
	int (*send)(struct channel *c, struct tx_record *r, bool more);
	/* The channel may be read: takes an acknowledgement. 0; -EAGAIN; what ends the channel. */
	int (*acked)(struct channel *c, uint64_t now_ns);
	/* NULL: nothing is known. lock held, and perhaps no lease. */
	int (*stats)(const struct channel *c, struct tcpx_channel_info *info);
	/* As net.h says. NULL: the provider looks itself. lock held, and perhaps no lease. */
	int (*under_way)(const struct channel *c, struct tcpx_net_way *way);
	/* Whether payload of this list is packed into a slot before it is sent. */
	bool (*packs)(const struct tcpx_list *l);
	/* The channel's own slot for the payload of message seq, lock held. NULL: it has none,
	 * and takes a staging slot. */
	uint8_t *(*slot)(struct channel *c, uint64_t seq);
};

#endif
