/* SPDX-License-Identifier: Apache-2.0 */
/* When receives of a lane are announced: of small messages in a row hardly ever, as their sender does not
 * wait; of others at once, or soon. Scripted network, virtual time. */
#include "nic_lab.h"

#include <string.h>

#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/session/session.h"
#include "core/transfer/lane_state.h"

enum { SMALL = 8, LARGE = 1 << 20, WARM = 8, MESSAGES = 100 };

static const struct tcpx_fabric_script quick = { .delay_min_ns = { 10000, 10000 },
						 .delay_max_ns = { 10000, 10000 } };
static const char *const settings[] = { "TCPX_CHANNELS=1", "TCPX_THREADS=1", "TCPX_PORT=0",
					"TCPX_DEBUG=ERROR", NULL };

struct play {
	struct lab lab;
	tcpx_lane *tx, *rx;
	struct mem from, to;
	tcpx_xfer *send, *recv;
};

static bool
stands(void *arg)
{
	struct play *p = arg;

	return !tcpx_lane_ready(p->tx) && !tcpx_lane_ready(p->rx);
}

static void
begin(struct play *p)
{
	uint8_t key[TCPX_LANE_KEY];

	memset(p, 0, sizeof(*p));
	lab_open_on(&p->lab, &tcpx_net_loop, settings, &quick);
	meet(&p->lab);
	mem_open(&p->from, p->lab.a, LARGE, TCPX_MEM_LOCAL);
	mem_open(&p->to, p->lab.b, LARGE, TCPX_MEM_LOCAL);
	assert_ok(tcpx_lane_listen(p->lab.b, key, &p->rx));
	assert_ok(tcpx_lane_open(p->lab.p, key, &p->tx));
	assert_true(run_until(&p->lab, stands, p, TCPX_SEC));
}

/* As after a poll of bert's: the I/O thread, which there is none of, leaves the loop alone. */
static void
lend(struct play *p, bool lent)
{
	atomic_store(&p->lab.b->loop[0].lease.look_ns, lent ? 1 : UINT64_MAX);
}

static void
end(struct play *p)
{
	lend(p, false);
	tcpx_lane_close(p->tx);
	tcpx_lane_close(p->rx);
	mem_close(&p->from);
	mem_close(&p->to);
	lab_close(&p->lab);
}

static void
post_recv(struct play *p)
{
	assert_ok(tcpx_lane_post(p->rx, p->to.id, 0, LARGE, &p->recv));
}

static void
post_send(struct play *p, size_t len)
{
	assert_ok(tcpx_lane_post(p->tx, p->from.id, 0, len, &p->send));
}

static void
finish_both(struct play *p)
{
	assert_true(run_until(&p->lab, over, p->recv, TCPX_SEC));
	assert_true(run_until(&p->lab, over, p->send, TCPX_SEC));
	assert_ok(tcpx_test(p->recv));
	assert_ok(tcpx_test(p->send));
	tcpx_xfer_free(p->recv);
	tcpx_xfer_free(p->send);
}

/* Each receive first, as a ring of NCCL's has them. */
static void
play_small(struct play *p, int count)
{
	while (count-- > 0) {
		post_recv(p);
		post_send(p, SMALL);
		finish_both(p);
	}
}

static bool
all_is_announced(void *arg)
{
	struct play *p = arg;

	return p->tx->tx.announced == p->rx->rx.ring.posted;
}

TEST(a_row_of_small_messages_needs_no_announcements)
{
	struct play p;
	uint64_t frames;

	begin(&p);
	play_small(&p, WARM);
	lend(&p, true);
	frames = counters_of(p.lab.b).ctrl_frames_tx;
	play_small(&p, MESSAGES);
	assert_in_range(counters_of(p.lab.b).ctrl_frames_tx - frames, 0, MESSAGES / 10);
	end(&p);
}

/* A message takes 10 us. */
TEST(with_a_sleeping_loop_those_of_50_us_share_a_frame)
{
	struct play p;
	uint64_t frames;

	begin(&p);
	play_small(&p, WARM);
	frames = counters_of(p.lab.b).ctrl_frames_tx;
	play_small(&p, MESSAGES);
	assert_in_range(counters_of(p.lab.b).ctrl_frames_tx - frames, 1, MESSAGES / 4);
	for (int i = 0; i < 3; i++) {
		assert_false(run_until(&p.lab, never, NULL, 100000));
		post_recv(&p);
		assert_true(run_until(&p.lab, all_is_announced, &p, 15000));
		post_send(&p, SMALL);
		finish_both(&p);
	}
	end(&p);
}

/* A session that is not used has no deadlines to look at; such a send needs none either. */
TEST(a_send_that_is_over_at_once_wakes_nobody)
{
	struct play p;
	struct loop *l;
	struct session *s;

	begin(&p);
	l = &p.lab.a->loop[0];
	s = tcpx_session_after(p.lab.a, NULL);
	while (!s->health.resting)
		assert_false(run_until(&p.lab, never, NULL, TCPX_SEC));
	post_send(&p, SMALL);
	assert_ok(tcpx_test(p.send));
	assert_false(atomic_load(&l->queue.any) || atomic_load(&l->queue.any_ahead));
	assert_true(s->health.resting);
	post_recv(&p);
	finish_both(&p);
	post_send(&p, LARGE);
	assert_false(s->health.resting);
	post_recv(&p);
	finish_both(&p);
	tcpx_session_put(s);
	end(&p);
}

TEST(receives_are_announced_at_once_before_and_after_it)
{
	struct play p;

	begin(&p);
	post_recv(&p);
	assert_true(run_until(&p.lab, all_is_announced, &p, 15000));
	post_send(&p, SMALL);
	finish_both(&p);
	play_small(&p, WARM);
	lend(&p, true);
	post_recv(&p);
	assert_false(run_until(&p.lab, all_is_announced, &p, 15000));
	post_send(&p, LARGE);
	finish_both(&p);
	post_recv(&p);
	assert_true(run_until(&p.lab, all_is_announced, &p, 15000));
	post_send(&p, SMALL);
	finish_both(&p);
	end(&p);
}

/* It takes what is said to it as soon as it goes on. */
TEST(a_peer_that_stands_still_is_told_too)
{
	struct session *s;
	struct play p;

	begin(&p);
	play_small(&p, WARM);
	lend(&p, true);
	s = tcpx_session_after(p.lab.b, NULL);
	s->health.stopped_ns = engine_now(p.lab.b);
	post_recv(&p);
	assert_true(run_until(&p.lab, all_is_announced, &p, TCPX_MS));
	tcpx_session_put(s);
	post_send(&p, SMALL);
	finish_both(&p);
	end(&p);
}

/* Nothing else happens meanwhile. */
TEST(a_receive_that_waits_is_announced_by_time)
{
	struct play p;

	begin(&p);
	play_small(&p, WARM);
	lend(&p, true);
	for (int i = 0; i < 3; i++) {
		assert_true(all_is_announced(&p) || i == 0);
		post_recv(&p);
		assert_true(run_until(&p.lab, all_is_announced, &p, 100000));
		post_send(&p, SMALL);
		finish_both(&p);
	}
	end(&p);
}

TEST(a_lane_that_ends_with_such_a_receive_leaves_nothing)
{
	struct play p;

	begin(&p);
	play_small(&p, WARM);
	lend(&p, true);
	post_recv(&p);
	tcpx_lane_close(p.rx);
	assert_code(tcpx_test(p.recv), TCPX_ECANCELED);
	tcpx_xfer_free(p.recv);
	p.rx = NULL;
	assert_false(run_until(&p.lab, never, NULL, 200000));
	end(&p);
}
