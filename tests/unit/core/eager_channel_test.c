/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of lanes that go by a channel before their receives are known: to these, if they are posted, or
 * kept for them. Both sides count the same credit in the end. */
#include "lane_rig.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/rng.h"
#include "core/context/context.h"
#include "core/session/session.h"

#define ROOM  (4u << 20)
#define SLOT  (72u << 10)
#define LEAST (TCPX_EAGER_FRAME + 1)
#define MOST  TCPX_EAGER_MOST

static tcpx_xfer *
post_filled(struct pipe *p, size_t at, size_t len, uint32_t seed)
{
	fill(p->rig.near.at + at, len, seed);
	return post_send(p, at, len);
}

/* It has come, without a receive. Its memory is used for something else. */
static void
send_early(struct pipe *p, size_t len, uint32_t seed)
{
	end_with(post_filled(p, 0, len, seed), 0);
	memset(p->rig.near.at, 0x77, SLOT);
}

static void
assert_received(struct pipe *p, tcpx_xfer *x, size_t at, size_t len, uint32_t seed)
{
	assert_ok(tcpx_wait(x, WAIT_MS));
	assert_int_equal(length_of(x), len);
	tcpx_xfer_free(x);
	assert_filled(p->rig.far.at + at, len, seed);
	for (size_t i = len; i < SLOT; i++)
		assert_int_equal(p->rig.far.at[at + i], 0xee);
}

static tcpx_xfer *
post_empty(struct pipe *p, size_t at)
{
	memset(p->rig.far.at + at, 0xee, SLOT);
	return post_recv(p, at, SLOT);
}

static void
receive(struct pipe *p, size_t len, uint32_t seed)
{
	assert_received(p, post_empty(p, 0), 0, len, seed);
}

/* Until bert has what anna has used credit for, and keeps nothing. */
static void
wait_even(struct pipe *p)
{
	struct session *s = tcpx_session_after(p->rig.a, NULL), *t = session_of(p);
	uint64_t used;
	bool even;

	do {
		sched_yield();
		pthread_mutex_lock(&s->lock);
		used = s->lanes.credit.used;
		pthread_mutex_unlock(&s->lock);
		pthread_mutex_lock(&t->lock);
		even = t->lanes.kept.used == used && t->lanes.kept.taken == used && !t->lanes.kept.coming;
		pthread_mutex_unlock(&t->lock);
	} while (!even);
	tcpx_session_put(s);
}

TEST(sends_end_before_their_receives)
{
	static const size_t len[] = { LEAST, 40000, MOST - 1, MOST };
	struct pipe p;

	pipe_begin(&p, NULL, NULL, ROOM);
	wait_credit(&p, 256 << 10);
	for (uint32_t i = 0; i < 4; i++)
		send_early(&p, len[i], i);
	for (uint32_t i = 0; i < 4; i++)
		receive(&p, len[i], i);
	assert_int_equal(counters_of(p.rig.b).bytes_rx, LEAST + 40000 + 2 * MOST - 1);
	assert_int_equal(counters_of(p.rig.a).bytes_tx, LEAST + 40000 + 2 * MOST - 1);
	wait_even(&p);
	pipe_end(&p);
}

/* Too long for it, or without credit, or not wanted. */
TEST(others_wait_for_their_receives)
{
	static const char *const none[] = { "TCPX_EAGER=0", NULL }, *const little[] = { "TCPX_EAGER=64K", NULL },
				 *const off[] = { "TCPX_INLINE=0", NULL };
	static const struct {
		const char *const *sender, *const *receiver;
		size_t len;
	} row[] = { { NULL, NULL, MOST + 1 }, { NULL, none, LEAST }, { NULL, little, 40000 }, { off, NULL, LEAST } };
	struct pipe p;
	tcpx_xfer *x;

	for (size_t i = 0; i < 4; i++) {
		pipe_begin(&p, row[i].sender, row[i].receiver, ROOM);
		x = post_filled(&p, 0, row[i].len, 1);
		assert_code(tcpx_wait(x, 20), -EAGAIN);
		receive(&p, row[i].len, 1);
		end_with(x, 0);
		wait_even(&p);
		pipe_end(&p);
	}
}

TEST(small_ones_overtake)
{
	struct pipe p;
	tcpx_xfer *x;

	pipe_begin(&p, NULL, NULL, ROOM);
	for (uint32_t i = 0; i < 50; i++) {
		wait_credit(&p, 100 << 10);
		x = post_filled(&p, SLOT, MOST, 2 * i);
		end_with(post_filled(&p, 0, 8, 2 * i + 1), 0);
		if (i % 2)
			end_with(x, 0);
		receive(&p, MOST, 2 * i);
		receive(&p, 8, 2 * i + 1);
		if (i % 2 == 0)
			end_with(x, 0);
	}
	wait_even(&p);
	pipe_end(&p);
}

/* Of five receives the sender knows four: what goes on credit for the fifth goes there, if it is long
 * enough. */
TEST(its_receive_is_posted_and_not_announced)
{
	tcpx_xfer *recv[5], *send[5];
	struct pipe p;

	for (int shorter = 0; shorter < 2; shorter++) {
		pipe_begin(&p, NULL, NULL, ROOM);
		for (uint32_t i = 0; i < 4; i++)
			recv[i] = post_empty(&p, i * SLOT);
		recv[4] = shorter ? post_recv(&p, 4 * SLOT, MOST - 1) : post_empty(&p, 4 * SLOT);
		for (uint32_t i = 0; i < 5; i++)
			send[i] = post_filled(&p, i * SLOT, i < 4 ? 100 : MOST, i);
		for (uint32_t i = 0; i < 5 && !shorter; i++)
			assert_received(&p, recv[i], i * SLOT, i < 4 ? 100 : MOST, i);
		if (shorter)
			assert_code(tcpx_wait(recv[4], WAIT_MS), TCPX_ELENGTH);
		for (uint32_t i = 0; i < 5; i++) {
			if (shorter)
				tcpx_xfer_free(recv[i]);
			(void)tcpx_wait(send[i], WAIT_MS);
			tcpx_xfer_free(send[i]);
		}
		wait_even(&p);
		pipe_end(&p);
	}
}

