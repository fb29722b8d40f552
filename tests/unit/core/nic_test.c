/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several NICs: on the loopback, and on a scripted network, where NICs may not connect. There
 * the engines have no threads, and the test moves the clock.
 */
#include "rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/engine/engine.h"
#include "fabric/loop.h"

#define NICS 4
#define LEN  (6u << 20)

static void
sixteen_channels_on_four_nics_carry_data(void **state)
{
	static const char *const wide[] = { "TCPX_NICS=127.0.1.1,127.0.2.1,127.0.3.1,127.0.4.1",
					    "TCPX_CHANNELS=4/nic", "TCPX_THREADS=2", NULL };
	struct tcpx_peer_info info = { .struct_size = sizeof(info) };
	struct tcpx_nic_info nic[8];
	size_t count = 8;
	struct rig r;

	rig_begin(&r, wide, wide);
	assert_ok(tcpx_peer_query(r.to_b, &info));
	assert_int_equal(info.channels_tx, 16);
	assert_int_equal(info.channels_rx, 16);
	assert_ok(tcpx_query_nics(r.a, nic, &count));
	assert_int_equal(count, NICS);
	rig_memory(&r, LEN, LEN);
	assert_ok(rig_move(&r, TCPX_OP_WRITE, 0, 0, LEN));
	assert_filled(r.far.at, LEN, 1);
	rig_end(&r);
}

/* ---- on a scripted network ---- */

struct lab {
	struct tcpx_fabric *fabric;
	tcpx_engine *a, *b;
	tcpx_peer *p;
	struct tcpx_nic nic[2][NICS];
	char last[256];
};

static void
remember(void *arg, int level, const char *line)
{
	struct lab *t = arg;

	if (level == 2)
		snprintf(t->last, sizeof(t->last), "%s", line);
}

static tcpx_engine *
lab_engine(struct lab *t, int i, const struct tcpx_net_ops *net, const char *const *settings)
{
	struct engine_env env = { .clock = *tcpx_fabric_clock(t->fabric), .net = net,
				  .fabric = t->fabric, .manual = true, .nics = t->nic[i],
				  .nic_count = NICS };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	tcpx_engine *e;

	opts.name = i ? "bert" : "anna";
	opts.settings = settings;
	opts.log = remember;
	opts.log_arg = t;
	for (int n = 0; n < NICS; n++) {
		t->nic[i][n] = (struct tcpx_nic){ .numa = -1,
						  .addr = { .family = 4, .prefix = 24,
							    .ip = { 10, (uint8_t)n, 0,
								    (uint8_t)(i + 1) } } };
		snprintf(t->nic[i][n].name, sizeof(t->nic[i][n].name), "eth%d", n);
	}
	assert_ok(tcpx_engine_open(&opts, &env, &e));
	return e;
}

static void
lab_open_on(struct lab *t, const struct tcpx_net_ops *net, const char *const *settings,
	    const struct tcpx_fabric_script *script)
{
	memset(t, 0, sizeof(*t));
	t->fabric = tcpx_fabric_new(7, script);
	assert_non_null(t->fabric);
	t->a = lab_engine(t, 0, net, settings);
	t->b = lab_engine(t, 1, net, settings);
}

static void
lab_open(struct lab *t, const struct tcpx_net_ops *net, const char *const *settings)
{
	lab_open_on(t, net, settings, NULL);
}

static void
lab_close(struct lab *t)
{
	tcpx_peer_drop(t->p);
	tcpx_close(t->a);
	tcpx_close(t->b);
	assert_string_equal(tcpx_fabric_violation(t->fabric), "");
	tcpx_fabric_free(t->fabric);
	tcpx_log_sink(NULL, NULL);
}

