/* SPDX-License-Identifier: Apache-2.0 */
/* A process that stood still for longer than its deadlines goes on, if the other has waited. */
#include "nic_lab.h"

#include <string.h>

#include "proto/health.h"

#define LEN (4u << 20)

static const struct tcpx_net_ops *const nets[] = { &tcpx_net_loop, &tcpx_net_loop_comm };
static const char *const patient[] = { "TCPX_CHANNELS=4", "TCPX_THREADS=1", "TCPX_PORT=0",
				       "TCPX_DEBUG=WARN", "TCPX_STALL_MS=100000", NULL };

enum frozen { FIRST, SECOND, BOTH };
/* What the first finds as it goes on: all is well; a thread of the application has got a CPU before
 * it, and posts another; its connections are reset; both. */
enum found { NOTHING, POST, CUT, POST_AND_CUT };

/* A transfer is under way; then @who stands still for @for_ns. */
static void
goes_on(const struct tcpx_net_ops *net, enum frozen who, bool read, uint64_t for_ns, enum found found)
{
	struct tcpx_desc l = { 0, 0, LEN }, f = l;
	struct mem from, to;
	struct lab t;
	tcpx_xfer *x, *more = NULL;

	lab_open_two(&t, net, who == SECOND ? patient : lab_settings,
		     who == FIRST ? patient : lab_settings);
	meet(&t);
	mem_open(&from, t.a, LEN, TCPX_MEM_LOCAL);
	mem_open(&to, t.b, LEN, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
	fill(read ? to.at : from.at, LEN, 3);
	l.region = from.id;
	f.region = mem_tell(&to, t.b, t.a);
	tcpx_fabric_hold(t.fabric, TCPX_FABRIC_DATA, TCPX_SEC);
	tcpx_fabric_hold(t.fabric, TCPX_FABRIC_CONTROL, 510 * TCPX_MS); /* a PING is on its way */
	assert_ok((read ? tcpx_read : tcpx_write)(t.p, &l, 1, &f, 1, NULL, 0, &x));
	assert_false(run_until(&t, over, x, 500 * TCPX_MS));
	if (who == BOTH)
		tcpx_fabric_advance(t.fabric, tcpx_fabric_now(t.fabric) + for_ns);
	else
		(void)run_alone(&t, who == FIRST ? t.b : t.a, over, x, for_ns);
	if (found & CUT)
		tcpx_fabric_break_all(t.fabric, true);
	if (found & POST)
		assert_ok((read ? tcpx_read : tcpx_write)(t.p, &l, 1, &f, 1, NULL, 0, &more));
	assert_true(run_until(&t, over, x, 5 * TCPX_SEC));
	assert_ok(tcpx_test(x));
	if (found & POST) {
		assert_true(run_until(&t, over, more, 5 * TCPX_SEC));
		assert_ok(tcpx_test(more));
	}
	assert_filled(read ? from.at : to.at, LEN, 3);
	tcpx_xfer_free(more);
	tcpx_xfer_free(x);
	lab_close(&t);
	mem_close(&from);
	mem_close(&to);
}

TEST(what_stood_still_goes_on)
{
	static const uint64_t for_ns[] = { 12 * TCPX_SEC, 45 * TCPX_SEC };

	for (int i = 0; i < 96; i++)
		goes_on(nets[i / 12 % 2], (enum frozen)(i % 3), i / 3 % 2, for_ns[i / 6 % 2],
			(enum found)(i / 24));
}

static bool
is_open(void *arg)
{
	return lab_info(arg).status == 0;
}

/* The pause comes at any moment of the handshake; the connection may be reset, too. */
TEST(a_handshake_outlives_a_pause)
{
	static const struct tcpx_fabric_script slow = {
		.delay_min_ns = { 100 * TCPX_MS, 100 * TCPX_MS },
		.delay_max_ns = { 100 * TCPX_MS, 100 * TCPX_MS } };

	for (int i = 0; i < 4; i++) {
		bool open = false;

		for (uint64_t at_ns = 0; !open; at_ns += 50 * TCPX_MS) {
			uint64_t now_ns;
			struct lab t;

			lab_open_on(&t, nets[i % 2], lab_settings, &slow);
			t.p = rig_add(t.a, t.b);
			open = run_until(&t, is_open, &t, at_ns);
			now_ns = tcpx_fabric_now(t.fabric);
			tcpx_fabric_advance(t.fabric, now_ns + 45 * TCPX_SEC);
			if (i / 2)
				tcpx_fabric_break_all(t.fabric, true);
			assert_true(run_until(&t, is_open, &t, 4 * TCPX_SEC));
			lab_close(&t);
		}
	}
}

/* Its kernel answers, and it does not: no failure where that is set. Then its channels and what it
 * owes are judged as before. */
TEST(a_stopped_peer_is_waited_for)
{
	static const char *const for_ever[] = { "TCPX_CHANNELS=4", "TCPX_THREADS=1", "TCPX_PORT=0",
						"TCPX_DEBUG=WARN", "TCPX_FREEZE_MS=86400s", NULL };
	struct tcpx_counters c = { .struct_size = sizeof(c) };
	struct tcpx_desc l = { 0, 0, LEN }, f = l;

	for (int i = 0; i < 4; i++) {
		tcpx_engine *stopped;
		struct mem from, to;
		struct lab t;
		tcpx_xfer *x;

		lab_open(&t, nets[i / 2], for_ever);
		meet(&t);
		stopped = i & 1 ? t.a : t.b;
		mem_open(&from, t.a, LEN, TCPX_MEM_LOCAL);
		mem_open(&to, t.b, LEN, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
		fill(from.at, LEN, 3);
		l.region = from.id;
		f.region = mem_tell(&to, t.b, t.a);
		tcpx_fabric_hold(t.fabric, TCPX_FABRIC_DATA, TCPX_SEC);
		assert_ok(tcpx_write(t.p, &l, 1, &f, 1, NULL, 0, &x));
		assert_false(run_until(&t, over, x, 500 * TCPX_MS));
		(void)run_alone(&t, stopped == t.a ? t.b : t.a, over, x, 90 * TCPX_SEC);
		assert_true(run_until(&t, over, x, 5 * TCPX_SEC));
		assert_ok(tcpx_test(x));
		assert_filled(to.at, LEN, 3);
		assert_ok(tcpx_query(t.a, &c));
		assert_int_equal(c.ctrl_resumes, 0); /* the connection was good */
		tcpx_xfer_free(x);
		/* awake again, and silent data */
		tcpx_fabric_hold(t.fabric, TCPX_FABRIC_DATA, 60 * TCPX_SEC);
		assert_ok(tcpx_write(t.p, &l, 1, &f, 1, NULL, 0, &x));
		assert_true(run_until(&t, over, x, 12 * TCPX_SEC));
		assert_code(tcpx_test(x), TCPX_ESTALLED);
		tcpx_xfer_free(x);
		lab_close(&t);
		mem_close(&from);
		mem_close(&to);
	}
}

/* For two hours its kernel takes them: so many a second, and nothing is kept of them. */
TEST(pings_that_nobody_answers_cost_little)
{
	static const char *const for_ever[] = { "TCPX_CHANNELS=4", "TCPX_THREADS=1", "TCPX_PORT=0",
						"TCPX_DEBUG=WARN", "TCPX_FREEZE_MS=86400s",
						"TCPX_STALL_MS=10000", NULL };
	const uint64_t hours_ns = 7200 * TCPX_SEC;
	struct tcpx_patience p = tcpx_patience_of(10 * TCPX_SEC, 5 * TCPX_SEC, UINT64_MAX);
	struct tcpx_counters before = { .struct_size = sizeof(before) }, after = before;
	struct tcpx_desc l = { 0, 0, LEN }, f = l;

	for (int in_use = 0; in_use < 2; in_use++) {
		struct mem from, to;
		struct lab t;
		tcpx_xfer *x = NULL;

		lab_open(&t, nets[0], for_ever);
		meet(&t);
		mem_open(&from, t.a, LEN, TCPX_MEM_LOCAL);
		mem_open(&to, t.b, LEN, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
		l.region = from.id;
		f.region = mem_tell(&to, t.b, t.a);
		assert_ok(tcpx_query(t.a, &before));
		if (in_use)
			assert_ok(tcpx_write(t.p, &l, 1, &f, 1, NULL, 0, &x));
		(void)run_alone(&t, t.a, never, NULL, hours_ns);
		assert_ok(tcpx_query(t.a, &after));
		assert_int_equal(after.sessions, 1);
		assert_in_range(after.ctrl_frames_tx - before.ctrl_frames_tx, 1000,
				hours_ns / p.look_ns + 10);
		assert_in_range(after.memory_bytes, 0, before.memory_bytes + (64 << 10));
		print_message("# %llu frames in two hours, %lld bytes more kept\n",
			      (unsigned long long)(after.ctrl_frames_tx - before.ctrl_frames_tx),
			      (long long)(after.memory_bytes - before.memory_bytes));
		tcpx_xfer_free(x);
		lab_close(&t);
		mem_close(&from);
		mem_close(&to);
	}
}

TEST(a_stopped_peer_is_named)
{
	struct tcpx_desc l = { 0, 0, LEN }, f = l;
	struct mem from, to;
	uint64_t took_ns;
	struct lab t;
	tcpx_xfer *x;

	lab_open(&t, nets[0], lab_settings);
	meet(&t);
	mem_open(&from, t.a, LEN, TCPX_MEM_LOCAL);
	mem_open(&to, t.b, LEN, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
	l.region = from.id;
	f.region = mem_tell(&to, t.b, t.a);
	assert_ok(tcpx_write(t.p, &l, 1, &f, 1, NULL, 0, &x));
	took_ns = run_alone(&t, t.a, over, x, 60 * TCPX_SEC);
	assert_code(tcpx_test(x), TCPX_ESTALLED);
	assert_in_range(took_ns, 10 * TCPX_SEC, 11 * TCPX_SEC);
	assert_non_null(strstr(t.last, "peer's process has said nothing for 10000 ms"));
	tcpx_xfer_free(x);
	lab_close(&t);
	mem_close(&from);
	mem_close(&to);
}

TEST(contradicting_deadlines_are_refused)
{
	static const char *const bad[] = { "TCPX_FREEZE_MS=5s", NULL };
	char text[256];
	tcpx_engine *e;

	assert_code(rig_try_open("anna", bad, &e), TCPX_ECONFIG);
	tcpx_last_error(NULL, text, sizeof(text));
	assert_string_equal(text, "TCPX_FREEZE_MS is 5000, at least the 10000 of TCPX_STALL_MS are "
				  "allowed (TCPX_ECONFIG)");
}

/* What only came late is judged as before: the other side is silent for ten seconds that ran. */
TEST(a_pause_forgives_no_silence_after_it)
{
	struct tcpx_desc l = { 0, 0, LEN }, f = l;
	struct mem from, to;
	uint64_t took_ns;
	struct lab t;
	tcpx_xfer *x;

	lab_open(&t, nets[0], lab_settings);
	meet(&t);
	mem_open(&from, t.a, LEN, TCPX_MEM_LOCAL);
	mem_open(&to, t.b, LEN, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
	l.region = from.id;
	f.region = mem_tell(&to, t.b, t.a);
	assert_ok(tcpx_write(t.p, &l, 1, &f, 1, NULL, 0, &x));
	tcpx_fabric_advance(t.fabric, tcpx_fabric_now(t.fabric) + 30 * TCPX_SEC);
	took_ns = run_alone(&t, t.a, over, x, 60 * TCPX_SEC);
	assert_code(tcpx_test(x), TCPX_ESTALLED);
	assert_in_range(took_ns, 9 * TCPX_SEC, 13 * TCPX_SEC);
	tcpx_xfer_free(x);
	lab_close(&t);
	mem_close(&from);
	mem_close(&to);
}
