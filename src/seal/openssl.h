/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of OpenSSL's interface that is used. It is found at run time: a build needs no header of
 * it, and an engine without a secret does not load it. Numbers are those of 1.1.1 and of 3.
 */
#ifndef SEAL_OPENSSL_H
#define SEAL_OPENSSL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As in the library's own headers. */
typedef struct ossl_lib_ctx_st OSSL_LIB_CTX;
typedef struct ssl_method_st SSL_METHOD;
typedef struct ssl_ctx_st SSL_CTX;
typedef struct ssl_st SSL;
typedef struct ssl_session_st SSL_SESSION;
typedef struct ssl_cipher_st SSL_CIPHER;
typedef struct bio_st BIO;
typedef struct bio_method_st BIO_METHOD;
typedef struct evp_md_st EVP_MD;

typedef int (*tcpx_ssl_use_psk)(SSL *ssl, const EVP_MD *md, const unsigned char **id,
				size_t *id_len, SSL_SESSION **session);
typedef int (*tcpx_ssl_find_psk)(SSL *ssl, const unsigned char *id, size_t id_len,
				 SSL_SESSION **session);
typedef void (*tcpx_ssl_info)(const SSL *ssl, int where, int value);
typedef int (*tcpx_bio_read)(BIO *bio, char *out, int cap);
typedef int (*tcpx_bio_write)(BIO *bio, const char *in, int len);
typedef long (*tcpx_bio_control)(BIO *bio, int command, long number, void *pointer);

enum tcpx_openssl_number {
	TLS1_3_VERSION = 0x0304,
	SSL_CTRL_MODE = 33,
	SSL_CTRL_SET_SESS_CACHE_MODE = 44, /* 0: off */
	SSL_CTRL_CLEAR_MODE = 78,
	SSL_CTRL_SET_GROUPS_LIST = 92,
	SSL_CTRL_SET_MIN_PROTO_VERSION = 123,
	SSL_CTRL_SET_MAX_PROTO_VERSION = 124,
	SSL_MODE_RELEASE_BUFFERS = 0x10,
	SSL_READING = 3,
	BIO_TYPE_SOURCE_SINK = 0x400,
	BIO_CTRL_FLUSH = 11,
	BIO_FLAGS_READ = 1,
	BIO_FLAGS_SHOULD_RETRY = 8,
	BIO_FLAGS_ALL = 15,
	SSL_VERIFY_NONE = 0,
	SSL_VERIFY_PEER = 1,
	SSL_CB_READ_ALERT = 0x4004,
	SSL_CB_WRITE_ALERT = 0x4008,
	SSL_KEY_UPDATE_NOT_REQUESTED = 0,
	SSL_R_BINDER_DOES_NOT_VERIFY = 253,
};

#define SSL_OP_ALLOW_NO_DHE_KEX	     0x00000400ul
#define SSL_OP_NO_TICKET	     0x00004000ul
#define SSL_OP_NO_COMPRESSION	     0x00020000ul
#define SSL_OP_ENABLE_MIDDLEBOX_COMPAT 0x00100000ul
#define SSL_OP_NO_RENEGOTIATION	     0x40000000ul

#define OPENSSL_INIT_LOAD_CRYPTO_STRINGS 0x00000002ul
#define OPENSSL_INIT_NO_ATEXIT		 0x00080000ul
#define OPENSSL_INIT_LOAD_SSL_STRINGS	 0x00200000ul

/* X(result, name, parameters): of libcrypto. Those of OPTIONAL are of 1.1.1 or of 3 alone, and NULL
 * in the other. */
#define TCPX_OPENSSL_CRYPTO(X)                                                                \
	X(int, OPENSSL_atexit, (void (*handler)(void)))                                       \
	X(BIO_METHOD *, BIO_meth_new, (int type, const char *name))                           \
	X(void, BIO_meth_free, (BIO_METHOD * method))                                         \
	X(int, BIO_meth_set_read, (BIO_METHOD * method, tcpx_bio_read read))                  \
	X(int, BIO_meth_set_write, (BIO_METHOD * method, tcpx_bio_write write))               \
	X(int, BIO_meth_set_ctrl, (BIO_METHOD * method, tcpx_bio_control control))            \
	X(BIO *, BIO_new, (const BIO_METHOD *method))                                         \
	X(int, BIO_free, (BIO *bio))                                                          \
	X(void, BIO_set_flags, (BIO * bio, int flags))                                        \
	X(void, BIO_clear_flags, (BIO * bio, int flags))                                      \
	X(int, ERR_set_mark, (void))                                                          \
	X(int, ERR_pop_to_mark, (void))                                                       \
	X(unsigned long, ERR_peek_last_error, (void))                                         \
	X(const char *, ERR_reason_error_string, (unsigned long error))                       \
	X(const EVP_MD *, EVP_sha256, (void))                                                 \
	X(unsigned char *, HMAC, (const EVP_MD *md, const void *key, int key_len,             \
				  const unsigned char *data, size_t len, unsigned char *mac,  \
				  unsigned *mac_len))

#define TCPX_OPENSSL_OPTIONAL(X)                                                              \
	X(OSSL_LIB_CTX *, OSSL_LIB_CTX_new, (void))                                           \
	X(void, OSSL_LIB_CTX_free, (OSSL_LIB_CTX * ctx))                                      \
	X(BIO *, BIO_new_ex, (OSSL_LIB_CTX * ctx, const BIO_METHOD *method))

