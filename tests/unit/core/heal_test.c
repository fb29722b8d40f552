/* SPDX-License-Identifier: Apache-2.0 */
/* Channels that are lost, late or silent on a scripted network: given up, and opened again. */
#include "nic_lab.h"

#include <string.h>

#include "core/channel/channel.h"
#include "core/session/peer.h"

static const struct tcpx_net_ops *const nets[] = { &tcpx_net_loop, &tcpx_net_loop_comm };

static void
move_whole(struct lab *t)
{
	struct move m;

	lab_move_begin(t, &m);
	assert_true(run_until(t, over, m.x, 9 * TCPX_SEC));
	lab_move_end(&m);
}

/* At both ends. */
static bool
all_stand(void *arg)
{
	return tcpx_fabric_count(((struct lab *)arg)->fabric, TCPX_FABRIC_DATA) == 8 && is_whole(arg);
}

static bool
are_all_healed(void *arg)
{
	return counters_of(((struct lab *)arg)->a).channels_healed == 8 && is_whole(arg);
}

/* Every channel at once, of a session that is idle and of one that is busy. */
TEST(all_channels_are_opened_again)
{
	for (int i = 0; i < 4; i++) {
		struct lab t;
		struct move m;

		lab_open(&t, nets[i % 2], lab_settings);
		meet(&t);
		move_whole(&t);
		if (i / 2)
			lab_move_begin(&t, &m);
		while (tcpx_fabric_count(t.fabric, TCPX_FABRIC_DATA))
			assert_ok(tcpx_fabric_break_channel(t.fabric, 0));
		assert_true(run_until(&t, are_all_healed, &t, 3 * TCPX_SEC));
		if (i / 2) {
			assert_true(run_until(&t, over, m.x, 9 * TCPX_SEC));
			lab_move_end(&m);
		}
		move_whole(&t);
		lab_close(&t);
	}
}

struct half {
	struct lab t;
	bool sends; /* this way of the first engine gets no channel */
};

/* The engine's channels of a way do not connect for now. False: its session has ended. */
static bool
put_off(struct half *h, tcpx_engine *e, bool sends)
{
	struct session *s = tcpx_session_after(e, NULL);
	bool open = s && s->state == SESS_OPEN;

	for (uint32_t i = 0; open && i < s->chan.count; i++)
		(sends ? s->chan.tx[i] : s->chan.rx[i])->heal.at_ns =
			tcpx_fabric_now(h->t.fabric) + 60 * TCPX_SEC;
	if (s)
		tcpx_session_put(s);
	return open;
}

static bool
has_ended(void *arg)
{
	struct half *h = arg;

	return !put_off(h, h->t.a, h->sends) || !put_off(h, h->t.b, !h->sends);
}

/* Nobody waits on for what the other way alone could carry. */
TEST(a_session_without_a_way_ends_though_the_other_way_is_back)
{
	for (int i = 0; i < 4; i++) {
		struct half h = { .sends = i / 2 };
		uint64_t begin_ns;

		lab_open(&h.t, nets[i % 2], lab_settings);
		meet(&h.t);
		while (tcpx_fabric_count(h.t.fabric, TCPX_FABRIC_DATA))
			assert_ok(tcpx_fabric_break_channel(h.t.fabric, 0));
		begin_ns = tcpx_fabric_now(h.t.fabric);
		assert_true(run_until(&h.t, has_ended, &h, 20 * TCPX_SEC));
		assert_in_range(tcpx_fabric_now(h.t.fabric) - begin_ns, 9 * TCPX_SEC, 11 * TCPX_SEC);
		assert_code(lab_info(&h.t).status, TCPX_ENOCHANNEL);
		assert_int_equal(counters_of(h.t.a).channels_healed, 4);
		lab_close(&h.t);
	}
}

/* Connections that carry nothing are lost again and again: they are opened ever later, unless the
 * session has no other. */
TEST(an_idle_session_outlives_many_resets)
{
	for (int i = 0; i < 2; i++) {
		struct lab t;

		lab_open(&t, nets[i], lab_settings);
		meet(&t);
		for (int k = 0; k < 7; k++) {
			while (tcpx_fabric_count(t.fabric, TCPX_FABRIC_DATA))
				assert_ok(tcpx_fabric_break_channel(t.fabric, 0));
			assert_true(run_until(&t, all_stand, &t, 4 * TCPX_SEC));
		}
		move_whole(&t);
		lab_close(&t);
	}
}

