/* SPDX-License-Identifier: Apache-2.0 */
/* How a babbler meets the host: HELLO, HANDLES, channels, READY, and RESUME. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/babble/babble.h"

void
babbler_say_hello(struct babbler *b)
{
	struct sim_world *w = b->world;
	uint8_t room[TCPX_FRAME_MAX - TCPX_FRAME_HEAD];
	struct tcpx_hello h = { .session = babbler_tell(b, b->session),
				.role = b->opener ? TCPX_ROLE_OPENER : TCPX_ROLE_ACCEPTOR,
				.incarnation = babbler_tell(b, b->incarnation), .nic_count = 1 };
	struct tcpx_buf out;

	if (babbler_lies(b))
		h.role = (uint8_t)sim_between(w, 0, 3);
	if (b->opener)
		h.dialled = babbler_host(b);
	else
		h.expect = babbler_tell(b, b->theirs.incarnation);
	snprintf(h.name, sizeof(h.name), "babbler%d", b->number);
	if (babbler_lies(b))
		snprintf(h.name, sizeof(h.name), "e1");
	snprintf(h.provider, sizeof(h.provider), "%s", w->ops->name);
	snprintf(h.terms, sizeof(h.terms), "%s", b->facts.terms);
	h.channels = (uint16_t)babbler_tell(b, sim_between(w, 1, 4));
	b->wish = h.channels;
	h.window = (uint16_t)babbler_tell(b, sim_between(w, 1, 8));
	b->chunk_max = sim_one_in(w, 2) ? 65536 : 4096;
	h.chunk_max = (uint32_t)babbler_tell(b, b->chunk_max);
	h.credit_xfers = (uint32_t)babbler_tell(b, sim_between(w, 1, 100));
	h.credit_list_bytes = babbler_tell(b, 1 << sim_between(w, 8, 24));
	h.nic[0].addr = b->nic.addr;
	h.nic[0].addr.port = (uint16_t)babbler_tell(b, b->bound.port);
	snprintf(h.nic[0].offer.name, sizeof(h.nic[0].offer.name), "eth0");
	if (babbler_lies(b)) {
		h.nic_count = (uint16_t)sim_between(w, 0, TCPX_NICS_MAX);
		for (uint32_t i = 1; i < h.nic_count; i++)
			h.nic[i] = h.nic[0];
	}
	h.sums = sim_one_in(w, 4);
	b->sums = h.sums;
	h.narrow = b->narrow = w->wide_bytes && (w->seed / 5 + (uint64_t)b->number) % 4;
	b->wide = false;
	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_hello_write(&out, &h);
	babbler_put(b, TCPX_FR_HELLO, &out, false);
}

void
babbler_say_resume(struct babbler *b, uint8_t type)
{
	struct tcpx_resume r = { .session = babbler_tell(b, b->session),
				 .incarnation = babbler_tell(b, b->incarnation),
				 .expect = babbler_tell(b, b->theirs.incarnation),
				 .dialled = babbler_host(b),
				 .epoch = (uint32_t)babbler_tell(b, b->epoch),
				 .received = babbler_tell(b, tcpx_ctrl_received(b->ctrl)) };
	uint8_t room[256];
	struct tcpx_buf out;

	memcpy(r.token, b->token, sizeof(r.token));
	if (babbler_lies(b))
		r.token[0] ^= 1;
	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_resume_write(&out, &r);
	babbler_put(b, type, &out, false);
}

/* ---- channels ---- */

static void
token_of(struct babbler *b, struct tcpx_chan_id *id)
{
	uint8_t room[8];
	struct tcpx_buf out;

	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_buf_put_u8(&out, id->sending_side_is_opener);
	tcpx_buf_put_u16(&out, id->channel);
	tcpx_buf_put_u16(&out, id->generation);
	if (b->line.seal) {
		(void)tcpx_line_key(&b->line, "EXPERIMENTAL tcpx-p2p channel", room, out.pos,
				    id->token, sizeof(id->token));
		return;
	}
	memcpy(id->token, b->seed, sizeof(id->token));
	for (size_t i = 0; i < out.pos; i++)
		id->token[i] ^= room[i];
}

static bool
listens(const struct babbler *b, const struct babble_chan *c)
{
	return b->world->ops->comm ? c->forward != b->opener : !b->opener;
}

static void
make_channels(struct babbler *b)
{
	for (uint32_t i = 0; i < 2 * b->count; i++) {
		struct babble_chan *c = &b->chan[i];

		memset(c, 0, sizeof(*c));
		c->forward = i < b->count;
		c->id = (struct tcpx_chan_id){ .session = b->session,
					       .channel = (uint16_t)(i % b->count),
					       .generation = 1,
					       .sending_side_is_opener = c->forward };
		token_of(b, &c->id);
	}
}

