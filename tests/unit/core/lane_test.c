/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes between two engines: which send meets which receive, and every byte. Up to 16,353 bytes a send
 * may end before it is there. */
#include "lane_rig.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "core/context/context.h"
#include "core/loop/lease.h"
#include "core/loop/loop.h"
#include "core/transfer/lane_state.h"

#define ROOM  PIPE_ROOM
#define DEPTH TCPX_LANE_OPEN

/* Each end says who is at the other, once it is ready. */
TEST_WITH(test_who_is_at_the_other_end, pipe_setup, pipe_teardown)
{
	struct tcpx_peer_info info = TCPX_PEER_INFO_INIT;
	struct pipe *p = *state;
	uint8_t key[TCPX_LANE_KEY];
	tcpx_peer *peer;
	tcpx_lane *l;

	assert_ok(tcpx_lane_listen(p->rig.b, key, &l));
	assert_code(tcpx_lane_ready(l), -EAGAIN);
	assert_code(tcpx_lane_peer(l, &peer), -EAGAIN);
	tcpx_lane_close(l);
	assert_ok(tcpx_lane_peer(p->rx, &peer));
	assert_ok(tcpx_peer_query(peer, &info));
	assert_string_equal(info.name, "anna");
	tcpx_peer_free(peer);
	assert_ok(tcpx_lane_peer(p->tx, &peer));
	assert_ptr_equal(peer, p->rig.to_b);
	tcpx_peer_free(peer);
}

TEST_WITH(test_a_message, pipe_setup, pipe_teardown)
{
	struct pipe *p = *state;
	tcpx_xfer *r = post_recv(p, 0, 3 * MIB), *s = post_send(p, 100, 3 * MIB - 7);

	end_with(s, 0);
	assert_ok(tcpx_wait(r, WAIT_MS));
	assert_int_equal(length_of(r), 3 * MIB - 7);
	tcpx_xfer_free(r);
	assert_memory_equal(p->rig.far.at, p->rig.near.at + 100, 3 * MIB - 7);
}

TEST_WITH(test_send_first, pipe_setup, pipe_teardown)
{
	struct pipe *p = *state;
	tcpx_xfer *s = post_send(p, 0, (64 << 10) + 1), *r;

	assert_code(tcpx_wait(s, 20), -EAGAIN);
	r = post_recv(p, 0, MIB);
	end_with(s, 0);
	end_with(r, 0);
	assert_memory_equal(p->rig.far.at, p->rig.near.at, (64 << 10) + 1);
}

TEST_WITH(test_an_empty_message, pipe_setup, pipe_teardown)
{
	struct pipe *p = *state;
	tcpx_xfer *r = post_recv(p, 0, 4096), *s = post_send(p, 0, 0);

	end_with(s, 0);
	assert_ok(tcpx_wait(r, WAIT_MS));
	assert_int_equal(length_of(r), 0);
	tcpx_xfer_free(r);
}

/* Lengths of every kind: below, at and above units and chunks. */
static size_t
some_length(struct tcpx_rng *rng)
{
	static const size_t edge[] = { 0, 1, 4095, 4096, 4097, 65535, 65536, 65537, 131072 };
	uint64_t k = tcpx_rng_below(rng, 16);

	return k < sizeof(edge) / sizeof(edge[0]) ? edge[k] : tcpx_rng_below(rng, 131073);
}

/* Many messages deep, receives before and after their sends; each message has its own bytes. */
TEST_WITH(test_order_and_every_byte, pipe_setup, pipe_teardown)
{
	enum { SLOT = 128 << 10, TOTAL = 1500 };
	struct pipe *p = *state;
	tcpx_xfer *send[DEPTH], *recv[DEPTH];
	size_t len[DEPTH], sent = 0, got = 0, done = 0;
	struct tcpx_rng rng = tcpx_rng_seed(18);

	while (done < TOTAL) {
		size_t to_send = tcpx_rng_below(&rng, 9), to_get = tcpx_rng_below(&rng, 9);

		for (; to_send && sent < TOTAL && sent - done < DEPTH; to_send--, sent++) {
			size_t at = sent % DEPTH;

			len[at] = some_length(&rng);
			fill(p->rig.near.at + at * SLOT, len[at], (uint32_t)sent);
			send[at] = post_send(p, at * SLOT, len[at]);
		}
		for (; to_get && got < TOTAL && got - done < DEPTH; to_get--, got++) {
			memset(p->rig.far.at + got % DEPTH * SLOT, 0xee, SLOT);
			recv[got % DEPTH] = post_recv(p, got % DEPTH * SLOT, SLOT);
		}
		while (done < sent && done < got && (sent == TOTAL || tcpx_rng_below(&rng, 4))) {
			size_t at = done % DEPTH;

			assert_ok(tcpx_wait(recv[at], WAIT_MS));
			assert_int_equal(length_of(recv[at]), len[at]);
			assert_filled(p->rig.far.at + at * SLOT, len[at], (uint32_t)done);
			for (size_t k = len[at]; k < SLOT; k++)
				assert_int_equal(p->rig.far.at[at * SLOT + k], 0xee);
			tcpx_xfer_free(recv[at]);
			end_with(send[at], 0);
			done++;
		}
	}
	assert_ok(tcpx_lane_ready(p->tx));
}

