/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenSSL's contexts. Each setting that matters is set here, whatever openssl.cnf says. With 3 they
 * stand in a library context of our own, with OpenSSL's own algorithms.
 */
#include "seal/tls_lib.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "seal/tls_bytes.h"
#include "seal/tls_current.h"

/* A key as the session that it would resume, or NULL. */
static SSL_SESSION *
session_of(const struct tcpx_openssl *api, SSL *ssl, const struct tcpx_seal_psk *psk)
{
	static const unsigned char aes_128_gcm_sha256[2] = { 0x13, 0x01 };
	const SSL_CIPHER *cipher = api->SSL_CIPHER_find(ssl, aes_128_gcm_sha256);
	SSL_SESSION *session = api->SSL_SESSION_new();

	if (session && cipher &&
	    api->SSL_SESSION_set1_master_key(session, psk->key, sizeof(psk->key)) == 1 &&
	    api->SSL_SESSION_set_cipher(session, cipher) == 1 &&
	    api->SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
		return session;
	api->SSL_SESSION_free(session);
	return NULL;
}

/* The opener's key. The session becomes OpenSSL's. */
static int
use_psk(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *id_len, SSL_SESSION **session)
{
	const struct tcpx_tls_proof *p = tcpx_tls_current();

	*session = session_of(p->api, ssl, &p->psk[0]);
	*id = p->psk[0].id;
	*id_len = p->psk[0].id_len;
	return *session != NULL;
}

/* The acceptor's key of an identity, which is no secret; without one there is no handshake. */
static int
find_psk(SSL *ssl, const unsigned char *id, size_t id_len, SSL_SESSION **session)
{
	const struct tcpx_tls_proof *p = tcpx_tls_current();

	*session = NULL;
	for (uint32_t i = 0; i < p->count; i++) {
		if (p->psk[i].id_len != id_len || memcmp(p->psk[i].id, id, id_len))
			continue;
		*session = session_of(p->api, ssl, &p->psk[i]);
		return *session != NULL;
	}
	return 1;
}

static void
note_alert(const SSL *ssl, int where, int value)
{
	if (where == SSL_CB_WRITE_ALERT)
		tcpx_tls_current()->alert_sent = value & 0xff;
	else if (where == SSL_CB_READ_ALERT)
		tcpx_tls_current()->alert_received = value & 0xff;
}

static bool
set_up(const struct tcpx_openssl *api, SSL_CTX *ctx, bool opener)
{
	if (api->SSL_CTX_ctrl(ctx, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION, NULL) != 1 ||
	    api->SSL_CTX_ctrl(ctx, SSL_CTRL_SET_MAX_PROTO_VERSION, TLS1_3_VERSION, NULL) != 1 ||
	    api->SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256") != 1 ||
	    api->SSL_CTX_ctrl(ctx, SSL_CTRL_SET_GROUPS_LIST, 0, (void *)"X25519") != 1 ||
	    api->SSL_CTX_set_num_tickets(ctx, 0) != 1 ||
	    api->SSL_CTX_set_max_early_data(ctx, 0) != 1 ||
	    api->SSL_CTX_set_recv_max_early_data(ctx, 0) != 1 ||
	    api->SSL_CTX_set_block_padding(ctx, 0) != 1)
		return false;
	api->SSL_CTX_ctrl(ctx, SSL_CTRL_SET_SESS_CACHE_MODE, 0, NULL);
	/* until the connection is busy: see seal/tls.c */
	api->SSL_CTX_ctrl(ctx, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, NULL);
	/* a key alone, without (EC)DHE, would open old recordings once the secret is known */
	api->SSL_CTX_clear_options(ctx, SSL_OP_ALLOW_NO_DHE_KEX | SSL_OP_ENABLE_MIDDLEBOX_COMPAT);
	api->SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION |
				 SSL_OP_NO_RENEGOTIATION);
	/* no root is known, so a certificate in place of the key is refused */
	api->SSL_CTX_set_verify(ctx, opener ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, NULL);
	api->SSL_CTX_set_info_callback(ctx, note_alert);
	if (opener)
		api->SSL_CTX_set_psk_use_session_callback(ctx, use_psk);
	else
		api->SSL_CTX_set_psk_find_session_callback(ctx, find_psk);
	return true;
}

static SSL_CTX *
new_context(const struct tcpx_seal_lib *lib, bool opener)
{
	const struct tcpx_openssl *api = &lib->api;
	SSL_CTX *ctx = lib->own ? api->SSL_CTX_new_ex(lib->own, NULL, api->TLS_method()) :
				  api->SSL_CTX_new(api->TLS_method());

	if (ctx && set_up(api, ctx, opener))
		return ctx;
	api->SSL_CTX_free(ctx);
	return NULL;
}

static bool
start_library(struct tcpx_seal_lib *lib)
{
	const struct tcpx_openssl *api = &lib->api;

	if (!tcpx_openssl_start(api) || !tcpx_tls_enter(lib, NULL))
		return false;
	if (api->OSSL_LIB_CTX_new && api->SSL_CTX_new_ex && api->BIO_new_ex)
		lib->own = api->OSSL_LIB_CTX_new();
	if (lib->own || !api->OSSL_LIB_CTX_new) {
		lib->opener = new_context(lib, true);
		lib->acceptor = new_context(lib, false);
		lib->method = tcpx_tls_bytes_method(api);
	}
	tcpx_tls_leave(lib);
	return lib->opener && lib->acceptor && lib->method;
}

int
tcpx_tls_lib_open(struct tcpx_seal_lib **out)
{
	struct tcpx_seal_lib *lib = calloc(1, sizeof(*lib));
	int rc;

	if (!lib)
		return -ENOMEM;
	lib->records_max = TCPX_TLS_RECORDS_MAX;
	rc = tcpx_openssl_load(&lib->api);
	if (rc) {
		free(lib);
		return rc;
	}
	if (!start_library(lib)) {
		tcpx_tls_lib_close(lib);
		return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG,
				 "TCPX_SECRET_FILE is set, but the OpenSSL here refuses TLS 1.3 with "
				 "TLS_AES_128_GCM_SHA256 and X25519");
	}
	*out = lib;
	return 0;
}

void
tcpx_tls_lib_close(struct tcpx_seal_lib *lib)
{
	if (!lib)
		return;
	if (tcpx_tls_enter(lib, NULL)) {
		lib->api.SSL_CTX_free(lib->opener);
		lib->api.SSL_CTX_free(lib->acceptor);
		lib->api.BIO_meth_free(lib->method);
		if (lib->own)
			lib->api.OSSL_LIB_CTX_free(lib->own);
		tcpx_tls_leave(lib);
	}
	free(lib);
}

int
tcpx_tls_lib_mac(const struct tcpx_seal_lib *lib, const char *key, const void *data, size_t len,
		 uint8_t mac[32])
{
	const struct tcpx_openssl *api = &lib->api;
	unsigned mac_len = 0;
	bool done = false;

	if (tcpx_tls_enter(lib, NULL)) {
		done = api->HMAC(api->EVP_sha256(), key, (int)strlen(key), data, len, mac, &mac_len);
		tcpx_tls_leave(lib);
	}
	if (done && mac_len == 32)
		return 0;
	return tcpx_fail(TCPX_SUB_INIT, TCPX_ECONFIG,
			 "TCPX_SECRET_FILE is set, but the OpenSSL here refuses HMAC-SHA256");
}
