/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a connection's OpenSSL reads and writes: the memory of the caller, without a copy between.
 * What it says while nobody takes it waits here.
 */
#ifndef SEAL_TLS_BYTES_H
#define SEAL_TLS_BYTES_H

#include "seal/openssl.h"
#include "seal/seal.h"

/* take() may add so much after what waits: a change of key, a record's own bytes. */
#define TCPX_TLS_TAKE_ADDS 128u

struct tcpx_tls_bytes {
	const struct tcpx_openssl *api;
	const uint8_t *in; /* not read yet; borrowed for one feed(), or in kept */
	size_t in_len;
	uint8_t *kept;     /* owned */
	uint8_t *out;      /* where it writes: said, or a taker's */
	size_t out_len, out_cap;
	bool full;         /* it wanted to write more */
	uint8_t said[TCPX_SEAL_ROOM - TCPX_TLS_TAKE_ADDS];
};

/* A kind of BIO for those of tcpx_tls_current(). NULL: no memory. BIO_meth_free() frees it. */
BIO_METHOD *tcpx_tls_bytes_method(const struct tcpx_openssl *api);
/* @b is zeroed. */
void tcpx_tls_bytes_init(struct tcpx_tls_bytes *b, const struct tcpx_openssl *api);
void tcpx_tls_bytes_free(struct tcpx_tls_bytes *b);
/* Adds to what can be read; @in is borrowed until keep(). -ENOMEM. */
int tcpx_tls_bytes_give(struct tcpx_tls_bytes *b, const void *in, size_t len);
/* Copies what was not read. -ENOMEM. */
int tcpx_tls_bytes_keep(struct tcpx_tls_bytes *b);
/* What was said goes to @out, and until taken() what more is written. @cap >= TCPX_SEAL_ROOM. */
void tcpx_tls_bytes_take(struct tcpx_tls_bytes *b, void *out, size_t cap);
/* How many bytes lie in that @out. */
size_t tcpx_tls_bytes_taken(struct tcpx_tls_bytes *b);

#endif
