/* SPDX-License-Identifier: Apache-2.0 */
#include "seal/tls_bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "seal/tls_current.h"

static int
read_in(BIO *bio, char *out, int cap)
{
	struct tcpx_tls_bytes *b = tcpx_tls_current()->bytes;
	size_t n = cap > 0 && (size_t)cap < b->in_len ? (size_t)cap : b->in_len;

	b->api->BIO_clear_flags(bio, BIO_FLAGS_ALL);
	if (n == 0) {
		b->api->BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
		return -1;
	}
	memcpy(out, b->in, n);
	b->in += n;
	b->in_len -= n;
	return (int)n;
}

static int
write_out(BIO *bio, const char *in, int len)
{
	struct tcpx_tls_bytes *b = tcpx_tls_current()->bytes;

	b->api->BIO_clear_flags(bio, BIO_FLAGS_ALL);
	if (len < 0 || (size_t)len > b->out_cap - b->out_len) {
		b->full = true;
		return -1;
	}
	memcpy(b->out + b->out_len, in, (size_t)len);
	b->out_len += (size_t)len;
	return len;
}

/* All is flushed at once; nothing else is known here, kernel TLS least of all. */
static long
control(BIO *bio, int command, long number, void *pointer)
{
	(void)bio;
	(void)number;
	(void)pointer;
	return command == BIO_CTRL_FLUSH;
}

BIO_METHOD *
tcpx_tls_bytes_method(const struct tcpx_openssl *api)
{
	BIO_METHOD *m = api->BIO_meth_new(BIO_TYPE_SOURCE_SINK, "tcpx");

	if (m && api->BIO_meth_set_read(m, read_in) == 1 &&
	    api->BIO_meth_set_write(m, write_out) == 1 && api->BIO_meth_set_ctrl(m, control) == 1)
		return m;
	if (m)
		api->BIO_meth_free(m);
	return NULL;
}

static void
say_here(struct tcpx_tls_bytes *b)
{
	b->out = b->said;
	b->out_len = 0;
	b->out_cap = sizeof(b->said);
}

void
tcpx_tls_bytes_init(struct tcpx_tls_bytes *b, const struct tcpx_openssl *api)
{
	b->api = api;
	say_here(b);
}

void
tcpx_tls_bytes_free(struct tcpx_tls_bytes *b)
{
	free(b->kept);
	b->kept = NULL;
}

int
tcpx_tls_bytes_give(struct tcpx_tls_bytes *b, const void *in, size_t len)
{
	uint8_t *both;

	if (!len)
		return 0;
	if (!b->in_len) {
		b->in = in;
		b->in_len = len;
		return 0;
	}
	both = malloc(b->in_len + len);
	if (!both)
		return -ENOMEM;
	memcpy(both, b->in, b->in_len);
	memcpy(both + b->in_len, in, len);
	free(b->kept);
	b->in = b->kept = both;
	b->in_len += len;
	return 0;
}

int
tcpx_tls_bytes_keep(struct tcpx_tls_bytes *b)
{
	uint8_t *kept = NULL;

	if (b->in_len && b->kept)
		return 0; /* give() has copied all of it */
	if (b->in_len) {
		kept = malloc(b->in_len);
		if (!kept)
			return -ENOMEM;
		memcpy(kept, b->in, b->in_len);
	}
	free(b->kept);
	b->in = b->kept = kept;
	return 0;
}

void
tcpx_tls_bytes_take(struct tcpx_tls_bytes *b, void *out, size_t cap)
{
	memcpy(out, b->said, b->out_len);
	b->out = out;
	b->out_cap = cap;
}

size_t
tcpx_tls_bytes_taken(struct tcpx_tls_bytes *b)
{
	size_t n = b->out_len;

	say_here(b);
	return n;
}
