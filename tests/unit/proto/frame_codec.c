/* SPDX-License-Identifier: Apache-2.0 */
/* Frames with random but valid values. */
#include "frame_codec.h"

#include <errno.h>
#include <string.h>

const uint8_t filler[PAYLOAD_MAX] = { 7, 7, 7 };

static void
fill_bytes(struct tcpx_rng *rng, void *dst, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)dst)[i] = (uint8_t)tcpx_rng_next(rng);
}

static void
fill_text(struct tcpx_rng *rng, char *dst, size_t cap)
{
	size_t len = tcpx_rng_below(rng, cap);

	memset(dst, 0, cap);
	for (size_t i = 0; i < len; i++)
		dst[i] = (char)tcpx_rng_between(rng, 0x20, 0x7e);
}

static void
start_fill(union any *a, struct tcpx_rng *rng)
{
	a->start.version_min = (uint16_t)tcpx_rng_between(rng, 1, 9);
	a->start.version_max = (uint16_t)tcpx_rng_between(rng, 9, 99);
	a->start.sealed = tcpx_rng_below(rng, 2);
	a->start.kind = (uint8_t)tcpx_rng_between(rng, TCPX_START_NEW, TCPX_START_ASK);
	a->start.session = tcpx_rng_next(rng);
}

static void
hello_fill(union any *a, struct tcpx_rng *rng)
{
	struct tcpx_hello *h = &a->hello;

	h->session = tcpx_rng_next(rng);
	h->role = (uint8_t)tcpx_rng_between(rng, TCPX_ROLE_OPENER, TCPX_ROLE_ACCEPTOR);
	h->incarnation = tcpx_rng_next(rng);
	h->expect = tcpx_rng_next(rng);
	fill_text(rng, h->expect_name, sizeof(h->expect_name));
	h->dialled.family = (uint8_t)(2 * tcpx_rng_between(rng, 2, 3));
	fill_bytes(rng, h->dialled.ip, sizeof(h->dialled.ip));
	h->dialled.port = (uint16_t)tcpx_rng_next(rng);
	h->host = tcpx_rng_next(rng);
	fill_text(rng, h->name, sizeof(h->name));
	fill_text(rng, h->provider, sizeof(h->provider));
	h->channels = (uint16_t)tcpx_rng_between(rng, 1, TCPX_CHANNELS_MAX);
	h->window = (uint16_t)tcpx_rng_between(rng, 1, UINT16_MAX);
	h->chunk_max = (uint32_t)tcpx_rng_between(rng, 1, UINT32_MAX);
	h->credit_xfers = (uint32_t)tcpx_rng_next(rng);
	h->credit_list_bytes = tcpx_rng_next(rng);
	h->nic_count = (uint16_t)tcpx_rng_below(rng, TCPX_NICS_MAX + 1);
	for (uint16_t i = 0; i < h->nic_count; i++) {
		struct tcpx_hello_nic *n = &h->nic[i];

		fill_text(rng, n->offer.name, sizeof(n->offer.name));
		n->addr.family = tcpx_rng_below(rng, 2) ? 4 : 6;
		n->addr.prefix = (uint8_t)tcpx_rng_below(rng, n->addr.family == 4 ? 33 : 129);
		fill_bytes(rng, n->addr.ip, n->addr.family == 4 ? 4 : 16);
		n->addr.scope = (uint32_t)tcpx_rng_next(rng);
		n->addr.port = (uint16_t)tcpx_rng_next(rng);
		n->offer.network = tcpx_rng_next(rng);
		n->offer.usable = tcpx_rng_below(rng, 2);
		n->offer.relayed = tcpx_rng_below(rng, 2);
		n->offer.gpu = (int16_t)(tcpx_rng_below(rng, 17) - 1);
		n->offer.rank = (uint8_t)tcpx_rng_below(rng, TCPX_NICS_MAX + 1);
	}
	fill_text(rng, h->terms, sizeof(h->terms));
}

