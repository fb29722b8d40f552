/* SPDX-License-Identifier: Apache-2.0 */
/* The same of lanes' messages: whose turn it is, and which channels are woken. */
#include "bare.h"

#include "core/channel/connection.h"
#include "core/loop/lease.h"
#include "core/transfer/lane_chunks.h"
#include "core/transfer/lane_state.h"
#include "core/transfer/progress.h"
#include "core/transfer/schedule.h"
#include "core/transfer/spread.h"

#define CHUNK (64u << 10)

/* What stands in the window until it is sent. */
static void
send_all(struct channel *c)
{
	c->tx.send_seq = c->window.next;
}

/* A lane whose messages have their receives. */
struct sending {
	struct tcpx_lane *lane;
	struct tcpx_xfer *message[TCPX_LANE_SLOTS];
	uint32_t taken, seq; /* chunks; the newest of which one was taken          */
};

static void
sending_open(struct bare *b, struct sending *l, uint32_t number, uint32_t weight)
{
	l->lane = calloc(1, sizeof(*l->lane));
	assert_non_null(l->lane);
	tcpx_lane_init(l->lane, &b->e, true);
	l->lane->status = 0;
	l->lane->word = tcpx_lane_word(false, number);
	l->lane->turn.drr.weight = weight;
	l->lane->tx.ring = (struct tcpx_lane_ring){ .posted = 62, .done = 62 };
}

static void
sending_post_cut(struct bare *b, struct sending *l, uint64_t total, uint32_t chunk)
{
	struct tcpx_xfer *x;
	uint64_t seq;

	assert_int_equal(tcpx_lane_ring_post(&l->lane->tx.ring, &seq), 0);
	x = bare_xfer(b, l->lane->word | seq, total, chunk);
	atomic_fetch_add(&l->lane->refs, 1);
	x->lane = l->lane;
	*tcpx_lane_slot(l->lane, seq) = l->message[seq % TCPX_LANE_SLOTS] = x;
	tcpx_spread_chunks(b->s, x);
}

static void
sending_post(struct bare *b, struct sending *l, uint64_t total)
{
	sending_post_cut(b, l, total, CHUNK);
}

/* The next chunk, which is acknowledged at once, or lost with the channel. */
static void
sending_take(struct bare *b, struct channel *c, struct sending *l, bool lost)
{
	struct tx_record *r = tcpx_schedule_pick(c, b->now_ns);
	uint32_t number;

	assert_non_null(r);
	number = tcpx_lane_number(r->id) - 1;
	l[number].taken++;
	l[number].seq = (uint32_t)tcpx_lane_seq(r->id);
	send_all(c);
	c->tx.outstanding = 0;
	assert_int_equal(tcpx_window_step(&c->window, c->window.next - 1, TCPX_EV_ABORT), 0);
	if (lost)
		tcpx_chunk_given_back(c, r);
	else
		tcpx_xfer_put(xfer_of(r->payload));
	r->payload = NULL;
}

static void
sending_close(struct sending *l)
{
	for (uint32_t i = 0; i < TCPX_LANE_SLOTS; i++)
		tcpx_xfer_put(l->message[i]);
	tcpx_lane_put(l->lane);
}

TEST(lanes_share_by_weight_whatever_waits)
{
	struct bare b;
	struct channel *c;
	struct sending l[3] = { { .taken = 0 } };

	bare_open(&b, true);
	b.s->sched.drr.quantum = CHUNK;
	c = bare_channel(&b, 0);
	for (uint32_t i = 0; i < 3; i++)
		sending_open(&b, &l[i], 1 + i, i == 0 ? 4 : i - 1); /* 4, 0, 1 */
	for (int i = 0; i < 60; i++)
		sending_post(&b, &l[0], CHUNK);
	sending_post(&b, &l[1], 20 * CHUNK);
	for (int i = 0; i < 10; i++)
		sending_post(&b, &l[2], 2 * CHUNK);
	for (uint32_t i = 1; i <= 60; i++) {
		sending_take(&b, c, l, false);
		if (i % 6 == 0) {
			assert_int_equal(l[0].taken, 4 * i / 6);
			assert_int_equal(l[1].taken, i / 6);
			assert_int_equal(l[2].taken, i / 6);
		}
	}
	for (int i = 0; i < 3; i++)
		sending_close(&l[i]);
	bare_close(&b);
}

