/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer may have no session of its own: one of another object of its incarnation serves it, as its own gave
 * way, or as it was added while the other stood. When that is lost, the one that was served hears of it: what
 * was said on it may be lost, and receives wait for nobody.
 */
#include "nic_lab.h"

#include <errno.h>
#include <string.h>

#include "core/context/context.h"
#include "core/session/peer.h"
#include "core/session/session.h"

/* A newcomer waits for the older one's answer for half of this: less than it takes to ask whether that is over. */
static const char *const quick[] = { "TCPX_CHANNELS=4", "TCPX_THREADS=1", "TCPX_PORT=0", "TCPX_DEBUG=WARN",
				     "TCPX_HANDSHAKE_MS=20", NULL };

struct scene {
	struct lab t;
	tcpx_peer *back; /* of the second engine, which keeps its session */
};

static bool
one_serves(void *arg)
{
	struct scene *c = arg;

	return lab_info(&c->t).status == 0 && status_of(c->back) == 0 && !c->t.p->out &&
	       counters_of(c->t.a).sessions == 1 && counters_of(c->t.b).sessions == 1;
}

static bool
back_is_gone(void *arg)
{
	struct scene *c = arg;
	int rc = status_of(c->back);

	return rc && rc != -EAGAIN;
}

static bool
back_is_there(void *arg)
{
	struct scene *c = arg;

	return status_of(c->back) == 0;
}

static bool
has_note(void *arg)
{
	return ((tcpx_engine *)arg)->events.notes > 0;
}

/* @own: the second has called before the first adds it, so its session belongs to the first's object; else that
 * object is served. */
static void
scene_open(struct scene *c, bool own)
{
	char at[64];

	lab_open(&c->t, &tcpx_net_loop, quick);
	c->t.a->incarnation = 7;
	c->t.b->incarnation = 5;
	snprintf(at, sizeof(at), "10.0.0.2:%u", tcpx_port(c->t.b));
	if (own) {
		c->back = rig_add(c->t.b, c->t.a);
		assert_true(run_until(&c->t, back_is_there, c, TCPX_SEC));
		c->t.p = rig_add(c->t.a, c->t.b);
	} else {
		assert_ok(tcpx_peer_connect(c->t.a, at, &c->t.p));
		c->back = rig_add(c->t.b, c->t.a);
	}
	assert_true(run_until(&c->t, one_serves, c, 20 * TCPX_SEC));
	assert_ok(tcpx_notify(c->t.p, "first", 5));
	assert_true(run_until(&c->t, has_note, c->t.b, TCPX_SEC));
	assert_note(c->t.b, "anna", "first");
}

static bool
has_called(void *arg)
{
	struct scene *c = arg;

	return c->back->out && atomic_load(&c->back->out->state) >= SESS_HELLO;
}

/* The first stands still: the second gives up, and has called anew when the first goes on. */
static void
connect_anew(struct scene *c)
{
	assert_int_equal(tcpx_fabric_cut_control(c->t.fabric, 0), 0);
	run_alone(&c->t, c->t.b, back_is_gone, c, 300 * TCPX_SEC);
	assert_true(back_is_gone(c));
	tcpx_peer_free(c->back);
	c->back = rig_add(c->t.b, c->t.a);
}

/* Dialled again, it goes on. */
static void
add_again(struct scene *c)
{
	tcpx_peer_free(c->t.p);
	c->t.p = rig_add(c->t.a, c->t.b);
	assert_ok(tcpx_notify(c->t.p, "next", 4));
	assert_true(run_until(&c->t, has_note, c->t.b, TCPX_SEC));
	assert_note(c->t.b, "anna", "next");
	assert_int_equal(counters_of(c->t.a).sessions, 1);
}

/* What was said on the older session is lost, and not unseen. */
static void
hears_that_another_has_come(struct scene *c)
{
	connect_anew(c);
	assert_ok(tcpx_notify(c->t.p, "lost", 4));
	assert_true(run_until(&c->t, back_is_there, c, 60 * TCPX_SEC));
	assert_non_null(strstr(c->t.last, "the peer has connected anew"));
	run_until(&c->t, never, NULL, TCPX_SEC);
	assert_no_note(c->t.b);
	assert_code(lab_info(&c->t).status, TCPX_ESTALLED);
	assert_code(tcpx_notify(c->t.p, "next", 4), TCPX_ESTALLED);
	add_again(c);
}

static void
scene_close(struct scene *c)
{
	tcpx_peer_free(c->back);
	lab_close(&c->t);
}

