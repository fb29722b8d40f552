/* SPDX-License-Identifier: Apache-2.0 */
/*
 * START, HELLO and HANDLES: what two engines agree on as a session opens. Versions stand first
 * in START, and later versions only append to it. So every version can read enough of any other
 * to refuse it properly.
 */

#include "proto/wire.h"

void
tcpx_start_write(struct tcpx_buf *b, const struct tcpx_start *s)
{
	tcpx_buf_put_u16(b, s->version_min);
	tcpx_buf_put_u16(b, s->version_max);
	tcpx_buf_put_u8(b, s->sealed);
	tcpx_buf_put_u8(b, s->kind);
	tcpx_buf_put_u64(b, s->session);
}

int
tcpx_start_read(struct tcpx_buf *b, struct tcpx_start *s)
{
	struct tcpx_start v = { .version_min = tcpx_buf_get_u16(b) };

	v.version_max = tcpx_buf_get_u16(b);
	v.sealed = tcpx_wire_get_bool(b);
	v.kind = tcpx_buf_get_u8(b);
	v.session = tcpx_buf_get_u64(b);
	if (b->bad || !v.version_min || v.version_min > v.version_max)
		return TCPX_EPROTO;
	if (v.kind < TCPX_START_NEW || v.kind > TCPX_START_ASK)
		return TCPX_EPROTO;
	*s = v;
	return 0;
}

/* The last byte of HELLO; without a wish it is not written. */
enum { WISH_SUMS = 1, WISH_NARROW = 2 };

void
tcpx_hello_write(struct tcpx_buf *b, const struct tcpx_hello *h)
{
	tcpx_buf_put_u64(b, h->session);
	tcpx_buf_put_u8(b, h->role);
	tcpx_buf_put_u64(b, h->incarnation);
	tcpx_buf_put_u64(b, h->expect);
	tcpx_wire_put_text(b, h->expect_name, sizeof(h->expect_name));
	tcpx_wire_put_place(b, &h->dialled);
	tcpx_buf_put_u64(b, h->host);
	tcpx_wire_put_text(b, h->name, sizeof(h->name));
	tcpx_wire_put_text(b, h->provider, sizeof(h->provider));
	tcpx_buf_put_u16(b, h->channels);
	tcpx_buf_put_u16(b, h->window);
	tcpx_buf_put_u32(b, h->chunk_max);
	tcpx_buf_put_u32(b, h->credit_xfers);
	tcpx_buf_put_u64(b, h->credit_list_bytes);
	tcpx_buf_put_u16(b, h->nic_count);
	b->bad |= h->nic_count > TCPX_NICS_MAX;
	for (uint16_t i = 0; !b->bad && i < h->nic_count; i++)
		tcpx_wire_put_nic(b, &h->nic[i]);
	tcpx_wire_put_text(b, h->terms, sizeof(h->terms));
	for (uint16_t i = 0; !b->bad && i < h->nic_count; i++)
		tcpx_buf_put_u8(b, h->nic[i].offer.rank);
	if (h->sums || h->narrow)
		tcpx_buf_put_u8(b, (h->sums ? WISH_SUMS : 0) | (h->narrow ? WISH_NARROW : 0));
}

int
tcpx_hello_read(struct tcpx_buf *b, struct tcpx_hello *h)
{
	struct tcpx_hello v = { .session = tcpx_buf_get_u64(b) };
	uint8_t wishes = 0;

	v.role = tcpx_buf_get_u8(b);
	v.incarnation = tcpx_buf_get_u64(b);
	v.expect = tcpx_buf_get_u64(b);
	tcpx_wire_get_name(b, v.expect_name, sizeof(v.expect_name));
	tcpx_wire_get_place(b, &v.dialled);
	v.host = tcpx_buf_get_u64(b);
	tcpx_wire_get_name(b, v.name, sizeof(v.name));
	tcpx_wire_get_name(b, v.provider, sizeof(v.provider));
	v.channels = tcpx_buf_get_u16(b);
	v.window = tcpx_buf_get_u16(b);
	v.chunk_max = tcpx_buf_get_u32(b);
	v.credit_xfers = tcpx_buf_get_u32(b);
	v.credit_list_bytes = tcpx_buf_get_u64(b);
	v.nic_count = tcpx_buf_get_u16(b);
	b->bad |= v.nic_count > TCPX_NICS_MAX;
	for (uint16_t i = 0; !b->bad && i < v.nic_count; i++)
		tcpx_wire_get_nic(b, &v.nic[i]);
	tcpx_wire_get_text(b, v.terms, sizeof(v.terms));
	for (uint16_t i = 0; !b->bad && i < v.nic_count; i++) {
		v.nic[i].offer.rank = tcpx_buf_get_u8(b);
		b->bad |= v.nic[i].offer.rank > TCPX_NICS_MAX;
	}
	if (!b->bad && tcpx_buf_left(b) > 0) {
		wishes = tcpx_buf_get_u8(b);
		b->bad |= !wishes || wishes > (WISH_SUMS | WISH_NARROW);
	}
	v.sums = wishes & WISH_SUMS;
	v.narrow = wishes & WISH_NARROW;
	if (tcpx_wire_end(b) || v.role < TCPX_ROLE_OPENER || v.role > TCPX_ROLE_ACCEPTOR)
		return TCPX_EPROTO;
	if (!v.incarnation || !v.channels || v.channels > TCPX_CHANNELS_MAX || !v.window ||
	    !v.chunk_max)
		return TCPX_EPROTO;
	*h = v;
	return 0;
}

