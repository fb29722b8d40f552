/* SPDX-License-Identifier: Apache-2.0 */
/* The words of an open session. What a babbler says depends on what both sides have said before. */
#include <string.h>

#include "sim/babble/babble.h"

#define OWN_SIDE (1ull << 63) /* in a transfer's id: the acceptor has opened it */

/* ---- memory of what was said ---- */

static void
remember(struct known *at, uint32_t *count, const struct known *k)
{
	if (*count == BABBLE_KNOWN)
		memmove(at, at + 1, --*count * sizeof(*at));
	at[(*count)++] = *k;
}

static void
forget(struct known *at, uint32_t *count, uint64_t id)
{
	for (uint32_t i = 0; i < *count; i++)
		if (at[i].id == id) {
			memmove(at + i, at + i + 1, (--*count - i) * sizeof(*at));
			return;
		}
}

static struct known *
some(struct babbler *b, struct known *at, uint32_t count)
{
	return count ? &at[sim_between(b->world, 0, count - 1)] : NULL;
}

static void
put_u64(struct babbler *b, uint8_t type, uint64_t v)
{
	uint8_t room[8];
	struct tcpx_buf out;

	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_buf_put_u64(&out, v);
	babbler_put(b, type, &out, type == TCPX_FR_CANCEL);
}

/* ---- OPEN and LIST ---- */

/* So many entries of what the list still lacks. Most are as they should be. */
static void
write_list(struct babbler *b, struct tcpx_buf *out, uint32_t entries)
{
	struct sim_world *w = b->world;
	struct tcpx_region_ref ref[2] = { w->babble->told->shared, w->babble->told->others };
	uint8_t *at = out->data + out->pos;
	const uint8_t *limit = out->data + out->cap;

	if (out->bad)
		return;
	if (babbler_lies(b))
		ref[0].key[0] ^= 1;
	for (; entries && b->list.entries; entries--) {
		uint64_t len = b->list.bytes / b->list.entries;
		struct tcpx_run_entry e = { .region = babbler_lies(b), .len = babbler_tell(b, len) };

		if (len < BABBLE_MEMORY)
			e.offset = babbler_tell(b, sim_one_in(w, 2) ? b->list.offset :
						   sim_between(w, 0, BABBLE_MEMORY - len - 1));
		/* the kernel refuses what lies far away */
		if (babbler_lies_more(b))
			e.offset = BABBLE_MEMORY - len / 2;
		if (!tcpx_runs_write(&b->list.runs, ref, &e, &at, limit))
			break;
		b->list.bytes -= len;
		b->list.entries--;
		b->list.offset = (b->list.offset + len) % (BABBLE_MEMORY / 2);
	}
	if (b->list.entries == 0 && tcpx_runs_write(&b->list.runs, ref, NULL, &at, limit))
		b->list.whole = true;
	out->pos = (size_t)(at - out->data);
}

/* Of a payload in the frame, of a few chunks, or absurd. */
static uint64_t
some_length(struct babbler *b, bool inlined)
{
	struct sim_world *w = b->world;
	uint64_t len = inlined ? sim_between(w, 0, 2000) :
		       sim_one_in(w, 2) ? sim_between(w, 1, 9000) :
					     sim_between(w, 1, BABBLE_MEMORY / 2);

	return babbler_tell(b, len);
}

static uint32_t
some_entries(struct babbler *b)
{
	uint64_t most = b->theirs.credit_list_bytes / 24 / 4;
	uint64_t n = sim_one_in(b->world, 10) ? most : sim_between(b->world, 1, 40);

	return (uint32_t)babbler_tell(b, n < most ? n : most);
}

/* May it open one more? */
static bool
has_credit(struct babbler *b)
{
	uint32_t i;

	if (b->mine_count < BABBLE_KNOWN && b->mine_count < b->theirs.credit_xfers)
		return true;
	for (i = 0; i < b->mine_count; i++) /* nobody says when a READ has ended */
		if (b->mine[i].op == TCPX_WIRE_READ)
			break;
	if (i == b->mine_count)
		return babbler_lies(b);
	forget(b->mine, &b->mine_count, b->mine[i].id);
	return true;
}

