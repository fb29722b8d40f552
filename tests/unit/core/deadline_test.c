/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers that wait or are stuck while others of their session move. */
#include "nic_lab.h"

#include <errno.h>
#include <string.h>

#define LEN   (1u << 20)
#define SLOTS 8

static const struct tcpx_net_ops *const nets[] = { &tcpx_net_loop, &tcpx_net_loop_comm };

struct scene {
	struct lab t;
	struct mem from, to;
	struct tcpx_desc l, f;
	tcpx_peer *back;
};

static void
scene_open(struct scene *c, const struct tcpx_net_ops *net, const char *const *settings)
{
	struct tcpx_fabric_script slow = { .nic_Bps = 20 * LEN };

	lab_open_on(&c->t, net, settings, &slow);
	meet(&c->t);
	assert_ok(lab_info(&c->t).status);
	mem_open(&c->from, c->t.a, LEN, TCPX_MEM_LOCAL);
	mem_open(&c->to, c->t.b, LEN, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
	fill(c->from.at, LEN, 3);
	c->l = (struct tcpx_desc){ c->from.id, 0, LEN };
	c->f = (struct tcpx_desc){ mem_tell(&c->to, c->t.b, c->t.a), 0, LEN };
	assert_ok(tcpx_peer_find(c->t.b, "anna", &c->back));
}

static void
scene_close(struct scene *c)
{
	tcpx_peer_free(c->back);
	lab_close(&c->t);
	mem_close(&c->from);
	mem_close(&c->to);
}

/* One of them in flight for each slot. */
struct stream {
	struct scene *c;
	bool read;
	tcpx_xfer *x[SLOTS];
	uint64_t post_ns[SLOTS], longest_ns;
	uint32_t done, failed;
};

/* Ends are counted, and followed by the next. */
static bool
goes_on(void *arg)
{
	struct stream *s = arg;
	struct scene *c = s->c;
	uint64_t now_ns = tcpx_fabric_now(c->t.fabric);

	for (int i = 0; i < SLOTS; i++) {
		int rc = s->x[i] ? tcpx_test(s->x[i]) : 0;

		if (now_ns - s->post_ns[i] > s->longest_ns && s->x[i])
			s->longest_ns = now_ns - s->post_ns[i];
		if (s->x[i] && rc == -EAGAIN)
			continue;
		s->done += s->x[i] && rc == 0;
		s->failed += rc != 0;
		tcpx_xfer_free(s->x[i]);
		s->post_ns[i] = now_ns;
		assert_ok((s->read ? tcpx_read : tcpx_write)(c->t.p, &c->l, 1, &c->f, 1, NULL, 0,
							     &s->x[i]));
	}
	return false;
}

/* A NIC swallows what it is given, and the rest keeps the session busy. */
TEST(a_stuck_transfer_ends_while_others_move)
{
	for (int i = 0; i < 4; i++) {
		struct scene c;
		struct stream s = { .c = &c, .read = i & 1 };

		scene_open(&c, nets[i / 2], lab_settings);
		run_until(&c.t, goes_on, &s, TCPX_SEC);
		assert_ok(tcpx_fabric_set_nic_up(c.t.fabric, &c.t.nic[0][3].addr, false));
		run_until(&c.t, goes_on, &s, 25 * TCPX_SEC);
		assert_ok(lab_info(&c.t).status);
		assert_true(s.done > 200 && s.failed <= SLOTS);
		assert_in_range(s.longest_ns, 0, 12 * TCPX_SEC); /* TCPX_STALL_MS and the looks */
		for (int k = 0; k < SLOTS; k++)
			tcpx_xfer_free(s.x[k]);
		scene_close(&c);
	}
}

/* More sends than the peer allows wait for their receives; nobody else does. */
TEST(sends_without_a_receive_keep_nobody_waiting)
{
	static const char *const few[] = { "TCPX_CHANNELS=4", "TCPX_THREADS=1", "TCPX_PORT=0",
					   "TCPX_DEBUG=WARN", "TCPX_CREDIT_XFERS=4", NULL };
	struct tcpx_xfer_info info = TCPX_XFER_INFO_INIT;
	tcpx_xfer *send[SLOTS], *x;
	struct scene c;

	scene_open(&c, nets[0], few);
	for (int i = 0; i < SLOTS; i++)
		assert_ok(tcpx_send(c.t.p, &c.l, 1, 7, &send[i]));
	for (int i = 0; i < 2; i++) {
		assert_ok((i ? tcpx_read : tcpx_write)(c.t.p, &c.l, 1, &c.f, 1, NULL, 0, &x));
		assert_true(run_until(&c.t, over, x, 5 * TCPX_SEC));
		assert_ok(tcpx_test(x));
		tcpx_xfer_free(x);
	}
	assert_false(run_until(&c.t, over, send[SLOTS - 1], 25 * TCPX_SEC));
	assert_ok(tcpx_xfer_query(send[SLOTS - 1], &info));
	assert_string_equal(info.stage, "waits for credit");
	assert_ok(tcpx_xfer_query(send[0], &info));
	assert_string_equal(info.stage, "waits for its receive");
	for (int i = 0; i < SLOTS; i++) {
		struct tcpx_desc d = { c.to.id, 0, LEN };

		assert_ok(tcpx_recv(c.back, &d, 1, 7, &x));
		assert_true(run_until(&c.t, over, x, 5 * TCPX_SEC));
		assert_ok(tcpx_test(x));
		assert_true(run_until(&c.t, over, send[i], 5 * TCPX_SEC));
		assert_ok(tcpx_test(send[i]));
		tcpx_xfer_free(x);
		tcpx_xfer_free(send[i]);
	}
	scene_close(&c);
}

/* Nothing moves at all: the session ends, and says which chunk, by which way, to where. */
TEST(a_stalled_session_says_where)
{
	struct tcpx_xfer_info info = TCPX_XFER_INFO_INIT;
	struct scene c;
	tcpx_xfer *x;

	scene_open(&c, nets[0], lab_settings);
	tcpx_fabric_hold(c.t.fabric, TCPX_FABRIC_DATA, 60 * TCPX_SEC);
	assert_ok(tcpx_write(c.t.p, &c.l, 1, &c.f, 1, NULL, 0, &x));
	assert_true(run_until(&c.t, over, x, 12 * TCPX_SEC));
	assert_code(tcpx_test(x), TCPX_ESTALLED);
	assert_ok(tcpx_xfer_query(x, &info));
	if (!strstr(info.cause, "chunks in place, 0 sent, not acknowledged: channel ") ||
	    !strstr(info.cause, " 10.") || !strstr(info.cause, "0 + 0 channels moved lately"))
		fail_msg("%s", info.cause);
	assert_code(lab_info(&c.t).status, TCPX_ESTALLED); /* at once */
	tcpx_xfer_free(x);
	scene_close(&c);
}

static bool
both_have_ended(void *arg)
{
	struct lab *t = arg;

	return t->a->registry.session_count == 0 && t->b->registry.session_count == 0;
}

/* Every NIC is down for longer than the deadline: one clear error at each end, the server's too. */
TEST(a_dead_network_is_one_error_on_each_side)
{
	for (int i = 0; i < 4; i++) {
		struct scene c;
		tcpx_xfer *x;

		scene_open(&c, nets[i / 2], lab_settings);
		assert_ok((i & 1 ? tcpx_read : tcpx_write)(c.t.p, &c.l, 1, &c.f, 1, NULL, 0, &x));
		c.t.stalled = 0;
		for (int n = 0; n < NICS; n++)
			assert_ok(tcpx_fabric_set_nic_up(c.t.fabric, &c.t.nic[0][n].addr, false));
		assert_true(run_until(&c.t, over, x, 13 * TCPX_SEC));
		assert_code(tcpx_test(x), TCPX_ESTALLED);
		assert_true(run_until(&c.t, both_have_ended, &c.t, 13 * TCPX_SEC));
		assert_int_equal(c.t.stalled, 2);
		tcpx_xfer_free(x);
		scene_close(&c);
	}
}

struct way {
	tcpx_xfer *x;
	uint64_t first; /* chunk that was stuck, at the latest look */
};

/* For run_until(): one channel is acknowledged in order. */
static bool
over_or_stuck_at_its_first(void *arg)
{
	struct tcpx_xfer_info info = TCPX_XFER_INFO_INIT;
	struct way *w = arg;

	assert_ok(tcpx_xfer_query(w->x, &info));
	if (info.status == -EAGAIN && !strcmp(info.stage, "sent, not acknowledged")) {
		assert_int_equal(info.stuck_chunk * info.chunk_bytes, info.bytes_done);
		assert_int_equal(info.stuck_channel, 0);
		w->first = info.stuck_chunk;
	}
	return info.status != -EAGAIN;
}

TEST(a_transfer_names_its_first_chunk_that_is_not_in_place)
{
	static const char *const one[] = { "TCPX_CHANNELS=1", "TCPX_THREADS=1", "TCPX_PORT=0",
					   "TCPX_DEBUG=WARN", "TCPX_CHUNK=64K", NULL };
	struct move m;
	struct lab t;
	struct way w;

	lab_open(&t, &tcpx_net_loop, one);
	meet(&t);
	lab_move_begin(&t, &m);
	w = (struct way){ .x = m.x };
	assert_true(run_until(&t, over_or_stuck_at_its_first, &w, 60 * TCPX_SEC));
	assert_true(w.first > MOVE_BYTES / (64 << 10) / 2);
	lab_move_end(&m);
	lab_close(&t);
}
