/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cursor that never leaves its bytes. All wire bytes pass through it; integers are
 * big-endian. The first access that does not fit marks the cursor bad. From then on reads
 * give zeros and writes do nothing, so one check at the end is enough.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct tcpx_buf {
	uint8_t *data; /* borrowed                            */
	size_t cap;    /* bytes that may be written or read   */
	size_t pos;    /* next byte                           */
	bool bad;      /* an access did not fit               */
};

void tcpx_buf_init(struct tcpx_buf *b, void *data, size_t cap);
/* For parsing constant bytes; the cursor must only be read from. */
void tcpx_buf_init_const(struct tcpx_buf *b, const void *data, size_t cap);
size_t tcpx_buf_left(const struct tcpx_buf *b);

void tcpx_buf_put_bytes(struct tcpx_buf *b, const void *src, size_t len);
/* u16 length, then the bytes; longer than 65535 marks bad. */
void tcpx_buf_put_str(struct tcpx_buf *b, const char *s, size_t len);

void tcpx_buf_get_bytes(struct tcpx_buf *b, void *dst, size_t len);
/* Unsigned LEB128: 7 bits a byte, low first. More than 10 bytes, overflow, or padding (a last byte
 * of 0 after others) marks bad; 0 then. */
uint64_t tcpx_buf_get_var(struct tcpx_buf *b);
/* Copies a put_str() string into dst (cap bytes with the NUL); too long or with an
 * embedded NUL marks bad. Returns its length. */
size_t tcpx_buf_get_str(struct tcpx_buf *b, char *dst, size_t cap);
/* The next len bytes, still in the data, and moves past them; NULL: they do not fit. */
const void *tcpx_buf_borrow(struct tcpx_buf *b, size_t len);

/* ---- integers: inline, so that each is one load or store ---- */

/* Returns the next @len bytes and moves past them. NULL: they do not fit,
 * the cursor is bad. */
static inline uint8_t *
buf_claim(struct tcpx_buf *b, size_t len)
{
	uint8_t *at;

	if (b->bad || len > b->cap - b->pos) {
		b->bad = true;
		return NULL;
	}
	at = b->data ? b->data + b->pos : NULL;
	b->pos += len;
	return at;
}

static inline void
buf_put(struct tcpx_buf *b, const void *src, size_t len)
{
	uint8_t *at = buf_claim(b, len);

	if (at)
		memcpy(at, src, len);
}

/* The caller sets *dst to zero: it stays so when the cursor is bad. */
static inline void
buf_get(struct tcpx_buf *b, void *dst, size_t len)
{
	const uint8_t *at = buf_claim(b, len);

	if (at)
		memcpy(dst, at, len);
}

static inline void
tcpx_buf_put_u8(struct tcpx_buf *b, uint8_t v)
{
	buf_put(b, &v, sizeof(v));
}

static inline void
tcpx_buf_put_u16(struct tcpx_buf *b, uint16_t v)
{
	uint16_t wire = htobe16(v);

	buf_put(b, &wire, sizeof(wire));
}

static inline void
tcpx_buf_put_u32(struct tcpx_buf *b, uint32_t v)
{
	uint32_t wire = htobe32(v);

	buf_put(b, &wire, sizeof(wire));
}

static inline void
tcpx_buf_put_u64(struct tcpx_buf *b, uint64_t v)
{
	uint64_t wire = htobe64(v);

	buf_put(b, &wire, sizeof(wire));
}

static inline uint8_t
tcpx_buf_get_u8(struct tcpx_buf *b)
{
	uint8_t v = 0;

	buf_get(b, &v, sizeof(v));
	return v;
}

static inline uint16_t
tcpx_buf_get_u16(struct tcpx_buf *b)
{
	uint16_t wire = 0;

	buf_get(b, &wire, sizeof(wire));
	return be16toh(wire);
}

static inline uint32_t
tcpx_buf_get_u32(struct tcpx_buf *b)
{
	uint32_t wire = 0;

	buf_get(b, &wire, sizeof(wire));
	return be32toh(wire);
}

static inline uint64_t
tcpx_buf_get_u64(struct tcpx_buf *b)
{
	uint64_t wire = 0;

	buf_get(b, &wire, sizeof(wire));
	return be64toh(wire);
}

/* Compares secrets: the time does not depend on where they differ. */
bool tcpx_bytes_equal(const void *a, const void *b, size_t len);

#endif
