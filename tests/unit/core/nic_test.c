/* SPDX-License-Identifier: Apache-2.0 */
/* Several NICs: on the loopback, and on a scripted network, where NICs may not connect. */
#include "nic_lab.h"

#include <stdlib.h>
#include <string.h>

#define LEN (6u << 20)

TEST(sixteen_channels_on_four_nics_carry_data)
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
	assert_ok(tcpx_query_nics(r.a, nic, sizeof(nic[0]), &count));
	assert_int_equal(count, NICS);
	rig_memory(&r, LEN, LEN);
	assert_ok(rig_move(&r, TCPX_OP_WRITE, 0, 0, LEN));
	assert_filled(r.far.at, LEN, 1);
	rig_end(&r);
}

static int
channels(tcpx_engine *e, void *out, size_t stride, size_t *count)
{
	return tcpx_query_channels(e, out, stride, count);
}

static int
threads(tcpx_engine *e, void *out, size_t stride, size_t *count)
{
	return tcpx_query_threads(e, out, stride, count);
}

static int
nics(tcpx_engine *e, void *out, size_t stride, size_t *count)
{
	return tcpx_query_nics(e, out, stride, count);
}

#define LIST_MAX 8
#define MORE     40
#define SAME     16 /* an entry begins with what does not change from call to call */

/* A program built with a later header gets zeros behind what the library knows; one built with
 * an earlier header gets the beginning. Entries keep their distance. */
TEST(entries_may_be_longer_or_shorter_than_the_librarys)
{
	static const struct {
		int (*call)(tcpx_engine *e, void *out, size_t stride, size_t *count);
		size_t size, count;
	} list[] = { { channels, sizeof(struct tcpx_channel_info), 4 },
		     { threads, sizeof(struct tcpx_thread_info), 2 },
		     { nics, sizeof(struct tcpx_nic_info), 2 } };
	static const char *const two[] = { "TCPX_NICS=127.0.1.1,127.0.2.1", "TCPX_CHANNELS=2",
					   "TCPX_THREADS=2", NULL };
	uint8_t know[LIST_MAX * 512], out[LIST_MAX * 512], zero[MORE] = { 0 };
	struct rig r;

	rig_begin(&r, two, two);
	for (size_t i = 0; i < 3; i++) {
		const size_t size = list[i].size, stride[] = { size + MORE, SAME };

		for (size_t s = 0; s < 2; s++) {
			size_t n = LIST_MAX;

			assert_true(size + MORE <= 512);
			assert_ok(list[i].call(r.a, know, size, &n));
			assert_int_equal(n, list[i].count);
			memset(out, 0xee, sizeof(out));
			assert_ok(list[i].call(r.a, out, stride[s], &n));
			assert_int_equal(n, list[i].count);
			for (size_t k = 0; k < n; k++) {
				assert_memory_equal(out + k * stride[s], know + k * size, SAME);
				if (stride[s] > size)
					assert_memory_equal(out + k * stride[s] + size, zero, MORE);
			}
			assert_int_equal(out[n * stride[s]], 0xee);
		}
	}
	rig_end(&r);
}

/* ---- on a scripted network ---- */

static const char *const lab_strict[] = { "TCPX_CHANNELS=4", "TCPX_THREADS=1", "TCPX_PORT=0",
					  "TCPX_DEBUG=WARN", "TCPX_STRICT_NICS=1", NULL };
static const struct tcpx_net_ops *const nets[] = { &tcpx_net_loop, &tcpx_net_loop_comm };

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
		tcpx_xfer_free(x);
	}
	assert_ok(tcpx_mem_deregister(t->a, from.id));
	assert_ok(tcpx_mem_deregister(t->b, to.id));
	mem_close(&from);
	mem_close(&to);
}

TEST(all_nics_up_is_a_whole_session)
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
TEST(channels_open_at_the_same_time)
{
	static const char *const counts[] = { "TCPX_CHANNELS=4", "TCPX_CHANNELS=16" };
	static const struct tcpx_fabric_script far = {
		.delay_min_ns = { 5 * TCPX_MS, 5 * TCPX_MS },
		.delay_max_ns = { 5 * TCPX_MS, 5 * TCPX_MS },
	};
	uint64_t took_ns[2];

	for (int i = 0; i < 2; i++) {
		const char *const settings[] = { counts[i], "TCPX_THREADS=1", "TCPX_PORT=0",
						 "TCPX_NARROW=0", NULL };
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
TEST(a_dropped_peer_lingers_out)
{
	for (int i = 0; i < 2; i++) {
		struct lab t;

		lab_open(&t, nets[i], lab_settings);
		meet(&t);
		tcpx_peer_free(t.p);
		t.p = NULL;
		assert_false(run_until(&t, no_session, &t, 29 * TCPX_SEC));
		assert_true(run_until(&t, no_session, &t, 2 * TCPX_SEC));
		meet(&t);
		assert_ok(lab_info(&t).status);
		lab_move(&t);
		lab_close(&t);
	}
}

TEST(a_nic_that_cannot_connect_makes_the_session_degraded)
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

TEST(strict_refuses_a_degraded_session)
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
TEST(channels_that_break_hand_their_chunks_on)
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
		tcpx_xfer_free(x);
		lab_close(&t);
		mem_close(&from);
		mem_close(&to);
	}
}

/* What was heard last was heard on the old connection: the new one has its own time. */
TEST(a_silent_stream_is_replaced)
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
