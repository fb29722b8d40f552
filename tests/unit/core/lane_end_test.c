/* SPDX-License-Identifier: Apache-2.0 */
/* How a lane ends: closed at either end with messages in flight, or with its region, its session, its
 * engine. */
#include "lane_rig.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/session/control.h"
#include "core/session/session.h"
#include "core/transfer/lane.h"
#include "core/transfer/lane_frames.h"
#include "core/transfer/transfer.h"

#define ROOM PIPE_ROOM

/* Not one send whose receive failed may count as done, and no byte comes after the return. */
TEST_WITH(test_receiver_closes_in_mid_flight, pipe_setup, pipe_teardown)
{
	struct pipe *p = *state;
	tcpx_xfer *s[8], *r[8];
	uint8_t *copy = malloc(ROOM);
	int rc[8], round, i;

	assert_non_null(copy);
	for (round = 0; round < 40; round++) {
		for (i = 0; i < 8; i++) {
			r[i] = post_recv(p, (size_t)i * MIB, MIB);
			s[i] = post_send(p, (size_t)i * MIB, MIB);
		}
		if (round % 4)
			(void)tcpx_wait(r[round % 8], WAIT_MS);
		close_rx(p);
		memcpy(copy, p->rig.far.at, ROOM);
		for (i = 0; i < 8; i++) {
			rc[i] = tcpx_test(r[i]);
			assert_true(rc[i] == 0 || rc[i] == TCPX_ECANCELED);
			tcpx_xfer_free(r[i]);
		}
		for (i = 0; i < 8; i++) {
			int sent = tcpx_wait(s[i], WAIT_MS);

			assert_true(sent == 0 || sent == TCPX_ECANCELED);
			if (sent == 0)
				assert_memory_equal(p->rig.far.at + (size_t)i * MIB,
						    p->rig.near.at + (size_t)i * MIB, MIB);
			tcpx_xfer_free(s[i]);
		}
		assert_memory_equal(copy, p->rig.far.at, ROOM);
		close_tx(p);
		memset(p->rig.far.at, round, ROOM);
		pipe_open(p);
	}
	free(copy);
}

/* What was received was sent, even if its receiver closes at once. */
TEST_WITH(test_receiver_closes_when_done, pipe_setup, pipe_teardown)
{
	struct pipe *p = *state;
	tcpx_xfer *s[4], *r[4], *more;
	int round, i;

	for (round = 0; round < 50; round++) {
		for (i = 0; i < 4; i++) {
			s[i] = post_send(p, (size_t)i * MIB, 64 << 10);
			r[i] = post_recv(p, (size_t)i * MIB, 64 << 10);
		}
		more = post_send(p, 0, MIB);
		for (i = 0; i < 4; i++)
			end_with(r[i], 0);
		close_rx(p);
		for (i = 0; i < 4; i++)
			end_with(s[i], 0);
		end_with(more, TCPX_ECLOSED);
		close_tx(p);
		pipe_open(p);
	}
}

TEST_WITH(test_sender_closes_in_mid_flight, pipe_setup, pipe_teardown)
{
	struct pipe *p = *state;
	tcpx_xfer *s[4], *r[4];
	int round, i, rc;

	for (round = 0; round < 20; round++) {
		for (i = 0; i < 4; i++) {
			r[i] = post_recv(p, (size_t)i * MIB, MIB);
			s[i] = post_send(p, (size_t)i * MIB, MIB);
		}
		if (round % 2)
			(void)tcpx_wait(s[round % 4], WAIT_MS);
		close_tx(p);
		for (i = 0; i < 4; i++) {
			rc = tcpx_wait(r[i], WAIT_MS);
			if (tcpx_test(s[i]) == 0)
				assert_ok(rc);
			assert_true(rc == 0 || rc == TCPX_ECANCELED || rc == TCPX_ECLOSED);
			tcpx_xfer_free(s[i]);
			tcpx_xfer_free(r[i]);
		}
		close_rx(p);
		pipe_open(p);
	}
}

TEST_WITH(test_deregistering_ends_both, pipe_setup, pipe_teardown)
{
	struct pipe *p = *state;
	tcpx_xfer *r = post_recv(p, 0, MIB), *next = post_recv(p, MIB, MIB);

	assert_ok(tcpx_mem_deregister(p->rig.b, p->rig.far.id));
	end_with(r, TCPX_EREGION);
	end_with(next, TCPX_EREGION);
	while (tcpx_lane_ready(p->tx) == 0)
		sched_yield();
	assert_code(tcpx_lane_ready(p->tx), TCPX_EREGION);
	p->rig.far.id = 0;
}

