/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame head, and the frames with few fields. A parser fills its result only when every
 * byte was valid.
 */
#include "proto/frame.h"

#include <errno.h>
#include <string.h>

#include "proto/wire.h"

static const char *const frame_name[] = {
	[TCPX_FR_HELLO] = "HELLO",
	[TCPX_FR_START] = "START",
	[TCPX_FR_RESUME] = "RESUME",
	[TCPX_FR_RESUMED] = "RESUMED",
	[TCPX_FR_REFUSE] = "REFUSE",
	[TCPX_FR_ACK] = "ACK",
	[TCPX_FR_PING] = "PING",
	[TCPX_FR_PONG] = "PONG",
	[TCPX_FR_HANDLES] = "HANDLES",
	[TCPX_FR_READY] = "READY",
	[TCPX_FR_OPEN] = "OPEN",
	[TCPX_FR_LIST] = "LIST",
	[TCPX_FR_MATCHED] = "MATCHED",
	[TCPX_FR_DONE] = "DONE",
	[TCPX_FR_CANCEL] = "CANCEL",
	[TCPX_FR_NOTE] = "NOTE",
	[TCPX_FR_CHANNEL_DOWN] = "CHANNEL_DOWN",
	[TCPX_FR_FENCED] = "FENCED",
	[TCPX_FR_CHANNEL_ACK] = "CHANNEL_ACK",
	[TCPX_FR_MESSAGE] = "MESSAGE",
	[TCPX_FR_BYE] = "BYE",
	[TCPX_FR_CHANNEL_ASK] = "CHANNEL_ASK",
	[TCPX_FR_CHANNEL_HANDLE] = "CHANNEL_HANDLE",
	[TCPX_FR_WIDTH] = "WIDTH",
	[TCPX_FR_NOTED] = "NOTED",
	[TCPX_FR_LANE_OPEN] = "LANE_OPEN",
	[TCPX_FR_LANE_POST] = "LANE_POST",
	[TCPX_FR_LANE_FAIL] = "LANE_FAIL",
	[TCPX_FR_LANE_CLOSE] = "LANE_CLOSE",
	[TCPX_FR_LANE_DATA] = "LANE_DATA",
	[TCPX_FR_LANE_GRANT] = "LANE_GRANT",
	[TCPX_FR_LANE_DONE] = "LANE_DONE",
};

#define FRAME_NAMES (sizeof(frame_name) / sizeof(frame_name[0]))
_Static_assert(FRAME_NAMES == TCPX_FR_LANE_DONE + 1, "name every frame");

static bool
frame_known(uint8_t type)
{
	return type < FRAME_NAMES && frame_name[type];
}

const char *
tcpx_frame_name(uint8_t type)
{
	return frame_known(type) ? frame_name[type] : "?";
}

static uint32_t
head_check(uint32_t len, uint8_t type, uint64_t number)
{
	return (uint32_t)number ^ len ^ type;
}

void
tcpx_frame_head_write(uint8_t *dst, uint8_t type, uint64_t number, uint32_t payload_len)
{
	uint32_t len = TCPX_FRAME_HEAD + payload_len;
	struct tcpx_buf b;

	tcpx_buf_init(&b, dst, TCPX_FRAME_HEAD);
	tcpx_buf_put_u32(&b, len);
	tcpx_buf_put_u8(&b, type);
	tcpx_buf_put_u8(&b, 0);
	tcpx_buf_put_u16(&b, 0);
	tcpx_buf_put_u64(&b, number);
	tcpx_buf_put_u32(&b, head_check(len, type, number));
}

struct tcpx_frame_head
tcpx_frame_head_own(const uint8_t *src)
{
	struct tcpx_frame_head h;
	struct tcpx_buf b;

	tcpx_buf_init_const(&b, src, TCPX_FRAME_HEAD);
	h.len = tcpx_buf_get_u32(&b);
	h.type = tcpx_buf_get_u8(&b);
	h.flags = tcpx_buf_get_u8(&b);
	tcpx_buf_get_u16(&b);
	h.number = tcpx_buf_get_u64(&b);
	return h;
}

