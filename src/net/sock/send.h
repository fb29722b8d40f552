/* SPDX-License-Identifier: Apache-2.0 */
/* The sending side of a channel: operations of the sock provider; the contracts are in net.h. */
#ifndef NET_SOCK_SEND_H
#define NET_SOCK_SEND_H

#include "net/net.h"
#include "net/sock/lend.h"
#include "net/sock/wire.h"

#define TCPX_SOCK_HOLD_MAX   (16u << 10) /* payload of a message held for the next */
#define TCPX_SOCK_HELD_BYTES (64u << 10) /* most held bytes of a channel */

/*
 * Held messages: whole, and waiting to leave in one call with the next one. [pos, len) of mem
 * is not in the socket yet; until it is, no byte of a later message is.
 */
struct tcpx_sock_held {
	uint8_t *mem; /* TCPX_SOCK_HELD_BYTES, made when first used */
	size_t pos, len;
};

struct tcpx_sock_tx {
	bool open;     /* a message is under way */
	bool summed;   /* the newest one is: so are acknowledgements */
	size_t pos;    /* its bytes in the socket: header, payload and trailer */
	uint64_t last; /* newest seq that is held or in the kernel as a whole */
	struct tcpx_sock_held held;
	uint8_t head[TCPX_SOCK_HEAD_BYTES];
	uint8_t tail[TCPX_SOCK_TAIL_BYTES];
	struct tcpx_ack acked; /* last one returned to the core */
	uint8_t in[16 * TCPX_SOCK_ACK_BYTES]; /* in_got bytes of acknowledgements */
	size_t in_got;
	struct tcpx_sock_lend lend; /* payload that the kernel reads in place */
};

int tcpx_sock_chan_send(struct tcpx_chan *c, struct tcpx_tx_msg *m);
int tcpx_sock_chan_acked(struct tcpx_chan *c, struct tcpx_ack *ack);

#endif