TEST_WITH(test_the_session_is_lost, pipe_setup, pipe_teardown)
{
	struct pipe *p = *state;
	tcpx_xfer *s = post_send(p, 0, MIB);

	close_rx(p);
	tcpx_close(p->rig.b);
	p->rig.b = NULL;
	assert_code(tcpx_wait(s, WAIT_MS) == 0, 0);
	assert_true(tcpx_lane_ready(p->tx) < 0);
	tcpx_xfer_free(s);
}

/* What the application keeps goes with its engine, in any state. */
TEST_WITH(test_the_engine_closes_with_lanes, pipe_setup, pipe_teardown)
{
	struct pipe *p = *state;
	uint8_t key[TCPX_LANE_KEY];
	tcpx_lane *alone, *opening;
	int i;

	assert_ok(tcpx_lane_listen(p->rig.a, key, &alone));
	assert_ok(tcpx_lane_open(p->rig.to_b, key, &opening));
	for (i = 0; i < 4; i++) {
		(void)post_recv(p, (size_t)i * MIB, MIB);
		(void)post_send(p, (size_t)i * MIB, MIB);
	}
	(void)post_send(p, 0, 1);
	p->tx = p->rx = NULL;
	tcpx_close(p->rig.a);
	p->rig.a = NULL;
	tcpx_close(p->rig.b);
	p->rig.b = NULL;
	p->rig.to_b = NULL;
}

/* Another thread is in the middle of a call that writes there, as when a peer sends a chunk twice. */
TEST(a_receive_is_over_when_no_thread_writes_there)
{
	static const char *const settings[] = { "TCPX_CHANNELS=1", "TCPX_THREADS=2", NULL };
	struct pipe p;
	struct loop *other;
	tcpx_xfer *send, *recv;

	pipe_begin(&p, settings, settings, PIPE_ROOM);
	recv = post_recv(&p, 0, MIB);
	other = &p.rig.b->loop[1]; /* that of no channel */
	atomic_store(&other->gate, &recv->payload);
	send = post_send(&p, 0, MIB);
	while (atomic_load(&recv->payload.live))
		sched_yield();
	for (int i = 0; i < 2000; i++) {
		assert_code(atomic_load(&recv->status), -EAGAIN);
		sched_yield();
	}
	atomic_store(&other->gate, NULL);
	end_with(recv, 0);
	end_with(send, 0);
	pipe_end(&p);
}

/* Fills the session's log, as for a peer that does not read. s->lock held. */
static void
fill_log(struct session *s)
{
	while (tcpx_control_put(s, TCPX_FR_LANE_CLOSE, NULL) == 0)
		;
}

TEST_WITH(test_a_lane_whose_opening_does_not_fit, pipe_setup, pipe_teardown)
{
	struct pipe *p = *state;
	struct session *s = p->tx->session;
	struct tcpx_lane *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	tcpx_lane_init(l, p->rig.a, true);
	l->session = s;
	tcpx_session_get(s);
	pthread_mutex_lock(&s->lock);
	fill_log(s);
	assert_ok(tcpx_lane_join(l));
	assert_int_equal(s->state, SESS_FAILED);
	pthread_mutex_unlock(&s->lock);
	assert_int_equal(atomic_load(&l->refs), 1); /* the session has given up its own */
	assert_code(atomic_load(&l->status), TCPX_ELIMIT);
	tcpx_lane_put(l);
}

TEST_WITH(test_lanes_whose_opening_does_not_fit, pipe_setup, pipe_teardown)
{
	struct pipe *p = *state;
	struct session *s = p->tx->session;
	const uint8_t key[TCPX_LANE_KEY] = { 1 };
	tcpx_lane *l;

	assert_ok(tcpx_lane_open(p->rig.to_b, key, &l));
	pthread_mutex_lock(&s->lock);
	fill_log(s);
	tcpx_lanes_opened(s);
	assert_int_equal(s->state, SESS_FAILED);
	pthread_mutex_unlock(&s->lock);
	tcpx_lane_close(l);
}