TEST(the_oldest_message_of_a_lane_goes_first)
{
	struct bare b;
	struct channel *c;
	struct sending l = { .taken = 0 };

	bare_open(&b, true);
	c = bare_channel(&b, 0);
	sending_open(&b, &l, 1, 1);
	for (int i = 0; i < 3; i++)
		sending_post(&b, &l, 2 * CHUNK);
	sending_take(&b, c, &l, false);
	sending_take(&b, c, &l, true);
	sending_take(&b, c, &l, false);
	assert_int_equal(l.seq, 63); /* with what was given back */
	sending_take(&b, c, &l, false);
	assert_int_equal(l.seq, 64);
	for (int i = 0; i < 3; i++)
		sending_take(&b, c, &l, false);
	assert_int_equal(l.seq, 65);
	assert_null(tcpx_schedule_pick(c, b.now_ns));
	sending_close(&l);
	bare_close(&b);
}

/* Loop 0 is lent to a thread that tests. */
TEST(a_lone_message_stays_with_the_thread_that_tests)
{
	const uint64_t sizes[] = { CHUNK, 2 * CHUNK };
	struct bare b;

	for (int i = 0; i < 2; i++) {
		struct sending l = { .taken = 0 };
		bool large = sizes[i] > CHUNK;

		bare_open(&b, true);
		bare_channel(&b, 0);
		bare_channel(&b, 1);
		sending_open(&b, &l, 1, 1);
		atomic_store(&b.loop[0].lease.look_ns, 0);
		sending_post(&b, &l, sizes[i]);
		assert_int_equal(bare_works(&b.loop[1]) > 0, large);
		if (!large) {
			assert_int_equal(bare_works(&b.loop[0]), 1);
			sending_post(&b, &l, CHUNK); /* not lone any more */
			assert_int_equal(bare_works(&b.loop[1]), 1);
			assert_int_equal(bare_works(&b.loop[0]), 0);
		}
		sending_close(&l);
		bare_close(&b);
	}
}

/* Loop 0 is lent, and has the only channel that is up. */
TEST(a_large_message_has_the_channel_that_is_up)
{
	struct sending l = { .taken = 0 };
	struct channel *c[2];
	struct bare b;

	bare_open(&b, true);
	for (uint16_t i = 0; i < 2; i++)
		c[i] = bare_channel(&b, i);
	c[1]->state = CHAN_DOWN;
	sending_open(&b, &l, 1, 1);
	atomic_store(&b.loop[0].lease.look_ns, 0);
	sending_post_cut(&b, &l, 2 * CHUNK, 2 * CHUNK);
	assert_true(c[0]->work.queued);
	assert_false(c[1]->work.queued);
	sending_take(&b, c[0], &l, false);
	c[1]->state = CHAN_UP;
	sending_close(&l);
	bare_close(&b);
}

/* One after another, each acknowledged before the next; loop 0 is lent. */
TEST(messages_keep_to_a_channel_while_little_is_under_way)
{
	struct sending l = { .taken = 0 };
	struct channel *c[3];
	uint32_t others = 0;
	struct bare b;

	bare_open(&b, true);
	for (uint16_t i = 0; i < 3; i++)
		c[i] = bare_channel(&b, i);
	sending_open(&b, &l, 1, 1);
	atomic_store(&b.loop[0].lease.look_ns, 0);
	for (int i = 0; i < 8; i++) {
		b.s->sched.outstanding_bytes = i < 4 ? CHUNK : 16 * CHUNK;
		sending_post(&b, &l, CHUNK);
		others += c[2]->work.queued;
		assert_int_equal(bare_works(&b.loop[1]) + bare_works(&b.loop[2]), 1);
		assert_true(i > 3 || !others);
		sending_take(&b, c[1], &l, false);
	}
	assert_true(others > 0);
	b.s->sched.outstanding_bytes = 0;
	sending_close(&l);
	bare_close(&b);
}