/* Turns both engines, and the clock when they rest, until done says so or the time is up. */
static bool
run_until(struct lab *t, bool (*done)(void *), void *arg, uint64_t limit_ns)
{
	uint64_t end_ns = tcpx_fabric_now(t->fabric) + limit_ns, next, at[2], seen;

	while (!done(arg)) {
		seen = tcpx_fabric_activity(t->fabric);
		for (int i = 0; i < 3; i++) {
			tcpx_engine_step(t->a);
			tcpx_engine_step(t->b);
		}
		if (tcpx_fabric_activity(t->fabric) != seen)
			continue;
		if (tcpx_fabric_now(t->fabric) >= end_ns)
			return done(arg);
		next = tcpx_fabric_next_ns(t->fabric);
		at[0] = tcpx_engine_timer(t->a);
		at[1] = tcpx_engine_timer(t->b);
		next = at[0] < next ? at[0] : next;
		next = at[1] < next ? at[1] : next;
		if (next <= tcpx_fabric_now(t->fabric))
			next = tcpx_fabric_now(t->fabric) + 1000;
		tcpx_fabric_advance(t->fabric, next < end_ns ? next : end_ns);
	}
	return true;
}

static struct tcpx_peer_info
lab_info(struct lab *t)
{
	struct tcpx_peer_info info = { .struct_size = sizeof(info) };

	assert_ok(tcpx_peer_query(t->p, &info));
	return info;
}

static bool
decided(void *arg)
{
	return lab_info(arg).status != -EAGAIN;
}

static bool
never(void *arg)
{
	return false;
}

static bool
over(void *arg)
{
	return tcpx_test(arg) != -EAGAIN;
}

static void
lab_move(struct lab *t)
{
	struct mem from, to;
	struct tcpx_desc l = { 0, 0, LEN }, f = l;
	tcpx_xfer *x;

	mem_open(&from, t->a, LEN, TCPX_MEM_LOCAL);
	mem_open(&to, t->b, LEN, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
	l.region = from.id;
	f.region = mem_tell(&to, t->b, t->a);
	for (uint32_t round = 0; round < 2; round++) {
		fill(round ? to.at : from.at, LEN, 10 + round);
		if (round)
			assert_ok(tcpx_read(t->p, &l, 1, &f, 1, NULL, 0, &x));
		else
			assert_ok(tcpx_write(t->p, &l, 1, &f, 1, NULL, 0, &x));
		assert_true(run_until(t, over, x, 5 * TCPX_SEC));
		assert_ok(tcpx_test(x));
		assert_filled(round ? from.at : to.at, LEN, 10 + round);
		tcpx_free(x);
	}
	assert_ok(tcpx_mem_deregister(t->a, from.id));
	assert_ok(tcpx_mem_deregister(t->b, to.id));
	mem_close(&from);
	mem_close(&to);
}

static const char *const lab_settings[] = { "TCPX_CHANNELS=4", "TCPX_THREADS=1", "TCPX_PORT=0",
					    "TCPX_DEBUG=WARN", NULL };
static const char *const lab_strict[] = { "TCPX_CHANNELS=4", "TCPX_THREADS=1", "TCPX_PORT=0",
					  "TCPX_DEBUG=WARN", "TCPX_STRICT_NICS=1", NULL };
static const struct tcpx_net_ops *const nets[] = { &tcpx_net_loop, &tcpx_net_loop_comm };

static void
meet(struct lab *t)
{
	t->p = rig_add(t->a, t->b);
	assert_true(run_until(t, decided, t, 10 * TCPX_SEC));
}

static void
all_nics_up_is_a_whole_session(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct lab t;

		lab_open(&t, nets[i], lab_strict);
		meet(&t);
		assert_ok(lab_info(&t).status);
		assert_int_equal(lab_info(&t).channels_tx, 4);
		lab_move(&t);
		assert_string_equal(t.last, "");
		lab_close(&t);
	}
}