int
tcpx_frame_head_read(const uint8_t *src, size_t have, struct tcpx_frame_head *out)
{
	struct tcpx_frame_head h;
	struct tcpx_buf b;
	uint16_t zero;

	if (have < TCPX_FRAME_HEAD)
		return -EAGAIN;
	tcpx_buf_init_const(&b, src, TCPX_FRAME_HEAD);
	h.len = tcpx_buf_get_u32(&b);
	h.type = tcpx_buf_get_u8(&b);
	h.flags = tcpx_buf_get_u8(&b);
	zero = tcpx_buf_get_u16(&b);
	h.number = tcpx_buf_get_u64(&b);
	if (tcpx_buf_get_u32(&b) != head_check(h.len, h.type, h.number) || zero || h.flags)
		return TCPX_EPROTO;
	if (h.len < TCPX_FRAME_HEAD || h.len > tcpx_frame_most(h.type) || !frame_known(h.type))
		return TCPX_EPROTO;
	if (tcpx_frame_numbered(h.type) != (h.number != 0))
		return TCPX_EPROTO;
	*out = h;
	return 0;
}

void
tcpx_resume_write(struct tcpx_buf *b, const struct tcpx_resume *r)
{
	tcpx_buf_put_u64(b, r->session);
	tcpx_buf_put_u64(b, r->incarnation);
	tcpx_buf_put_u64(b, r->expect);
	tcpx_wire_put_place(b, &r->dialled);
	tcpx_buf_put_u32(b, r->epoch);
	tcpx_buf_put_u64(b, r->received);
	tcpx_buf_put_bytes(b, r->token, sizeof(r->token));
}

int
tcpx_resume_read(struct tcpx_buf *b, struct tcpx_resume *r)
{
	struct tcpx_resume v;

	v.session = tcpx_buf_get_u64(b);
	v.incarnation = tcpx_buf_get_u64(b);
	v.expect = tcpx_buf_get_u64(b);
	tcpx_wire_get_place(b, &v.dialled);
	v.epoch = tcpx_buf_get_u32(b);
	v.received = tcpx_buf_get_u64(b);
	tcpx_buf_get_bytes(b, v.token, sizeof(v.token));
	if (tcpx_wire_end(b))
		return TCPX_EPROTO;
	*r = v;
	return 0;
}

void
tcpx_ready_write(struct tcpx_buf *b, const struct tcpx_readiness *r)
{
	tcpx_buf_put_u64(b, r->forward_up);
	tcpx_buf_put_u64(b, r->backward_up);
}

int
tcpx_ready_read(struct tcpx_buf *b, struct tcpx_readiness *r)
{
	struct tcpx_readiness v;

	v.forward_up = tcpx_buf_get_u64(b);
	v.backward_up = tcpx_buf_get_u64(b);
	if (tcpx_wire_end(b))
		return TCPX_EPROTO;
	*r = v;
	return 0;
}

void
tcpx_done_write(struct tcpx_buf *b, const struct tcpx_done *d)
{
	tcpx_buf_put_u64(b, d->id);
	tcpx_buf_put_u32(b, (uint32_t)d->code);
	tcpx_buf_put_u64(b, d->bytes);
	tcpx_wire_put_text(b, d->text, sizeof(d->text));
	tcpx_buf_put_u8(b, d->payload != NULL); /* an answer of 0 bytes is an answer */
	tcpx_buf_put_str(b, (const char *)d->payload, d->payload ? d->payload_len : 0);
}

int
tcpx_done_read(struct tcpx_buf *b, struct tcpx_done *d)
{
	struct tcpx_done v; /* not cleared: the text alone costs as much as the rest */
	bool answers;

	v.id = tcpx_buf_get_u64(b);
	v.code = tcpx_wire_get_code(b);
	v.bytes = tcpx_buf_get_u64(b);
	tcpx_wire_get_text(b, v.text, sizeof(v.text));
	answers = tcpx_wire_get_bool(b);
	v.payload_len = tcpx_buf_get_u16(b);
	v.payload = tcpx_buf_borrow(b, v.payload_len);
	if (tcpx_wire_end(b) || (v.payload_len && !answers))
		return TCPX_EPROTO;
	if (!answers)
		v.payload = NULL;
	*d = v;
	return 0;
}

