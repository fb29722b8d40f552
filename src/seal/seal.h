/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end of a connection whose peer proves the shared secret, and whose bytes nobody else reads
 * or alters. Bytes come in and go out as arguments: a body knows no descriptor and no clock.
 *
 * Two bodies: TLS 1.3 with a pre-shared key (seal/tls.h), and one for simulator and fuzzers beside
 * the tests. The library of TLS is OpenSSL, 1.1.1 or later; GnuTLS is not supported.
 */
#ifndef SEAL_SEAL_H
#define SEAL_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A pre-shared key of TLS, and the identity by which the acceptor finds it. */
struct tcpx_seal_psk {
	uint8_t id[32];
	uint8_t id_len; /* 1 to 32 */
	uint8_t key[32];
};

struct tcpx_seal;     /* one end of one protected connection; one thread at a time */
struct tcpx_seal_lib; /* what a body needs of a whole engine; any thread */

#define TCPX_SEAL_BLOCK 16384u /* most plaintext of one take() */
#define TCPX_SEAL_ROOM	1024u  /* out of take() has room for its plaintext and this */

/*
 * A body. Errors of feed() are not logged, since only the caller knows the peer and how often it
 * tries: their text is in tcpx_err_last(). After an error nothing more is read; take() still gives
 * the alert for the peer.
 */
struct tcpx_seal_ops {
	const char *name;
	/* Opener: @count is 1. Acceptor: the keys that it accepts, at most 2. @psk is copied. Logged
	 * errors; -ENOMEM; TCPX_ECLOSED while the process ends. */
	int (*start)(struct tcpx_seal_lib *lib, bool opener, const struct tcpx_seal_psk *psk,
		     uint32_t count, struct tcpx_seal **out);
	/* Wipes and frees, without a word to the peer. NULL allowed. */
	void (*end)(struct tcpx_seal *s);
	/*
	 * Takes in bytes of the connection: all of them, @len may be 0. Gives at most @cap bytes of
	 * plaintext; 0: none yet. Call again with @len 0 while it gives @cap bytes. An error behind
	 * plaintext comes with the next call.
	 * TCPX_EAUTH: the proof failed (wrong secret, wrong binder, no common key);
	 * TCPX_EPROTO: no TLS, or a broken record; TCPX_EPEERGONE: orderly close by the peer;
	 * TCPX_ECLOSED: this process ends, and the library beneath has gone.
	 */
	ssize_t (*feed)(struct tcpx_seal *s, const void *in, size_t len, void *out, size_t cap);
	/* Seals @len bytes, 0 until proven(), at most TCPX_SEAL_BLOCK. Gives all bytes to send, those
	 * of handshake and alerts before. @cap >= @len + TCPX_SEAL_ROOM. 0: nothing to send. An error
	 * seals nothing: TCPX_ESTATE (@len before proven() or after an error), -EINVAL, -ENOMEM. */
	ssize_t (*take)(struct tcpx_seal *s, const void *plain, size_t len, void *out, size_t cap);
	/* Called now and then: gives back the memory that only a busy connection needs, if few
	 * records came and went since the last call. */
	void (*rest)(struct tcpx_seal *s);
	/* This side has checked the peer's Finished, and a key of start() was used. */
	bool (*proven)(const struct tcpx_seal *s);
	/* Keying material bound to the connection (RFC 8446 7.5): equal on both sides, another for
	 * each label, context and connection. TCPX_ESTATE before proven(). */
	int (*export)(struct tcpx_seal *s, const char *label, const void *context,
		      size_t context_len, void *out, size_t out_len);
};

#endif