/* Connections that wait for each other would take so many times as long. */
static void
channels_open_at_the_same_time(void **state)
{
	static const char *const counts[] = { "TCPX_CHANNELS=4", "TCPX_CHANNELS=16" };
	static const struct tcpx_fabric_script far = {
		.delay_min_ns = { 5 * TCPX_MS, 5 * TCPX_MS },
		.delay_max_ns = { 5 * TCPX_MS, 5 * TCPX_MS },
	};
	uint64_t took_ns[2];

	for (int i = 0; i < 2; i++) {
		const char *const settings[] = { counts[i], "TCPX_THREADS=1", "TCPX_PORT=0", NULL };
		struct lab t;

		lab_open_on(&t, &tcpx_net_loop, settings, &far);
		meet(&t);
		assert_int_equal(lab_info(&t).channels_tx, i ? 16 : 4);
		took_ns[i] = lab_info(&t).setup_ns;
		lab_close(&t);
	}
	assert_in_range(took_ns[0], 5 * TCPX_MS, 100 * TCPX_MS);
	assert_in_range(took_ns[1], took_ns[0], took_ns[0] + TCPX_MS);
}

static bool
no_session(void *arg)
{
	return counters_of(((struct lab *)arg)->a).sessions == 0;
}

/* A dropped peer's session lives for TCPX_LINGER_MS, 30 s, and then is made anew. */
static void
a_dropped_peer_lingers_out(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct lab t;

		lab_open(&t, nets[i], lab_settings);
		meet(&t);
		tcpx_peer_drop(t.p);
		t.p = NULL;
		assert_false(run_until(&t, no_session, &t, 29 * TCPX_SEC));
		assert_true(run_until(&t, no_session, &t, 2 * TCPX_SEC));
		meet(&t);
		assert_ok(lab_info(&t).status);
		lab_move(&t);
		lab_close(&t);
	}
}

static void
a_nic_that_cannot_connect_makes_the_session_degraded(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct lab t;

		lab_open(&t, nets[i], lab_settings);
		assert_ok(tcpx_fabric_set_nic_up(t.fabric, &t.nic[1][2].addr, false));
		meet(&t);
		assert_ok(lab_info(&t).status);
		assert_int_equal(lab_info(&t).channels_tx, 3);
		assert_int_equal(lab_info(&t).channels_rx, 3);
		assert_int_equal(lab_info(&t).channels_wanted, 4);
		assert_non_null(strstr(t.last, "degraded"));
		assert_non_null(strstr(t.last, "eth2"));
		lab_move(&t);
		lab_close(&t);
	}
}

static void
strict_refuses_a_degraded_session(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct lab t;

		lab_open(&t, nets[i], lab_strict);
		assert_ok(tcpx_fabric_set_nic_up(t.fabric, &t.nic[1][2].addr, false));
		meet(&t);
		assert_code(lab_info(&t).status, TCPX_ENOCHANNEL);
		lab_close(&t);
	}
}

/* Every channel of the second NIC breaks in the middle; no byte is lost or doubled. */
static void
channels_that_break_hand_their_chunks_on(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct tcpx_counters c = { .struct_size = sizeof(c) };
		struct tcpx_desc l = { 0, 0, LEN }, f = l;
		struct mem from, to;
		struct lab t;
		tcpx_xfer *x;

		lab_open(&t, nets[i], lab_settings);
		meet(&t);
		mem_open(&from, t.a, LEN, TCPX_MEM_LOCAL);
		mem_open(&to, t.b, LEN, TCPX_MEM_REMOTE_WRITE);
		fill(from.at, LEN, 1);
		fill(to.at, LEN, 2);
		l.region = from.id;
		f.region = mem_tell(&to, t.b, t.a);
		assert_ok(tcpx_write(t.p, &l, 1, &f, 1, "whole", 5, &x));
		tcpx_engine_step(t.a);
		tcpx_engine_step(t.a);
		assert_ok(tcpx_fabric_break_channel(t.fabric, 1));
		assert_ok(tcpx_fabric_cut_control(t.fabric, 0));
		assert_true(run_until(&t, over, x, 9 * TCPX_SEC));
		assert_ok(tcpx_test(x));
		assert_filled(to.at, LEN, 1);
		assert_note(t.b, "anna", "whole");
		assert_no_note(t.b);
		assert_ok(tcpx_query(t.a, &c));
		assert_int_equal(c.channels_lost, 1);
		assert_int_equal(c.ctrl_resumes, 1);
		assert_in_range(lab_info(&t).channels_tx + lab_info(&t).channels_rx, 7, 8);
		tcpx_free(x);
		lab_close(&t);
		mem_close(&from);
		mem_close(&to);
	}
}

