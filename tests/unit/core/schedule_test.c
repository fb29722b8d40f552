/* SPDX-License-Identifier: Apache-2.0 */
/* Which chunk a channel takes, and which channels are woken for it. */
#include "bare.h"

#include <errno.h>

#include "core/channel/wake.h"
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

static void
drop(struct channel *c, struct tcpx_xfer *x)
{
	for (uint64_t seq = c->window.released + 1; seq < c->window.next; seq++)
		if (tcpx_tx_record(c, seq)->payload == &x->payload) {
			tcpx_tx_record(c, seq)->payload = NULL;
			tcpx_xfer_put(x);
		}
}

TEST(chunks_leave_in_order)
{
	struct bare b;
	struct channel *c;
	struct tcpx_xfer *x;

	bare_open(&b, true);
	c = bare_channel(&b, 0);
	x = bare_xfer(&b, 7, 3 * CHUNK - 5, CHUNK);
	tcpx_spread_chunks(b.s, x);
	for (uint32_t k = 0; k < 3; k++) {
		struct tx_record *r = tcpx_schedule_pick(c, b.now_ns);

		assert_non_null(r);
		assert_int_equal(r->chunk, k);
		assert_int_equal(r->id, 7);
		assert_int_equal(r->len, k == 2 ? CHUNK - 5 : CHUNK);
		assert_false(r->staged);
		send_all(c);
		if (k == 1) /* two unacknowledged, and no rate is known */
			c->tx.outstanding = 0;
	}
	assert_null(tcpx_schedule_pick(c, b.now_ns));
	assert_int_equal(b.s->sched.queued_bytes, 0);
	assert_int_equal(b.s->sched.outstanding_bytes, 3 * CHUNK - 5);
	drop(c, x);
	tcpx_xfer_put(x);
	bare_close(&b);
}

TEST(user_memory_is_taken_when_it_can_be_sent)
{
	struct bare b;
	struct channel *c;
	struct tcpx_xfer *x;

	bare_open(&b, true);
	c = bare_channel(&b, 0);
	x = bare_xfer(&b, 1, 4 * CHUNK, CHUNK);
	tcpx_spread_chunks(b.s, x);
	assert_non_null(tcpx_schedule_pick(c, b.now_ns));
	assert_null(tcpx_schedule_pick(c, b.now_ns)); /* one waits to be sent */
	send_all(c);
	assert_non_null(tcpx_schedule_pick(c, b.now_ns));
	drop(c, x);
	tcpx_xfer_put(x);
	bare_close(&b);
}

/* The header of a chunk names its place. Nothing is received for a wrong one. */
TEST(a_chunk_has_one_place)
{
	static const struct {
		uint64_t id;
		uint32_t chunk, len;
		int rc;
		enum chunk_place how;
	} rows[] = {
		{ 7, 0, CHUNK, 0, CHUNK_FOUND },
		{ 7, 2, CHUNK - 5, 0, CHUNK_FOUND },
		{ 7, 2, CHUNK, TCPX_EFRAME, CHUNK_SINK },
		{ 7, 0, CHUNK - 5, TCPX_EFRAME, CHUNK_SINK },
		{ 7, 1, CHUNK, TCPX_EFRAME, CHUNK_SINK }, /* is in place */
		{ 7, 3, 0, TCPX_EFRAME, CHUNK_SINK },
		{ 7, UINT32_MAX, 0, TCPX_EFRAME, CHUNK_SINK },
		{ 6, 0, CHUNK, 0, CHUNK_SINK },           /* has ended */
		{ 9, 0, CHUNK, 0, CHUNK_PARK },           /* is not open yet */
		{ 8, 0, CHUNK, TCPX_EFRAME, CHUNK_SINK }, /* sends */
		{ ID_OF_ACCEPTOR | 9, 0, CHUNK, TCPX_EFRAME, CHUNK_PARK },
	};
	struct tcpx_xfer *x, *sends;
	struct channel *c;
	struct bare b;

	bare_open(&b, false);
	c = bare_channel(&b, 0);
	x = bare_xfer(&b, 7, 3 * CHUNK - 5, CHUNK);
	sends = bare_xfer(&b, 8, 3 * CHUNK - 5, CHUNK);
	assert_int_equal(tcpx_xfer_map(x), 0);
	assert_true(tcpx_chunkmap_set(&x->rx.map, 1));
	tcpx_xfer_insert(b.s, x, b.now_ns);
	tcpx_xfer_insert(b.s, sends, b.now_ns);
	b.s->xfers.opened_there = 8;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tcpx_head h = { .xfer = rows[i].id, .chunk = rows[i].chunk, .len = rows[i].len };
		enum chunk_place how = CHUNK_SINK;
		struct rx_record r;

		assert_int_equal(tcpx_chunk_place(c, &h, &r, &how), rows[i].rc);
		assert_int_equal(how, rows[i].how);
		assert_ptr_equal(r.payload, how == CHUNK_FOUND ? &x->payload : NULL);
		if (r.payload)
			tcpx_chunk_put(r.payload);
	}
	tcpx_chain_remove(&x->table);
	tcpx_chain_remove(&sends->table);
	tcpx_xfer_put(x);
	tcpx_xfer_put(sends);
	bare_close(&b);
}