static void
say_open(struct babbler *b)
{
	struct sim_world *w = b->world;
	uint8_t room[TCPX_FRAME_MAX - TCPX_FRAME_HEAD], small[2048], note[TCPX_NOTE_MAX];
	struct tcpx_open o = { .op = (uint8_t)sim_between(w, 1, 3) };
	bool inlined = o.op != TCPX_WIRE_READ && sim_one_in(w, 2);
	struct tcpx_buf out;

	if (((b->listing && !babbler_lies(b)) || !has_credit(b)))
		return;
	o.id = babbler_tell(b, ++b->opened | (b->opener ? 0 : OWN_SIDE));
	o.total = some_length(b, inlined);
	inlined &= o.total <= sizeof(small);
	o.chunk = (uint32_t)babbler_tell(b, sim_one_in(w, 2) ? 4096 : b->chunk_max);
	o.tag = sim_between(w, 0, 3);
	o.entry_count = o.op == TCPX_WIRE_SEND ? 0 : inlined ? 1 : some_entries(b);
	if (o.op != TCPX_WIRE_SEND && sim_one_in(w, 3)) {
		o.flags = TCPX_OPEN_NOTE;
		o.note = note;
		o.note_len = (uint16_t)sim_between(w, 0, sim_one_in(w, 4) ? sizeof(note) : 40);
		memset(note, 'n', o.note_len);
	}
	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_open_write(&out, &o);
	b->list = (struct listing){ .entries = o.entry_count, .bytes = o.total };
	tcpx_runs_write_init(&b->list.runs);
	if (o.op != TCPX_WIRE_SEND)
		write_list(b, &out, inlined || sim_one_in(w, 2) ? UINT32_MAX : 3);
	b->listing = o.op == TCPX_WIRE_SEND || b->list.whole ? 0 : o.id;
	memset(small, (int)b->opened, sizeof(small));
	tcpx_open_finish(&out, (uint8_t)((inlined ? TCPX_OPEN_INLINE : 0) |
					 (b->listing ? TCPX_OPEN_MORE : 0)),
			 inlined ? small : NULL, inlined ? (uint16_t)o.total : 0);
	remember(b->mine, &b->mine_count,
		 &(struct known){ .id = o.id, .total = o.total, .op = o.op, .chunk = o.chunk });
	babbler_put(b, TCPX_FR_OPEN, &out, true);
}

static void
say_list(struct babbler *b)
{
	uint8_t room[TCPX_FRAME_MAX - TCPX_FRAME_HEAD];
	struct tcpx_buf out;

	if (!b->listing && !babbler_lies(b))
		return;
	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_listframe_write(&out, babbler_tell(b, b->listing));
	write_list(b, &out, sim_one_in(b->world, 3) ? 3 : UINT32_MAX);
	tcpx_listframe_finish(&out, !b->list.whole);
	if (b->list.whole)
		b->listing = 0;
	babbler_put(b, TCPX_FR_LIST, &out, true);
}

/* ---- answers, notes ---- */

static void
say_done(struct babbler *b)
{
	struct sim_world *w = b->world;
	uint8_t room[TCPX_FRAME_MAX - TCPX_FRAME_HEAD], small[8192] = { 0 };
	struct known *k = some(b, b->hosts, b->hosts_count);
	struct tcpx_done d = { .id = babbler_tell(b, k ? k->id : 1 | (b->opener ? OWN_SIDE : 0)) };
	struct tcpx_buf out;

	if (!k && !babbler_lies(b))
		return;
	d.bytes = babbler_tell(b, k ? k->total : 0);
	d.code = sim_one_in(w, 3) ? -(int32_t)sim_between(w, 1, 1400) : 0;
	if (k && k->op == TCPX_WIRE_READ && k->total > sizeof(small) && !babbler_lies(b))
		d.code = TCPX_EREGION;
	if (k && k->op == TCPX_WIRE_READ && k->total <= sizeof(small) && d.code == 0) {
		d.payload = small;
		d.payload_len = (uint16_t)k->total;
	}
	strcpy(d.text, sim_one_in(w, 2) ? "" : "for no reason");
	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_done_write(&out, &d);
	babbler_put(b, TCPX_FR_DONE, &out, false);
}

static void
say_matched(struct babbler *b)
{
	struct known *k = some(b, b->hosts, b->hosts_count);

	if ((!k || k->op != TCPX_WIRE_SEND || k->next++) && !babbler_lies(b))
		return;
	put_u64(b, TCPX_FR_MATCHED, babbler_tell(b, k ? k->id : 1));
}

static void
say_note(struct babbler *b)
{
	uint8_t room[TCPX_NOTE_MAX] = { 0 };
	struct tcpx_buf out;

	tcpx_buf_init(&out, room, sizeof(room));
	out.pos = sim_one_in(b->world, 3) ? sizeof(room) : sim_between(b->world, 0, 100);
	babbler_put(b, TCPX_FR_NOTE, &out, true);
}

