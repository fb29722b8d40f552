/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that was dialled by address, and whose session gave way, is served by the one that its peer has
 * opened. When that is replaced, the one that was served hears of it: what was said on it may be lost.
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

static int
status_of(tcpx_peer *p)
{
	struct tcpx_peer_info info = { .struct_size = sizeof(info) };

	assert_ok(tcpx_peer_query(p, &info));
	return info.status;
}

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

static void
scene_open(struct scene *c)
{
	char at[64];

	lab_open(&c->t, &tcpx_net_loop, quick);
	c->t.a->incarnation = 7;
	c->t.b->incarnation = 5;
	snprintf(at, sizeof(at), "10.0.0.2:%u", tcpx_port(c->t.b));
	assert_ok(tcpx_peer_connect(c->t.a, at, &c->t.p));
	c->back = rig_add(c->t.b, c->t.a);
	assert_true(run_until(&c->t, one_serves, c, 20 * TCPX_SEC));
	assert_ok(tcpx_notify(c->t.p, "first", 5));
	assert_true(run_until(&c->t, has_note, c->t.b, TCPX_SEC));
	assert_note(c->t.b, "anna", "first");
}

static void
who_was_served_hears_that_another_has_come(void **state)
{
	struct scene c;

	(void)state;
	scene_open(&c);
	/* the first stands still, and the second gives up and connects anew */
	assert_int_equal(tcpx_fabric_cut_control(c.t.fabric, 0), 0);
	run_alone(&c.t, c.t.b, back_is_gone, &c, 300 * TCPX_SEC);
	assert_true(back_is_gone(&c));
	tcpx_peer_free(c.back);
	c.back = rig_add(c.t.b, c.t.a);
	assert_ok(tcpx_notify(c.t.p, "lost", 4));
	assert_true(run_until(&c.t, back_is_there, &c, 60 * TCPX_SEC));
	assert_non_null(strstr(c.t.last, "the peer has connected anew"));
	run_until(&c.t, never, NULL, TCPX_SEC);
	assert_no_note(c.t.b);
	assert_code(lab_info(&c.t).status, TCPX_ESTALLED);
	assert_code(tcpx_notify(c.t.p, "next", 4), TCPX_ESTALLED);
	/* dialled again, it goes on */
	tcpx_peer_free(c.t.p);
	c.t.p = rig_add(c.t.a, c.t.b);
	assert_ok(tcpx_notify(c.t.p, "next", 4));
	assert_true(run_until(&c.t, has_note, c.t.b, TCPX_SEC));
	assert_note(c.t.b, "anna", "next");
	assert_int_equal(counters_of(c.t.a).sessions, 1);
	tcpx_peer_free(c.back);
	lab_close(&c.t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_was_served_hears_that_another_has_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