/* Loop 0 is lent; of the others some sleep. Transfers of no lane, and large chunks, take turns. */
TEST(threads_that_are_awake_come_first)
{
	static const struct {
		bool asleep[4], lane;
		uint32_t total, chunk;
		bool want[4];
	} row[] = {
		{ { 0, 0, 0, 0 }, true, CHUNK, 8 * CHUNK, { 0, 1, 0, 0 } },
		{ { 0, 1, 0, 0 }, true, CHUNK, 8 * CHUNK, { 0, 0, 1, 0 } },
		{ { 0, 1, 1, 1 }, true, CHUNK, 8 * CHUNK, { 0, 1, 0, 0 } },
		{ { 0, 1, 0, 0 }, false, CHUNK, CHUNK, { 0, 1, 0, 0 } },
		{ { 0, 1, 0, 0 }, true, 4 * CHUNK, 2 * CHUNK, { 0, 0, 1, 1 } },
		{ { 0, 1, 0, 0 }, true, 3 * CHUNK, 8 * CHUNK, { 0, 1, 0, 0 } },
	};
	struct channel *c[4];
	struct bare b;

	for (size_t k = 0; k < sizeof(row) / sizeof(row[0]); k++) {
		struct sending l = { .taken = 0 };
		struct tcpx_xfer *x = NULL;

		bare_open(&b, true);
		for (uint16_t i = 0; i < 4; i++) {
			c[i] = bare_channel(&b, i);
			atomic_store(&b.loop[i].asleep, row[k].asleep[i]);
		}
		atomic_store(&b.loop[0].lease.look_ns, 0);
		sending_open(&b, &l, 1, 1);
		b.s->sched.outstanding_bytes = CHUNK; /* none is lone */
		if (row[k].lane) {
			sending_post_cut(&b, &l, row[k].total, row[k].chunk);
		} else {
			c[0]->tx.outstanding = 1;
			x = bare_xfer(&b, 1, row[k].total, row[k].chunk);
			tcpx_spread_chunks(b.s, x);
		}
		for (int i = 0; i < 4; i++)
			assert_int_equal(c[i]->work.queued, row[k].want[i]);
		c[0]->tx.outstanding = 0;
		b.s->sched.outstanding_bytes = 0;
		tcpx_xfer_put(x);
		sending_close(&l);
		bare_close(&b);
	}
}

/* Both come before the first is picked. */
TEST(a_second_message_wakes_another_channel)
{
	struct sending l[2] = { { .taken = 0 } };
	struct channel *c[3];
	struct bare b;

	bare_open(&b, true);
	for (uint16_t i = 0; i < 3; i++)
		c[i] = bare_channel(&b, i);
	for (uint32_t i = 0; i < 2; i++)
		sending_open(&b, &l[i], 1 + i, 1);
	atomic_store(&b.loop[0].lease.look_ns, 0);
	b.s->sched.outstanding_bytes = CHUNK;
	for (int i = 0; i < 2; i++)
		sending_post(&b, &l[i], CHUNK);
	assert_true(c[1]->work.queued && c[2]->work.queued);
	sending_take(&b, c[1], l, false);
	sending_take(&b, c[2], l, false);
	(void)bare_works(&b.loop[1]);
	(void)bare_works(&b.loop[2]);
	sending_post(&b, &l[0], CHUNK); /* the first has looked */
	assert_true(c[1]->work.queued);
	assert_false(c[2]->work.queued);
	for (int i = 0; i < 2; i++)
		sending_close(&l[i]);
	bare_close(&b);
}

TEST(what_a_channel_was_woken_for_goes_by_another_if_it_goes_down)
{
	struct sending l = { .taken = 0 };
	struct channel *c[3];
	struct bare b;

	bare_open(&b, true);
	for (uint16_t i = 0; i < 3; i++)
		c[i] = bare_channel(&b, i);
	b.s->chan.tx_up = 3;
	sending_open(&b, &l, 1, 1);
	atomic_store(&b.loop[0].lease.look_ns, 0);
	b.s->sched.outstanding_bytes = CHUNK;
	sending_post(&b, &l, CHUNK);
	assert_true(c[1]->work.queued);
	assert_false(c[2]->work.queued);
	c[1]->rested = true; /* no word of it in the log */
	tcpx_channel_rest(c[1]);
	assert_true(c[2]->work.queued);
	b.s->sched.outstanding_bytes = 0;
	sending_close(&l);
	bare_close(&b);
}

