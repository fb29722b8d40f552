/* SPDX-License-Identifier: Apache-2.0 */
/* A babbler's words about lanes. */
#include <string.h>

#include "sim/babble/babble.h"

#define MOST  20000u
#define FRAME 8000u  /* of one in a frame */

static struct known_lane *
find(struct babbler *b, uint64_t word)
{
	for (uint32_t i = 0; i < b->lane_count; i++)
		if (b->lane[i].word == word)
			return &b->lane[i];
	return NULL;
}

static void
forget(struct babbler *b, uint64_t word)
{
	struct known_lane *l = find(b, word);

	if (l)
		*l = b->lane[--b->lane_count];
}

static void
remember(struct babbler *b, uint64_t word, bool host_sends)
{
	if (b->lane_count == BABBLE_KNOWN)
		b->lane_count--;
	b->lane[b->lane_count++] = (struct known_lane){ .word = word, .host_sends = host_sends };
}

static void
say_open(struct babbler *b)
{
	struct sim_world *w = b->world;
	struct tcpx_lane_opening o = { .lane = tcpx_lane_word(!b->opener, ++b->lanes_opened) };
	uint8_t room[64];
	struct tcpx_buf out;

	memcpy(o.key, w->babble->told->lane[sim_between(w, 0, BABBLE_LANES - 1)], sizeof(o.key));
	remember(b, o.lane, false);
	o.lane = babbler_tell(b, o.lane);
	o.key[0] ^= babbler_lies(b);
	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_lane_opening_write(&out, &o);
	babbler_put(b, TCPX_FR_LANE_OPEN, &out, false);
}

static void
say_posts(struct babbler *b, struct known_lane *l, uint16_t count)
{
	struct tcpx_lane_posts p = { .lane = babbler_tell(b, l->word), .count = count };
	uint8_t room[1024];
	struct tcpx_buf out;

	p.first = babbler_tell(b, l->announced + 1);
	for (uint16_t i = 0; i < count; i++)
		p.len[i] = babbler_tell(b, MOST);
	l->announced += count;
	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_lane_posts_write(&out, &p);
	babbler_put(b, TCPX_FR_LANE_POST, &out, false);
}

static void
say_fail(struct babbler *b, const struct known_lane *l)
{
	struct tcpx_lane_failure f = { babbler_tell(b, l->word), !l->host_sends != babbler_lies(b),
				       (int)-sim_between(b->world, 1, 1400), "so it is" };
	uint8_t room[512];
	struct tcpx_buf out;

	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_lane_failure_write(&out, &f);
	forget(b, l->word);
	babbler_put(b, TCPX_FR_LANE_FAIL, &out, false);
}

static void
say_close(struct babbler *b, uint64_t word)
{
	uint8_t room[8];
	struct tcpx_buf out;

	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_buf_put_u64(&out, babbler_tell(b, word));
	forget(b, word);
	babbler_put(b, TCPX_FR_LANE_CLOSE, &out, false);
}

static void
say_done(struct babbler *b, const struct known_lane *l)
{
	struct tcpx_lane_progress p = { .lane = babbler_tell(b, l->word) };
	uint8_t room[32];
	struct tcpx_buf out;

	if (babbler_lies(b)) {
		p.done = sim_between(b->world, 0, TCPX_LANE_SLOTS);
		p.finished = tcpx_rng_next(&b->world->rng);
	}
	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_lane_progress_write(&out, &p);
	babbler_put(b, TCPX_FR_LANE_DONE, &out, false);
}

/* The next message, in a chunk or two. */
static void
say_message(struct babbler *b, struct known_lane *l)
{
	uint64_t id, len;

	if (l->host_sends || (l->sent >= l->announced && !babbler_lies(b)))
		return;
	id = l->word | (babbler_tell(b, ++l->sent) & TCPX_LANE_SEQ);
	len = l->len[l->sent % TCPX_LANE_SLOTS];
	len = babbler_lies(b) ? len + 1 : sim_between(b->world, 0, len);
	if (len > TCPX_LANE_UNIT && sim_one_in(b->world, 2)) {
		babbler_data_lane(b, id, 0, TCPX_LANE_UNIT);
		babbler_data_lane(b, id, 1 | TCPX_LANE_LAST, (uint32_t)len - TCPX_LANE_UNIT);
		return;
	}
	babbler_data_lane(b, id, TCPX_LANE_LAST, (uint32_t)len);
}

/* The next message in a frame, with its receive or before that, if there is credit. */
static void
say_early(struct babbler *b, struct known_lane *l)
{
	static const uint8_t payload[FRAME];
	struct tcpx_lane_data d = { .payload = payload, .known = l->sent < l->announced };
	uint8_t room[FRAME + 64];
	struct tcpx_buf out;

	d.len = (uint32_t)sim_between(b->world, 0, sim_one_in(b->world, 2) ? 100 : FRAME);
	if (d.known && d.len > l->len[(l->sent + 1) % TCPX_LANE_SLOTS] && !babbler_lies(b))
		d.len = (uint32_t)l->len[(l->sent + 1) % TCPX_LANE_SLOTS];
	if (!d.known && l->sent >= l->announced + TCPX_LANE_SLOTS && !babbler_lies(b))
		return;
	if (!d.known && !tcpx_eager_use(&b->credit, tcpx_eager_cost(d.len)) && !babbler_lies(b))
		return;
	d.known ^= babbler_lies(b);
	d.message = babbler_tell(b, l->word | ++l->sent);
	l->sent -= babbler_lies(b); /* it comes again */
	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_lane_data_write(&out, &d);
	babbler_put(b, TCPX_FR_LANE_DATA, &out, false);
}