TEST_WITH(test_no_more_than_the_limit, pipe_setup, pipe_teardown)
{
	struct pipe *p = *state;
	tcpx_xfer *x[DEPTH], *more;

	for (size_t i = 0; i < DEPTH; i++)
		x[i] = post_recv(p, i * 4096, 4096);
	assert_code(tcpx_lane_post(p->rx, p->rig.far.id, 0, 1, &more), -ENOBUFS);
	end_with(post_send(p, 0, 4096), 0);
	end_with(x[0], 0);
	x[0] = post_recv(p, 0, 4096);
	close_rx(p);
	for (size_t i = 0; i < DEPTH; i++)
		end_with(x[i], TCPX_ECANCELED);
}

/* A message may be tested a few times only before it is there; the thread that tests does the I/O all
 * the same. */
TEST_WITH(test_many_tests_of_many_messages_do_the_io, pipe_setup, pipe_teardown)
{
	struct pipe *p = *state;
	uint64_t borrows = counters_of(p->rig.b).lease_borrows;
	tcpx_xfer *x[DEPTH];

	for (size_t i = 0; i < DEPTH; i++)
		x[i] = post_recv(p, i * 4096, 4096);
	for (size_t i = 0; i < 60 * DEPTH; i++)
		assert_code(tcpx_test(x[i % DEPTH]), -EAGAIN);
	assert_true(counters_of(p->rig.b).lease_borrows > borrows);
	close_rx(p);
	for (size_t i = 0; i < DEPTH; i++)
		end_with(x[i], TCPX_ECANCELED);
}

TEST_WITH(test_too_long_ends_both, pipe_setup, pipe_teardown)
{
	struct pipe *p = *state;
	tcpx_xfer *r = post_recv(p, 0, 19000), *s = post_send(p, 0, 19001), *next;

	end_with(s, TCPX_ELENGTH);
	end_with(r, TCPX_ELENGTH);
	assert_code(tcpx_lane_post(p->tx, p->rig.near.id, 0, 1, &next), TCPX_ELENGTH);
	assert_code(tcpx_lane_ready(p->rx), TCPX_ELENGTH);
}

/* A send that has ended has no place to say so: the lane has. */
TEST_WITH(test_too_long_and_early_ends_both, pipe_setup, pipe_teardown)
{
	struct pipe *p = *state;
	tcpx_xfer *r;

	for (int first = 0; first < 2; first++) {
		memset(p->rig.far.at, 0xee, 8192);
		r = first ? post_recv(p, 0, 100) : NULL;
		if (first)
			(void)tcpx_wait(r, 20); /* its sender knows of it */
		end_with(post_send(p, 0, 101), first ? TCPX_ELENGTH : 0);
		end_with(r ? r : post_recv(p, 0, 100), TCPX_ELENGTH);
		while (tcpx_lane_ready(p->tx) == 0)
			sched_yield();
		assert_code(tcpx_lane_ready(p->tx), TCPX_ELENGTH);
		for (int i = 0; i < 8192; i++)
			assert_int_equal(p->rig.far.at[i], 0xee);
		close_tx(p);
		close_rx(p);
		pipe_open(p);
	}
}

TEST_WITH(test_nobody_listens, pipe_setup, pipe_teardown)
{
	struct pipe *p = *state;
	uint8_t key[TCPX_LANE_KEY] = { 0 };
	tcpx_lane *l;

	assert_ok(tcpx_lane_open(p->rig.to_b, key, &l));
	wait_ready(l, -ENOENT);
	tcpx_lane_close(l);
	test_a_message(state);
}

/* Bytes that channels of that loop of the sender have sent. */
static uint64_t
sent_by_loop(struct pipe *p, uint32_t loop)
{
	struct tcpx_channel_info c[8];
	size_t count = 8;
	uint64_t sum = 0;

	assert_ok(tcpx_query_channels(p->rig.a, c, sizeof(c[0]), &count));
	for (size_t i = 0; i < count; i++)
		sum += c[i].sending && c[i].loop == loop ? c[i].bytes : 0;
	return sum;
}

/* Neither test nor wait: these would borrow a loop. */
static void
watch_end(tcpx_xfer *x)
{
	struct tcpx_xfer_info info = TCPX_XFER_INFO_INIT;

	do {
		sched_yield();
		assert_ok(tcpx_xfer_query(x, &info));
	} while (info.status == -EAGAIN);
	assert_code(info.status, 0);
	tcpx_xfer_free(x);
}

static uint64_t
sent_meanwhile(struct pipe *p, size_t len, int count)
{
	uint64_t before = sent_by_loop(p, 0);
	tcpx_xfer *to, *from;

	for (int i = 0; i < count; i++) {
		from = post_recv(p, 0, len);
		to = post_send(p, 0, len);
		watch_end(to);
		watch_end(from);
	}
	return sent_by_loop(p, 0) - before;
}