#define TCPX_OPENSSL_SSL(X)                                                                   \
	X(int, OPENSSL_init_ssl, (uint64_t options, const void *settings))                    \
	X(const SSL_METHOD *, TLS_method, (void))                                             \
	X(SSL_CTX *, SSL_CTX_new, (const SSL_METHOD *method))                                 \
	X(void, SSL_CTX_free, (SSL_CTX * ctx))                                                \
	X(long, SSL_CTX_ctrl, (SSL_CTX * ctx, int command, long number, void *pointer))       \
	X(uint64_t, SSL_CTX_set_options, (SSL_CTX * ctx, uint64_t options))                   \
	X(uint64_t, SSL_CTX_clear_options, (SSL_CTX * ctx, uint64_t options))                 \
	X(int, SSL_CTX_set_ciphersuites, (SSL_CTX * ctx, const char *names))                  \
	X(int, SSL_CTX_set_num_tickets, (SSL_CTX * ctx, size_t count))                        \
	X(int, SSL_CTX_set_max_early_data, (SSL_CTX * ctx, uint32_t bytes))                   \
	X(int, SSL_CTX_set_recv_max_early_data, (SSL_CTX * ctx, uint32_t bytes))              \
	X(int, SSL_CTX_set_block_padding, (SSL_CTX * ctx, size_t bytes))                      \
	X(void, SSL_CTX_set_verify, (SSL_CTX * ctx, int mode, int (*verify)(int, void *)))    \
	X(void, SSL_CTX_set_info_callback, (SSL_CTX * ctx, tcpx_ssl_info info))               \
	X(void, SSL_CTX_set_psk_use_session_callback, (SSL_CTX * ctx, tcpx_ssl_use_psk use))  \
	X(void, SSL_CTX_set_psk_find_session_callback, (SSL_CTX * ctx, tcpx_ssl_find_psk find)) \
	X(SSL *, SSL_new, (SSL_CTX * ctx))                                                    \
	X(void, SSL_free, (SSL * ssl))                                                        \
	X(void, SSL_set_bio, (SSL * ssl, BIO *in, BIO *out))                                  \
	X(void, SSL_set_connect_state, (SSL * ssl))                                           \
	X(void, SSL_set_accept_state, (SSL * ssl))                                            \
	X(int, SSL_do_handshake, (SSL * ssl))                                                 \
	X(int, SSL_read, (SSL * ssl, void *data, int len))                                    \
	X(int, SSL_write, (SSL * ssl, const void *data, int len))                             \
	X(int, SSL_want, (const SSL *ssl))                                                    \
	X(long, SSL_ctrl, (SSL * ssl, int command, long number, void *pointer))               \
	X(int, SSL_free_buffers, (SSL * ssl))                                                 \
	X(int, SSL_version, (const SSL *ssl))                                                 \
	X(int, SSL_session_reused, (const SSL *ssl))                                          \
	X(int, SSL_key_update, (SSL * ssl, int type))                                         \
	X(int, SSL_export_keying_material,                                                    \
	  (SSL * ssl, unsigned char *out, size_t len, const char *label, size_t label_len,    \
	   const unsigned char *context, size_t context_len, int use_context))                \
	X(const char *, SSL_alert_desc_string_long, (int alert))                              \
	X(const SSL_CIPHER *, SSL_CIPHER_find, (SSL * ssl, const unsigned char *number))      \
	X(SSL_SESSION *, SSL_SESSION_new, (void))                                             \
	X(void, SSL_SESSION_free, (SSL_SESSION * session))                                    \
	X(int, SSL_SESSION_set1_master_key,                                                   \
	  (SSL_SESSION * session, const unsigned char *key, size_t len))                      \
	X(int, SSL_SESSION_set_cipher, (SSL_SESSION * session, const SSL_CIPHER *cipher))     \
	X(int, SSL_SESSION_set_protocol_version, (SSL_SESSION * session, int version))

#define TCPX_OPENSSL_SSL_OPTIONAL(X)                                                          \
	X(SSL_CTX *, SSL_CTX_new_ex,                                                          \
	  (OSSL_LIB_CTX * ctx, const char *properties, const SSL_METHOD *method))

struct tcpx_openssl {
	void *crypto, *ssl; /* of dlopen() */
#define TCPX_OPENSSL_FIELD(result, name, params) result(*name) params;
	TCPX_OPENSSL_CRYPTO(TCPX_OPENSSL_FIELD)
	TCPX_OPENSSL_OPTIONAL(TCPX_OPENSSL_FIELD)
	TCPX_OPENSSL_SSL(TCPX_OPENSSL_FIELD)
	TCPX_OPENSSL_SSL_OPTIONAL(TCPX_OPENSSL_FIELD)
#undef TCPX_OPENSSL_FIELD
};

/* Finds libssl.so.3 and libcrypto.so.3, else those of 1.1. They stay loaded for ever, because
 * threads and exit() come back to them. TCPX_ECONFIG (logged). Any thread. */
int tcpx_openssl_load(struct tcpx_openssl *api);
/* The library's own start, in this order behind the load. False: it refuses. */
bool tcpx_openssl_start(const struct tcpx_openssl *api);

/*
 * Around each use. An application that used OpenSSL takes it down at exit(), beside our threads:
 * that waits for the uses under way, 2 s at most, and from then on enter() is false.
 */
bool tcpx_openssl_enter(void);
void tcpx_openssl_leave(void);

#endif