/* The next message by a channel, before its receive is known, if there is credit. */
static void
say_early_chunk(struct babbler *b, struct known_lane *l)
{
	uint64_t most = sim_one_in(b->world, 8) ? TCPX_EAGER_MOST : MOST;
	uint32_t len = (uint32_t)sim_between(b->world, TCPX_EAGER_FRAME + 1, most);

	if (l->sent < l->announced && !babbler_lies(b))
		return;
	if (l->sent >= l->announced + TCPX_LANE_SLOTS && !babbler_lies(b))
		return;
	if (!tcpx_eager_use(&b->credit, tcpx_eager_cost(len)) && !babbler_lies(b))
		return;
	++l->sent;
	babbler_data_lane(b, l->word | (babbler_tell(b, l->sent) & TCPX_LANE_SEQ),
			  TCPX_LANE_EARLY | TCPX_LANE_LAST, len);
	l->sent -= babbler_lies(b); /* it comes again */
}

static void
say_grant(struct babbler *b)
{
	uint8_t room[8];
	struct tcpx_buf out;

	b->granted += sim_between(b->world, 0, 20000);
	tcpx_buf_init(&out, room, sizeof(room));
	tcpx_buf_put_u64(&out, babbler_tell(b, b->granted));
	babbler_put(b, TCPX_FR_LANE_GRANT, &out, false);
}

void
babbler_say_lane(struct babbler *b)
{
	struct sim_world *w = b->world;
	struct known_lane none = { .word = tcpx_rng_next(&w->rng), .host_sends = sim_one_in(w, 2) };
	struct known_lane *l = b->lane_count ? &b->lane[sim_between(w, 0, b->lane_count - 1)] : NULL;

	if (!l && babbler_lies(b))
		l = &none;
	switch (sim_between(w, 0, 35)) {
	case 35:
		if (l && (l->host_sends != babbler_lies(b)))
			say_done(b, l);
		break;
	case 0 ... 3:
		say_open(b);
		break;
	case 4:
		if (l)
			say_fail(b, l);
		break;
	case 5:
		if (l)
			say_close(b, l->word);
		break;
	case 6 ... 10:
		if (l && (l->host_sends != babbler_lies(b)) && l->announced < 60)
			say_posts(b, l, (uint16_t)sim_between(w, 0, 4));
		break;
	case 11 ... 13:
		if (l && (l->host_sends != babbler_lies(b)))
			say_grant(b);
		break;
	case 14 ... 20:
		if (l && (!l->host_sends != babbler_lies(b)))
			say_early(b, l);
		break;
	case 30 ... 34:
		if (l && (!l->host_sends != babbler_lies(b)))
			say_early_chunk(b, l);
		break;
	default:
		if (l)
			say_message(b, l);
	}
}

static void
hear_posts(struct babbler *b, const struct tcpx_lane_posts *p)
{
	struct known_lane *l = find(b, p->lane);

	for (uint16_t i = 0; l && i < p->count; i++)
		l->len[++l->announced % TCPX_LANE_SLOTS] = p->len[i];
}

void
babbler_hear_lane(struct babbler *b, uint8_t type, struct tcpx_buf *in)
{
	struct tcpx_lane_opening o;
	struct tcpx_lane_posts p;
	struct tcpx_lane_failure f;
	struct tcpx_lane_progress done;
	struct tcpx_lane_data d;

	switch (type) {
	case TCPX_FR_LANE_DONE:
		if (tcpx_lane_progress_read(in, &done) != 0)
			sim_fail(b->world, "the host's LANE_DONE is none");
		break;
	case TCPX_FR_LANE_DATA:
		if (tcpx_lane_data_read(in, &d) != 0)
			sim_fail(b->world, "the host's LANE_DATA is none");
		break;
	case TCPX_FR_LANE_GRANT:
		if (tcpx_eager_granted(&b->credit, tcpx_buf_get_u64(in)) != 0)
			sim_fail(b->world, "the host takes back credit");
		break;
	case TCPX_FR_LANE_OPEN:
		if (tcpx_lane_opening_read(in, &o) != 0) {
			sim_fail(b->world, "the host's LANE_OPEN is none");
			return;
		}
		remember(b, o.lane, true);
		if (tcpx_ctrl_widen(b->ctrl) != 0) /* whose answer says that long frames may come */
			return;
		say_posts(b, find(b, o.lane), 0);
		break;
	case TCPX_FR_LANE_POST:
		if (tcpx_lane_posts_read(in, &p) != 0)
			sim_fail(b->world, "the host's LANE_POST is none");
		else
			hear_posts(b, &p);
		break;
	case TCPX_FR_LANE_FAIL:
		if (tcpx_lane_failure_read(in, &f) != 0)
			sim_fail(b->world, "the host's LANE_FAIL is none");
		else if (f.sending || sim_one_in(b->world, 4))
			forget(b, f.lane);
		else
			say_close(b, f.lane);
		break;
	default: /* LANE_CLOSE */
		forget(b, tcpx_buf_get_u64(in));
	}
}