/* One connection is left each way, a NIC falls silent, and the others were lost too often to be opened soon. */
TEST(transfers_do_not_wait_for_what_was_lost_often)
{
	for (uint32_t nic = 0; nic < 4; nic++) {
		struct lab t;

		lab_open(&t, &tcpx_net_loop, lab_settings);
		meet(&t);
		for (int k = 0; k < 7; k++) {
			while (tcpx_fabric_count(t.fabric, TCPX_FABRIC_DATA) > (k == 6 ? 2 : 0))
				assert_ok(tcpx_fabric_break_channel(t.fabric, k == 6));
			if (k < 6)
				assert_true(run_until(&t, all_stand, &t, 4 * TCPX_SEC));
		}
		assert_false(run_until(&t, never, NULL, 2 * TCPX_SEC));
		assert_ok(tcpx_fabric_set_nic_up(t.fabric, &t.nic[1][nic].addr, false));
		assert_int_equal(lab_info(&t).channels_tx + lab_info(&t).channels_rx, 2);
		move_whole(&t);
		lab_close(&t);
	}
}

TEST(a_nic_that_comes_late_joins)
{
	for (int i = 0; i < 2; i++) {
		struct lab t;

		lab_open(&t, nets[i], lab_settings);
		assert_ok(tcpx_fabric_set_nic_up(t.fabric, &t.nic[1][2].addr, false));
		meet(&t);
		assert_int_equal(lab_info(&t).channels_tx, 3);
		assert_false(run_until(&t, is_whole, &t, 20 * TCPX_SEC));
		assert_int_equal(lab_info(&t).channels_tx, 3);
		assert_ok(tcpx_fabric_set_nic_up(t.fabric, &t.nic[1][2].addr, true));
		assert_true(run_until(&t, is_whole, &t, 2 * TCPX_SEC));
		move_whole(&t);
		lab_close(&t);
	}
}

static bool
is_one_short(void *arg)
{
	return lab_info(arg).channels_tx == 3;
}

/* The other NICs carry what the silent one had, and it carries its share again soon after. The session
 * has been idle for @idle_ns. */
static void
gives_up_a_silent_nic(uint64_t idle_ns)
{
	static const struct tcpx_fabric_script script = { .nic_Bps = 10000000 };
	struct tcpx_counters c;
	struct move m;
	struct lab t;

	lab_open_on(&t, &tcpx_net_loop, lab_settings, &script);
	meet(&t);
	move_whole(&t);
	assert_false(run_until(&t, never, NULL, idle_ns));
	lab_move_begin(&t, &m);
	assert_false(run_until(&t, over, m.x, 50 * TCPX_MS));
	assert_ok(tcpx_fabric_set_nic_up(t.fabric, &t.nic[1][2].addr, false));
	assert_true(run_until(&t, is_one_short, &t, 1700 * TCPX_MS)); /* a sixth of the deadline, and no more */
	assert_true(run_until(&t, over, m.x, 4 * TCPX_SEC));
	lab_move_end(&m);
	assert_int_equal(lab_info(&t).channels_rx, 3); /* the other way nobody finds out for himself */
	assert_int_equal(t.p->out->sched.queued_bytes, 0); /* with those that were sent again */
	c = counters_of(t.a);
	assert_int_equal(c.channels_suspected, 1);
	assert_true(c.chunks_resent > 0);
	assert_int_equal(lab_info(&t).channels_tx, 3);
	assert_ok(tcpx_fabric_set_nic_up(t.fabric, &t.nic[1][2].addr, true));
	assert_true(run_until(&t, is_whole, &t, 3 * TCPX_SEC));
	move_whole(&t);
	lab_close(&t);
}

TEST(a_silent_nic_is_given_up_and_comes_back)
{
	for (uint64_t idle_ns = 0; idle_ns < 22 * TCPX_SEC; idle_ns += 1500 * TCPX_MS)
		gives_up_a_silent_nic(idle_ns);
}

#define SMALL 8192 /* a chunk, and so a channel's */

static int
write_small(struct lab *t, const struct move *m, tcpx_xfer **x)
{
	struct tcpx_desc l = { m->from.id, 0, SMALL }, f = { mem_tell(&m->to, t->b, t->a), 0, SMALL };

	return tcpx_write(t->p, &l, 1, &f, 1, NULL, 0, x);
}

static bool
are_two_short(void *arg)
{
	return lab_info(arg).channels_tx == 6;
}