static void
resume_fill(union any *a, struct tcpx_rng *rng)
{
	struct tcpx_resume *r = &a->resume;

	fill_bytes(rng, r, sizeof(*r));
	r->dialled = (struct tcpx_addr){ .family = (uint8_t)(2 * tcpx_rng_between(rng, 2, 3)),
					 .port = (uint16_t)tcpx_rng_next(rng) };
	fill_bytes(rng, r->dialled.ip, sizeof(r->dialled.ip));
}

static void
ready_fill(union any *a, struct tcpx_rng *rng)
{
	fill_bytes(rng, &a->ready, sizeof(a->ready));
}

static void
handles_fill(union any *a, struct tcpx_rng *rng)
{
	struct tcpx_handles *h = &a->handles;

	fill_bytes(rng, h->token, sizeof(h->token));
	h->count = (uint16_t)(2 * tcpx_rng_below(rng, TCPX_CHANNELS_MAX + 1));
	for (uint16_t i = 0; i < h->count; i++) {
		h->usable[i] = tcpx_rng_below(rng, 4) > 0;
		h->far_nic[i] = (uint16_t)tcpx_rng_below(rng, TCPX_NICS_MAX);
		if (h->usable[i])
			fill_bytes(rng, h->handle[i], tcpx_rng_below(rng, TCPX_HANDLE_MAX - 8));
	}
}

static void
open_fill(union any *a, struct tcpx_rng *rng)
{
	struct tcpx_open *o = &a->open;

	o->id = tcpx_rng_next(rng);
	o->op = (uint8_t)tcpx_rng_between(rng, TCPX_WIRE_WRITE, TCPX_WIRE_SEND);
	o->flags = (uint8_t)tcpx_rng_below(rng, 8);
	if (o->op == TCPX_WIRE_READ)
		o->flags &= ~TCPX_OPEN_INLINE;
	if (o->op == TCPX_WIRE_SEND)
		o->flags &= ~TCPX_OPEN_MORE;
	o->total = tcpx_rng_below(rng, 3000);
	o->chunk = (uint32_t)tcpx_rng_between(rng, 1, UINT32_MAX);
	o->tag = tcpx_rng_next(rng);
	if (o->flags & TCPX_OPEN_NOTE) {
		o->note = filler;
		o->note_len = (uint16_t)tcpx_rng_below(rng, TCPX_NOTE_MAX + 1);
	}
	if (o->op != TCPX_WIRE_SEND) {
		o->entry_count = (uint32_t)tcpx_rng_next(rng);
		o->list = filler;
		o->list_len = (uint16_t)tcpx_rng_below(rng, 4000);
	}
	if (o->flags & TCPX_OPEN_INLINE)
		o->payload = filler;
}

static void
list_fill(union any *a, struct tcpx_rng *rng)
{
	a->list.id = tcpx_rng_next(rng);
	a->list.more = tcpx_rng_below(rng, 2);
	a->list.list = filler;
	a->list.list_len = (uint16_t)tcpx_rng_below(rng, 16000);
}

/* One that may travel. */
static int32_t
some_code(struct tcpx_rng *rng)
{
	static const int32_t codes[] = { 0, TCPX_EKEY, TCPX_EPEERGONE, TCPX_ENOCHANNEL, -EINVAL };

	return codes[tcpx_rng_below(rng, sizeof(codes) / sizeof(codes[0]))];
}

static void
done_fill(union any *a, struct tcpx_rng *rng)
{
	a->done.id = tcpx_rng_next(rng);
	a->done.code = some_code(rng);
	a->done.bytes = tcpx_rng_next(rng);
	fill_text(rng, a->done.text, sizeof(a->done.text));
	if (tcpx_rng_below(rng, 2)) {
		a->done.payload = filler;
		a->done.payload_len = (uint16_t)tcpx_rng_below(rng, 16000);
	}
}