TEST_WITH(test_a_weight, pipe_setup, pipe_teardown)
{
	struct pipe *p = *state;

	assert_ok(tcpx_lane_weight(p->tx, TCPX_LANE_WEIGHT_MAX));
	assert_code(tcpx_lane_weight(p->tx, 0), -EINVAL);
	assert_code(tcpx_lane_weight(p->tx, TCPX_LANE_WEIGHT_MAX + 1), -EINVAL);
	assert_int_equal(p->tx->turn.drr.weight, TCPX_LANE_WEIGHT_MAX);
	assert_code(tcpx_lane_weight(p->rx, 1), -EINVAL);
}

TEST(test_a_loop_that_is_lent_takes_no_large_messages)
{
	static const char *const two[] = { "TCPX_THREADS=2", "TCPX_CHANNELS=2", NULL };
	struct pipe p;

	pipe_begin(&p, two, two, ROOM);
	assert_int_equal(sent_meanwhile(&p, 32 << 10, 50), 50 * (32 << 10));
	assert_true(sent_meanwhile(&p, 4 * MIB, 8) > 0); /* its I/O thread runs it */
	/* as if a thread had run it by testing, and its I/O thread slept */
	atomic_store(&p.rig.a->loop[0].lease.look_ns, 1);
	assert_int_equal(sent_meanwhile(&p, 4 * MIB, 8), 0);
	atomic_store(&p.rig.a->loop[0].lease.look_ns, UINT64_MAX);
	pipe_end(&p);
}

/* Tests of a message in vain look for events as often as that is due, at most. The first looks may find what is
 * left of the messages before. */
static void
looks_of(tcpx_engine *e, tcpx_xfer *x, uint64_t due_ns)
{
	uint64_t begin_ns = engine_now(e), before = counters_of(e).lease_borrows, looks;

	for (int i = 0; i < 20000; i++)
		assert_code(tcpx_test(x), -EAGAIN);
	looks = counters_of(e).lease_borrows - before;
	assert_true(looks > 0);
	assert_true(looks <= (engine_now(e) - begin_ns) / due_ns + 16);
}

/* Other threads move large messages. A thread that tests these has others to look after. */
TEST(test_large_messages_are_looked_for_seldom)
{
	static const char *const two[] = { "TCPX_THREADS=2", "TCPX_CHANNELS=2", NULL };
	struct pipe p;
	tcpx_xfer *r, *s;

	pipe_begin(&p, two, two, ROOM);
	r = post_recv(&p, 0, MIB); /* what comes is not known */
	assert_false(atomic_load(&r->waiters.by_others));
	end_with(post_send(&p, 0, MIB), 0);
	end_with(r, 0);
	sent_meanwhile(&p, MIB, 8);
	r = post_recv(&p, 0, MIB);
	looks_of(p.rig.b, r, SELDOM_NS);
	s = post_send(&p, 0, MIB);
	watch_end(r);
	assert_true(atomic_load(&s->waiters.by_others));
	end_with(s, 0);
	s = post_send(&p, 0, MIB); /* waits for its receive: loop 0 brings word of that */
	assert_false(atomic_load(&s->waiters.by_others));
	r = post_recv(&p, 0, MIB);
	end_with(s, 0);
	end_with(r, 0);
	pipe_end(&p);
}

/* The sender's loop 0 is its I/O thread's, so payload comes by all channels. */
TEST(test_a_loop_with_payload_says_so)
{
	static const char *const two[] = { "TCPX_THREADS=2", "TCPX_CHANNELS=2", NULL };
	bool carries = false;
	struct pipe p;
	tcpx_xfer *r, *s;

	pipe_begin(&p, two, two, ROOM);
	for (int i = 0; i < 1000 && !carries; i++) {
		r = post_recv(&p, 0, 4 * MIB);
		s = post_send(&p, 0, 4 * MIB);
		while (tcpx_test(r) == -EAGAIN)
			carries |= atomic_load(&p.rig.b->loop[0].lease.carries);
		end_with(r, 0);
		watch_end(s);
	}
	assert_true(carries);
	pipe_end(&p);
}

/* One thread; and two, of which the other has no channel. */
TEST(test_where_no_others_have_channels_all_are_looked_for_alike)
{
	static const char *const settings[][3] = { { "TCPX_THREADS=1", "TCPX_CHANNELS=2", NULL },
						   { "TCPX_THREADS=2", "TCPX_CHANNELS=1", NULL } };
	struct pipe p;
	tcpx_xfer *r, *s;

	for (int i = 0; i < 2; i++) {
		pipe_begin(&p, settings[i], settings[i], ROOM);
		sent_meanwhile(&p, MIB, 8);
		r = post_recv(&p, 0, MIB);
		assert_false(atomic_load(&r->waiters.by_others));
		s = post_send(&p, 0, MIB);
		watch_end(r);
		assert_false(atomic_load(&s->waiters.by_others));
		end_with(s, 0);
		pipe_end(&p);
	}
}