/* What was heard last was heard on the old connection: the new one has its own time. */
static void
a_silent_stream_is_replaced(void **state)
{
	static const char *const settings[] = { "TCPX_CHANNELS=4", "TCPX_THREADS=1", "TCPX_PORT=0",
						"TCPX_DEBUG=WARN", "TCPX_KEEPALIVE_MS=100", NULL };

	for (int i = 0; i < 2; i++) {
		struct tcpx_counters c = { .struct_size = sizeof(c) };
		struct tcpx_fabric_script slow = {
			.delay_min_ns = { [TCPX_FABRIC_CONTROL] = 5 * TCPX_MS },
			.delay_max_ns = { [TCPX_FABRIC_CONTROL] = 5 * TCPX_MS },
		};
		struct lab t;

		lab_open_on(&t, nets[i], settings, &slow);
		meet(&t);
		assert_ok(lab_info(&t).status);
		tcpx_fabric_hold(t.fabric, TCPX_FABRIC_CONTROL, 500 * TCPX_MS);
		assert_false(run_until(&t, never, NULL, 2 * TCPX_SEC));
		assert_ok(lab_info(&t).status);
		assert_ok(tcpx_query(t.a, &c));
		assert_true(c.ctrl_resumes >= 1);
		lab_move(&t);
		lab_close(&t);
	}
}

/* ---- an opener that is gone, over channels that say nothing of it ---- */

/* Turns the acceptor alone: the opener stands still, or is no more. Virtual time it took. */
static uint64_t
alone_until(struct lab *t, tcpx_xfer *x, uint64_t limit_ns)
{
	uint64_t begin_ns = tcpx_fabric_now(t->fabric), next, at;

	for (;;) {
		for (int i = 0; i < 3; i++)
			tcpx_engine_step(t->b);
		if (over(x) || tcpx_fabric_now(t->fabric) >= begin_ns + limit_ns)
			return tcpx_fabric_now(t->fabric) - begin_ns;
		next = tcpx_fabric_next_ns(t->fabric);
		at = tcpx_engine_timer(t->b);
		next = at < next ? at : next;
		if (next <= tcpx_fabric_now(t->fabric))
			next = tcpx_fabric_now(t->fabric) + 1000;
		tcpx_fabric_advance(t->fabric, next < begin_ns + limit_ns ? next :
				    begin_ns + limit_ns);
	}
}

struct waiting {
	struct lab t;
	struct mem from, to;
	tcpx_peer *back;
	tcpx_xfer *x;
};

/* The acceptor sends what the opener never asks for: it may wait as long as both live. */
static void
wait_begin(struct waiting *w, const struct tcpx_net_ops *net)
{
	struct tcpx_desc d = { 0, 0, 4096 };

	lab_open(&w->t, net, lab_settings);
	meet(&w->t);
	assert_ok(lab_info(&w->t).status);
	mem_open(&w->from, w->t.b, 4096, TCPX_MEM_LOCAL);
	mem_open(&w->to, w->t.a, 4096, TCPX_MEM_LOCAL);
	fill(w->from.at, 4096, 5);
	assert_ok(tcpx_peer_find(w->t.b, "anna", &w->back));
	d.region = w->from.id;
	assert_ok(tcpx_send(w->back, &d, 1, 7, &w->x));
	assert_false(run_until(&w->t, over, w->x, 20 * TCPX_SEC)); /* twice TCPX_STALL_MS */
	assert_ok(tcpx_fabric_cut_control(w->t.fabric, 0));
}

