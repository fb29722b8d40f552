/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who speaks, and to whom? With one secret for many engines, knowing it does not say who knows it
 * (RFC 9257, section 4): a connection meant for one of them could be led to another, or back to
 * its sender. Values in, a code and its text out.
 */
#ifndef CORE_SESSION_IDENTITY_H
#define CORE_SESSION_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"

/* This side. */
struct tcpx_identity {
	const char *name;
	uint64_t incarnation;
	bool secret;           /* the peer has proved that it knows ours            */
	uint64_t peer;         /* opener: the incarnation that was dialled; 0: any  */
	const char *peer_name; /* ... and the name; "": any                         */
};

/* Is @h meant for this side, and of the peer that was dialled? @at: acceptor: the address at which
 * it was reached; else NULL. 0, TCPX_EPEERGONE or TCPX_EAUTH, with the text. */
int tcpx_identity_hello(const struct tcpx_identity *us, const struct tcpx_hello *h,
			const struct tcpx_addr *at, char *why, size_t cap);
/* Is @r the peer's, for this side and the session of this token? */
bool tcpx_identity_resume(const struct tcpx_identity *us, const struct tcpx_resume *r,
			  const uint8_t token[16]);
/* The answer to "is this session known?", which came to @at and is not. TCPX_ESTALLED: this engine
 * was meant; TCPX_EPEERGONE: an earlier one at this address; TCPX_EAUTH: another, so nobody can say. */
int tcpx_identity_ask(const struct tcpx_identity *us, const struct tcpx_resume *r,
		      const struct tcpx_addr *at);

#endif