TEST(its_receive_is_too_short)
{
	struct pipe p;

	pipe_begin(&p, NULL, NULL, ROOM);
	send_early(&p, MOST, 1);
	end_with(post_recv(&p, 0, MOST - 1), TCPX_ELENGTH);
	assert_code(tcpx_lane_ready(p.rx), TCPX_ELENGTH);
	while (tcpx_lane_ready(p.tx) == 0)
		sched_yield();
	assert_code(tcpx_lane_ready(p.tx), TCPX_ELENGTH);
	wait_even(&p);
	pipe_end(&p);
}

/* What was sent is received, though its sender has closed the lane, and the engine, since. */
TEST(the_sender_is_over)
{
	struct pipe p;

	for (int gone = 0; gone < 2; gone++) {
		pipe_begin(&p, NULL, NULL, ROOM);
		wait_credit(&p, 256 << 10);
		for (uint32_t i = 0; i < 3; i++)
			send_early(&p, MOST - i, i);
		close_tx(&p);
		if (gone) {
			struct session *s = session_of(&p);

			tcpx_session_get(s);
			tcpx_close(p.rig.a);
			p.rig.a = NULL;
			p.rig.to_b = NULL;
			while (s->state != SESS_FAILED)
				sched_yield();
			tcpx_session_put(s);
		}
		for (uint32_t i = 0; i < 3; i++) {
			assert_ok(tcpx_lane_ready(p.rx));
			receive(&p, MOST - i, i);
		}
		if (!gone)
			wait_even(&p);
		close_rx(&p);
		if (gone)
			assert_int_equal(p.rig.b->eager.used, 0);
		pipe_end(&p);
	}
}

/* A receiver that closes gives up what it keeps, and what is on its way then goes nowhere. */
TEST(the_receiver_is_over)
{
	struct pipe p;
	tcpx_xfer *x[2];

	for (uint32_t round = 0; round < 20; round++) {
		pipe_begin(&p, NULL, NULL, ROOM);
		wait_credit(&p, 256 << 10);
		for (uint32_t i = 0; i < 2; i++)
			x[i] = post_filled(&p, i * SLOT, MOST, i);
		for (uint32_t i = 0; i < round % 3; i++)
			(void)tcpx_wait(x[i], WAIT_MS);
		close_rx(&p);
		for (uint32_t i = 0; i < 2; i++)
			end_with(x[i], 0);
		wait_even(&p);
		pipe_end(&p);
	}
}

/* A sender that closes cancels what is on its way. */
TEST(the_sender_gives_up)
{
	struct pipe p;
	tcpx_xfer *x[2];

	pipe_begin(&p, NULL, NULL, ROOM);
	for (uint32_t round = 0; round < 40; round++) {
		wait_credit(&p, 200 << 10);
		for (uint32_t i = 0; i < 2; i++)
			x[i] = post_filled(&p, i * SLOT, MOST, i);
		if (round % 2)
			(void)tcpx_wait(x[0], WAIT_MS);
		close_tx(&p);
		for (uint32_t i = 0; i < 2; i++) {
			int rc = tcpx_test(x[i]);

			assert_true(rc == 0 || rc == TCPX_ECANCELED);
			tcpx_xfer_free(x[i]);
		}
		close_rx(&p);
		pipe_open(&p);
	}
	send_early(&p, MOST, 1);
	receive(&p, MOST, 1);
	wait_even(&p);
	pipe_end(&p);
}

/* Of any length, in order, receives before and after, and in the middle. */
TEST(of_all_lengths)
{
	enum { TOTAL = 1500, DEPTH = 20 };
	struct tcpx_rng rng = tcpx_rng_seed(19);
	tcpx_xfer *send[DEPTH] = { 0 }, *recv[DEPTH];
	size_t len[DEPTH], sent = 0, got = 0, done = 0;
	struct pipe p;

	pipe_begin(&p, NULL, NULL, ROOM);
	while (done < TOTAL) {
		size_t at = sent % DEPTH;

		if (tcpx_rng_below(&rng, 2) && sent < TOTAL && sent - done < DEPTH) {
			len[at] = tcpx_rng_below(&rng, tcpx_rng_below(&rng, 3) ? SLOT + 1 : 64);
			send[at] = post_filled(&p, at * SLOT, len[at], (uint32_t)sent);
			if (tcpx_test(send[at]) == 0)
				memset(p.rig.near.at + at * SLOT, 0x77, SLOT);
			sent++;
		}
		if (tcpx_rng_below(&rng, 2) && got < TOTAL && got - done < DEPTH) {
			recv[got % DEPTH] = post_empty(&p, got % DEPTH * SLOT);
			got++;
		}
		if (done < sent && done < got && !tcpx_rng_below(&rng, 3)) {
			at = done % DEPTH;
			assert_received(&p, recv[at], at * SLOT, len[at], (uint32_t)done);
			end_with(send[at], 0);
			done++;
		}
	}
	wait_even(&p);
	pipe_end(&p);
}