static void
event_fill(union any *a, struct tcpx_rng *rng)
{
	a->event.backward = (uint8_t)tcpx_rng_below(rng, 2);
	a->event.channel = (uint16_t)tcpx_rng_below(rng, TCPX_CHANNELS_MAX);
	a->event.generation = (uint16_t)tcpx_rng_next(rng);
	a->event.seq = tcpx_rng_next(rng);
	a->event.applied = tcpx_rng_next(rng);
	fill_text(rng, a->event.text, sizeof(a->event.text));
}

static void
message_fill(union any *a, struct tcpx_rng *rng)
{
	a->message.backward = (uint8_t)tcpx_rng_below(rng, 2);
	a->message.channel = (uint16_t)tcpx_rng_below(rng, TCPX_CHANNELS_MAX);
	a->message.generation = (uint16_t)tcpx_rng_next(rng);
	a->message.seq = tcpx_rng_between(rng, 1, UINT64_MAX);
	a->message.xfer = tcpx_rng_next(rng);
	a->message.chunk = (uint32_t)tcpx_rng_next(rng);
	a->message.len = (uint32_t)tcpx_rng_next(rng);
}

static void
chan_handle_fill(union any *a, struct tcpx_rng *rng)
{
	a->chan_handle.backward = (uint8_t)tcpx_rng_below(rng, 2);
	a->chan_handle.channel = (uint16_t)tcpx_rng_below(rng, TCPX_CHANNELS_MAX);
	a->chan_handle.generation = (uint16_t)tcpx_rng_next(rng);
	a->chan_handle.usable = tcpx_rng_below(rng, 2);
	fill_bytes(rng, a->chan_handle.token, sizeof(a->chan_handle.token));
	if (a->chan_handle.usable)
		fill_bytes(rng, a->chan_handle.handle, tcpx_rng_below(rng, TCPX_HANDLE_MAX + 1));
}

static uint64_t
some_lane(struct tcpx_rng *rng)
{
	return tcpx_lane_word(tcpx_rng_below(rng, 2),
			      (uint32_t)tcpx_rng_between(rng, 1, TCPX_LANES_MAX));
}

static void
lane_opening_fill(union any *a, struct tcpx_rng *rng)
{
	a->lane_opening.lane = some_lane(rng);
	fill_bytes(rng, a->lane_opening.key, sizeof(a->lane_opening.key));
}

static void
lane_posts_fill(union any *a, struct tcpx_rng *rng)
{
	a->lane_posts.lane = some_lane(rng);
	a->lane_posts.first = tcpx_rng_next(rng);
	a->lane_posts.count = (uint16_t)tcpx_rng_below(rng, TCPX_LANE_SLOTS + 1);
	for (uint16_t i = 0; i < a->lane_posts.count; i++)
		a->lane_posts.len[i] = tcpx_rng_between(rng, 0, TCPX_LANE_LEN_MAX);
}

static void
lane_failure_fill(union any *a, struct tcpx_rng *rng)
{
	a->lane_failure.lane = some_lane(rng);
	a->lane_failure.sending = tcpx_rng_below(rng, 2);
	a->lane_failure.code = TCPX_ELENGTH;
	fill_text(rng, a->lane_failure.text, sizeof(a->lane_failure.text));
}

static void
lane_progress_fill(union any *a, struct tcpx_rng *rng)
{
	a->lane_progress.lane = some_lane(rng);
	a->lane_progress.done = tcpx_rng_next(rng);
	a->lane_progress.finished = tcpx_rng_next(rng);
}

static void
refuse_fill(union any *a, struct tcpx_rng *rng)
{
	a->refuse.code = some_code(rng);
	fill_text(rng, a->refuse.text, sizeof(a->refuse.text));
	a->refuse.wait_ms = (uint32_t)tcpx_rng_next(rng) | 1;
}

static void
lane_data_fill(union any *a, struct tcpx_rng *rng)
{
	a->lane_data.message = some_lane(rng) | tcpx_rng_between(rng, 1, TCPX_LANE_SEQ);
	a->lane_data.known = tcpx_rng_below(rng, 2);
	a->lane_data.payload = filler;
	a->lane_data.len = (uint32_t)tcpx_rng_below(rng, 10000);
}

