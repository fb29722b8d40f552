/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions that begin narrow, widen under load and narrow again, on a scripted network. */
#include "nic_lab.h"

#include <string.h>

#define CHANNELS 16
#define BIG      (9u << 20)

static const char *const narrow[] = { "TCPX_CHANNELS=4/nic", "TCPX_THREADS=2", "TCPX_PORT=0",
				      "TCPX_DEBUG=WARN", NULL };
static const char *const wide[] = { "TCPX_CHANNELS=4/nic", "TCPX_THREADS=2", "TCPX_PORT=0",
				    "TCPX_DEBUG=WARN", "TCPX_NARROW=0", NULL };
static const char *const strict[] = { "TCPX_CHANNELS=4/nic", "TCPX_STRICT_NICS=1", "TCPX_PORT=0",
				      "TCPX_DEBUG=WARN", NULL };

/* Channels of the first engine, and connections. */
struct width {
	struct lab *t;
	uint32_t tx, rx;
};

static bool
has(void *arg)
{
	const struct width *w = arg;
	struct tcpx_peer_info info = lab_info(w->t);

	return info.channels_tx == w->tx && info.channels_rx == w->rx &&
	       tcpx_fabric_count(w->t->fabric, TCPX_FABRIC_DATA) == w->tx + w->rx;
}

static void
assert_width(struct lab *t, uint32_t tx, uint32_t rx)
{
	struct width w = { t, tx, rx };
	struct tcpx_peer_info info;

	assert_true(run_until(t, has, &w, TCPX_SEC));
	info = lab_info(t);
	assert_int_equal(info.channels_wanted, CHANNELS);
	assert_int_equal(info.resting_tx, CHANNELS - tx);
	assert_int_equal(info.resting_rx, CHANNELS - rx);
}

/* No channel counts as lost or healed, and nobody warns. */
static void
assert_no_fault(struct lab *t)
{
	struct tcpx_counters c[2] = { counters_of(t->a), counters_of(t->b) };

	for (int i = 0; i < 2; i++) {
		assert_int_equal(c[i].channels_lost, 0);
		assert_int_equal(c[i].channels_healed, 0);
		assert_int_equal(c[i].channels_suspected, 0);
	}
	assert_int_equal(t->warnings, 0);
}

/* The first engine writes or reads. */
struct moving {
	struct mem here, there;
	size_t len;
	bool reads;
	tcpx_xfer *x;
};

static void
move_begin(struct lab *t, struct moving *m, size_t len, bool reads)
{
	struct tcpx_desc l = { 0, 0, len }, f = l;

	*m = (struct moving){ .len = len, .reads = reads };
	mem_open(&m->here, t->a, len, TCPX_MEM_LOCAL);
	mem_open(&m->there, t->b, len, TCPX_MEM_REMOTE_WRITE | TCPX_MEM_REMOTE_READ);
	fill(reads ? m->there.at : m->here.at, len, 1);
	fill(reads ? m->here.at : m->there.at, len, 2);
	l.region = m->here.id;
	f.region = mem_tell(&m->there, t->b, t->a);
	assert_ok((reads ? tcpx_read : tcpx_write)(t->p, &l, 1, &f, 1, NULL, 0, &m->x));
}

static void
move_end(struct lab *t, struct moving *m)
{
	assert_true(run_until(t, over, m->x, 9 * TCPX_SEC));
	assert_ok(tcpx_test(m->x));
	assert_filled(m->reads ? m->here.at : m->there.at, m->len, 1);
	tcpx_xfer_free(m->x);
	mem_close(&m->here);
	mem_close(&m->there);
}

static void
move(struct lab *t, size_t len, bool reads)
{
	struct moving m;

	move_begin(t, &m, len, reads);
	move_end(t, &m);
}

static void
rest_for(struct lab *t, uint64_t ns)
{
	assert_false(run_until(t, never, NULL, ns));
}

/* Each way by itself, by the side that opened the session and by the other. */
TEST(widens_where_there_is_load)
{
	struct lab t;

	lab_open(&t, &tcpx_net_loop, narrow);
	meet(&t);
	assert_width(&t, 4, 4);
	move(&t, 1u << 20, false);
	assert_width(&t, 4, 4);
	move(&t, BIG, false);
	assert_width(&t, 16, 4);
	move(&t, BIG, true);
	assert_width(&t, 16, 16);
	move(&t, BIG, true);
	assert_no_fault(&t);
	lab_close(&t);
}

TEST(many_small_ones_are_a_load)
{
	struct lab t;

	lab_open(&t, &tcpx_net_loop, narrow);
	meet(&t);
	for (int i = 0; i < 8; i++) {
		move(&t, 1u << 20, false);
		rest_for(&t, 200 * TCPX_MS);
	}
	assert_width(&t, 4, 4);
	for (int i = 0; i < 8; i++)
		move(&t, 1u << 20, false);
	assert_width(&t, 16, 4);
	assert_no_fault(&t);
	lab_close(&t);
}

TEST(narrows_when_idle_and_widens_again)
{
	struct lab t;

	lab_open(&t, &tcpx_net_loop, narrow);
	meet(&t);
	for (int i = 0; i < 5; i++) {
		move(&t, BIG, i % 2);
		move(&t, BIG, true);
		assert_width(&t, i % 2 ? 4 : 16, 16);
		rest_for(&t, 58 * TCPX_SEC);
		assert_width(&t, i % 2 ? 4 : 16, 16);
		move(&t, 4096, false); /* in OPEN: no channel carries it */
		rest_for(&t, 8 * TCPX_SEC);
		assert_width(&t, 4, 4);
		move(&t, 1u << 20, i % 2);
		assert_width(&t, 4, 4);
	}
	assert_no_fault(&t);
	lab_close(&t);
}

