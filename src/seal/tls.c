/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One TLS connection. OpenSSL reads from memory and writes to memory, so it never waits.
 * The first error stays: afterwards OpenSSL is not asked again, only its alert is taken out.
 *
 * A silent connection has a third of the memory of a busy one, which keeps OpenSSL's buffers: to
 * get and give back two of 16 KiB is a tenth of a small record's cost.
 */
#include "seal/tls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "seal/tls_bytes.h"
#include "seal/tls_current.h"
#include "seal/tls_lib.h"

/* A stranger has so many bytes to prove the secret with; a handshake takes less than 1 KB. */
#define HANDSHAKE_MAX 16384u
/* So many bytes at most are read at once: OpenSSL's lengths are int. */
#define READ_MAX (1u << 30)
/* With so many records since rest() a connection is busy. */
#define BUSY 16u

/* Alerts of RFC 8446 6 */
enum {
	CLOSE_NOTIFY = 0,
	BAD_RECORD_MAC = 20,
	HANDSHAKE_FAILURE = 40,
	BAD_CERTIFICATE = 42,
	ILLEGAL_PARAMETER = 47,
	UNKNOWN_CA = 48,
	DECRYPT_ERROR = 51,
	UNKNOWN_PSK_IDENTITY = 115,
	CERTIFICATE_REQUIRED = 116,
};

struct tcpx_seal {
	struct tcpx_seal_lib *lib;
	SSL *ssl;
	struct tcpx_tls_proof proof;
	struct tcpx_tls_bytes bytes;
	size_t fed;      /* bytes until proven */
	uint64_t sealed; /* records under the present key */
	unsigned recent; /* records since rest(), both ways; counted up to BUSY */
	int error;       /* the first */
	bool proven;
};

/* Is it the answer to a wrong or missing proof? */
static bool
refuses_proof(int alert)
{
	switch (alert) {
	case BAD_RECORD_MAC:
	case HANDSHAKE_FAILURE:
	case UNKNOWN_CA:
	case DECRYPT_ERROR:
	case UNKNOWN_PSK_IDENTITY:
	case CERTIFICATE_REQUIRED:
		return true;
	default:
		return alert >= BAD_CERTIFICATE && alert < ILLEGAL_PARAMETER;
	}
}

static int
told_by_peer(const struct tcpx_seal *s)
{
	int alert = s->proof.alert_received;
	const char *name = s->lib->api.SSL_alert_desc_string_long(alert);

	if (alert == CLOSE_NOTIFY)
		return tcpx_fail_known(TCPX_EPEERGONE, "the peer has closed the TLS connection");
	/* to a hello of ours, which is well formed, it says that the binder is wrong */
	if (!s->proven && (refuses_proof(alert) || alert == ILLEGAL_PARAMETER))
		return tcpx_fail_known(TCPX_EAUTH, "the peer refuses our proof of the secret: "
				       "alert %d, %s", alert, name);
	return tcpx_fail_known(TCPX_EPROTO, "the peer ends TLS: alert %d, %s", alert, name);
}

static int
found_here(const struct tcpx_seal *s)
{
	unsigned long error = s->lib->api.ERR_peek_last_error();
	const char *reason = s->lib->api.ERR_reason_error_string(error);
	bool wrong = (error & 0xfff) == SSL_R_BINDER_DOES_NOT_VERIFY ||
		     refuses_proof(s->proof.alert_sent);

	if (!s->proven && wrong)
		return tcpx_fail_known(TCPX_EAUTH, "the peer does not prove the secret: %s",
				       reason ? reason : "no reason given");
	return tcpx_fail_known(TCPX_EPROTO, "no TLS as we speak it: %s",
			       reason ? reason : "no reason given");
}

/* A handshake ends without an alert where no TLS is spoken, and then says that it reads. It has
 * emptied the thread's queue of errors before; what reads records has not. */
static bool
waits(const struct tcpx_seal *s)
{
	const struct tcpx_openssl *api = &s->lib->api;

	if (!s->proven)
		return api->ERR_peek_last_error() == 0;
	return s->proof.alert_sent < 0 && api->SSL_want(s->ssl) == SSL_READING;
}

