/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common parts of frames and blobs: texts, names, NICs. A value that a peer may not send
 * marks the cursor bad, so a parser asks once, at its end.
 */
#include "proto/wire.h"

#include <errno.h>
#include <string.h>

int
tcpx_wire_end(const struct tcpx_buf *b)
{
	return b->bad || b->pos != b->cap ? TCPX_EPROTO : 0;
}

void
tcpx_wire_put_text(struct tcpx_buf *b, const char *s, size_t cap)
{
	tcpx_buf_put_str(b, s, strnlen(s, cap - 1));
}

static bool
is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

void
tcpx_wire_get_text(struct tcpx_buf *b, char *dst, size_t cap)
{
	tcpx_buf_get_str(b, dst, cap);
	for (; *dst; dst++) {
		if (is_control(*dst))
			*dst = '?';
	}
}

const char *
tcpx_name_control(const char *name)
{
	while (*name && !is_control(*name))
		name++;
	return *name ? name : NULL;
}

void
tcpx_wire_get_name(struct tcpx_buf *b, char *dst, size_t cap)
{
	tcpx_buf_get_str(b, dst, cap);
	b->bad |= tcpx_name_control(dst) != NULL;
}

bool
tcpx_wire_get_bool(struct tcpx_buf *b)
{
	uint8_t v = tcpx_buf_get_u8(b);

	b->bad |= v > 1;
	return v == 1;
}

int32_t
tcpx_wire_get_code(struct tcpx_buf *b)
{
	int32_t code = (int32_t)tcpx_buf_get_u32(b);

	b->bad |= code > 0;
	if (code == 0)
		return 0;
	return code == -EAGAIN || !tcpx_err_known(code) ? TCPX_EPROTO : code;
}

void
tcpx_wire_put_place(struct tcpx_buf *b, const struct tcpx_addr *a)
{
	tcpx_buf_put_u8(b, a->family);
	tcpx_buf_put_bytes(b, a->ip, sizeof(a->ip));
	tcpx_buf_put_u16(b, a->port);
}

void
tcpx_wire_get_place(struct tcpx_buf *b, struct tcpx_addr *a)
{
	*a = (struct tcpx_addr){ .family = tcpx_buf_get_u8(b) };
	tcpx_buf_get_bytes(b, a->ip, sizeof(a->ip));
	a->port = tcpx_buf_get_u16(b);
	b->bad |= a->family != 0 && a->family != 4 && a->family != 6;
}

static size_t
ip_bytes(uint8_t family)
{
	return family == 4 ? 4 : 16;
}

void
tcpx_wire_put_nic(struct tcpx_buf *b, const struct tcpx_hello_nic *n)
{
	tcpx_wire_put_text(b, n->offer.name, sizeof(n->offer.name));
	tcpx_buf_put_u8(b, n->addr.family);
	tcpx_buf_put_u8(b, n->addr.prefix);
	tcpx_buf_put_bytes(b, n->addr.ip, ip_bytes(n->addr.family));
	tcpx_buf_put_u32(b, n->addr.scope);
	tcpx_buf_put_u16(b, n->addr.port);
	tcpx_buf_put_u64(b, n->offer.network);
	tcpx_buf_put_u8(b, n->offer.usable);
	tcpx_buf_put_u8(b, n->offer.relayed);
	tcpx_buf_put_u16(b, (uint16_t)(n->offer.gpu + 1));
}

void
tcpx_wire_get_nic(struct tcpx_buf *b, struct tcpx_hello_nic *n)
{
	*n = (struct tcpx_hello_nic){ .addr = { 0 } };
	tcpx_wire_get_name(b, n->offer.name, sizeof(n->offer.name));
	n->addr.family = tcpx_buf_get_u8(b);
	n->addr.prefix = tcpx_buf_get_u8(b);
	if (n->addr.family != 4 && n->addr.family != 6)
		b->bad = true;
	if (n->addr.prefix > 8 * ip_bytes(n->addr.family))
		b->bad = true;
	tcpx_buf_get_bytes(b, n->addr.ip, ip_bytes(n->addr.family));
	n->addr.scope = tcpx_buf_get_u32(b);
	n->addr.port = tcpx_buf_get_u16(b);
	n->offer.network = tcpx_buf_get_u64(b);
	n->offer.usable = tcpx_wire_get_bool(b);
	n->offer.relayed = tcpx_wire_get_bool(b);
	n->offer.gpu = (int16_t)(tcpx_buf_get_u16(b) - 1);
	if (n->offer.gpu < -1)
		b->bad = true;
}
