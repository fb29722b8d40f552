/* SPDX-License-Identifier: Apache-2.0 */
/* Why a session ends: a peer that has gone, one that lives, and what one of the two has seen. */
#include "nic_lab.h"

#include <errno.h>
#include <string.h>

#include "core/session/session.h"

#define LEN (1u << 20)

static const struct tcpx_net_ops *const nets[] = { &tcpx_net_loop, &tcpx_net_loop_comm };

/* A send that nobody receives waits in the engine that opened the session, and in the other. */
struct pair {
	struct lab t;
	struct mem of_a, of_b;
	tcpx_peer *back;
	tcpx_xfer *x[2];
};

static void
pair_open_on(struct pair *w, const struct tcpx_net_ops *net, uint64_t host_id)
{
	struct tcpx_desc d = { 0, 0, LEN };

	lab_open(&w->t, net, lab_settings);
	w->t.a->host_id = w->t.b->host_id = host_id;
	meet(&w->t);
	assert_ok(lab_info(&w->t).status);
	mem_open(&w->of_a, w->t.a, LEN, TCPX_MEM_LOCAL);
	mem_open(&w->of_b, w->t.b, LEN, TCPX_MEM_LOCAL);
	assert_ok(tcpx_peer_find(w->t.b, "anna", &w->back));
	d.region = w->of_a.id;
	assert_ok(tcpx_send(w->t.p, &d, 1, 1, &w->x[0]));
	d.region = w->of_b.id;
	assert_ok(tcpx_send(w->back, &d, 1, 1, &w->x[1]));
	assert_false(run_until(&w->t, over, w->x[0], TCPX_SEC));
}

static void
pair_open(struct pair *w, const struct tcpx_net_ops *net)
{
	pair_open_on(w, net, 0);
}

static void
pair_close(struct pair *w)
{
	tcpx_peer_free(w->back);
	tcpx_xfer_free(w->x[0]);
	tcpx_xfer_free(w->x[1]);
	lab_close(&w->t);
	mem_close(&w->of_a);
	mem_close(&w->of_b);
}

/* Killed: its kernel closes or resets what it had, and refuses from then on. */
TEST(a_peer_that_was_killed_has_gone)
{
	static const uint64_t most_ns[] = { 1000 * TCPX_MS, 3500 * TCPX_MS };

	for (int i = 0; i < 8; i++) {
		bool opener = i & 1, reset = i & 2;
		struct pair w;
		uint64_t took_ns;

		pair_open(&w, nets[i / 4]);
		w.t.warnings = 0;
		tcpx_fabric_break_all(w.t.fabric, reset);
		tcpx_fabric_refuse_all(w.t.fabric, true);
		took_ns = run_alone(&w.t, opener ? w.t.a : w.t.b, over, w.x[!opener], 60 * TCPX_SEC);
		assert_code(tcpx_test(w.x[!opener]), TCPX_EPEERGONE);
		assert_in_range(took_ns, 500 * TCPX_MS, most_ns[reset]);
		assert_non_null(strstr(w.t.last, "nobody listens at its addresses"));
		assert_in_range(w.t.warnings, 1, 2); /* of the channels, and of the session */
		pair_close(&w);
	}
}

static int listens_there;

static int
listens(const struct tcpx_addr *at)
{
	assert_int_equal(at->family, 4);
	return listens_there;
}

/* Two engines of one host, whose kernel is asked. Everything was reset, and is refused. */
static void
pair_of_one_host(struct pair *w, struct tcpx_net_ops *net, int there)
{
	*net = tcpx_net_loop;
	net->listens = listens;
	listens_there = there;
	pair_open_on(w, net, 77);
	tcpx_fabric_break_all(w->t.fabric, true);
	tcpx_fabric_refuse_all(w->t.fabric, true);
}

/* The kernel of both knows that nobody listens: nothing is waited for. */
TEST(a_peer_that_was_killed_on_this_host_has_gone_at_once)
{
	for (int i = 0; i < 2; i++) {
		struct tcpx_net_ops net;
		struct pair w;

		pair_of_one_host(&w, &net, 0);
		assert_in_range(run_alone(&w.t, i ? w.t.a : w.t.b, over, w.x[!i], 60 * TCPX_SEC), 0,
				100 * TCPX_MS);
		assert_code(tcpx_test(w.x[!i]), TCPX_EPEERGONE);
		assert_non_null(strstr(w.t.last, "no process of this host listens at its addresses"));
		pair_close(&w);
	}
}

