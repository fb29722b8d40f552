/* SPDX-License-Identifier: Apache-2.0 */
/* What only the TLS body promises: to an application that uses OpenSSL, too, and against
 * certificates. */
#include "seal_rig.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <string.h>

#include "base/err.h"

#include "seal/tls.h"
#include "seal/tls_lib.h"

#define CRYPTO(result, name, params)                                                          \
	result(*name) params = (result(*) params)dlsym(lib->api.crypto, #name)
#define SSL_(result, name, params) result(*name) params = (result(*) params)dlsym(lib->api.ssl, #name)

enum { ERR_LIB_USER = 128 };

static struct tcpx_seal_lib *lib;
static const struct tcpx_seal_ops *const ops = &tcpx_seal_tls_ops;

static void
application_error(int reason)
{
	CRYPTO(void, ERR_put_error, (int of, int function, int reason, const char *file, int line));
	CRYPTO(void, ERR_new, (void));
	CRYPTO(void, ERR_set_error, (int of, int reason, const char *format, ...));

	if (ERR_put_error) { /* 1.1.1 */
		ERR_put_error(ERR_LIB_USER, 0, reason, "application.c", 1);
		return;
	}
	ERR_new();
	ERR_set_error(ERR_LIB_USER, reason, NULL);
}

/* OpenSSL's own handshake empties the queue of its thread; nothing else of ours touches it. */
TEST(errors_of_the_application_stay)
{
	struct ends e = ends_open(ops, lib, "s", "other", NULL);
	unsigned long (*get)(void);
	uint8_t out[TCPX_SEAL_ROOM];

	*(void **)&get = dlsym(lib->api.crypto, "ERR_get_error");
	assert_non_null(get);
	/* a handshake that fails, and one that does not */
	assert_int_equal(shake(&e), TCPX_EAUTH);
	ends_close(&e);
	assert_int_equal(get(), 0);
	e = ends_open(ops, lib, "s", "s", NULL);
	assert_int_equal(shake(&e), 0);
	assert_int_equal(get(), 0);
	/* data, with a queue that is empty and one that is not, and a broken record */
	talk(&e, "hello");
	assert_int_equal(get(), 0);
	application_error(42);
	application_error(43);
	talk(&e, "hello");
	assert_int_equal(ops->feed(e.acceptor, "\x17\x03\x03\x00\x14" "20 bytes of anything", 25, out, 64),
			 TCPX_EPROTO);
	assert_true(ops->take(e.acceptor, NULL, 0, out, sizeof(out)) > 0);
	ends_close(&e);
	assert_int_equal(get() & 0xfff, 42);
	assert_int_equal(get() & 0xfff, 43);
	assert_int_equal(get(), 0);
}

static size_t
bytes_used(void)
{
	return mallinfo2().uordblks;
}

/* Buffers come with traffic, and go when rest() has twice seen little of it. */
TEST(a_silent_connection_gives_memory_back)
{
	struct ends e = ends_open(ops, lib, "s", "s", NULL);
	size_t silent, busy;

	assert_int_equal(shake(&e), 0);
	talk(&e, "hello");
	silent = bytes_used();
	for (int i = 0; i < 40; i++)
		talk(&e, "hello");
	busy = bytes_used();
	for (int i = 0; i < 2; i++) {
		ops->rest(e.opener);
		ops->rest(e.acceptor);
		talk(&e, "hello");
		/* a sanitizer's allocator counts nothing */
		assert_true(!silent || i == 1 || bytes_used() > silent + 60000);
	}
	assert_true(!silent || (busy > silent + 60000 && bytes_used() < silent + 2000));
	ends_close(&e);
}

/* --- an acceptor of OpenSSL with a certificate --- */

typedef struct evp_pkey_st EVP_PKEY;
typedef struct evp_pkey_ctx_st EVP_PKEY_CTX;
typedef struct x509_st X509;

enum { NID_ED25519 = 1087 };

static SSL_CTX *
with_certificate(void)
{
	CRYPTO(EVP_PKEY_CTX *, EVP_PKEY_CTX_new_id, (int id, void *engine));
	CRYPTO(void, EVP_PKEY_CTX_free, (EVP_PKEY_CTX *ctx));
	CRYPTO(int, EVP_PKEY_keygen_init, (EVP_PKEY_CTX *ctx));
	CRYPTO(int, EVP_PKEY_keygen, (EVP_PKEY_CTX *ctx, EVP_PKEY **key));
	CRYPTO(void, EVP_PKEY_free, (EVP_PKEY *key));
	CRYPTO(X509 *, X509_new, (void));
	CRYPTO(void, X509_free, (X509 *cert));
	CRYPTO(int, X509_set_pubkey, (X509 *cert, EVP_PKEY *key));
	CRYPTO(void *, X509_getm_notBefore, (X509 *cert));
	CRYPTO(void *, X509_getm_notAfter, (X509 *cert));
	CRYPTO(void *, X509_gmtime_adj, (void *when, long seconds));
	CRYPTO(int, X509_sign, (X509 *cert, EVP_PKEY *key, const EVP_MD *md));
	SSL_(int, SSL_CTX_use_certificate, (SSL_CTX *ctx, X509 *cert));
	SSL_(int, SSL_CTX_use_PrivateKey, (SSL_CTX *ctx, EVP_PKEY *key));
	EVP_PKEY_CTX *make = EVP_PKEY_CTX_new_id(NID_ED25519, NULL);
	SSL_CTX *ctx = lib->api.SSL_CTX_new(lib->api.TLS_method());
	EVP_PKEY *key = NULL;
	X509 *cert = X509_new();

	assert_true(make && cert && ctx);
	assert_int_equal(EVP_PKEY_keygen_init(make), 1);
	assert_int_equal(EVP_PKEY_keygen(make, &key), 1);
	assert_non_null(X509_gmtime_adj(X509_getm_notBefore(cert), -3600));
	assert_non_null(X509_gmtime_adj(X509_getm_notAfter(cert), 3600));
	assert_int_equal(X509_set_pubkey(cert, key), 1);
	assert_true(X509_sign(cert, key, NULL) > 0);
	assert_int_equal(SSL_CTX_use_certificate(ctx, cert), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(ctx, key), 1);
	X509_free(cert);
	EVP_PKEY_free(key);
	EVP_PKEY_CTX_free(make);
	return ctx;
}

/* What our opener makes of a server that has a good certificate and not our key, and says of it. */
static int
meet_certificate(SSL_CTX *ctx, char why[256])
{
	const struct tcpx_openssl *api = &lib->api;
	CRYPTO(const BIO_METHOD *, BIO_s_mem, (void));
	CRYPTO(int, BIO_read, (BIO *bio, void *data, int len));
	CRYPTO(int, BIO_write, (BIO *bio, const void *data, int len));
	BIO *in = api->BIO_new(BIO_s_mem()), *out = api->BIO_new(BIO_s_mem());
	struct tcpx_seal_psk psk = psk_of("s");
	struct tcpx_seal *s;
	SSL *server = api->SSL_new(ctx);
	uint8_t bytes[8192], none[16];
	ssize_t n;
	int len;

	assert_int_equal(ops->start(lib, true, &psk, 1, &s), 0);
	api->SSL_set_bio(server, in, out);
	api->SSL_set_accept_state(server);
	n = ops->take(s, NULL, 0, bytes, sizeof(bytes));
	assert_int_equal(BIO_write(in, bytes, (int)n), n);
	api->SSL_do_handshake(server);
	len = BIO_read(out, bytes, sizeof(bytes));
	assert_true(len > 300); /* it did answer with its certificate */
	n = ops->feed(s, bytes, (size_t)len, none, sizeof(none));
	tcpx_err_last(why, 256);
	assert_false(ops->proven(s));
	assert_int_equal(ops->take(s, "x", 1, bytes, sizeof(bytes)), TCPX_ESTATE);
	ops->end(s);
	api->SSL_free(server);
	return (int)n;
}

TEST(a_certificate_is_not_taken)
{
	SSL_CTX *ctx = with_certificate();
	char why[256];

	assert_int_equal(meet_certificate(ctx, why), TCPX_EAUTH);
	check_has(why, "certificate verify failed");
	/* were it believed, the handshake would end well, and yet without our key */
	lib->api.SSL_CTX_set_verify(lib->opener, SSL_VERIFY_NONE, NULL);
	assert_int_equal(meet_certificate(ctx, why), TCPX_EAUTH);
	check_has(why, "the peer ended the handshake without our key");
	lib->api.SSL_CTX_set_verify(lib->opener, SSL_VERIFY_PEER, NULL);
	lib->api.SSL_CTX_free(ctx);
}

/* --- several engines at once --- */

static void *
live(void *arg)
{
	struct tcpx_seal_lib *own = arg, *other;
	uint8_t a[32], b[32];

	for (int i = 0; i < 20; i++) {
		struct ends e = ends_open(ops, own, "s", i % 2 ? "s" : "other", NULL);
		int rc = shake(&e);

		assert_int_equal(rc, i % 2 ? 0 : TCPX_EAUTH);
		if (rc == 0) {
			assert_int_equal(ops->export(e.opener, "l", NULL, 0, a, 32), 0);
			assert_int_equal(ops->export(e.acceptor, "l", NULL, 0, b, 32), 0);
			assert_memory_equal(a, b, 32);
		}
		ends_close(&e);
	}
	assert_int_equal(tcpx_tls_lib_open(&other), 0);
	tcpx_tls_lib_close(other);
	return NULL;
}

TEST(engines_and_threads_do_not_meet)
{
	struct tcpx_seal_lib *second;
	pthread_t threads[6];

	assert_int_equal(tcpx_tls_lib_open(&second), 0);
	for (int i = 0; i < 6; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, live, i % 2 ? lib : second), 0);
	for (int i = 0; i < 6; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	tcpx_tls_lib_close(second);
}

int
main(void)
{
	int rc;

	if (tcpx_tls_lib_open(&lib)) {
		print_message("1..0 # SKIP no OpenSSL here\n");
		return 0;
	}
	rc = run_cases(NULL, NULL);
	tcpx_tls_lib_close(lib);
	return rc;
}
