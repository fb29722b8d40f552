/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The byte cursor. Every access calls buf_claim(): either all its bytes fit, or the cursor
 * turns bad and nothing is touched.
 */
#include "base/buf.h"

#include <string.h>

#define VAR_BYTES_MAX 10 /* 64 bits, 7 a byte */

void
tcpx_buf_init(struct tcpx_buf *b, void *data, size_t cap)
{
	*b = (struct tcpx_buf){ .data = data, .cap = cap };
}

void
tcpx_buf_init_const(struct tcpx_buf *b, const void *data, size_t cap)
{
	tcpx_buf_init(b, (void *)(uintptr_t)data, cap);
}

/* A bad cursor has nothing left, so a loop "while bytes are left" ends. */
size_t
tcpx_buf_left(const struct tcpx_buf *b)
{
	return b->bad ? 0 : b->cap - b->pos;
}

void
tcpx_buf_put_bytes(struct tcpx_buf *b, const void *src, size_t len)
{
	uint8_t *at = buf_claim(b, len);

	if (at && len)
		memcpy(at, src, len);
}

void
tcpx_buf_put_str(struct tcpx_buf *b, const char *s, size_t len)
{
	/* length and bytes, or neither */
	if (len > UINT16_MAX || tcpx_buf_left(b) < 2 + len) {
		b->bad = true;
		return;
	}
	tcpx_buf_put_u16(b, (uint16_t)len);
	tcpx_buf_put_bytes(b, s, len);
}

void
tcpx_buf_get_bytes(struct tcpx_buf *b, void *dst, size_t len)
{
	const uint8_t *at = buf_claim(b, len);

	if (!len)
		return;
	if (at)
		memcpy(dst, at, len);
	else
		memset(dst, 0, len);
}

uint64_t
tcpx_buf_get_var(struct tcpx_buf *b)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < VAR_BYTES_MAX; i++) {
		uint8_t byte = tcpx_buf_get_u8(b);
		bool last = !(byte & 0x80);

		if (b->bad)
			return 0;
		if ((i == VAR_BYTES_MAX - 1 && byte > 1) || (last && !byte && i > 0))
			break; /* beyond 64 bits; padded */
		v |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (last)
			return v;
	}
	b->bad = true;
	return 0;
}

size_t
tcpx_buf_get_str(struct tcpx_buf *b, char *dst, size_t cap)
{
	size_t len = tcpx_buf_get_u16(b);
	const char *at = (const char *)buf_claim(b, len);

	if (cap)
		dst[0] = '\0';
	if (b->bad || len >= cap || memchr(at, '\0', len)) {
		b->bad = true;
		return 0;
	}
	memcpy(dst, at, len);
	dst[len] = '\0';
	return len;
}

const void *
tcpx_buf_borrow(struct tcpx_buf *b, size_t len)
{
	return buf_claim(b, len);
}

bool
tcpx_bytes_equal(const void *a, const void *b, size_t len)
{
	const volatile uint8_t *x = a, *y = b;
	uint8_t diff = 0;
	size_t i;

	for (i = 0; i < len; i++)
		diff |= x[i] ^ y[i];
	return diff == 0;
}