TEST(few_chunks_of_a_lane_wake_their_channels_at_once)
{
	const struct { uint32_t chunks; bool at_once; } cases[] = { { 4, true }, { 5, false } };
	struct bare b;

	for (int i = 0; i < 2; i++) {
		struct sending l = { .taken = 0 };
		uint32_t queued = 0;

		bare_open(&b, true);
		for (uint16_t k = 0; k < 6; k++) {
			bare_channel(&b, k);
			b.loop[k % BARE_LOOPS].asleep = true;
		}
		sending_open(&b, &l, 1, 1);
		sending_post(&b, &l, cases[i].chunks * CHUNK);
		for (uint16_t k = 0; k < 6; k++)
			queued += b.s->chan.tx[k]->work.queued;
		assert_int_equal(queued, cases[i].at_once ? cases[i].chunks : 2);
		sending_close(&l);
		bare_close(&b);
	}
}

/* A receive of @len bytes, announced, and its one chunk. */
static void
place_chunk(struct bare *b, struct channel *c, uint32_t len)
{
	struct tcpx_lane *l = calloc(1, sizeof(*l));
	enum chunk_place how = CHUNK_SINK;
	struct rx_record r = { .payload = NULL };
	struct tcpx_xfer *x;
	struct tcpx_head h;

	assert_non_null(l);
	tcpx_lane_init(l, &b->e, false);
	l->refs = 2;
	l->status = 0;
	l->session = b->s;
	l->rx.ring.posted = l->rx.announced = 1;
	l->rx.slot[1] = (struct tcpx_lane_slot){ len, TCPX_LANE_UNKNOWN, 0 };
	tcpx_lane_named(l, tcpx_lane_word(true, 1));
	h = (struct tcpx_head){ .xfer = l->word | 1, .chunk = TCPX_LANE_LAST, .len = len };
	x = bare_xfer(b, h.xfer, len, TCPX_LANE_UNIT);
	x->sends = false;
	*tcpx_lane_slot(l, 1) = x;
	x->lane = l;
	tcpx_xfer_enter(b->s, x);
	assert_int_equal(tcpx_lane_place(c, &h, &r, &how), 0);
	assert_int_equal(how, CHUNK_FOUND);
	tcpx_chain_remove(&x->table);
	tcpx_tags_remove(&b->s->lanes.by_word, &l->by_word);
	l->session = NULL;
	tcpx_xfer_put(x);
	tcpx_xfer_put(x);
	tcpx_lane_put(l);
}

TEST(both_ends_stay_awake_after_a_small_chunk)
{
	const uint32_t sizes[] = { TCPX_CHUNK_LITTLE, TCPX_CHUNK_LITTLE + TCPX_LANE_UNIT };
	struct channel *c;
	struct bare b;

	for (int i = 0; i < 2; i++) {
		struct sending l = { .taken = 0 };
		uint64_t awake_ns;

		bare_open(&b, true);
		c = bare_channel(&b, 1);
		b.s->chan.chunk_max = TCPX_CHUNK_MAX;
		b.loop[1].now_ns = b.now_ns;
		awake_ns = i == 0 ? b.now_ns + AWAKE_NS : 0;
		sending_open(&b, &l, 1, 1);
		sending_post(&b, &l, sizes[i]);
		tcpx_xfer_shape(l.message[63], sizes[i], sizes[i]);
		sending_take(&b, c, &l, false);
		assert_int_equal(b.loop[1].awake_until_ns, awake_ns);
		b.loop[1].awake_until_ns = 0;
		place_chunk(&b, c, sizes[i]);
		assert_int_equal(b.loop[1].awake_until_ns, awake_ns);
		sending_close(&l);
		bare_close(&b);
	}
}

/* Seldom where other loops' threads move a message, unless this loop has payload, too. */
TEST(looks_are_due_by_who_moves_the_message)
{
	static const struct {
		uint64_t ago_ns;
		bool others, carries, due;
	} row[] = {
		{ DUE_NS - 1, false, false, false },    { DUE_NS, false, false, true },
		{ SELDOM_NS - 1, true, false, false },  { SELDOM_NS, true, false, true },
		{ DUE_NS - 1, true, true, false },      { DUE_NS, true, true, true },
	};
	struct loop *l;
	struct bare b;

	bare_open(&b, true);
	l = &b.loop[0];
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		atomic_store(&l->lease.lent_ns, b.now_ns - row[i].ago_ns);
		atomic_store(&l->lease.carries, row[i].carries);
		assert_int_equal(tcpx_lease_is_due(l, row[i].others), row[i].due);
	}
	bare_close(&b);
}