void
tcpx_chan_event_write(struct tcpx_buf *b, const struct tcpx_chan_event *e)
{
	tcpx_buf_put_u8(b, e->backward);
	tcpx_buf_put_u16(b, e->channel);
	tcpx_buf_put_u16(b, e->generation);
	tcpx_buf_put_u64(b, e->seq);
	tcpx_buf_put_u64(b, e->applied);
	tcpx_wire_put_text(b, e->text, sizeof(e->text));
}

int
tcpx_chan_event_read(struct tcpx_buf *b, struct tcpx_chan_event *e)
{
	struct tcpx_chan_event v = { .backward = tcpx_wire_get_bool(b) };

	v.channel = tcpx_buf_get_u16(b);
	v.generation = tcpx_buf_get_u16(b);
	v.seq = tcpx_buf_get_u64(b);
	v.applied = tcpx_buf_get_u64(b);
	tcpx_wire_get_text(b, v.text, sizeof(v.text));
	if (tcpx_wire_end(b) || v.channel >= TCPX_CHANNELS_MAX)
		return TCPX_EPROTO;
	*e = v;
	return 0;
}

void
tcpx_message_write(struct tcpx_buf *b, const struct tcpx_message *m)
{
	tcpx_buf_put_u8(b, m->backward);
	tcpx_buf_put_u16(b, m->channel);
	tcpx_buf_put_u16(b, m->generation);
	tcpx_buf_put_u64(b, m->seq);
	tcpx_buf_put_u64(b, m->xfer);
	tcpx_buf_put_u32(b, m->chunk);
	tcpx_buf_put_u32(b, m->len);
	if (m->summed)
		tcpx_buf_put_u32(b, m->sum);
}

int
tcpx_message_read(struct tcpx_buf *b, struct tcpx_message *m)
{
	struct tcpx_message v = { .backward = tcpx_wire_get_bool(b) };

	v.channel = tcpx_buf_get_u16(b);
	v.generation = tcpx_buf_get_u16(b);
	v.seq = tcpx_buf_get_u64(b);
	v.xfer = tcpx_buf_get_u64(b);
	v.chunk = tcpx_buf_get_u32(b);
	v.len = tcpx_buf_get_u32(b);
	v.summed = !b->bad && tcpx_buf_left(b) > 0;
	if (v.summed)
		v.sum = tcpx_buf_get_u32(b);
	if (tcpx_wire_end(b) || v.channel >= TCPX_CHANNELS_MAX || !v.seq)
		return TCPX_EPROTO;
	*m = v;
	return 0;
}

void
tcpx_refuse_write(struct tcpx_buf *b, int32_t code, const char *text, uint32_t wait_ms)
{
	tcpx_buf_put_u32(b, (uint32_t)code);
	tcpx_wire_put_text(b, text, TCPX_TEXT_MAX);
	if (wait_ms)
		tcpx_buf_put_u32(b, wait_ms);
}

int
tcpx_refuse_read(struct tcpx_buf *b, int32_t *code, char text[TCPX_TEXT_MAX], uint32_t *wait_ms)
{
	int32_t v = tcpx_wire_get_code(b);
	char t[TCPX_TEXT_MAX] = "";
	bool waits;
	uint32_t ms = 0;

	tcpx_wire_get_text(b, t, sizeof(t));
	waits = wait_ms && !b->bad && tcpx_buf_left(b) > 0;
	if (waits)
		ms = tcpx_buf_get_u32(b);
	if (tcpx_wire_end(b) || (waits && ms == 0))
		return TCPX_EPROTO;
	*code = v;
	if (wait_ms)
		*wait_ms = ms;
	memcpy(text, t, sizeof(t));
	return 0;
}
