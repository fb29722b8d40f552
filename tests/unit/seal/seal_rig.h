/* SPDX-License-Identifier: Apache-2.0 */
/* Two ends of a protected connection in one thread, and the bytes between them. */
#ifndef UNIT_SEAL_RIG_H
#define UNIT_SEAL_RIG_H

#include "base/base_test.h"
#include "seal/seal.h"
#include "tcpx/err.h"

struct wire {
	uint8_t bytes[4 * (TCPX_SEAL_BLOCK + TCPX_SEAL_ROOM)];
	size_t len;
};

/* Opener and acceptor of one connection, with their room. */
struct ends {
	const struct tcpx_seal_ops *ops;
	struct tcpx_seal *opener, *acceptor;
};

/* A key that belongs to @name. */
struct tcpx_seal_psk psk_of(const char *name);
/* Both ends; acceptor's second key may be NULL. */
struct ends ends_open(const struct tcpx_seal_ops *ops, struct tcpx_seal_lib *lib,
		      const char *opener, const char *acceptor, const char *second);
void ends_close(struct ends *e);

/* Appends to @w what @s has to send, sealing @plain first. */
void take(const struct tcpx_seal_ops *ops, struct tcpx_seal *s, const void *plain, size_t len,
	  struct wire *w);
/* Gives all of @w to @s and empties it: plaintext into @out, or an error. */
ssize_t feed(const struct tcpx_seal_ops *ops, struct tcpx_seal *s, struct wire *w, void *out,
	     size_t cap);
/* Carries flights until both ends are silent. 0 or the first error of an end; the other end gets
 * what there is to say about it. */
int shake(struct ends *e);
/* The flights of a whole handshake: 0 the opener's hello, 1 the answer, 2 the opener's proof. */
void record_flights(const struct ends *e, struct wire flights[3]);
/* Sends @text both ways and compares. */
void talk(struct ends *e, const char *text);

#endif