/* Why did the last call of ssl give nothing? 0: it needs more bytes. */
static int
why_not(const struct tcpx_seal *s)
{
	if (s->proof.alert_received >= 0)
		return told_by_peer(s);
	if (s->bytes.full)
		return tcpx_fail_known(TCPX_EPROTO, "the peer wants more answers than it reads");
	return waits(s) ? 0 : found_here(s);
}

static int
handshake(struct tcpx_seal *s)
{
	const struct tcpx_openssl *api = &s->lib->api;

	if (api->SSL_do_handshake(s->ssl) != 1) {
		if (s->fed > HANDSHAKE_MAX)
			return tcpx_fail_known(TCPX_EPROTO, "no handshake within %u bytes",
					       HANDSHAKE_MAX);
		return why_not(s);
	}
	if (!api->SSL_session_reused(s->ssl) || api->SSL_version(s->ssl) != TLS1_3_VERSION)
		return tcpx_fail_known(TCPX_EAUTH, "the peer ended the handshake without our key");
	s->proven = true;
	explicit_bzero(s->proof.psk, sizeof(s->proof.psk));
	return 0;
}

/* Writes its first flight if it is the opener. */
static int
set_up(struct tcpx_seal *s, bool opener)
{
	const struct tcpx_openssl *api = &s->lib->api;
	OSSL_LIB_CTX *own = s->lib->own;
	BIO *bio;

	s->ssl = api->SSL_new(opener ? s->lib->opener : s->lib->acceptor);
	bio = own ? api->BIO_new_ex(own, s->lib->method) : api->BIO_new(s->lib->method);
	if (!s->ssl || !bio) {
		api->BIO_free(bio);
		api->SSL_free(s->ssl);
		s->ssl = NULL;
		return -ENOMEM;
	}
	api->SSL_set_bio(s->ssl, bio, bio);
	if (!opener) {
		api->SSL_set_accept_state(s->ssl);
		return 0;
	}
	api->SSL_set_connect_state(s->ssl);
	return handshake(s);
}

static void
tls_end(struct tcpx_seal *s)
{
	if (!s)
		return;
	if (s->ssl && tcpx_tls_enter(s->lib, &s->proof)) {
		s->lib->api.SSL_free(s->ssl);
		tcpx_tls_leave(s->lib);
	}
	tcpx_tls_bytes_free(&s->bytes);
	explicit_bzero(s, sizeof(*s));
	free(s);
}

static int
tls_start(struct tcpx_seal_lib *lib, bool opener, const struct tcpx_seal_psk *psk, uint32_t count,
	  struct tcpx_seal **out)
{
	struct tcpx_seal *s;
	int rc = TCPX_ECLOSED;

	if (count < 1 || count > (opener ? 1 : 2))
		return tcpx_fail(TCPX_SUB_BOOT, -EINVAL, "%u keys for %s", count,
				 opener ? "an opener, which has 1" : "an acceptor, which has 1 or 2");
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->lib = lib;
	s->proof = (struct tcpx_tls_proof){ .api = &lib->api, .bytes = &s->bytes,
					    .count = count, .alert_sent = -1, .alert_received = -1 };
	memcpy(s->proof.psk, psk, count * sizeof(*psk));
	tcpx_tls_bytes_init(&s->bytes, &lib->api);
	if (tcpx_tls_enter(lib, &s->proof)) {
		rc = set_up(s, opener);
		tcpx_tls_leave(lib);
	}
	if (rc) {
		tls_end(s);
		return rc;
	}
	*out = s;
	return 0;
}

static void
count_record(struct tcpx_seal *s)
{
	if (s->recent < BUSY && ++s->recent == BUSY)
		s->lib->api.SSL_ctrl(s->ssl, SSL_CTRL_CLEAR_MODE, SSL_MODE_RELEASE_BUFFERS, NULL);
}

static void
tls_rest(struct tcpx_seal *s)
{
	const struct tcpx_openssl *api = &s->lib->api;

	if (s->recent == BUSY) {
		s->recent = 0;
		return;
	}
	s->recent = 0;
	if (s->proven && !s->error && tcpx_tls_enter(s->lib, &s->proof)) {
		api->SSL_ctrl(s->ssl, SSL_CTRL_MODE, SSL_MODE_RELEASE_BUFFERS, NULL);
		api->SSL_free_buffers(s->ssl);
		tcpx_tls_leave(s->lib);
	}
}

