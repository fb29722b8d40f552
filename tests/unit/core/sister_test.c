/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One peer, however the application names it: by its blob, and by an address that the blob has not. One session
 * serves both names, and nothing of it ends for the second.
 */
#include "nic_lab.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/context/context.h"
#include "core/session/accept.h"
#include "core/session/peer.h"
#include "core/session/pending.h"
#include "core/session/session.h"
#include "proto/blob.h"

#define NETS 3

static const struct tcpx_net_ops *const nets[NETS] = { &tcpx_net_loop, &tcpx_net_loop_lend, &tcpx_net_loop_comm };

/* Two engines, and two names of the second. */
struct scene {
	struct lab t;
	char secret[64];
	tcpx_peer *p[2];
};

static void
scene_open(struct scene *c, const struct tcpx_net_ops *net, bool secret, const struct tcpx_fabric_script *script)
{
	const char *settings[] = { "TCPX_CHANNELS=4", "TCPX_THREADS=1", "TCPX_PORT=0", "TCPX_DEBUG=WARN",
				   "TCPX_LINGER_MS=1s", NULL, NULL };
	char path[] = "/tmp/tcpx-sister-XXXXXX";
	int fd;

	memset(c, 0, sizeof(*c));
	if (secret) {
		fd = mkstemp(path);
		assert_true(fd >= 0);
		assert_int_equal(write(fd, "0123456789abcdef0123456789abcdef\n", 33), 33);
		close(fd);
		snprintf(c->secret, sizeof(c->secret), "TCPX_SECRET_FILE=%s", path);
		settings[5] = c->secret;
	}
	lab_open_on(&c->t, net, settings, script);
	if (secret)
		unlink(path);
}

static void
scene_close(struct scene *c)
{
	for (int i = 0; i < 2; i++)
		if (c->p[i] != c->t.p)
			tcpx_peer_free(c->p[i]);
	lab_close(&c->t);
}

/* Adds the second engine by a blob that has one NIC alone, and @port if that is not 0. */
static tcpx_peer *
add_by(struct lab *t, int nic, uint16_t port)
{
	struct tcpx_endpoint_blob ep;
	uint8_t blob[4096];
	size_t len = sizeof(blob);
	struct tcpx_buf b;
	tcpx_peer *p;

	assert_ok(tcpx_metadata(t->b, blob, &len));
	tcpx_buf_init_const(&b, blob, len);
	assert_ok(tcpx_endpoint_blob_read(&b, &ep));
	ep.nic[0] = ep.nic[nic];
	ep.nic_count = 1;
	if (port)
		ep.nic[0].addr.port = port;
	tcpx_buf_init(&b, blob, sizeof(blob));
	tcpx_endpoint_blob_write(&b, &ep);
	assert_ok(tcpx_peer_add(t->a, blob, b.pos, &p));
	return p;
}

static tcpx_peer *
dial_at(struct lab *t, int nic)
{
	char at[64];
	tcpx_peer *p;

	snprintf(at, sizeof(at), "10.%d.0.2:%u", nic, tcpx_port(t->b));
	assert_ok(tcpx_peer_connect(t->a, at, &p));
	return p;
}

static bool
first_is_up(void *arg)
{
	return status_of(((struct scene *)arg)->p[0]) == 0;
}

static bool
one_serves_both(void *arg)
{
	struct scene *c = arg;

	return status_of(c->p[0]) == 0 && status_of(c->p[1]) == 0 && counters_of(c->t.a).sessions == 1 &&
	       counters_of(c->t.b).sessions == 1;
}

static bool
has_two_notes(void *arg)
{
	return ((tcpx_engine *)arg)->events.notes == 2;
}

/* A note under either name arrives; their order is open until one session serves both. */
static void
assert_both_carry(struct scene *c)
{
	char first[2];
	tcpx_note *n;
	size_t len;

	assert_ok(tcpx_notify(c->p[0], "1", 1));
	assert_ok(tcpx_notify(c->p[1], "2", 1));
	assert_true(run_until(&c->t, has_two_notes, c->t.b, 3 * TCPX_SEC));
	for (int i = 0; i < 2; i++) {
		assert_ok(tcpx_note_wait(c->t.b, 0, &n));
		first[i] = *(const char *)tcpx_note_data(n, &len);
		tcpx_note_free(n);
	}
	assert_int_equal(first[0] + first[1], '1' + '2');
	assert_no_note(c->t.b);
}

static uint64_t
session_number(tcpx_engine *e)
{
	struct session *s = tcpx_session_after(e, NULL);
	uint64_t id = s->id;

	tcpx_session_put(s);
	return id;
}

