/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cursor over bytes that never leaves them. All wire bytes pass through it; integers
 * are big-endian. The first access that does not fit marks the cursor bad, and from
 * then on reads give zeros and writes do nothing: check once, at the end.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tcpx_buf {
	uint8_t *data; /* borrowed                            */
	size_t cap;    /* bytes that may be written or read   */
	size_t pos;    /* next byte                           */
	bool bad;      /* an access did not fit               */
};

void tcpx_buf_init(struct tcpx_buf *b, void *data, size_t cap);
/* For parsing constant bytes; the cursor must then only be read from. */
void tcpx_buf_init_const(struct tcpx_buf *b, const void *data, size_t cap);
size_t tcpx_buf_left(const struct tcpx_buf *b);

void tcpx_buf_put_u8(struct tcpx_buf *b, uint8_t v);
void tcpx_buf_put_u16(struct tcpx_buf *b, uint16_t v);
void tcpx_buf_put_u32(struct tcpx_buf *b, uint32_t v);
void tcpx_buf_put_u64(struct tcpx_buf *b, uint64_t v);
void tcpx_buf_put_bytes(struct tcpx_buf *b, const void *src, size_t len);
/* Unsigned LEB128: 7 bits a byte, low first, at most 10 bytes. */
void tcpx_buf_put_var(struct tcpx_buf *b, uint64_t v);
/* u16 length, then the bytes; longer than 65535 marks bad. */
void tcpx_buf_put_str(struct tcpx_buf *b, const char *s, size_t len);

uint8_t tcpx_buf_get_u8(struct tcpx_buf *b);
uint16_t tcpx_buf_get_u16(struct tcpx_buf *b);
uint32_t tcpx_buf_get_u32(struct tcpx_buf *b);
uint64_t tcpx_buf_get_u64(struct tcpx_buf *b);
void tcpx_buf_get_bytes(struct tcpx_buf *b, void *dst, size_t len);
/* Refuses more than 10 bytes, overflow and padding (a last byte of 0 after others). */
uint64_t tcpx_buf_get_var(struct tcpx_buf *b);
/* Copies a put_str() string into dst (cap bytes with the NUL); too long or with an
 * embedded NUL marks bad. Returns its length. */
size_t tcpx_buf_get_str(struct tcpx_buf *b, char *dst, size_t cap);
/* Borrows len bytes in place, or NULL. */
const void *tcpx_buf_borrow(struct tcpx_buf *b, size_t len);

#endif