/* Another host's peer, or a kernel that does not say. */
TEST(refusals_decide_where_no_kernel_knows)
{
	struct tcpx_net_ops net;
	struct pair w;

	pair_of_one_host(&w, &net, -ENOTSUP);
	assert_in_range(run_alone(&w.t, w.t.a, over, w.x[0], 60 * TCPX_SEC), 2500 * TCPX_MS, 3500 * TCPX_MS);
	assert_non_null(strstr(w.t.last, "peer has gone: nobody listens at its addresses"));
	pair_close(&w);
	pair_of_one_host(&w, &net, 0);
	session_of(w.t.a)->same_host = false;
	assert_in_range(run_alone(&w.t, w.t.a, over, w.x[0], 60 * TCPX_SEC), 2500 * TCPX_MS, 3500 * TCPX_MS);
	pair_close(&w);
}

static bool
resumed(void *arg)
{
	struct tcpx_counters c = { .struct_size = sizeof(c) };

	assert_ok(tcpx_query(arg, &c));
	return c.ctrl_resumes > 0;
}

/* Both live: a firewall has reset everything, and refuses for a while. */
TEST(a_session_that_lost_every_connection_resumes)
{
	for (int i = 0; i < 4; i++) {
		struct pair w;

		pair_open(&w, nets[i / 2]);
		tcpx_fabric_break_all(w.t.fabric, true);
		if (i & 1) {
			tcpx_fabric_refuse_all(w.t.fabric, true);
			assert_false(run_until(&w.t, resumed, w.t.a, 2 * TCPX_SEC));
			assert_code(tcpx_test(w.x[0]), -EAGAIN);
			assert_code(tcpx_test(w.x[1]), -EAGAIN);
			tcpx_fabric_refuse_all(w.t.fabric, false);
		}
		assert_true(run_until(&w.t, resumed, w.t.a, TCPX_SEC));
		assert_true(run_until(&w.t, resumed, w.t.b, TCPX_SEC));
		pair_close(&w);
	}
}

/* ... of one host, whose kernel knows that the other listens. */
TEST(a_session_of_one_host_resumes_while_its_peer_listens)
{
	struct tcpx_net_ops net;
	struct pair w;

	pair_of_one_host(&w, &net, 1);
	assert_false(run_until(&w.t, resumed, w.t.a, 2 * TCPX_SEC));
	tcpx_fabric_refuse_all(w.t.fabric, false);
	assert_true(run_until(&w.t, resumed, w.t.a, TCPX_SEC));
	assert_true(run_until(&w.t, resumed, w.t.b, TCPX_SEC));
	pair_close(&w);
}

/* Addresses that swallow cost an attempt each, and not the session. */
TEST(a_control_stream_finds_the_address_that_is_left)
{
	for (int i = 0; i < 6; i++) {
		struct pair w;

		pair_open(&w, nets[i / 3]);
		for (int n = 0; n < 1 + i % 3; n++)
			assert_ok(tcpx_fabric_set_nic_up(w.t.fabric, &w.t.nic[1][n].addr, false));
		assert_true(run_until(&w.t, resumed, w.t.a, 6 * TCPX_SEC));
		assert_true(run_until(&w.t, resumed, w.t.b, TCPX_SEC));
		assert_code(tcpx_test(w.x[0]), -EAGAIN);
		assert_code(tcpx_test(w.x[1]), -EAGAIN);
		pair_close(&w);
	}
}

/* It comes back at its address, with its name. Its old connections were closed, or are half-open: it
 * vanished with its host, and nothing was said. */