/*
 * A handle mostly ends with zeros, since providers fill a fixed array; these do not travel.
 * HANDLE_NONE in place of the length: the channel is not usable.
 */
#define HANDLE_NONE 0xff
_Static_assert(TCPX_HANDLE_MAX < HANDLE_NONE, "a handle's length is one byte");

static uint8_t
handle_len(const uint8_t *handle)
{
	uint8_t len = TCPX_HANDLE_MAX;

	while (len && !handle[len - 1])
		len--;
	return len;
}

static void
put_handle(struct tcpx_buf *b, bool usable, const uint8_t handle[TCPX_HANDLE_MAX])
{
	uint8_t len = handle_len(handle);

	tcpx_buf_put_u8(b, usable ? len : HANDLE_NONE);
	if (usable)
		tcpx_buf_put_bytes(b, handle, len);
}

/* Returns whether it is usable. */
static bool
get_handle(struct tcpx_buf *b, uint8_t handle[TCPX_HANDLE_MAX])
{
	uint8_t len = tcpx_buf_get_u8(b);

	if (len == HANDLE_NONE)
		return false;
	b->bad |= len > TCPX_HANDLE_MAX;
	if (!b->bad)
		tcpx_buf_get_bytes(b, handle, len);
	b->bad |= len != handle_len(handle);
	return true;
}

void
tcpx_handles_write(struct tcpx_buf *b, const struct tcpx_handles *h)
{
	tcpx_buf_put_bytes(b, h->token, sizeof(h->token));
	tcpx_buf_put_bytes(b, h->seed, sizeof(h->seed));
	tcpx_buf_put_u16(b, h->count);
	b->bad |= h->count > 2 * TCPX_CHANNELS_MAX;
	for (uint16_t i = 0; !b->bad && i < h->count; i++) {
		tcpx_buf_put_u16(b, h->far_nic[i]);
		put_handle(b, h->usable[i], h->handle[i]);
	}
}

int
tcpx_handles_read(struct tcpx_buf *b, struct tcpx_handles *h)
{
	struct tcpx_handles v = { .count = 0 };

	tcpx_buf_get_bytes(b, v.token, sizeof(v.token));
	tcpx_buf_get_bytes(b, v.seed, sizeof(v.seed));
	v.count = tcpx_buf_get_u16(b);
	b->bad |= v.count > 2 * TCPX_CHANNELS_MAX || v.count % 2;
	for (uint16_t i = 0; !b->bad && i < v.count; i++) {
		v.far_nic[i] = tcpx_buf_get_u16(b);
		b->bad |= v.far_nic[i] >= TCPX_NICS_MAX;
		v.usable[i] = get_handle(b, v.handle[i]);
	}
	if (tcpx_wire_end(b))
		return TCPX_EPROTO;
	*h = v;
	return 0;
}

void
tcpx_chan_handle_write(struct tcpx_buf *b, const struct tcpx_chan_handle *h)
{
	tcpx_buf_put_u8(b, h->backward);
	tcpx_buf_put_u16(b, h->channel);
	tcpx_buf_put_u16(b, h->generation);
	tcpx_buf_put_bytes(b, h->token, sizeof(h->token));
	put_handle(b, h->usable, h->handle);
}

int
tcpx_chan_handle_read(struct tcpx_buf *b, struct tcpx_chan_handle *h)
{
	struct tcpx_chan_handle v = { .backward = tcpx_wire_get_bool(b) };

	v.channel = tcpx_buf_get_u16(b);
	v.generation = tcpx_buf_get_u16(b);
	tcpx_buf_get_bytes(b, v.token, sizeof(v.token));
	v.usable = get_handle(b, v.handle);
	if (tcpx_wire_end(b) || v.channel >= TCPX_CHANNELS_MAX)
		return TCPX_EPROTO;
	*h = v;
	return 0;
}
