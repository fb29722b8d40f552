/* SPDX-License-Identifier: Apache-2.0 */
/* The receiving side of a channel; the contracts are in net.h. */
#ifndef NET_SOCK_RECV_H
#define NET_SOCK_RECV_H

#include "net/net.h"
#include "net/sock/wire.h"

/*
 * Between two payloads lies the seam: the trailer of one message and the header of the next.
 * It is read together with the end of the payload before it. Reading ahead never hides a
 * message from the poller, since every header has a trailer still to come.
 */
struct tcpx_sock_rx {
	uint8_t seam[TCPX_SOCK_TAIL_BYTES + TCPX_SOCK_HEAD_BYTES];
	size_t seam_got;
	bool open; /* cur was returned and has not ended */
	struct tcpx_head cur;
	size_t pos;           /* payload bytes taken */
	uint64_t last;        /* newest seq ended */
	uint32_t sum;         /* that came behind its payload */
	struct tcpx_ack acked; /* newest acknowledgement whose record has begun */
	uint8_t out[TCPX_SOCK_ACK_BYTES];
	size_t out_left; /* bytes of its record that are not in the kernel yet */
};

int tcpx_sock_chan_recv_head(struct tcpx_chan *c, struct tcpx_head *head);
uint32_t tcpx_sock_chan_sum(const struct tcpx_chan *c);
ssize_t tcpx_sock_chan_recv(struct tcpx_chan *c, struct iovec *iov, int iov_count);
int tcpx_sock_chan_ack(struct tcpx_chan *c, const struct tcpx_ack *ack);

#endif
