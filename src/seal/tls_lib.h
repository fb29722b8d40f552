/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which TLS we speak: version 1.3, TLS_AES_128_GCM_SHA256, X25519, a pre-shared key with (EC)DHE.
 * No certificate, ticket, early data or stored session. A context for each role.
 */
#ifndef SEAL_TLS_LIB_H
#define SEAL_TLS_LIB_H

#include "seal/openssl.h"
#include "seal/seal.h"

/* So many records under one key: RFC 8446 5.5 allows 2^24.5 of full size. */
#define TCPX_TLS_RECORDS_MAX (1ull << 22)

struct tcpx_seal_lib {
	struct tcpx_openssl api;
	OSSL_LIB_CTX *own; /* NULL in 1.1.1 */
	SSL_CTX *opener, *acceptor;
	BIO_METHOD *method;
	uint64_t records_max;
};

/* What a connection's OpenSSL reads and leaves. */
struct tcpx_tls_proof {
	const struct tcpx_openssl *api;
	struct tcpx_tls_bytes *bytes;
	struct tcpx_seal_psk psk[2];
	uint32_t count;
	int alert_sent, alert_received; /* -1: none */
};

/* Loads OpenSSL. TCPX_ECONFIG (logged), -ENOMEM. */
int tcpx_tls_lib_open(struct tcpx_seal_lib **out);
/* After the last connection's end(). NULL allowed. */
void tcpx_tls_lib_close(struct tcpx_seal_lib *lib);
/* HMAC-SHA256 of @data. 0 or TCPX_ECONFIG (logged). */
int tcpx_tls_lib_mac(const struct tcpx_seal_lib *lib, const char *key, const void *data, size_t len,
		     uint8_t mac[32]);

#endif