/* No turn of its loop has come since. */
static void
hears_of_what_has_just_failed(struct scene *c)
{
	struct session *s = tcpx_session_after(c->t.a, NULL);

	assert_false(s->opener);
	pthread_mutex_lock(&s->lock);
	tcpx_session_fail(s, TCPX_ESTALLED, "%s", "as a deadline does");
	pthread_mutex_unlock(&s->lock);
	assert_code(tcpx_notify(c->t.p, "next", 4), TCPX_ESTALLED);
	assert_null(c->t.p->out);
	tcpx_session_put(s);
	run_until(&c->t, never, NULL, TCPX_SEC);
	assert_code(lab_info(&c->t).status, TCPX_ESTALLED);
	assert_code(tcpx_notify(c->t.p, "next", 4), TCPX_ESTALLED);
	add_again(c);
}

TEST(a_call_hears_of_a_failure_before_the_loop_does)
{
	for (int own = 0; own < 2; own++) {
		struct scene c;

		scene_open(&c, own);
		assert_int_equal(c.t.p->served, !own);
		hears_of_what_has_just_failed(&c);
		scene_close(&c);
	}
}

TEST(who_was_served_hears_that_another_has_come)
{
	struct scene c;

	scene_open(&c, false);
	hears_that_another_has_come(&c);
	scene_close(&c);
}

/* The first engine's own session is lost while the one that the second has opened stands. Added again, it is
 * served by that. */
static void
scene_open_late(struct scene *c)
{
	lab_open(&c->t, &tcpx_net_loop, quick);
	c->t.a->incarnation = 7;
	c->t.b->incarnation = 5;
	meet(&c->t);
	c->back = rig_add(c->t.b, c->t.a);
	connect_anew(c);
	run_alone(&c->t, c->t.b, has_called, c, TCPX_SEC);
	assert_true(has_called(c));
	assert_true(run_until(&c->t, back_is_there, c, 20 * TCPX_SEC));
	run_until(&c->t, never, NULL, TCPX_SEC);
	assert_code(lab_info(&c->t).status, TCPX_ESTALLED);
	assert_int_equal(counters_of(c->t.a).sessions, 1);
	add_again(c);
	assert_true(!c->t.p->out && tcpx_chain_empty(&c->t.p->inbound));
}

TEST(who_was_added_later_hears_that_another_has_come)
{
	struct scene c;

	scene_open_late(&c);
	hears_that_another_has_come(&c);
	scene_close(&c);
}

TEST(who_was_added_later_hears_that_the_peer_has_gone)
{
	struct scene c;
	struct tcpx_desc at = { 0, 0, 64 };
	struct mem room;
	tcpx_xfer *x;

	scene_open_late(&c);
	mem_open(&room, c.t.a, 64, TCPX_MEM_LOCAL);
	at.region = room.id;
	assert_ok(tcpx_recv(c.t.p, &at, 1, 0, &x));
	tcpx_peer_free(c.back);
	c.back = NULL;
	lab_restart(&c.t, &tcpx_net_loop, quick);
	assert_true(run_until(&c.t, over, x, 60 * TCPX_SEC));
	assert_code(tcpx_test(x), TCPX_EPEERGONE);
	assert_code(lab_info(&c.t).status, TCPX_EPEERGONE);
	tcpx_xfer_free(x);
	mem_close(&room);
	scene_close(&c);
}

/* A call that has ended may leave an object behind, which the first engine's own session serves. */
TEST(who_is_served_by_ours_hears_that_another_has_come)
{
	tcpx_peer *dialled, *left;
	struct scene c;

	lab_open(&c.t, &tcpx_net_loop, quick);
	meet(&c.t);
	c.back = rig_add(c.t.b, c.t.a);
	dialled = c.t.p;
	assert_ok(tcpx_peer_find_or_make(c.t.a, "bert", c.t.b->incarnation, NULL, dialled, &left));
	assert_ok(tcpx_peer_find(c.t.a, "bert", &c.t.p));
	assert_ptr_equal(c.t.p, left);
	tcpx_peer_put(left);
	assert_ok(tcpx_notify(c.t.p, "first", 5));
	assert_true(run_until(&c.t, has_note, c.t.b, TCPX_SEC));
	assert_note(c.t.b, "anna", "first");
	connect_anew(&c);
	run_alone(&c.t, c.t.b, has_called, &c, TCPX_SEC);
	assert_ok(tcpx_notify(c.t.p, "lost", 4));
	assert_true(run_until(&c.t, back_is_there, &c, 60 * TCPX_SEC));
	run_until(&c.t, never, NULL, TCPX_SEC);
	assert_no_note(c.t.b);
	assert_code(status_of(dialled), TCPX_ESTALLED);
	assert_code(lab_info(&c.t).status, TCPX_ESTALLED);
	add_again(&c);
	tcpx_peer_free(dialled);
	scene_close(&c);
}