/* A prepared transfer is posted again: reports about chunks of its last post come behind that. */
TEST(chunks_of_an_earlier_post_count_for_nothing)
{
	struct bare b;
	struct channel *c;
	struct tcpx_xfer *x;
	struct tx_record sent;
	struct rx_record came;

	bare_open(&b, true);
	c = bare_channel(&b, 0);
	x = bare_xfer(&b, 8, 2 * CHUNK, CHUNK);
	assert_int_equal(tcpx_xfer_map(x), 0);
	sent = (struct tx_record){ .payload = &x->payload, .id = 7, .len = CHUNK };
	came = (struct rx_record){ .payload = &x->payload, .id = 7, .len = CHUNK };
	tcpx_xfer_get(x);
	tcpx_chunk_acked(c, &sent, b.now_ns);
	assert_int_equal(x->tx.applied, 0);
	assert_int_equal(x->tx.in_flight, 0);
	sent.payload = &x->payload;
	tcpx_xfer_get(x);
	tcpx_chunk_given_back(c, &sent);
	assert_int_equal(x->tx.again_count, 0);
	assert_int_equal(b.s->sched.queued_bytes, 0);
	assert_int_equal(tcpx_chunk_applied(c, &came, b.now_ns), 0);
	assert_int_equal(x->rx.map.set, 0);
	assert_int_equal(x->bytes_done, 0);
	came.id = 8;
	assert_int_equal(tcpx_chunk_applied(c, &came, b.now_ns), 0);
	assert_int_equal(x->rx.map.set, 1);
	tcpx_xfer_put(x);
	bare_close(&b);
}

/* The peer has not got it, and never will, if it has ended: then its credit is for others. */
TEST(credit_of_a_message_that_a_lost_channel_gives_back_is_not_lost)
{
	enum { LEN = 20000, OTHERS = 500 };

	for (int over = 0; over < 2; over++) {
		struct tcpx_eager_tx *credit;
		struct tx_record sent;
		struct channel *c;
		struct tcpx_xfer *x;
		struct bare b;

		bare_open(&b, true);
		c = bare_channel(&b, 0);
		x = bare_xfer(&b, 7, LEN, CHUNK);
		tcpx_session_get(b.s);
		x->session = b.s;
		x->tx.early = true;
		x->tx.in_flight = 1;
		credit = &b.s->lanes.credit;
		credit->granted = 1 << 20;
		credit->used = OTHERS + tcpx_eager_cost(LEN);
		if (over)
			x->status = TCPX_ECANCELED;
		sent = (struct tx_record){ .payload = &x->payload, .id = 7, .len = LEN };
		tcpx_xfer_get(x);
		tcpx_chunk_given_back(c, &sent);
		assert_int_equal(credit->used, over ? OTHERS : OTHERS + tcpx_eager_cost(LEN));
		assert_int_equal(x->tx.again_count, !over);
		tcpx_xfer_put(x);
		bare_close(&b);
	}
}