/* Fills @out as far as whole records are here. */
static size_t
read_records(struct tcpx_seal *s, uint8_t *out, size_t cap)
{
	const struct tcpx_openssl *api = &s->lib->api;
	size_t got = 0, most;
	int n;

	do {
		most = cap - got < READ_MAX ? cap - got : READ_MAX;
		n = api->SSL_read(s->ssl, out + got, (int)most);
		if (n <= 0) {
			s->error = why_not(s);
			break;
		}
		count_record(s);
		got += (size_t)n;
		/* it holds nothing back but the rest of a record, so without more it has no more */
	} while (got < cap && s->bytes.in_len > 0);
	return got;
}

static ssize_t
tls_feed(struct tcpx_seal *s, const void *in, size_t len, void *out, size_t cap)
{
	size_t got = 0;

	if (s->error)
		return s->error;
	if (!tcpx_tls_enter(s->lib, &s->proof))
		return TCPX_ECLOSED;
	if (!s->proven)
		s->fed += len;
	s->error = tcpx_tls_bytes_give(&s->bytes, in, len);
	if (!s->error && !s->proven)
		s->error = handshake(s);
	if (!s->error && s->proven && cap > 0)
		got = read_records(s, out, cap);
	tcpx_tls_leave(s->lib);
	if (tcpx_tls_bytes_keep(&s->bytes) && !s->error)
		s->error = -ENOMEM;
	return got > 0 ? (ssize_t)got : s->error;
}

static int
seal_block(struct tcpx_seal *s, const void *plain, size_t len)
{
	const struct tcpx_openssl *api = &s->lib->api;

	if (s->sealed >= s->lib->records_max) {
		if (api->SSL_key_update(s->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) != 1)
			return -ENOMEM;
		s->sealed = 0;
	}
	/* to memory, so it writes all or has none */
	if (api->SSL_write(s->ssl, plain, (int)len) != (int)len)
		return -ENOMEM;
	s->sealed++;
	count_record(s);
	return 0;
}

static ssize_t
tls_take(struct tcpx_seal *s, const void *plain, size_t len, void *out, size_t cap)
{
	size_t n;
	int rc = 0;

	if (len > TCPX_SEAL_BLOCK || cap < len + TCPX_SEAL_ROOM)
		return tcpx_fail(TCPX_SUB_BOOT, -EINVAL, "%zu bytes to seal into %zu, at most %u into "
				 "%u more are allowed", len, cap, TCPX_SEAL_BLOCK, TCPX_SEAL_ROOM);
	if (len && (s->error || !s->proven))
		return tcpx_fail_known(TCPX_ESTATE, "%zu bytes to seal %s", len,
				       s->error ? "after an error" : "before the peer's proof");
	if (!tcpx_tls_enter(s->lib, &s->proof))
		return TCPX_ECLOSED;
	tcpx_tls_bytes_take(&s->bytes, out, cap);
	if (len)
		rc = s->error = seal_block(s, plain, len);
	n = tcpx_tls_bytes_taken(&s->bytes);
	tcpx_tls_leave(s->lib);
	return rc ? rc : (ssize_t)n;
}

static bool
tls_proven(const struct tcpx_seal *s)
{
	return s->proven && !s->error;
}

static int
tls_export(struct tcpx_seal *s, const char *label, const void *context, size_t context_len,
	   void *out, size_t out_len)
{
	int done;

	if (!s->proven || s->error)
		return tcpx_fail_known(TCPX_ESTATE, "keying material %s", s->error ?
				       "after an error" : "before the peer's proof");
	if (!tcpx_tls_enter(s->lib, &s->proof))
		return TCPX_ECLOSED;
	done = s->lib->api.SSL_export_keying_material(s->ssl, out, out_len, label, strlen(label),
						      context, context_len, 1);
	tcpx_tls_leave(s->lib);
	return done == 1 ? 0 : -ENOMEM;
}

const struct tcpx_seal_ops tcpx_seal_tls_ops = {
	.name = "tls",
	.start = tls_start,
	.end = tls_end,
	.feed = tls_feed,
	.take = tls_take,
	.rest = tls_rest,
	.proven = tls_proven,
	.export = tls_export,
};
