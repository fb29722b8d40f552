/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine's queue of events: each end of a watched transfer once, to one taker; nothing of one
 * that was freed or posted again; peers up and down, the latest state only.
 */
#include "rig.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"
#include "core/loop/queue.h"

#define MIB  (1u << 20)
#define MANY 500

static size_t
take(tcpx_engine *e, struct tcpx_event *out, size_t room)
{
	size_t n = room;
	int rc = tcpx_event_wait(e, WAIT_MS, out, sizeof(*out), &n);

	assert_ok(rc);
	assert_in_range(n, 1, room);
	return n;
}

static void
assert_no_event(tcpx_engine *e)
{
	struct tcpx_event ev;
	size_t n = 1;

	assert_code(tcpx_event_get(e, &ev, sizeof(ev), &n), -EAGAIN);
	assert_int_equal(n, 0);
}

static bool
readable(tcpx_engine *e)
{
	struct pollfd p = { .fd = tcpx_event_fd(e), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static tcpx_xfer *
begin(struct rig *r, uint64_t len)
{
	struct tcpx_desc l = { r->near.id, 0, len }, f = { r->far.far, 0, len };
	tcpx_xfer *x;

	assert_ok(tcpx_write(r->to_b, &l, 1, &f, 1, NULL, 0, &x));
	return x;
}

TEST_WITH(each_of_many_ends_once, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	tcpx_xfer *x[MANY];
	struct tcpx_event ev[64];
	int seen[MANY] = { 0 };
	size_t n, left = MANY;

	rig_memory(r, 4096, 4096);
	assert_false(readable(r->a));
	for (int i = 0; i < MANY; i++) {
		x[i] = begin(r, 100);
		tcpx_xfer_watch(x[i], &seen[i]);
	}
	while (left) {
		n = take(r->a, ev, 64);
		assert_in_range(n, 1, left);
		for (size_t i = 0; i < n; i++) {
			int *mark = ev[i].user;

			assert_int_equal(ev[i].kind, TCPX_EVENT_XFER);
			assert_ok(ev[i].status);
			assert_int_equal(ev[i].bytes, 100);
			assert_ptr_equal(ev[i].xfer, x[mark - seen]);
			assert_string_equal(ev[i].peer, "");
			assert_int_equal((*mark)++, 0);
		}
		left -= n;
	}
	assert_no_event(r->a);
	assert_false(readable(r->a)); /* taken is seen */
	for (int i = 0; i < MANY; i++) {
		assert_ok(tcpx_test(x[i]));
		tcpx_xfer_free(x[i]);
	}
}

TEST_WITH(one_that_has_ended_is_told_at_once, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_event ev;
	tcpx_xfer *x;

	rig_memory(r, 100, 100);
	x = begin(r, 100);
	assert_ok(tcpx_wait(x, WAIT_MS));
	assert_false(readable(r->a));
	tcpx_xfer_watch(x, r);
	assert_true(readable(r->a));
	assert_ok(tcpx_test(x));
	assert_true(readable(r->a)); /* test does not take it */
	assert_int_equal(take(r->a, &ev, 1), 1);
	assert_ptr_equal(ev.user, r);
	tcpx_xfer_watch(x, NULL); /* its end was reported */
	assert_no_event(r->a);
	tcpx_xfer_free(x);
}

TEST_WITH(a_transfer_that_is_not_watched_is_not_told, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	rig_memory(r, 100, 100);
	assert_ok(rig_move(r, TCPX_OP_WRITE, 0, 0, 100));
	assert_no_event(r->a);
	assert_no_event(r->b);
}

TEST_WITH(what_was_freed_is_not_told, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	tcpx_xfer *x;

	rig_memory(r, MIB, MIB);
	for (int i = 0; i < 50; i++) {
		x = begin(r, i % 2 ? MIB : 100);
		tcpx_xfer_watch(x, r);
		if (i % 3 == 0)
			assert_ok(tcpx_wait(x, WAIT_MS));
		if (i % 3 == 1)
			tcpx_cancel(x);
		tcpx_xfer_free(x);
	}
	assert_no_event(r->a);
	assert_false(readable(r->a));
}

TEST_WITH(each_post_of_a_prepared_transfer_is_told, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_desc l, f;
	struct tcpx_event ev;
	tcpx_list *ll, *fl;
	tcpx_xfer *x;

	rig_memory(r, 100, 100);
	l = (struct tcpx_desc){ r->near.id, 0, 100 };
	f = (struct tcpx_desc){ r->far.far, 0, 100 };
	assert_ok(tcpx_list_prepare(r->a, &l, 1, &ll));
	assert_ok(tcpx_list_prepare(r->a, &f, 1, &fl));
	assert_ok(tcpx_xfer_prepare(r->to_b, TCPX_OP_WRITE, ll, fl, &x));
	tcpx_xfer_watch(x, r);
	assert_no_event(r->a); /* not posted yet */
	for (int i = 0; i < 100; i++) {
		assert_ok(tcpx_xfer_post(x, NULL, 0));
		assert_int_equal(take(r->a, &ev, 1), 1);
		assert_ptr_equal(ev.xfer, x);
	}
	for (int i = 0; i < 100; i++) { /* an end not taken goes with the next post */
		assert_ok(tcpx_xfer_post(x, NULL, 0));
		assert_ok(tcpx_wait(x, WAIT_MS));
	}
	assert_int_equal(take(r->a, &ev, 1), 1);
	assert_no_event(r->a);
	assert_ok(tcpx_xfer_post(x, NULL, 0));
	tcpx_xfer_free(x);
	assert_no_event(r->a);
	tcpx_list_free(ll);
	tcpx_list_free(fl);
}

TEST_WITH(a_cancelled_receive_and_a_lost_peer_are_told, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_desc l;
	struct tcpx_event ev;
	tcpx_xfer *x;

	rig_memory(r, 100, 100);
	l = (struct tcpx_desc){ r->near.id, 0, 100 };
	assert_ok(tcpx_recv(r->to_b, &l, 1, 7, &x));
	tcpx_xfer_watch(x, r);
	assert_no_event(r->a);
	tcpx_cancel(x);
	assert_int_equal(take(r->a, &ev, 1), 1);
	assert_code(ev.status, TCPX_ECANCELED);
	tcpx_xfer_free(x);
	assert_ok(tcpx_recv(r->to_b, &l, 1, 7, &x));
	tcpx_xfer_watch(x, r);
	tcpx_close(r->b);
	r->b = NULL;
	assert_int_equal(take(r->a, &ev, 1), 1);
	assert_code(ev.status, TCPX_EPEERGONE);
	tcpx_xfer_free(x);
}

TEST_WITH(a_wait_in_vain_and_wrong_room, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_event ev;
	size_t n = 1;

	assert_code(tcpx_event_wait(r->a, 0, &ev, sizeof(ev), &n), -EAGAIN);
	n = 1;
	assert_code(tcpx_event_wait(r->a, 10, &ev, sizeof(ev), &n), -EAGAIN);
	n = 0;
	assert_code(tcpx_event_get(r->a, &ev, sizeof(ev), &n), -EINVAL);
	n = 1;
	assert_code(tcpx_event_get(r->a, &ev, 7, &n), -EINVAL);
}

/* An engine of before sees the fields that it knows; a later one zeros behind them. */
TEST_WITH(the_size_of_an_event_may_differ, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	union {
		unsigned char at[2 * 256];
		struct tcpx_event ev;
	} u;
	size_t n = 2;
	tcpx_xfer *x[2];

	rig_memory(r, 100, 100);
	memset(&u, 0xee, sizeof(u));
	for (int i = 0; i < 2; i++) {
		x[i] = begin(r, 100);
		tcpx_xfer_watch(x[i], &x[i]);
		assert_ok(tcpx_wait(x[i], WAIT_MS));
	}
	assert_ok(tcpx_event_get(r->a, (void *)u.at, 256, &n));
	assert_int_equal(n, 2);
	assert_int_equal(u.at[255], 0);
	assert_ptr_equal(u.ev.user, &x[0]);
	assert_ptr_equal(((struct tcpx_event *)(void *)(u.at + 256))->user, &x[1]);
	tcpx_xfer_free(x[0]);
	tcpx_xfer_free(x[1]);
}

TEST_WITH(peers_are_told_where_asked, rig_setup, rig_teardown)
{
	struct tcpx_engine_opts o = TCPX_ENGINE_OPTS_INIT;
	struct rig *r = *state;
	struct tcpx_event ev;
	tcpx_engine *c;
	tcpx_peer *p;

	o.name = "cleo";
	o.settings = (const char *const[]){ "TCPX_NICS=127.0.1.1", "TCPX_PORT=0",
					    "TCPX_NOTE_LIMIT=3", NULL };
	o.peer_events = 1;
	assert_ok(tcpx_open(&o, &c));
	for (int i = 0; i < 2; i++) { /* more in all than may wait at once */
		p = rig_add(c, r->b);
		assert_int_equal(take(c, &ev, 1), 1);
		assert_int_equal(ev.kind, TCPX_EVENT_PEER_UP);
		assert_string_equal(ev.peer, "bert");
		assert_null(ev.xfer);
		tcpx_close(r->b);
		r->b = NULL;
		assert_int_equal(take(c, &ev, 1), 1);
		assert_int_equal(ev.kind, TCPX_EVENT_PEER_DOWN);
		assert_code(ev.status, TCPX_EPEERGONE);
		assert_string_equal(ev.peer, "bert");
		assert_no_event(c);
		tcpx_peer_free(p);
		r->b = rig_open("bert", NULL);
	}
	p = rig_add(c, r->b);
	assert_ok(tcpx_peer_wait(p, WAIT_MS));
	tcpx_peer_free(p);
	tcpx_close(c); /* with an event that nobody takes */
	assert_no_event(r->b); /* did not ask */
}

TEST_WITH(an_event_outlives_its_peer, rig_setup, rig_teardown)
{
	struct tcpx_engine_opts o = TCPX_ENGINE_OPTS_INIT;
	struct peer_news news = { .waiting = NULL }, freed;
	struct tcpx_event ev;
	tcpx_engine *e;

	o.name = "cleo";
	o.settings = (const char *const[]){ "TCPX_NICS=127.0.1.1", "TCPX_PORT=0", NULL };
	o.peer_events = 1;
	assert_ok(tcpx_open(&o, &e));
	tcpx_queue_peer(e, &news, "dora", 5, TCPX_EPEERGONE);
	tcpx_queue_forget(e, &news);
	memset(&news, 0xee, sizeof(news)); /* its memory is somebody else's */
	freed = news;
	assert_int_equal(take(e, &ev, 1), 1);
	assert_int_equal(ev.kind, TCPX_EVENT_PEER_DOWN);
	assert_code(ev.status, TCPX_EPEERGONE);
	assert_string_equal(ev.peer, "dora");
	assert_int_equal(ev.incarnation, 5);
	assert_memory_equal(&news, &freed, sizeof(news));
	tcpx_close(e);
}

/* ---- many takers ---- */

struct crowd {
	struct rig *r;
	_Atomic int told[MANY];
	_Atomic int left;
};

static void *
taker(void *arg)
{
	struct crowd *c = arg;
	struct tcpx_event ev[8];

	while (atomic_load(&c->left) > 0) {
		size_t n = 8;

		if (tcpx_event_wait(c->r->a, 5, ev, sizeof(ev[0]), &n) != 0)
			continue;
		for (size_t i = 0; i < n; i++)
			atomic_fetch_add((_Atomic int *)ev[i].user, 1);
		atomic_fetch_sub(&c->left, (int)n);
	}
	return NULL;
}

TEST_WITH(several_takers_share_the_ends, rig_setup, rig_teardown)
{
	struct crowd c = { .r = *state, .left = MANY };
	tcpx_xfer *x[MANY];
	pthread_t t[4];

	rig_memory(c.r, 4096, 4096);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, taker, &c), 0);
	for (int i = 0; i < MANY; i++) {
		x[i] = begin(c.r, 64 + (uint64_t)i);
		tcpx_xfer_watch(x[i], (void *)&c.told[i]);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(c.told[i], 1);
		tcpx_xfer_free(x[i]);
	}
	assert_no_event(c.r->a);
}
