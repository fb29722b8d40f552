/* SPDX-License-Identifier: Apache-2.0 */
/* A babbler's control connection: dialled, accepted, sealed, cut, resumed. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/babble/babble.h"

#define START_BYTES 34

struct tcpx_addr
babbler_host(const struct babbler *b)
{
	struct tcpx_nic nic;

	sim_nic(b->world, 0, 1, &nic);
	nic.addr.port = b->world->babble->told->port;
	return nic.addr;
}

int
babbler_begin(struct sim_world *w, int number)
{
	struct babbler *b = &w->babble->babbler[number];
	struct tcpx_net_params p = { .nics = &b->nic, .nic_count = 1, .fabric = w->fabric,
				     .clock = w->clock, };
	static const uint32_t lies[] = { 0, 300, 1000, 4000, 20000 };
	int rc;

	b->world = w;
	b->number = number;
	sim_nic(w, 0, (uint8_t)(100 + number), &b->nic);
	b->nic.gpu = -1;
	b->incarnation = tcpx_rng_next(&w->rng) | 1;
	b->lies_ppm = lies[sim_between(w, 0, 4)];
	b->reads = !sim_one_in(w, 6);
	b->pause_ns = w->work_ns / sim_between(w, 50, 1000);
	b->next_ns = tcpx_clock_now(w->clock) + sim_between(w, 0, 5 * TCPX_MS);
	rc = w->ops->open(&p, &b->net, &b->facts);
	return rc ? rc : w->ops->listen(b->net, &b->nic.addr, &b->bound, &b->listener);
}

static void
forget_session(struct babbler *b)
{
	babbler_data_end(b);
	tcpx_ctrl_free(b->ctrl);
	b->ctrl = NULL;
	b->begun = b->handles_came = b->ready_sent = b->sums = b->resuming = b->resumed_lie = false;
	b->opened = b->listing = 0;
	b->mine_count = b->hosts_count = b->epoch = b->count = 0;
	b->lane_count = b->lanes_opened = 0;
	b->credit = (struct tcpx_eager_tx){ 0 };
	b->granted = 0;
}

void
babbler_hang_up(struct babbler *b)
{
	tcpx_line_close(&b->line, b->world->ops);
	memset(&b->line, 0, sizeof(b->line));
	b->first_len = 0;
	if (b->stage == STAGE_OPEN && b->ctrl && b->begun)
		tcpx_ctrl_cut(b->ctrl);
	else
		forget_session(b);
	b->stage = STAGE_IDLE;
}

void
babbler_end(struct babbler *b)
{
	if (!b->net)
		return;
	babbler_hang_up(b);
	forget_session(b);
	if (b->listener)
		b->world->ops->stream_close(b->listener);
	b->listener = NULL;
	b->world->ops->close(b->net);
	b->net = NULL;
}

/* From here on frames are sealed, if there is a secret. */
static int
seal(struct babbler *b, bool opener, const struct tcpx_seal_psk *psk)
{
	return b->world->secret.ops ? tcpx_line_seal(&b->line, &b->world->secret, opener, psk, 1) : 0;
}

void
babbler_dial(struct babbler *b, bool resume)
{
	struct sim_world *w = b->world;
	struct tcpx_addr to = babbler_host(b);
	struct tcpx_start start = { .version_min = TCPX_PROTO_VERSION,
				    .version_max = TCPX_PROTO_VERSION,
				    .sealed = w->secret.ops != NULL, .kind = TCPX_START_NEW };

	if (!resume)
		forget_session(b);
	if (w->ops->connect(b->net, 0, &to, 0, &b->line.stream) != 0)
		return;
	if (resume) {
		start.kind = sim_one_in(w, 8) ? TCPX_START_ASK : TCPX_START_RESUME;
		start.session = babbler_tell(b, b->session);
	}
	if (babbler_lies(b))
		start.kind = (uint8_t)sim_between(w, 0, 4);
	if (babbler_lies(b))
		start.version_min = start.version_max = (uint16_t)sim_between(w, 0, 9);
	if ((!resume && tcpx_ctrl_new(&b->ctrl) != 0) || tcpx_line_start(&b->line, &start) != 0 ||
	    seal(b, true, start.kind == TCPX_START_RESUME ? &b->resume_key : &w->secret.psk[0]) != 0) {
		babbler_hang_up(b);
		return;
	}
	b->stage = STAGE_HELLO;
	if (resume) {
		b->resuming = true;
		b->epoch++;
		babbler_say_resume(b, TCPX_FR_RESUME);
		return;
	}
	b->opener = true;
	b->session = tcpx_rng_next(&w->rng) | 1;
	if (sim_one_in(w, 3))
		b->incarnation = tcpx_rng_next(&w->rng) | 1;
	w->totals->babbled.sessions++;
	babbler_say_hello(b);
}

/* The host dials. */
static void
accept_one(struct babbler *b)
{
	struct tcpx_addr from, at;
	struct tcpx_stream *stream;
	struct sim_world *w = b->world;

	if (w->ops->accept(b->listener, &stream, &from, &at) != 0)
		return;
	if (b->stage != STAGE_IDLE || sim_one_in(w, 20)) {
		w->ops->stream_close(stream);
		return;
	}
	b->line = (struct line){ .stream = stream };
	b->first_len = 0;
	b->stage = STAGE_START;
}