static void
say_bye(struct babbler *b)
{
	uint8_t room[256];
	struct tcpx_buf out;

	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_refuse_write(&out, sim_one_in(b->world, 2) ? TCPX_EPEERGONE : TCPX_ESTALLED, "bye", 0);
	babbler_put(b, TCPX_FR_BYE, &out, false);
}

/* ---- about channels ---- */

static void
say_channel(struct babbler *b, uint8_t type)
{
	struct sim_world *w = b->world;
	struct babble_chan *c = &b->chan[sim_between(w, 0, 2 * b->count - 1)];
	struct tcpx_chan_event e = { .backward = !c->forward };
	uint8_t room[512];
	struct tcpx_buf out;

	if (babbler_lies(b))
		e.backward = (uint8_t)sim_between(w, 0, 2);
	e.channel = (uint16_t)babbler_tell(b, c->id.channel);
	e.generation = (uint16_t)babbler_tell(b, c->id.generation + (type == TCPX_FR_CHANNEL_ASK));
	e.seq = babbler_tell(b, c->seq);
	e.applied = babbler_tell(b, c->seq);
	strcpy(e.text, "so it goes");
	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_chan_event_write(&out, &e);
	babbler_put(b, type, &out, false);
}

static void
say_chan_handle(struct babbler *b)
{
	struct sim_world *w = b->world;
	struct babble_chan *c = &b->chan[sim_between(w, 0, 2 * b->count - 1)];
	struct tcpx_chan_handle h = { .backward = !c->forward, .usable = sim_one_in(w, 2) };
	uint8_t room[512];
	struct tcpx_buf out;

	h.channel = (uint16_t)babbler_tell(b, c->id.channel);
	h.generation = (uint16_t)babbler_tell(b, c->id.generation + 1);
	memcpy(h.handle, c->handle, sizeof(h.handle));
	if (babbler_lies(b))
		memset(h.handle, (int)tcpx_rng_next(&w->rng), sizeof(h.handle));
	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_chan_handle_write(&out, &h);
	babbler_put(b, TCPX_FR_CHANNEL_HANDLE, &out, false);
}

/* That it wants all channels, or the first; or the same again, or neither. */
static void
say_width(struct babbler *b)
{
	uint8_t room[2];
	struct tcpx_buf out;

	b->wide = !b->wide;
	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_buf_put_u8(&out, (uint8_t)babbler_tell(b, b->wide));
	if (babbler_lies(b))
		tcpx_buf_put_u8(&out, b->wide);
	babbler_put(b, TCPX_FR_WIDTH, &out, false);
}

/* A word at a wrong time: of the handshake, or random bytes. */
static void
say_misplaced(struct babbler *b)
{
	uint8_t room[300];
	struct tcpx_buf out;

	tcpx_buf_init(&out, room, sizeof(room));
	out.pos = sim_between(b->world, 0, sizeof(room));
	for (size_t i = 0; i < out.pos; i++)
		room[i] = (uint8_t)tcpx_rng_next(&b->world->rng);
	if (sim_one_in(b->world, 3))
		babbler_say_hello(b);
	else if (sim_one_in(b->world, 2))
		babbler_say_resume(b, sim_one_in(b->world, 2) ? TCPX_FR_RESUME : TCPX_FR_RESUMED);
	else
		babbler_put(b, (uint8_t)sim_between(b->world, 0, 60), &out, false);
}

static void
say_of_channels(struct babbler *b)
{
	if ((b->narrow && sim_one_in(b->world, 4)) || (b->world->wide_bytes && babbler_lies(b))) {
		say_width(b);
		return;
	}
	switch (sim_between(b->world, 0, 11)) {
	case 0:
		say_channel(b, TCPX_FR_CHANNEL_DOWN);
		break;
	case 1:
		say_channel(b, TCPX_FR_FENCED);
		break;
	case 2:
		say_channel(b, TCPX_FR_CHANNEL_ASK);
		break;
	case 3:
		say_chan_handle(b);
		break;
	case 4 ... 8:
		if (b->world->ops->comm)
			say_channel(b, TCPX_FR_CHANNEL_ACK);
		break;
	default:
		if (babbler_lies(b))
			say_channel(b, TCPX_FR_CHANNEL_ACK);
	}
}