TEST(a_full_window_takes_nothing)
{
	struct bare b;
	struct channel *c;
	struct tcpx_xfer *x;

	bare_open(&b, true);
	c = bare_channel(&b, 0);
	c->tx.rate.Bps = 10000000000ull; /* the pull rule would allow many */
	c->tx.rate.last_ns = b.now_ns;
	x = bare_xfer(&b, 1, 8 * CHUNK, CHUNK);
	tcpx_spread_chunks(b.s, x);
	for (int i = 0; i < 4; i++) {
		assert_non_null(tcpx_schedule_pick(c, b.now_ns));
		send_all(c);
	}
	assert_null(tcpx_schedule_pick(c, b.now_ns));
	drop(c, x);
	tcpx_xfer_put(x);
	bare_close(&b);
}

TEST(what_a_lost_channel_gives_back_goes_first)
{
	struct bare b;
	struct channel *c, *other;
	struct tcpx_xfer *x;
	struct tx_record *r;

	bare_open(&b, true);
	c = bare_channel(&b, 0);
	other = bare_channel(&b, 1);
	x = bare_xfer(&b, 1, 4 * CHUNK, CHUNK);
	tcpx_spread_chunks(b.s, x);
	r = tcpx_schedule_pick(c, b.now_ns);
	assert_non_null(r);
	assert_int_equal(r->chunk, 0);
	b.s->sched.outstanding_bytes = 0; /* as its owner does before */
	tcpx_chunk_given_back(c, r);
	assert_null(r->payload);
	r = tcpx_schedule_pick(other, b.now_ns);
	assert_non_null(r);
	assert_int_equal(r->chunk, 0);
	send_all(other);
	r = tcpx_schedule_pick(other, b.now_ns);
	assert_non_null(r);
	assert_int_equal(r->chunk, 1);
	assert_int_equal(b.e.count.chunks_resent, 1);
	drop(other, x);
	tcpx_xfer_put(x);
	bare_close(&b);
}

TEST(no_chunk_leaves_before_its_open)
{
	struct bare b;
	struct channel *c;
	struct tcpx_xfer *x;

	bare_open(&b, true);
	c = bare_channel(&b, 0);
	x = bare_xfer(&b, 1, CHUNK, CHUNK);
	assert_int_equal(tcpx_ctrl_put_bulk(b.s->control.ctrl, TCPX_FR_OPEN, "", 0,
					    &x->post.ticket), 0);
	tcpx_spread_chunks(b.s, x);
	assert_null(tcpx_schedule_pick(c, b.now_ns));
	assert_true(b.s->control.chunks_wait); /* the flush that writes it wakes channels */
	tcpx_xfer_put(x);
	bare_close(&b);
}

TEST(transfers_take_turns)
{
	struct bare b;
	struct channel *c;
	struct tcpx_xfer *x[2];
	uint32_t taken[2] = { 0, 0 };

	bare_open(&b, true);
	b.s->sched.drr.quantum = CHUNK;
	c = bare_channel(&b, 0);
	for (int i = 0; i < 2; i++) {
		x[i] = bare_xfer(&b, 1 + (uint64_t)i, 8 * CHUNK, CHUNK);
		tcpx_spread_chunks(b.s, x[i]);
	}
	for (int i = 0; i < 4; i++) {
		struct tx_record *r = tcpx_schedule_pick(c, b.now_ns);

		assert_non_null(r);
		taken[r->id - 1]++;
		send_all(c);
		c->tx.outstanding = 0;
	}
	assert_int_equal(taken[0], 2);
	assert_int_equal(taken[1], 2);
	for (int i = 0; i < 2; i++) {
		drop(c, x[i]);
		tcpx_xfer_put(x[i]);
	}
	bare_close(&b);
}