/* Listens for its channels, most of them, and says where. */
static void
say_handles(struct babbler *b)
{
	struct sim_world *w = b->world;
	uint8_t room[TCPX_FRAME_MAX - TCPX_FRAME_HEAD];
	static struct tcpx_handles h;
	struct tcpx_buf out;

	memset(&h, 0, sizeof(h));
	memcpy(h.token, b->token, sizeof(h.token));
	memcpy(h.seed, b->seed, sizeof(h.seed));
	h.count = (uint16_t)(2 * b->count);
	for (uint32_t i = 0; i < h.count; i++) {
		struct babble_chan *c = &b->chan[i];

		if (!listens(b, c) || babbler_lies(b))
			continue;
		h.usable[i] = w->ops->chan_listen(b->net, 0, &c->id, h.handle[i], &c->listener) == 0;
	}
	if (babbler_lies(b))
		h.count = (uint16_t)sim_between(w, 0, 2 * TCPX_CHANNELS_MAX);
	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_handles_write(&out, &h);
	babbler_put(b, TCPX_FR_HANDLES, &out, false);
}

static void
take_handles(struct babbler *b, const struct tcpx_handles *h)
{
	for (uint32_t i = 0; i < h->count && i < BABBLE_CHANS; i++) {
		memcpy(b->chan[i].handle, h->handle[i], sizeof(b->chan[i].handle));
		b->chan[i].usable = h->usable[i];
	}
	b->handles_came = true;
}

static void
connect_one(struct babbler *b, struct babble_chan *c)
{
	struct sim_world *w = b->world;
	bool sending = c->forward == b->opener;
	int rc;

	if (c->chan || (c->tried && !c->connecting && !c->listener))
		return;
	if (c->listener) {
		if (w->ops->chan_accept(c->listener, sending, &c->chan) != 0)
			return;
		w->ops->chan_listener_close(c->listener);
		c->listener = NULL;
		return;
	}
	if (listens(b, c) || !c->usable)
		return;
	if (!c->tried && babbler_lies(b))
		c->id.token[3] ^= 8;
	c->tried = true;
	rc = w->ops->chan_connect(b->net, 0, &c->id, c->handle, sending, &c->connecting, &c->chan);
	(void)rc; /* refused: it stays out */
}

static void
say_ready(struct babbler *b)
{
	struct tcpx_readiness r = { .forward_up = 0 };
	uint8_t room[32];
	struct tcpx_buf out;

	for (uint32_t i = 0; i < 2 * b->count; i++)
		if (b->chan[i].chan)
			*(b->chan[i].forward ? &r.forward_up : &r.backward_up) |= 1ull << i % b->count;
	r.forward_up = babbler_tell(b, r.forward_up);
	r.backward_up = babbler_tell(b, r.backward_up);
	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_ready_write(&out, &r);
	babbler_put(b, TCPX_FR_READY, &out, false);
	b->ready_sent = true;
}

void
babbler_wire(struct babbler *b)
{
	uint32_t waiting = 0;

	if (b->stage < STAGE_WIRING)
		return;
	for (uint32_t i = 0; i < 2 * b->count; i++) {
		struct babble_chan *c = &b->chan[i];

		connect_one(b, c);
		waiting += !c->chan && (c->connecting || c->listener || (c->usable && !c->tried));
	}
	if (b->stage == STAGE_WIRING && b->opener && !b->ready_sent &&
	    (!waiting || sim_one_in(b->world, 3000)) &&
	    (!b->world->ops->comm || b->handles_came))
		say_ready(b);
}

/* ---- what the host says ---- */

static bool
on_hello(struct babbler *b, struct tcpx_buf *in)
{
	struct sim_world *w = b->world;
	uint32_t count;

	if (tcpx_hello_read(in, &b->theirs) != 0) {
		sim_fail(w, "the host's HELLO is none");
		return false;
	}
	if (!b->opener) {
		b->session = b->theirs.session;
		for (int i = 0; i < 16; i++)
			b->token[i] = b->seed[i] = (uint8_t)tcpx_rng_next(&w->rng);
		babbler_say_hello(b);
	}
	count = b->theirs.channels < b->wish ? b->theirs.channels : b->wish;
	b->count = count < BABBLE_CHANS / 2 ? count : BABBLE_CHANS / 2;
	b->sums |= b->theirs.sums;
	if (b->sums)
		tcpx_ctrl_sum(b->ctrl);
	if (b->line.seal && tcpx_line_proven(&b->line)) {
		struct tcpx_buf id;

		tcpx_buf_init(&id, b->resume_key.id, sizeof(b->resume_key.id));
		tcpx_buf_put_u64(&id, b->session);
		b->resume_key.id_len = (uint8_t)id.pos;
		(void)tcpx_line_key(&b->line, "EXPERIMENTAL tcpx-p2p resume", NULL, 0,
				    b->resume_key.key, sizeof(b->resume_key.key));
	}
	if (b->opener) {
		b->stage = STAGE_HANDLES;
		return true;
	}
	make_channels(b);
	say_handles(b);
	b->stage = STAGE_WIRING;
	return true;
}