/* Is it wide within @ns of its load? */
static void
widens_within(struct lab *t, bool reads, uint64_t ns)
{
	struct width all = { t, reads ? 4 : 16, reads ? 16 : 4 };
	struct moving m;

	meet(t);
	move_begin(t, &m, BIG, reads);
	assert_true(run_until(t, has, &all, ns));
	move_end(t, &m);
	assert_no_fault(t);
}

/* A connection takes as long as one frame here. This side connects at once, for it has had the handles
 * since the set-up; the other's load is known when the READ, and then its WIDTH, have come. */
TEST(wide_as_soon_as_a_connection_stands)
{
	static const struct tcpx_fabric_script script = {
		.delay_min_ns = { 20000000, 20000000 }, .delay_max_ns = { 20000000, 20000000 } };

	for (uint64_t reads = 0; reads < 2; reads++) {
		struct lab t;

		lab_open_on(&t, &tcpx_net_loop, narrow, &script);
		widens_within(&t, reads, (25 + reads * 40) * TCPX_MS);
		lab_close(&t);
	}
}

/* Under load a peer may answer late: those of one that carries on are not given up for that. */
TEST(slow_connections_are_waited_for)
{
	static const struct tcpx_fabric_script script = {
		.delay_min_ns = { 1000000, 1500000000 }, .delay_max_ns = { 2000000, 1600000000 } };
	struct lab t;

	lab_open_on(&t, &tcpx_net_loop, narrow, &script);
	widens_within(&t, false, 2 * TCPX_SEC);
	lab_close(&t);
}

/* The connection of one that rests may break before the frames about it arrive. */
TEST(load_may_come_at_any_moment)
{
	for (uint64_t step = 0; step < 60; step++) {
		static const struct tcpx_fabric_script script = {
			.delay_min_ns = { 200000, 100000 }, .delay_max_ns = { 300000, 400000 } };
		struct lab t;

		lab_open_on(&t, &tcpx_net_loop, narrow, &script);
		t.a->limit.narrow_ns = t.b->limit.narrow_ns = 3 * TCPX_SEC;
		t.a->limit.keepalive_ns = t.b->limit.keepalive_ns = 50 * TCPX_MS;
		meet(&t);
		move(&t, BIG, step % 2);
		rest_for(&t, 3 * TCPX_SEC - 2 * TCPX_MS + step / 2 * TCPX_MS);
		for (int i = 0; i < 3; i++) {
			move(&t, BIG, step % 2);
			rest_for(&t, step * 50000);
		}
		assert_width(&t, step % 2 ? 4 : 16, step % 2 ? 16 : 4);
		assert_no_fault(&t);
		lab_close(&t);
	}
}

TEST(both_sides_must_want_it)
{
	struct lab t;

	for (int i = 0; i < 2; i++) {
		lab_open_two(&t, &tcpx_net_loop, i ? wide : narrow, i ? narrow : wide);
		meet(&t);
		assert_width(&t, 16, 16);
		rest_for(&t, 70 * TCPX_SEC);
		assert_width(&t, 16, 16);
		lab_close(&t);
	}
	lab_open(&t, &tcpx_net_loop_comm, narrow);
	meet(&t);
	assert_width(&t, 16, 16);
	lab_close(&t);
}

TEST(narrow_is_not_degraded)
{
	struct lab t;

	lab_open(&t, &tcpx_net_loop, strict);
	meet(&t);
	assert_int_equal(lab_info(&t).status, 0);
	assert_width(&t, 4, 4);
	rest_for(&t, 20 * TCPX_SEC); /* nothing is tried */
	assert_width(&t, 4, 4);
	assert_no_fault(&t);
	lab_close(&t);
}

/* A NIC without a connection is a fault, narrow or wide; all of its channels join when it is back. */
TEST(a_dead_nic_is_one_fault)
{
	struct width four = { .tx = 4, .rx = 4 }, all = { .tx = 16, .rx = 4 };
	struct lab t;

	lab_open(&t, &tcpx_net_loop, narrow);
	four.t = all.t = &t;
	assert_ok(tcpx_fabric_set_nic_up(t.fabric, &t.nic[1][2].addr, false));
	meet(&t);
	assert_int_equal(lab_info(&t).channels_tx, 3);
	assert_int_equal(lab_info(&t).resting_tx, 12);
	assert_true(t.warnings > 0);
	assert_ok(tcpx_fabric_set_nic_up(t.fabric, &t.nic[1][2].addr, true));
	assert_true(run_until(&t, has, &four, 3 * TCPX_SEC));
	assert_ok(tcpx_fabric_set_nic_up(t.fabric, &t.nic[1][1].addr, false));
	move(&t, BIG, false);
	assert_true(lab_info(&t).channels_tx < 16);
	rest_for(&t, 70 * TCPX_SEC); /* it stays wide: not all of its first ones stand */
	assert_int_equal(lab_info(&t).resting_tx, 0);
	assert_ok(tcpx_fabric_set_nic_up(t.fabric, &t.nic[1][1].addr, true));
	rest_for(&t, 30 * TCPX_SEC);
	assert_true(run_until(&t, has, &four, 3 * TCPX_SEC));
	move(&t, BIG, false);
	assert_true(run_until(&t, has, &all, 3 * TCPX_SEC));
	lab_close(&t);
}