TEST(a_peer_that_restarted_is_another)
{
	static const char *const fixed[] = { "TCPX_CHANNELS=4", "TCPX_THREADS=1", "TCPX_PORT=7000",
					     "TCPX_DEBUG=WARN", NULL };

	for (int i = 0; i < 4; i++) {
		const struct tcpx_net_ops *net = nets[i / 2];
		struct tcpx_desc d = { 0, 0, LEN };
		struct mem m;
		struct lab t;
		tcpx_peer *anew;
		tcpx_xfer *x;

		lab_open(&t, net, fixed);
		meet(&t);
		mem_open(&m, t.a, LEN, TCPX_MEM_LOCAL);
		d.region = m.id;
		assert_ok(tcpx_send(t.p, &d, 1, 1, &x));
		assert_false(run_until(&t, over, x, TCPX_SEC));
		if (i & 1) {
			for (int n = 0; n < NICS; n++)
				assert_ok(tcpx_fabric_set_nic_up(t.fabric, &t.nic[1][n].addr, false));
			(void)run_alone(&t, t.a, over, x, 4 * TCPX_SEC); /* it has missed it by then */
			for (int n = 0; n < NICS; n++)
				assert_ok(tcpx_fabric_set_nic_up(t.fabric, &t.nic[1][n].addr, true));
		}
		tcpx_fabric_break_all(t.fabric, false);
		lab_restart(&t, net, fixed);
		assert_true(run_until(&t, over, x, 4 * TCPX_SEC));
		assert_code(tcpx_test(x), TCPX_EPEERGONE);
		assert_non_null(strstr(t.last, "another incarnation answers"));
		assert_code(tcpx_peer_wait(t.p, 0), TCPX_EPEERGONE);
		anew = rig_add(t.a, t.b);
		tcpx_peer_free(t.p);
		t.p = anew;
		tcpx_xfer_free(x);
		assert_ok(tcpx_send(t.p, &d, 1, 1, &x));
		assert_false(run_until(&t, over, x, 2 * TCPX_SEC));
		assert_ok(lab_info(&t).status);
		tcpx_xfer_free(x);
		lab_close(&t);
		mem_close(&m);
	}
}

/* Each engine has opened a session to the other: the proof is one for both. */
TEST(a_peer_has_gone_from_all_its_sessions)
{
	struct tcpx_desc d = { 0, 0, LEN };
	struct pair w;
	tcpx_peer *p;
	tcpx_xfer *x;

	pair_open(&w, nets[0]);
	p = rig_add(w.t.a, w.t.b);
	tcpx_peer_free(p);
	p = rig_add(w.t.b, w.t.a);
	d.region = w.of_b.id;
	assert_ok(tcpx_send(p, &d, 1, 1, &x));
	assert_false(run_until(&w.t, over, x, TCPX_SEC));
	tcpx_fabric_break_all(w.t.fabric, false);
	tcpx_fabric_refuse_all(w.t.fabric, true);
	run_alone(&w.t, w.t.b, over, x, 60 * TCPX_SEC);
	assert_code(tcpx_test(x), TCPX_EPEERGONE);
	(void)run_alone(&w.t, w.t.b, over, w.x[1], TCPX_MS);
	assert_code(tcpx_test(w.x[1]), TCPX_EPEERGONE);
	tcpx_xfer_free(x);
	tcpx_peer_free(p);
	pair_close(&w);
}

/* The side that notices first says why, and the other ends with that. */
TEST(a_farewell_keeps_its_code)
{
	static const char *const soon[] = { "TCPX_CHANNELS=4", "TCPX_THREADS=1", "TCPX_PORT=0",
					    "TCPX_DEBUG=WARN", "TCPX_STALL_MS=2000", NULL };
	struct tcpx_xfer_info info = TCPX_XFER_INFO_INIT;
	struct tcpx_desc l = { 0, 0, LEN }, f = l;
	struct mem from, to;
	struct lab t;
	tcpx_xfer *x;

	lab_open_two(&t, &tcpx_net_loop, lab_settings, soon);
	meet(&t);
	mem_open(&from, t.a, LEN, TCPX_MEM_LOCAL);
	mem_open(&to, t.b, LEN, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
	l.region = from.id;
	f.region = mem_tell(&to, t.b, t.a);
	tcpx_fabric_hold(t.fabric, TCPX_FABRIC_DATA, 60 * TCPX_SEC);
	assert_ok(tcpx_write(t.p, &l, 1, &f, 1, NULL, 0, &x));
	assert_true(run_until(&t, over, x, 5 * TCPX_SEC));
	assert_code(tcpx_test(x), TCPX_ESTALLED);
	assert_ok(tcpx_xfer_query(x, &info));
	if (!strstr(info.cause, "peer bert ended the session: transfer"))
		fail_msg("%s", info.cause);
	assert_code(lab_info(&t).status, TCPX_ESTALLED);
	tcpx_xfer_free(x);
	lab_close(&t);
	mem_close(&from);
	mem_close(&to);
}
