/* SPDX-License-Identifier: Apache-2.0 */
/* What two engines agree on before the first byte. Lease and lock held. A code is the reason for
 * which the caller fails the session; with 0 it may have failed already. */
#ifndef CORE_SESSION_HANDSHAKE_H
#define CORE_SESSION_HANDSHAKE_H

#include <stdint.h>

#include "core/session/session.h"

/* Opener: the connection stands; sends HELLO. */
int tcpx_handshake_start(struct session *s);
/* Opener: forgets an attempt that was cut. -EAGAIN: its channels are not closed yet, and their
 * loops wake this one. */
int tcpx_handshake_forget(struct session *s);
/* Why a HELLO is refused: for the log here, and for the peer. */
struct tcpx_refusal {
	char why[320], answer[TCPX_TEXT_MAX];
	uint32_t wait_ms; /* until the peer may come again; 0: nothing is known of that */
};

/* Acceptor: is the HELLO of a connection that reached @at acceptable? It leaves no trace. No lock. */
int tcpx_handshake_check(const struct tcpx_engine *e, const struct tcpx_hello *h,
			 const struct tcpx_addr *at, struct tcpx_refusal *no);
/* Acceptor: puts the answer to that HELLO. No lock. */
int tcpx_handshake_answer(struct tcpx_engine *e, const struct tcpx_hello *theirs, struct tcpx_ctrl *ctrl);
/* Acceptor: that HELLO, of s->peer; @answer: it is not answered yet. */
int tcpx_handshake_accept(struct session *s, const struct tcpx_hello *h, bool answer, uint64_t now_ns);
/* Frames until the session is open. */
int tcpx_handshake_frame(struct session *s, const struct tcpx_frame_head *h,
			 const uint8_t *payload, uint64_t now_ns);
/* Both sides are READY: the session is open. */
void tcpx_handshake_done(struct session *s, uint64_t now_ns);
/* The time limit for channels, from HANDLES to READY. The opener, who knows what it has
 * tried, gives up first and says so. */
uint64_t tcpx_wiring_patience(const struct session *s);

#endif