/* Opens the session of the first name, over one of the networks. Returns its number. */
static uint64_t
first_opens(struct scene *c, int i)
{
	scene_open(c, nets[i / 2], i % 2, NULL);
	c->p[0] = add_by(&c->t, 0, 0);
	assert_true(run_until(&c->t, first_is_up, c, 5 * TCPX_SEC));
	return session_number(c->t.a);
}

/* A write is under way meanwhile. */
static void
a_second_name_joins_the_session_that_stands(void **state)
{
	(void)state;
	for (int i = 0; i < 2 * NETS; i++) {
		struct scene c;
		struct move m;
		uint64_t id;

		id = first_opens(&c, i);
		c.t.p = c.p[0];
		lab_move_begin(&c.t, &m);
		c.p[1] = dial_at(&c.t, 1);
		assert_ptr_not_equal(c.p[0], c.p[1]);
		assert_true(run_until(&c.t, one_serves_both, &c, 500 * TCPX_MS));
		assert_true(run_until(&c.t, over, m.x, 10 * TCPX_SEC));
		lab_move_end(&m);
		assert_both_carry(&c);
		assert_int_equal(session_number(c.t.a), id);
		assert_int_equal(counters_of(c.t.b).refused, 0);
		assert_int_equal(c.t.warnings, 0);
		scene_close(&c);
	}
}

/* Names and answers come in either order. Notes that are posted before are not lost. */
static void
two_names_at_once_have_one_session(void **state)
{
	(void)state;
	for (int i = 0; i < 6 * 2 * NETS; i++) {
		struct tcpx_fabric_script script = { .delay_min_ns = { 0, 0 } };
		struct scene c;

		script.delay_max_ns[TCPX_FABRIC_CONTROL] = (uint64_t)(i / 2 / NETS) * 600000;
		script.delay_max_ns[TCPX_FABRIC_DATA] = (uint64_t)(i % 5) * 100000;
		script.segment_max = i % 3 ? 0 : 64; /* HELLO and HANDLES do not come together */
		scene_open(&c, nets[i / 2 % NETS], i % 2, &script);
		if (i % 4 < 2)
			c.p[0] = add_by(&c.t, 0, 0);
		c.p[1] = dial_at(&c.t, 1 - i % 2);
		if (i % 4 >= 2)
			c.p[0] = add_by(&c.t, 0, 0);
		if (i % 3 == 0) /* the first is in its handshake for longer than the second's HELLO may wait */
			tcpx_fabric_hold(c.t.fabric, TCPX_FABRIC_DATA, 1500 * TCPX_MS);
		assert_both_carry(&c);
		assert_true(run_until(&c.t, one_serves_both, &c, TCPX_SEC));
		assert_both_carry(&c);
		assert_int_equal(counters_of(c.t.b).refused, 0);
		assert_int_equal(c.t.warnings, 0);
		scene_close(&c);
	}
}

static bool
has_newcomer(void *arg)
{
	struct scene *c = arg;

	tcpx_chain_each(n, after, &c->t.b->listeners->pending)
		if (tcpx_container(n, struct pending_conn, node)->hello)
			return true;
	return false;
}

/* The application stands still amid it, for longer than a session is given to answer. */
static void
a_session_whose_process_hangs_is_kept(void **state)
{
	(void)state;
	for (int i = 0; i < 2 * NETS; i++) {
		struct scene c;
		uint64_t id;

		id = first_opens(&c, i);
		c.p[1] = dial_at(&c.t, 1);
		while (!has_newcomer(&c)) {
			tcpx_engine_step(c.t.a);
			run_alone(&c.t, c.t.b, has_newcomer, &c, 1000);
		}
		run_alone(&c.t, c.t.b, never, NULL, 3 * TCPX_SEC);
		assert_true(run_until(&c.t, one_serves_both, &c, TCPX_SEC));
		assert_int_equal(session_number(c.t.a), id);
		assert_both_carry(&c);
		scene_close(&c);
	}
}

static void
one_that_is_resumed_is_waited_for(void **state)
{
	(void)state;
	for (int i = 0; i < 2 * NETS; i++) {
		struct scene c;
		uint64_t id;

		id = first_opens(&c, i);
		assert_ok(tcpx_fabric_cut_control(c.t.fabric, 0));
		c.p[1] = dial_at(&c.t, 1);
		assert_true(run_until(&c.t, one_serves_both, &c, 2 * TCPX_SEC));
		assert_int_equal(session_number(c.t.a), id);
		assert_both_carry(&c);
		scene_close(&c);
	}
}