static void
say_something(struct babbler *b)
{
	struct known *k;

	if (b->world->babble->lanes && sim_one_in(b->world, 3)) {
		babbler_say_lane(b);
		return;
	}
	switch (sim_between(b->world, 0, 19)) {
	case 0 ... 4:
		say_open(b);
		break;
	case 5:
		say_list(b);
		break;
	case 6 ... 7:
		say_done(b);
		break;
	case 8:
		say_matched(b);
		break;
	case 9:
		k = some(b, b->mine, b->mine_count);
		if (k || babbler_lies(b))
			put_u64(b, TCPX_FR_CANCEL, babbler_tell(b, k ? k->id : 1));
		break;
	case 10 ... 11:
		say_note(b);
		break;
	case 12:
		if (babbler_lies(b))
			put_u64(b, TCPX_FR_NOTED, sim_between(b->world, 0, 100));
		babbler_put(b, TCPX_FR_PING, NULL, false);
		break;
	case 13:
		say_of_channels(b);
		break;
	case 14:
		(void)tcpx_ctrl_put_ack(b->ctrl);
		break;
	default:
		babbler_data_say(b);
	}
}

void
babbler_talk(struct babbler *b)
{
	struct sim_world *w = b->world;
	uint64_t words = sim_one_in(w, 10) ? 20 : 1;

	if (sim_one_in(w, 300)) {
		babbler_hang_up(b);
		return;
	}
	if (sim_one_in(w, 2000))
		say_bye(b);
	if (babbler_lies(b))
		say_misplaced(b);
	while (words-- && b->stage == STAGE_OPEN)
		say_something(b);
}

/* ---- what the host says ---- */

/* It has lost a channel that it sent on: it answers with what came of it, and opens it again. */
static void
fence(struct babbler *b, const struct tcpx_chan_event *down)
{
	uint32_t i = down->channel + (down->backward ? b->count : 0);
	struct tcpx_chan_event e = *down;
	uint8_t room[512];
	struct tcpx_buf out;

	if (i >= 2 * b->count)
		return;
	e.seq = babbler_tell(b, b->chan[i].seq);
	babbler_close_chan(b, &b->chan[i]);
	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_chan_event_write(&out, &e);
	babbler_put(b, TCPX_FR_FENCED, &out, false);
	e.generation = (uint16_t)babbler_tell(b, e.generation + 1u);
	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_chan_event_write(&out, &e);
	if (b->opener || babbler_lies(b))
		babbler_put(b, TCPX_FR_CHANNEL_ASK, &out, false);
}

/* The host wants all channels on which it sends, or no longer: the opener connects them. */
static void
open_others(struct babbler *b, struct tcpx_buf *in)
{
	uint8_t wide = tcpx_buf_get_u8(in), room[512];
	struct tcpx_buf out;

	if (in->bad || tcpx_buf_left(in) || wide > 1 || !b->world->wide_bytes)
		sim_fail(b->world, "the host's WIDTH is none");
	for (uint32_t i = 1; wide && b->opener && i < b->count; i++) {
		struct tcpx_chan_event e = { .backward = true, .channel = (uint16_t)i,
					     .generation = (uint16_t)(b->chan[b->count + i].id.generation + 1u) };

		tcpx_buf_init(&out, room, sizeof(room));
		tcpx_chan_event_write(&out, &e);
		babbler_put(b, TCPX_FR_CHANNEL_ASK, &out, false);
	}
}

void
babbler_hear(struct babbler *b, uint8_t type, struct tcpx_buf *in)
{
	struct tcpx_open o;
	struct tcpx_done d;
	struct tcpx_chan_event e;

	switch (type) {
	case TCPX_FR_OPEN:
		if (tcpx_open_read(in, &o) != 0)
			sim_fail(b->world, "the host's OPEN is none");
		else
			remember(b->hosts, &b->hosts_count, 
				 &(struct known){ .id = o.id, .total = o.total, .op = o.op,
						  .next = (o.flags & TCPX_OPEN_INLINE) != 0 });
		break;
	case TCPX_FR_DONE:
		if (tcpx_done_read(in, &d) != 0)
			sim_fail(b->world, "the host's DONE is none");
		else
			forget(b->mine, &b->mine_count, d.id);
		break;
	case TCPX_FR_CHANNEL_DOWN:
		if (tcpx_chan_event_read(in, &e) != 0)
			sim_fail(b->world, "the host's CHANNEL_DOWN is none");
		else if (!sim_one_in(b->world, 4))
			fence(b, &e);
		break;
	case TCPX_FR_WIDTH:
		open_others(b, in);
		break;
	case TCPX_FR_CHANNEL_ASK:
		babbler_listen_again(b, in);
		break;
	case TCPX_FR_CHANNEL_HANDLE:
		babbler_take_handle(b, in);
		break;
	case TCPX_FR_LANE_OPEN ... TCPX_FR_LANE_DONE:
		babbler_hear_lane(b, type, in);
		break;
	default:
		break;
	}
}