/* The host's START has come. False: hang up. */
static bool
started(struct babbler *b)
{
	struct tcpx_buf in;
	bool resume;

	tcpx_buf_init_const(&in, b->first + TCPX_FRAME_HEAD, START_BYTES - TCPX_FRAME_HEAD);
	if (tcpx_start_read(&in, &b->start) != 0) {
		sim_fail(b->world, "the host's START is none");
		return false;
	}
	resume = b->start.kind == TCPX_START_RESUME && b->begun && b->start.session == b->session;
	if (b->start.kind != TCPX_START_NEW && !resume)
		return false;
	if (!resume) {
		forget_session(b);
		if (tcpx_ctrl_new(&b->ctrl) != 0)
			return false;
		b->opener = false;
		b->world->totals->babbled.sessions++;
	}
	b->resuming = resume;
	b->stage = STAGE_HELLO;
	return seal(b, false, resume ? &b->resume_key : &b->world->secret.psk[0]) == 0;
}

static bool
read_start(struct babbler *b)
{
	ssize_t n;

	while (b->first_len < START_BYTES) {
		n = b->world->ops->stream_recv(b->line.stream, b->first + b->first_len,
					       START_BYTES - b->first_len);
		if (n <= 0)
			return n == -EAGAIN;
		b->first_len += (size_t)n;
	}
	return started(b);
}

/* Writes what there is to write. False: the connection is broken. */
static bool
flush(struct babbler *b)
{
	const uint8_t *data = NULL;
	bool owed;
	size_t len;
	ssize_t n;

	do {
		owed = tcpx_line_owes(&b->line);
		len = owed ? 0 : tcpx_ctrl_pending(b->ctrl, &data);
		n = tcpx_line_send(&b->line, b->world->ops, data, len);
		if (n < 0)
			return n == -EAGAIN;
		if (n > 0)
			tcpx_ctrl_written(b->ctrl, (size_t)n);
	} while (n > 0 || owed);
	return true;
}

/* One frame. False: hang up. */
static bool
hear(struct babbler *b, const struct tcpx_frame_head *h, const uint8_t *payload)
{
	struct tcpx_buf in;

	tcpx_buf_init_const(&in, payload, h->len - TCPX_FRAME_HEAD);
	if (h->type == TCPX_FR_REFUSE || h->type == TCPX_FR_BYE) {
		b->world->totals->babbled.refused++;
		b->begun = false;
		return false;
	}
	if (h->type == TCPX_FR_PING) {
		babbler_put(b, TCPX_FR_PONG, NULL, false);
		return true;
	}
	if (b->stage != STAGE_OPEN)
		return babbler_meet(b, h->type, &in);
	babbler_hear(b, h->type, &in);
	return true;
}

static bool
read_frames(struct babbler *b)
{
	struct tcpx_frame_head h;
	const uint8_t *payload;
	uint8_t *room;
	size_t cap;
	ssize_t n;
	int rc;

	do {
		cap = tcpx_ctrl_room(b->ctrl, &room);
		n = tcpx_line_recv(&b->line, b->world->ops, b->opener, room, cap);
		if (n <= 0)
			return n == -EAGAIN;
		tcpx_ctrl_arrived(b->ctrl, (size_t)n);
		while ((rc = tcpx_ctrl_next(b->ctrl, &h, &payload)) == 1)
			if (!hear(b, &h, payload))
				return false;
		if (rc < 0) {
			if (!b->lies_ppm)
				sim_fail(b->world, "the host's bytes are no frame");
			return false;
		}
	} while (n > 0);
	return true;
}

/* When nobody is connected: dials, or resumes, or waits to be dialled. */
static void
idle(struct babbler *b, uint64_t now_ns)
{
	struct sim_world *w = b->world;

	if (now_ns < b->next_ns)
		return;
	b->next_ns = now_ns + sim_between(w, TCPX_MS, 20 * TCPX_MS);
	if (b->begun && b->opener && sim_one_in(w, 2))
		babbler_dial(b, true);
	else if (sim_one_in(w, 2))
		babbler_dial(b, false);
}

void
babbler_do(struct babbler *b)
{
	uint64_t now_ns = tcpx_clock_now(b->world->clock);

	if (!b->net || !b->listener)
		return;
	accept_one(b);
	if (b->stage == STAGE_IDLE)
		idle(b, now_ns);
	if (b->stage == STAGE_START && !read_start(b))
		babbler_hang_up(b);
	if (b->stage <= STAGE_START)
		return;
	if ((b->reads || b->stage != STAGE_OPEN) && !read_frames(b)) {
		babbler_hang_up(b);
		return;
	}
	babbler_wire(b);
	if (b->stage == STAGE_OPEN)
		babbler_data_read(b);
	if (now_ns >= b->next_ns) {
		b->next_ns = now_ns + sim_between(b->world, 0, 2 * b->pause_ns);
		if (b->stage == STAGE_OPEN)
			babbler_talk(b);
		else if (sim_one_in(b->world, 2000))
			babbler_hang_up(b);
	}
	if (b->stage > STAGE_START && !flush(b))
		babbler_hang_up(b);
}
