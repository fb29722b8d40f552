/* SPDX-License-Identifier: Apache-2.0 */
/* The receiving side's answers. session.lock held unless noted. */
#ifndef CORE_TRANSFER_ANSWER_H
#define CORE_TRANSFER_ANSWER_H

#include <stdint.h>

#include "core/transfer/transfer.h"

struct channel;

void tcpx_answer_done(struct session *s, uint64_t id, int code, uint64_t bytes, const char *text,
		     const void *payload, uint16_t payload_len);
/* Ends it on both sides; @theirs: the text for the peer. */
void tcpx_answer_fail(struct session *s, struct tcpx_xfer *x, int code, const char *theirs,
		     const char *text);
/* Its memory cannot be copied from or to ("cannot be read"): ends it on both sides. */
void tcpx_answer_unusable(struct session *s, struct tcpx_xfer *x, int code, const char *what);
/* The same for a chunk of it, if it has not ended since. No lock held. */
void tcpx_answer_broken(struct channel *c, struct payload *p, uint64_t id, int code,
		       const char *what);
/* SEND: x (a receive, not in any chain, x->session set) takes the message. */
void tcpx_answer_match(struct session *s, struct tcpx_xfer *x, uint64_t id, uint64_t total,
		       uint32_t chunk, const uint8_t *payload);
/* Completes a receiving transfer: all its chunks are in place. A READ waits until its note may go. */
void tcpx_answer_filled(struct session *s, struct tcpx_xfer *x);
/* The peer has taken over so many notes more: what waits for that goes on. TCPX_EPROTO. */
int tcpx_answer_noted(struct session *s, uint64_t count);

#endif
