/* SPDX-License-Identifier: Apache-2.0 */
/* Payload of the engine's own memory, sent without a copy. */
#ifndef NET_SOCK_LEND_H
#define NET_SOCK_LEND_H

#include <stdatomic.h>
#include "net/net.h"
#include "net/sock/pipe.h"

#define TCPX_SOCK_ZEROCOPIES     64  /* most MSG_ZEROCOPY calls of a channel in flight */

/*
 * How a sending channel lends pages. Bytes in the pipe count as unsent: if the pipe is
 * dropped, plain send continues the message from the same place.
 */
struct tcpx_sock_lend {
	enum tcpx_lend way;         /* of the open message */
	_Atomic int shown;          /* way of the last message that was large enough: enum tcpx_lend */
	_Atomic uint64_t bytes;     /* lent so far; by MSG_ZEROCOPY: as reported */
	_Atomic bool any;           /* some may have been                         */
	bool no_splice, no_msg;     /* the kernel refused: never again on this channel */
	bool msg_set;               /* SO_ZEROCOPY is */
	struct tcpx_sock_pipe pipe; /* of the open message */
	size_t piped;               /* bytes in it, the first of what is unsent */
	uint32_t calls;             /* with MSG_ZEROCOPY, ever: the kernel numbers them like this */
	uint32_t pending;           /* of these, not yet reported on */
	bool saved, copied;         /* the kernel lent some of the others, copied some */
	uint32_t call_bytes[TCPX_SOCK_ZEROCOPIES];
};

/* What decides how one message is sent. */
struct tcpx_sock_lend_facts {
	enum tcpx_lend want; /* as set */
	bool stable;
	uint32_t len;
	int pipe;            /* 0: the message has one; -EAGAIN: all are in use; else there are none */
	bool no_msg;         /* MSG_ZEROCOPY was refused */
	uint32_t calls;      /* with it so far */
	bool saved, copied;  /* the kernel lent some of these, copied some */
};
/* OFF, SPLICE or MSG. */
enum tcpx_lend tcpx_sock_lend_plan(const struct tcpx_sock_lend_facts *f);
/* Chooses how the message that begins is sent. */
void tcpx_sock_lend_begin(struct tcpx_chan *c, const struct tcpx_tx_msg *m);
/* Whether tcpx_sock_lend_some() sends the next payload bytes. */
bool tcpx_sock_lend_is_on(const struct tcpx_chan *c, const struct tcpx_tx_msg *m);
/* Bytes that the socket took; 0: plain send sends the rest of the message; -EAGAIN: the
 * socket is full or no pieces are left; or a code. *full: the socket has no room left. */
ssize_t tcpx_sock_lend_some(struct tcpx_chan *c, struct tcpx_tx_msg *m, bool *full);
/* The message is in the kernel as a whole. */
void tcpx_sock_lend_end(struct tcpx_chan *c);
/* Reads the kernel's reports on earlier calls, which also clears EPOLLERR. */
void tcpx_sock_lend_settle(struct tcpx_chan *c);
/* The MSG_ZEROCOPY calls of these numbers have completed. */
void tcpx_sock_lend_done(struct tcpx_sock_lend *l, uint32_t first, uint32_t last, bool copied);
void tcpx_sock_lend_close(struct tcpx_chan *c);
/* As tcpx_stream_chan_ops says. */
void tcpx_sock_chan_recall(struct tcpx_chan *c);

#endif