/* The type's own pair of functions behind one shape. */
#define CODEC(noun)                                                                        \
	static void noun##_put(struct tcpx_buf *b, const union any *a)                     \
	{                                                                                  \
		tcpx_##noun##_write(b, &a->noun);                                          \
	}                                                                                  \
	static int noun##_get(struct tcpx_buf *b, union any *a)                            \
	{                                                                                  \
		return tcpx_##noun##_read(b, &a->noun);                                    \
	}
#define tcpx_event_write tcpx_chan_event_write
#define tcpx_event_read  tcpx_chan_event_read
CODEC(start)
CODEC(hello)
CODEC(resume)
CODEC(handles)
CODEC(ready)
CODEC(done)
CODEC(event)
CODEC(message)
CODEC(chan_handle)
CODEC(lane_opening)
CODEC(lane_posts)
CODEC(lane_failure)
CODEC(lane_progress)
CODEC(lane_data)

static void
open_put(struct tcpx_buf *b, const union any *a)
{
	const struct tcpx_open *o = &a->open;

	tcpx_open_write(b, o);
	tcpx_buf_put_bytes(b, o->list, o->list_len);
	tcpx_open_finish(b, o->flags, o->payload, o->payload ? (uint16_t)o->total : 0);
}

static int
open_get(struct tcpx_buf *b, union any *a)
{
	return tcpx_open_read(b, &a->open);
}

static void
list_put(struct tcpx_buf *b, const union any *a)
{
	tcpx_listframe_write(b, a->list.id);
	tcpx_buf_put_bytes(b, a->list.list, a->list.list_len);
	tcpx_listframe_finish(b, a->list.more);
}

static int
list_get(struct tcpx_buf *b, union any *a)
{
	return tcpx_listframe_read(b, &a->list);
}

static void
refuse_put(struct tcpx_buf *b, const union any *a)
{
	tcpx_refuse_write(b, a->refuse.code, a->refuse.text, a->refuse.wait_ms);
}

static int
refuse_get(struct tcpx_buf *b, union any *a)
{
	return tcpx_refuse_read(b, &a->refuse.code, a->refuse.text, &a->refuse.wait_ms);
}

const struct codec codecs[CODECS] = {
	[START] = { "START", start_fill, start_put, start_get, true },
	[HELLO] = { "HELLO", hello_fill, hello_put, hello_get, false },
	[RESUME] = { "RESUME", resume_fill, resume_put, resume_get, false },
	[HANDLES] = { "HANDLES", handles_fill, handles_put, handles_get, false },
	[READY] = { "READY", ready_fill, ready_put, ready_get, false },
	[OPEN] = { "OPEN", open_fill, open_put, open_get, false },
	[LIST] = { "LIST", list_fill, list_put, list_get, false },
	[DONE] = { "DONE", done_fill, done_put, done_get, false },
	[CHANNEL_DOWN] = { "CHANNEL_DOWN", event_fill, event_put, event_get, false },
	[MESSAGE] = { "MESSAGE", message_fill, message_put, message_get, false },
	[CHANNEL_HANDLE] = { "CHANNEL_HANDLE", chan_handle_fill, chan_handle_put, chan_handle_get,
			     false },
	[LANE_OPEN] = { "LANE_OPEN", lane_opening_fill, lane_opening_put, lane_opening_get, false },
	[LANE_POST] = { "LANE_POST", lane_posts_fill, lane_posts_put, lane_posts_get, false },
	[LANE_FAIL] = { "LANE_FAIL", lane_failure_fill, lane_failure_put, lane_failure_get, false },
	[LANE_DONE] = { "LANE_DONE", lane_progress_fill, lane_progress_put, lane_progress_get, false },
	[LANE_DATA] = { "LANE_DATA", lane_data_fill, lane_data_put, lane_data_get, false },
	[REFUSE] = { "REFUSE", refuse_fill, refuse_put, refuse_get, false, .may_lack = 4 },
};