/* It would have the next chunk, which then waits as long. */
TEST(an_idle_channel_beside_a_silent_one_is_left)
{
	static const char *const two_a_nic[] = { "TCPX_CHANNELS=8", "TCPX_THREADS=1", "TCPX_PORT=0",
						 "TCPX_DEBUG=WARN", "TCPX_INLINE=0", "TCPX_DIST=rr",
						 "TCPX_NARROW=0", NULL };
	struct move m;
	tcpx_xfer *x;
	struct lab t;
	int nth = 0;

	lab_open(&t, &tcpx_net_loop, two_a_nic);
	meet(&t);
	lab_move_begin(&t, &m);
	assert_true(run_until(&t, over, m.x, 9 * TCPX_SEC));
	assert_ok(tcpx_fabric_set_nic_up(t.fabric, &t.nic[1][2].addr, false));
	assert_ok(write_small(&t, &m, &x));
	while (run_until(&t, over, x, 20 * TCPX_MS) && ++nth < 8) {
		tcpx_xfer_free(x);
		assert_ok(write_small(&t, &m, &x));
	}
	assert_false(over(x));
	assert_true(run_until(&t, over, x, 2 * TCPX_SEC));
	assert_ok(tcpx_test(x));
	tcpx_xfer_free(x);
	assert_true(are_two_short(&t));
	for (nth = 0; nth < 8; nth++) {
		assert_ok(write_small(&t, &m, &x));
		assert_true(run_until(&t, over, x, 20 * TCPX_MS));
		tcpx_xfer_free(x);
	}
	lab_move_end(&m);
	lab_close(&t);
}

static bool
is_resumed(void *arg)
{
	return counters_of(((struct lab *)arg)->a).ctrl_resumes > 0;
}

/* Its NIC's channels are idle: they would have the next chunks. */
TEST(channels_beside_a_silent_control_stream_are_left)
{
	struct tcpx_fabric_script script = { .nic_Bps = 10000000 };
	struct move m;
	struct lab t;

	lab_open_on(&t, &tcpx_net_loop, lab_settings, &script);
	meet(&t);
	move_whole(&t);
	assert_false(run_until(&t, never, NULL, 10 * TCPX_MS)); /* the last acknowledgement */
	assert_ok(tcpx_fabric_set_nic_up(t.fabric, &t.nic[0][0].addr, false));
	assert_true(run_until(&t, is_resumed, &t, 2 * TCPX_SEC));
	assert_true(run_until(&t, is_one_short, &t, 20 * TCPX_MS));
	lab_move_begin(&t, &m);
	assert_true(run_until(&t, over, m.x, 400 * TCPX_MS));
	lab_move_end(&m);
	lab_close(&t);
}

/* All silent at once: no path is to blame, and when they are back nothing was resent. */
TEST(a_network_that_pauses_costs_no_channel)
{
	static const struct tcpx_fabric_script script = { .nic_Bps = 10000000 };
	struct tcpx_counters c;
	struct move m;
	struct lab t;

	lab_open_on(&t, &tcpx_net_loop, lab_settings, &script);
	meet(&t);
	lab_move_begin(&t, &m);
	assert_false(run_until(&t, over, m.x, 50 * TCPX_MS));
	tcpx_fabric_hold(t.fabric, TCPX_FABRIC_DATA, 6 * TCPX_SEC);
	tcpx_fabric_hold(t.fabric, TCPX_FABRIC_CONTROL, 6 * TCPX_SEC);
	assert_true(run_until(&t, over, m.x, 9 * TCPX_SEC));
	lab_move_end(&m);
	c = counters_of(t.a);
	assert_int_equal(c.channels_suspected, 0);
	assert_int_equal(c.channels_lost, 0);
	lab_close(&t);
}

/* All silent at once: nothing says that the NIC of the control stream is to blame. */
TEST(an_idle_session_outlives_a_pause_with_all_channels)
{
	struct lab t;

	lab_open(&t, &tcpx_net_loop, lab_settings);
	meet(&t);
	move_whole(&t);
	tcpx_fabric_hold(t.fabric, TCPX_FABRIC_DATA, 4 * TCPX_SEC);
	tcpx_fabric_hold(t.fabric, TCPX_FABRIC_CONTROL, 4 * TCPX_SEC);
	assert_true(run_until(&t, is_resumed, &t, 6 * TCPX_SEC));
	assert_false(run_until(&t, never, NULL, 1 * TCPX_SEC));
	assert_int_equal(counters_of(t.a).channels_lost, 0);
	assert_true(is_whole(&t));
	lab_close(&t);
}

/* A peer without a CPU answers late: one message that took long costs no channel, though another would at its rate
 * take longer than the others for all. */
TEST(one_late_answer_costs_no_channel)
{
	static const struct tcpx_fabric_script script = { .nic_Bps = 1000000 };
	struct move m;
	struct lab t;

	lab_open_on(&t, &tcpx_net_loop, lab_settings, &script);
	meet(&t);
	lab_move_begin(&t, &m);
	assert_false(run_until(&t, over, m.x, 800 * TCPX_MS));
	t.p->out->chan.tx[2]->tx.rate.Bps = 50000;
	assert_true(run_until(&t, over, m.x, 4 * TCPX_SEC));
	lab_move_end(&m);
	assert_int_equal(counters_of(t.a).channels_suspected, 0);
	lab_close(&t);
}
