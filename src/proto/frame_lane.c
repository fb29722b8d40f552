/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of lanes. */
#include "proto/frame.h"
#include "proto/wire.h"

/* Reads a lane's word without a message. */
static uint64_t
get_lane(struct tcpx_buf *b)
{
	uint64_t lane = tcpx_buf_get_u64(b);

	b->bad |= !tcpx_lane_is(lane) || tcpx_lane_seq(lane) || !tcpx_lane_number(lane);
	return lane;
}

void
tcpx_lane_opening_write(struct tcpx_buf *b, const struct tcpx_lane_opening *o)
{
	tcpx_buf_put_u64(b, o->lane);
	tcpx_buf_put_bytes(b, o->key, sizeof(o->key));
}

int
tcpx_lane_opening_read(struct tcpx_buf *b, struct tcpx_lane_opening *o)
{
	struct tcpx_lane_opening v = { .lane = get_lane(b) };

	tcpx_buf_get_bytes(b, v.key, sizeof(v.key));
	if (tcpx_wire_end(b))
		return TCPX_EPROTO;
	*o = v;
	return 0;
}

void
tcpx_lane_posts_write(struct tcpx_buf *b, const struct tcpx_lane_posts *p)
{
	tcpx_buf_put_u64(b, p->lane);
	tcpx_buf_put_u64(b, p->first);
	tcpx_buf_put_u16(b, p->count);
	for (uint16_t i = 0; i < p->count; i++)
		tcpx_buf_put_u64(b, p->len[i]);
}

int
tcpx_lane_posts_read(struct tcpx_buf *b, struct tcpx_lane_posts *p)
{
	struct tcpx_lane_posts v = { .lane = get_lane(b) };

	v.first = tcpx_buf_get_u64(b);
	v.count = tcpx_buf_get_u16(b);
	if (b->bad || v.count > TCPX_LANE_SLOTS)
		return TCPX_EPROTO;
	for (uint16_t i = 0; i < v.count; i++) {
		v.len[i] = tcpx_buf_get_u64(b);
		b->bad |= v.len[i] > TCPX_LANE_LEN_MAX;
	}
	if (tcpx_wire_end(b))
		return TCPX_EPROTO;
	*p = v;
	return 0;
}

void
tcpx_lane_failure_write(struct tcpx_buf *b, const struct tcpx_lane_failure *f)
{
	tcpx_buf_put_u64(b, f->lane);
	tcpx_buf_put_u8(b, f->sending);
	tcpx_buf_put_u32(b, (uint32_t)f->code);
	tcpx_wire_put_text(b, f->text, sizeof(f->text));
}

int
tcpx_lane_failure_read(struct tcpx_buf *b, struct tcpx_lane_failure *f)
{
	struct tcpx_lane_failure v = { .lane = get_lane(b) };

	v.sending = tcpx_wire_get_bool(b);
	v.code = tcpx_wire_get_code(b);
	tcpx_wire_get_text(b, v.text, sizeof(v.text));
	if (tcpx_wire_end(b) || v.code == 0)
		return TCPX_EPROTO;
	*f = v;
	return 0;
}

void
tcpx_lane_progress_write(struct tcpx_buf *b, const struct tcpx_lane_progress *p)
{
	tcpx_buf_put_u64(b, p->lane);
	tcpx_buf_put_u64(b, p->done);
	tcpx_buf_put_u64(b, p->finished);
}

int
tcpx_lane_progress_read(struct tcpx_buf *b, struct tcpx_lane_progress *p)
{
	struct tcpx_lane_progress v = { .lane = get_lane(b) };

	v.done = tcpx_buf_get_u64(b);
	v.finished = tcpx_buf_get_u64(b);
	if (tcpx_wire_end(b))
		return TCPX_EPROTO;
	*p = v;
	return 0;
}

void
tcpx_lane_data_write(struct tcpx_buf *b, const struct tcpx_lane_data *d)
{
	tcpx_buf_put_u64(b, d->message);
	tcpx_buf_put_u8(b, d->known);
	tcpx_buf_put_u32(b, d->len);
	if (d->payload)
		tcpx_buf_put_bytes(b, d->payload, d->len);
}

int
tcpx_lane_data_read(struct tcpx_buf *b, struct tcpx_lane_data *d)
{
	struct tcpx_lane_data v = { .message = tcpx_buf_get_u64(b) };

	v.known = tcpx_wire_get_bool(b);
	b->bad |= !tcpx_lane_is(v.message) || !tcpx_lane_seq(v.message) ||
		  !tcpx_lane_number(v.message);
	v.len = tcpx_buf_get_u32(b);
	v.payload = tcpx_buf_borrow(b, v.len);
	if (tcpx_wire_end(b))
		return TCPX_EPROTO;
	*d = v;
	return 0;
}