static void
wait_end(struct waiting *w)
{
	tcpx_free(w->x);
	tcpx_peer_drop(w->back);
	lab_close(&w->t);
	mem_close(&w->from);
	mem_close(&w->to);
}

static void
an_opener_that_is_gone_is_missed_soon(void **state)
{
	struct waiting w;
	uint64_t took_ns;

	wait_begin(&w, &tcpx_net_loop_comm);
	tcpx_fabric_refuse_all(w.t.fabric, true);
	took_ns = alone_until(&w.t, w.x, 60 * TCPX_SEC);
	assert_code(tcpx_test(w.x), TCPX_EPEERGONE);
	assert_non_null(strstr(w.t.last, "nobody listens at its addresses"));
	assert_in_range(took_ns, TCPX_SEC, 2 * TCPX_SEC);
	wait_end(&w);
}

static void
an_opener_that_listens_is_waited_for(void **state)
{
	struct waiting w;
	uint64_t took_ns;

	wait_begin(&w, &tcpx_net_loop_comm);
	took_ns = alone_until(&w.t, w.x, 60 * TCPX_SEC);
	assert_code(tcpx_test(w.x), TCPX_EPEERGONE);
	assert_non_null(strstr(w.t.last, "not resumed"));
	assert_in_range(took_ns, 10 * TCPX_SEC, 11 * TCPX_SEC);
	wait_end(&w);
}

/* Refused for as long as an opener has to come back, or asked while it is slow: it resumes. */
static void
an_opener_that_comes_back_is_served(void **state)
{
	static const struct {
		uint64_t refuse_ns, silent_ns;
	} rows[] = { { 900 * TCPX_MS, 0 }, { 0, 5 * TCPX_SEC }, { 1020 * TCPX_MS, 3 * TCPX_SEC } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct tcpx_counters c = { .struct_size = sizeof(c) };
		struct tcpx_desc d = { 0, 0, 4096 };
		struct waiting w;
		tcpx_xfer *x;

		wait_begin(&w, &tcpx_net_loop_comm);
		tcpx_fabric_refuse_all(w.t.fabric, rows[i].refuse_ns != 0);
		alone_until(&w.t, w.x, rows[i].refuse_ns);
		tcpx_fabric_refuse_all(w.t.fabric, false);
		alone_until(&w.t, w.x, rows[i].silent_ns);
		d.region = w.to.id;
		assert_ok(tcpx_recv(w.t.p, &d, 1, 7, &x));
		assert_true(run_until(&w.t, over, x, 5 * TCPX_SEC));
		assert_ok(tcpx_test(x));
		assert_true(run_until(&w.t, over, w.x, 5 * TCPX_SEC));
		assert_ok(tcpx_test(w.x));
		assert_filled(w.to.at, 4096, 5);
		assert_ok(tcpx_query(w.t.b, &c));
		assert_int_equal(c.ctrl_resumes, 1);
		tcpx_free(x);
		wait_end(&w);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_nics_up_is_a_whole_session),
		cmocka_unit_test(channels_open_at_the_same_time),
		cmocka_unit_test(a_dropped_peer_lingers_out),
		cmocka_unit_test(a_nic_that_cannot_connect_makes_the_session_degraded),
		cmocka_unit_test(strict_refuses_a_degraded_session),
		cmocka_unit_test(channels_that_break_hand_their_chunks_on),
		cmocka_unit_test(a_silent_stream_is_replaced),
		cmocka_unit_test(an_opener_that_is_gone_is_missed_soon),
		cmocka_unit_test(an_opener_that_listens_is_waited_for),
		cmocka_unit_test(an_opener_that_comes_back_is_served),
		cmocka_unit_test(sixteen_channels_on_four_nics_carry_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