static bool
on_handles(struct babbler *b, struct tcpx_buf *in)
{
	if (tcpx_handles_read(in, &b->handles) != 0) {
		sim_fail(b->world, "the host's HANDLES are none");
		return false;
	}
	if (b->opener) {
		b->count = b->handles.count / 2;
		if (b->count > BABBLE_CHANS / 2)
			return false;
		memcpy(b->token, b->handles.token, sizeof(b->token));
		memcpy(b->seed, b->handles.seed, sizeof(b->seed));
		make_channels(b);
		if (b->world->ops->comm)
			say_handles(b);
		b->stage = STAGE_WIRING;
	}
	take_handles(b, &b->handles);
	return true;
}

static bool
on_ready(struct babbler *b, struct tcpx_buf *in)
{
	struct tcpx_readiness r;

	if (tcpx_ready_read(in, &r) != 0) {
		sim_fail(b->world, "the host's READY is none");
		return false;
	}
	if (!b->opener)
		say_ready(b);
	b->stage = STAGE_OPEN;
	b->begun = true;
	return true;
}

static bool
on_resume(struct babbler *b, struct tcpx_buf *in, bool answer)
{
	struct tcpx_resume r;

	if (tcpx_resume_read(in, &r) != 0) {
		sim_fail(b->world, "the host's RESUME is none");
		return false;
	}
	if (answer) {
		b->epoch = r.epoch;
		babbler_say_resume(b, TCPX_FR_RESUMED);
	}
	if (tcpx_ctrl_resume(b->ctrl, r.received) != 0)
		return false;
	b->world->totals->babbled.resumes++;
	b->resuming = false;
	b->stage = STAGE_OPEN;
	return true;
}

/* ---- a channel again ---- */

static struct babble_chan *
named(struct babbler *b, bool backward, uint16_t channel)
{
	uint32_t i = channel + (backward ? b->count : 0);

	return channel < b->count ? &b->chan[i] : NULL;
}

void
babbler_take_handle(struct babbler *b, struct tcpx_buf *in)
{
	struct tcpx_chan_handle h;
	struct babble_chan *c;

	if (tcpx_chan_handle_read(in, &h) != 0) {
		sim_fail(b->world, "the host's CHANNEL_HANDLE is none");
		return;
	}
	c = named(b, h.backward, h.channel);
	if (!c || listens(b, c) || !h.usable)
		return;
	babbler_close_chan(b, c);
	c->id.generation = h.generation;
	memcpy(c->id.token, h.token, sizeof(h.token));
	memcpy(c->handle, h.handle, sizeof(h.handle));
	c->usable = true;
}

void
babbler_listen_again(struct babbler *b, struct tcpx_buf *in)
{
	struct sim_world *w = b->world;
	struct tcpx_chan_handle h = { .usable = true };
	struct tcpx_chan_event e;
	struct babble_chan *c;
	uint8_t room[512];
	struct tcpx_buf out;

	if (tcpx_chan_event_read(in, &e) != 0) {
		sim_fail(w, "the host's CHANNEL_ASK is none");
		return;
	}
	c = named(b, e.backward, e.channel);
	if (!c || !listens(b, c))
		return;
	babbler_close_chan(b, c);
	c->id.generation = e.generation;
	for (int i = 0; i < 16; i++)
		c->id.token[i] = h.token[i] = (uint8_t)tcpx_rng_next(&w->rng);
	h.usable = w->ops->chan_listen(b->net, 0, &c->id, h.handle, &c->listener) == 0;
	h.backward = e.backward;
	h.channel = (uint16_t)babbler_tell(b, e.channel);
	h.generation = (uint16_t)babbler_tell(b, e.generation);
	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_chan_handle_write(&out, &h);
	babbler_put(b, TCPX_FR_CHANNEL_HANDLE, &out, false);
}

bool
babbler_meet(struct babbler *b, uint8_t type, struct tcpx_buf *in)
{
	switch (type) {
	case TCPX_FR_HELLO:
		return b->stage == STAGE_HELLO && !b->resuming && on_hello(b, in);
	case TCPX_FR_HANDLES:
		return b->stage >= STAGE_HANDLES && on_handles(b, in);
	case TCPX_FR_READY:
		return b->stage == STAGE_WIRING && on_ready(b, in);
	case TCPX_FR_RESUME:
		return b->resuming && !b->opener && on_resume(b, in, true);
	case TCPX_FR_RESUMED:
		return b->resuming && b->opener && on_resume(b, in, false);
	default:
		return true;
	}
}