TEST(round_robin_wakes_the_channel_whose_turn_it_is)
{
	struct bare b;
	struct channel *c[2];
	struct tcpx_xfer *x;

	bare_open(&b, true);
	b.e.limit.round_robin = true;
	for (uint16_t i = 0; i < 2; i++)
		c[i] = bare_channel(&b, i);
	x = bare_xfer(&b, 1, 4 * CHUNK, CHUNK);
	tcpx_spread_chunks(b.s, x);
	(void)bare_works(&b.loop[0]);
	(void)bare_works(&b.loop[1]);
	assert_null(tcpx_schedule_pick(c[1], b.now_ns));
	assert_true(c[0]->work.queued);
	assert_non_null(tcpx_schedule_pick(c[0], b.now_ns));
	assert_true(c[1]->work.queued);
	assert_non_null(tcpx_schedule_pick(c[1], b.now_ns));
	drop(c[0], x);
	drop(c[1], x);
	tcpx_xfer_put(x);
	bare_close(&b);
}

TEST(one_chunk_wakes_one_channel_and_many_wake_as_many)
{
	struct bare b;
	struct tcpx_xfer *one, *two;

	bare_open(&b, true);
	for (uint16_t i = 0; i < 3; i++)
		(void)bare_channel(&b, i);
	one = bare_xfer(&b, 1, 100, CHUNK);
	tcpx_spread_chunks(b.s, one);
	assert_int_equal(bare_works(&b.loop[0]), 1); /* of the control stream's loop */
	assert_int_equal(bare_works(&b.loop[1]), 0);
	two = bare_xfer(&b, 2, 2 * CHUNK, CHUNK);
	tcpx_spread_chunks(b.s, two);
	assert_int_equal(bare_works(&b.loop[0]) + bare_works(&b.loop[1]) + bare_works(&b.loop[2]),
			 2);
	tcpx_xfer_put(one);
	tcpx_xfer_put(two);
	bare_close(&b);
}

TEST(a_queue_of_transfers_of_few_chunks_wakes_all_channels)
{
	struct bare b;
	struct channel *c[4];
	struct tcpx_xfer *x[3];

	bare_open(&b, true);
	for (uint16_t i = 0; i < 4; i++)
		c[i] = bare_channel(&b, i);
	for (int i = 0; i < 3; i++) {
		x[i] = bare_xfer(&b, 1 + (uint64_t)i, 2 * CHUNK, CHUNK);
		tcpx_spread_chunks(b.s, x[i]);
		if (i == 0)
			assert_false(c[2]->work.queued || c[3]->work.queued);
		if (i == 0)
			assert_non_null(tcpx_schedule_pick(c[0], b.now_ns));
	}
	for (int i = 0; i < 4; i++)
		assert_true(c[i]->work.queued);
	drop(c[0], x[0]);
	for (int i = 0; i < 3; i++)
		tcpx_xfer_put(x[i]);
	bare_close(&b);
}

TEST(of_many_that_sleep_two_are_woken_and_wake_the_rest)
{
	struct bare b;
	struct channel *c[3];
	struct tcpx_xfer *x;

	bare_open(&b, true);
	for (uint16_t i = 0; i < 3; i++) {
		c[i] = bare_channel(&b, i);
		b.loop[i].asleep = true;
	}
	x = bare_xfer(&b, 1, 8 * CHUNK, CHUNK);
	tcpx_spread_chunks(b.s, x);
	assert_true(c[0]->work.queued && c[1]->work.queued);
	assert_false(c[2]->work.queued);
	assert_non_null(tcpx_schedule_pick(c[0], b.now_ns));
	assert_true(c[2]->work.queued);
	drop(c[0], x);
	tcpx_xfer_put(x);
	bare_close(&b);
}