/* Nobody listens at the address of the blob, twice: that is no proof that the peer has gone. */
static void
a_name_that_leads_nowhere_is_served_by_the_other(void **state)
{
	struct scene c;

	(void)state;
	scene_open(&c, nets[0], false, NULL);
	c.p[0] = add_by(&c.t, 0, 9);
	run_until(&c.t, first_is_up, &c, 900 * TCPX_MS);
	c.p[1] = dial_at(&c.t, 1);
	assert_true(run_until(&c.t, one_serves_both, &c, TCPX_SEC));
	assert_both_carry(&c);
	run_until(&c.t, never, NULL, 5 * TCPX_SEC);
	assert_true(one_serves_both(&c));
	scene_close(&c);
}

static bool
second_is_up(void *arg)
{
	return status_of(((struct scene *)arg)->p[1]) == 0;
}

static bool
second_waits(void *arg)
{
	struct scene *c = arg;

	return c->p[1]->incarnation && atomic_load(&c->p[1]->out->state) == SESS_CONNECTING;
}

/* The first is in its handshake for as long as it may, and fails. */
static void
the_second_goes_on_when_the_first_fails(void **state)
{
	struct scene c;
	uint64_t said;

	(void)state;
	scene_open(&c, nets[0], false, NULL);
	c.p[0] = add_by(&c.t, 0, 0);
	tcpx_fabric_hold(c.t.fabric, TCPX_FABRIC_DATA, 7 * TCPX_SEC);
	c.p[1] = dial_at(&c.t, 1);
	assert_true(run_until(&c.t, second_waits, &c, TCPX_SEC));
	said = counters_of(c.t.a).ctrl_frames_tx;
	run_until(&c.t, never, NULL, 3 * TCPX_SEC);
	assert_int_equal(counters_of(c.t.a).ctrl_frames_tx, said); /* nor does it dial meanwhile */
	assert_true(run_until(&c.t, second_is_up, &c, 10 * TCPX_SEC));
	assert_int_equal(counters_of(c.t.a).sessions, 1);
	scene_close(&c);
}

/* The name that has the session is dropped first. */
static void
a_session_is_kept_for_every_name(void **state)
{
	struct scene c;
	tcpx_peer *back;

	(void)state;
	scene_open(&c, nets[0], false, NULL);
	c.p[0] = add_by(&c.t, 0, 0);
	assert_true(run_until(&c.t, first_is_up, &c, 5 * TCPX_SEC));
	c.p[1] = dial_at(&c.t, 1);
	assert_true(run_until(&c.t, one_serves_both, &c, TCPX_SEC));
	tcpx_peer_free(c.p[0]);
	c.p[0] = c.p[1];
	run_until(&c.t, never, NULL, 5 * TCPX_SEC);
	assert_int_equal(counters_of(c.t.b).sessions, 1);
	assert_ok(tcpx_peer_find(c.t.b, "anna", &back));
	assert_ok(tcpx_notify(back, "still here", 10));
	run_until(&c.t, never, NULL, TCPX_SEC);
	assert_note(c.t.a, "bert", "still here");
	tcpx_peer_free(back);
	tcpx_peer_free(c.p[1]);
	c.p[0] = c.p[1] = NULL;
	run_until(&c.t, never, NULL, 10 * TCPX_SEC);
	assert_int_equal(counters_of(c.t.b).sessions, 0);
	scene_close(&c);
}

/* Adds the peer once more as the first call makes a session for it, as another thread may. */
struct meanwhile {
	struct scene *c;
	struct tcpx_clock clock;
};

static uint64_t
add_again(void *arg)
{
	struct meanwhile *m = arg;

	m->c->t.a->clock = m->clock;
	m->c->p[1] = add_by(&m->c->t, 0, 0);
	return tcpx_clock_now(&m->clock);
}

static void
calls_at_once_make_one_session(void **state)
{
	struct meanwhile m;
	struct scene c;

	(void)state;
	scene_open(&c, &tcpx_net_loop, false, NULL);
	m = (struct meanwhile){ &c, c.t.a->clock };
	c.t.a->clock = (struct tcpx_clock){ add_again, &m };
	c.p[0] = add_by(&c.t, 0, 0);
	assert_ptr_equal(c.p[0], c.p[1]);
	assert_int_equal(counters_of(c.t.a).sessions, 1);
	assert_true(run_until(&c.t, one_serves_both, &c, 5 * TCPX_SEC));
	scene_close(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_at_once_make_one_session),
		cmocka_unit_test(a_second_name_joins_the_session_that_stands),
		cmocka_unit_test(two_names_at_once_have_one_session),
		cmocka_unit_test(a_session_whose_process_hangs_is_kept),
		cmocka_unit_test(one_that_is_resumed_is_waited_for),
		cmocka_unit_test(a_name_that_leads_nowhere_is_served_by_the_other),
		cmocka_unit_test(the_second_goes_on_when_the_first_fails),
		cmocka_unit_test(a_session_is_kept_for_every_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
