/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes between GPU memory and host memory: which bytes, in how many copies; and what a copy that
 * fails, hangs or comes after its message's end costs whom.
 */
#include "gpu_rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIB   (1u << 20)
#define DEPTH 8

static const char *const little[] = { "TCPX_STAGING=16M", NULL };

/* A lane from side 0 to side 1, with memory at both ends. */
struct pipe {
	tcpx_lane *tx, *rx;
	struct area *from, *to;
};

static void
pipe_open(struct gpu_rig *r, struct pipe *p, int from, int to, size_t len)
{
	uint8_t key[TCPX_LANE_KEY];

	*p = (struct pipe){ .from = gpu_area(r, 0, from, len, 1), .to = gpu_area(r, 1, to, len, 2) };
	assert_ok(tcpx_lane_listen(r->side[1].e, key, &p->rx));
	assert_ok(tcpx_lane_open(r->side[0].to[1], key, &p->tx));
	gpu_pass(r, 10 * TCPX_MS);
	assert_ok(tcpx_lane_ready(p->tx));
	assert_ok(tcpx_lane_ready(p->rx));
}

static void
pipe_close(struct pipe *p)
{
	tcpx_lane_close(p->tx);
	tcpx_lane_close(p->rx);
	*p = (struct pipe){ .tx = NULL };
}

static tcpx_xfer *
post(tcpx_lane *l, const struct area *a, uint64_t at, uint64_t len)
{
	tcpx_xfer *x;

	assert_ok(tcpx_lane_post(l, a->id, at, len, &x));
	return x;
}

/* ---- every byte ---- */

static const uint64_t lengths[] = { 0, 1, 4095, 4096, 4097, 65536, 65537, 262144, MIB, 3 * MIB + 7 };
enum { LENGTHS = sizeof(lengths) / sizeof(*lengths), PLACE = 3 * MIB + 4096 };

/* All of them posted at once. A receive that has ended has its bytes, and nothing behind them. */
static void
send_all(struct gpu_rig *r, struct pipe *p)
{
	tcpx_xfer *send[LENGTHS], *recv[LENGTHS];

	for (int i = 0; i < LENGTHS; i++) {
		fill(p->from->at + i * PLACE, lengths[i], 100 + (uint32_t)i);
		memset(p->to->at + i * PLACE, 0xee, PLACE);
		recv[i] = post(p->rx, p->to, (uint64_t)i * PLACE, PLACE);
		send[i] = post(p->tx, p->from, (uint64_t)i * PLACE, lengths[i]);
	}
	for (int i = 0; i < LENGTHS; i++) {
		assert_ok(gpu_wait(r, recv[i]));
		assert_int_equal(length_of(recv[i]), lengths[i]);
		assert_filled(p->to->at + i * PLACE, lengths[i], 100 + (uint32_t)i);
		for (uint64_t k = lengths[i]; k < PLACE; k++)
			assert_int_equal(p->to->at[(uint64_t)i * PLACE + k], 0xee);
		tcpx_xfer_free(recv[i]);
		assert_ok(gpu_finish(r, send[i]));
	}
}

TEST(every_byte_arrives_between_any_places)
{
	static const int places[][2] = { { 0, 1 }, { 0, HOST }, { HOST, 1 }, { 3, 3 } };
	static const char *const settings[][3] = { { "TCPX_STAGING=16M", NULL },
						   { "TCPX_STAGING=16M", "TCPX_CHECKSUM=1", NULL },
						   { "TCPX_STAGING=16M", "TCPX_INLINE=8K", NULL },
						   { "TCPX_CHUNK=64K", NULL } };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		for (size_t k = 0; k < sizeof(settings) / sizeof(*settings); k++) {
			struct gpu_rig r;
			struct pipe p;

			gpu_begin(&r, &tcpx_net_loop, 2, NULL, settings[k]);
			pipe_open(&r, &p, places[i][0], places[i][1], LENGTHS * PLACE);
			send_all(&r, &p);
			pipe_close(&p);
			gpu_end(&r);
		}
}

/* A message of its own place each: the ends of a lane have none. */
TEST(messages_of_one_lane_may_lie_anywhere)
{
	struct gpu_rig r;
	struct pipe p;
	struct area *from[3], *to[3];
	tcpx_xfer *x[3], *y[3];

	gpu_begin(&r, &tcpx_net_loop, 2, NULL, little);
	pipe_open(&r, &p, HOST, HOST, 1);
	for (int i = 0; i < 3; i++) {
		from[i] = gpu_area(&r, 0, i - 1, MIB, 10 + (uint32_t)i);
		to[i] = gpu_area(&r, 1, 1 - i, MIB, 2);
		y[i] = post(p.rx, to[i], 0, MIB);
		x[i] = post(p.tx, from[i], 0, MIB);
	}
	for (int i = 0; i < 3; i++) {
		assert_ok(gpu_finish(&r, y[i]));
		assert_ok(gpu_finish(&r, x[i]));
		assert_filled(to[i]->at, MIB, 10 + (uint32_t)i);
	}
	pipe_close(&p);
	gpu_end(&r);
}

/* A stream of the receiving GPU that waits for a message sees it. */
TEST(a_stream_waits_for_a_message)
{
	struct gpu_rig r;
	struct pipe p;
	tcpx_xfer *x, *y;

	gpu_begin(&r, &tcpx_net_loop, 2, NULL, little);
	pipe_open(&r, &p, 0, 1, 8192);
	y = post(p.rx, p.to, 0, 8192);
	assert_ok(tcpx_xfer_stream_wait(y, NULL));
	assert_true(*r.side[1].gpu.word < r.side[1].gpu.word_value);
	x = post(p.tx, p.from, 0, 8192);
	while (*r.side[1].gpu.word < r.side[1].gpu.word_value)
		gpu_turn(&r);
	assert_filled(p.to->at, 8192, 1);
	assert_ok(gpu_finish(&r, y));
	assert_ok(gpu_finish(&r, x));
	pipe_close(&p);
	gpu_end(&r);
}

/* ---- copies ---- */

/* Messages that are posted together are copied together, and each in one piece on either side. */
TEST(few_batches_serve_many_messages)
{
	static const struct {
		uint64_t len;
		int count;
		uint64_t most; /* batches of either side */
	} cases[] = { { 0, 32, 0 }, { 4096, 32, 8 }, { 65536, 32, 12 }, { 262144, 16, 16 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t len = cases[i].len, bytes = len * (uint64_t)cases[i].count;
		struct gpu_rig r;
		struct pipe p;
		tcpx_xfer *x[32], *y[32];

		gpu_begin(&r, &tcpx_net_loop, 2, NULL, little);
		pipe_open(&r, &p, 0, 1, bytes + 1);
		for (int k = 0; k < cases[i].count; k++)
			y[k] = post(p.rx, p.to, (uint64_t)k * len, len);
		gpu_pass(&r, 10 * TCPX_MS);
		for (int k = 0; k < cases[i].count; k++)
			x[k] = post(p.tx, p.from, (uint64_t)k * len, len);
		for (int k = 0; k < cases[i].count; k++) {
			assert_ok(gpu_finish(&r, y[k]));
			assert_ok(gpu_finish(&r, x[k]));
		}
		assert_filled(p.to->at, bytes, 1);
		for (int s = 0; s < 2; s++) {
			assert_in_range(r.side[s].gpu.batches, len > 0, cases[i].most);
			assert_int_equal(r.side[s].gpu.pieces, len ? cases[i].count : 0);
			assert_int_equal(r.side[s].gpu.bytes, bytes);
		}
		pipe_close(&p);
		gpu_end(&r);
	}
}

/* ---- failures ---- */

/* Beside it a lane of host memory, and a transfer. */
struct beside {
	struct pipe pipe;
	struct area *near, *far;
	tcpx_xfer *send[DEPTH], *recv[DEPTH], *write[DEPTH];
};

static void
beside_open(struct gpu_rig *r, struct beside *b)
{
	pipe_open(r, &b->pipe, HOST, HOST, DEPTH * MIB);
	b->near = gpu_area(r, 0, HOST, MIB, 3);
	b->far = gpu_area(r, 1, HOST, MIB, 4);
}

static void
beside_post(struct gpu_rig *r, struct beside *b, int i)
{
	b->recv[i] = post(b->pipe.rx, b->pipe.to, (uint64_t)i * MIB, MIB);
	b->send[i] = post(b->pipe.tx, b->pipe.from, (uint64_t)i * MIB, MIB);
	b->write[i] = gpu_post(r, TCPX_OP_WRITE, b->near, b->far, MIB);
}

static void
beside_is_well(struct beside *b)
{
	for (int i = 0; i < DEPTH; i++) {
		assert_ok(tcpx_test(b->recv[i]));
		assert_ok(tcpx_test(b->send[i]));
		assert_ok(tcpx_test(b->write[i]));
		tcpx_xfer_free(b->recv[i]);
		tcpx_xfer_free(b->send[i]);
		tcpx_xfer_free(b->write[i]);
	}
	assert_filled(b->pipe.to->at, b->pipe.to->len, 1);
	assert_filled(b->far->at, MIB, 3);
	memset(b->pipe.to->at, 0, b->pipe.to->len);
}

/* DEPTH messages of the pipe, one by one with what goes on beside it. */
static void
post_all(struct gpu_rig *r, struct pipe *p, struct beside *b, tcpx_xfer **send, tcpx_xfer **recv)
{
	for (int i = 0; i < DEPTH; i++) {
		recv[i] = post(p->rx, p->to, (uint64_t)i * MIB, MIB);
		send[i] = post(p->tx, p->from, (uint64_t)i * MIB, MIB);
		beside_post(r, b, i);
	}
}

static void
assert_io_errors(tcpx_xfer **send, tcpx_xfer **recv)
{
	for (int i = 0; i < DEPTH; i++) {
		assert_code(tcpx_test(send[i]), -EIO);
		assert_code(tcpx_test(recv[i]), -EIO);
		tcpx_xfer_free(send[i]);
		tcpx_xfer_free(recv[i]);
	}
}

TEST(a_copy_that_fails_ends_its_lane_only)
{
	for (int broken = 0; broken < 2; broken++) {
		struct gpu_rig r;
		struct pipe p;
		struct beside b;
		tcpx_xfer *x[DEPTH], *y[DEPTH];

		gpu_begin(&r, &tcpx_net_loop, 2, NULL, little);
		pipe_open(&r, &p, 0, 1, DEPTH * MIB);
		beside_open(&r, &b);
		r.side[broken].gpu.broken_ppm = 1000000;
		post_all(&r, &p, &b, x, y);
		gpu_pass(&r, 300 * TCPX_MS);
		beside_is_well(&b);
		assert_io_errors(x, y);
		assert_code(tcpx_lane_ready(p.tx), -EIO);
		assert_code(tcpx_lane_ready(p.rx), -EIO);
		assert_filled(p.to->at, p.to->len, 2);
		assert_int_equal(r.side[0].e->count.channels_lost, 0);
		for (int k = 0; k < 2; k++)
			assert_ok(tcpx_mem_deregister(r.side[k].e, (k ? p.to : p.from)->id));
		pipe_close(&p);
		for (int i = 0; i < DEPTH; i++)
			beside_post(&r, &b, i);
		gpu_pass(&r, 300 * TCPX_MS);
		beside_is_well(&b);
		pipe_close(&b.pipe);
		gpu_end(&r);
	}
}

/* Its messages keep all staging buffers until it is late. Nobody who needs none waits longer, and
 * nobody fails but they. */
TEST(a_gpu_that_hangs_ends_its_lanes_only)
{
	static const char *const few[] = { "TCPX_STAGING=8M", "TCPX_STALL_MS=4000", NULL };

	for (int hung = 0; hung < 2; hung++) {
		struct gpu_rig r;
		struct pipe p;
		struct beside b;
		tcpx_xfer *x[DEPTH], *y[DEPTH];
		uint32_t sessions;

		gpu_begin(&r, &tcpx_net_loop, 2, NULL, few);
		pipe_open(&r, &p, 0, 1, DEPTH * MIB);
		beside_open(&r, &b);
		sessions = r.side[0].e->registry.session_count;
		r.side[hung].gpu.hung = true;
		post_all(&r, &p, &b, x, y);
		gpu_pass(&r, 3500 * TCPX_MS); /* within TCPX_STALL_MS */
		beside_is_well(&b);
		assert_io_errors(x, y);
		assert_int_equal(r.side[0].e->count.channels_lost, 0);
		assert_int_equal(r.side[0].e->registry.session_count, sessions);
		pipe_close(&p);

		r.side[hung].gpu.hung = false;
		gpu_pass(&r, TCPX_SEC);
		pipe_open(&r, &p, 0, 1, MIB);
		y[0] = post(p.rx, p.to, 0, MIB);
		x[0] = post(p.tx, p.from, 0, MIB);
		assert_ok(gpu_finish(&r, y[0]));
		assert_ok(gpu_finish(&r, x[0]));
		assert_filled(p.to->at, MIB, 1);
		pipe_close(&p);
		pipe_close(&b.pipe);
		gpu_end(&r);
	}
}

/* ---- given up in flight ---- */

enum end { CANCEL, DEREGISTER, CLOSE, ENDS };

static void
give_up(struct gpu_rig *r, struct pipe *p, tcpx_xfer **recv, enum end how)
{
	if (how == CANCEL)
		tcpx_cancel(recv[DEPTH - 1]);
	else if (how == DEREGISTER)
		assert_ok(tcpx_mem_deregister(r->side[1].e, p->to->id));
	else
		tcpx_lane_close(p->rx);
	if (how == CLOSE)
		p->rx = NULL;
}

/* The receiver's GPU is copying, or has just been given a chunk. No send ends well whose receive has
 * not, and no byte comes after the end. */
static void
play(enum end how, uint32_t turns)
{
	struct gpu_rig r;
	struct pipe p;
	tcpx_xfer *x[DEPTH], *y[DEPTH];

	gpu_begin(&r, &tcpx_net_loop, 2, NULL, little);
	pipe_open(&r, &p, 0, 1, DEPTH * 65536);
	for (uint64_t i = 0; i < DEPTH; i++) {
		y[i] = post(p.rx, p.to, i * 65536, 65536);
		x[i] = post(p.tx, p.from, i * 65536, 65536);
	}
	for (int i = 0; i < 10000 && !r.side[1].gpu.live; i++)
		gpu_turn(&r);
	assert_true(r.side[1].gpu.live > 0);
	gpu_turns(&r, turns);
	give_up(&r, &p, y, how);
	for (uint64_t i = 0; i < DEPTH; i++) {
		assert_true(tcpx_test(y[i]) != -EAGAIN);
		if (tcpx_test(y[i]) == 0)
			assert_memory_equal(p.to->at + i * 65536, p.from->at + i * 65536, 65536);
	}
	fill(p.to->at, p.to->len, 5);
	gpu_pass(&r, 100 * TCPX_MS);
	assert_filled(p.to->at, p.to->len, 5);
	for (int i = 0; i < DEPTH; i++) {
		assert_true(tcpx_test(x[i]) != -EAGAIN);
		if (tcpx_test(x[i]) == 0 && tcpx_test(y[i]) != 0)
			fail_msg("send %d went well, its receive ended with %s", i,
				 tcpx_strerror_name(tcpx_test(y[i])));
		tcpx_xfer_free(x[i]);
		tcpx_xfer_free(y[i]);
	}
	assert_int_equal(r.side[0].e->count.channels_lost, 0);
	pipe_close(&p);
	/* the channel that held them goes on, and has its buffers back */
	pipe_open(&r, &p, 0, 1, 8 * MIB);
	y[0] = post(p.rx, p.to, 0, 8 * MIB);
	x[0] = post(p.tx, p.from, 0, 8 * MIB);
	assert_ok(gpu_finish(&r, y[0]));
	assert_ok(gpu_finish(&r, x[0]));
	assert_filled(p.to->at, p.to->len, 1);
	pipe_close(&p);
	gpu_end(&r);
}

TEST(no_send_succeeds_whose_receive_was_given_up)
{
	for (enum end how = 0; how < ENDS; how++)
		for (uint32_t turns = 0; turns < 12; turns++)
			play(how, turns);
}

TEST(an_engine_closes_in_mid_copy)
{
	for (uint32_t side = 0; side < 2; side++) {
		struct gpu_rig r;
		struct pipe p;
		tcpx_xfer *x, *y;

		gpu_begin(&r, &tcpx_net_loop, 2, NULL, little);
		pipe_open(&r, &p, 0, 1, MIB);
		y = post(p.rx, p.to, 0, MIB);
		x = post(p.tx, p.from, 0, MIB);
		for (int i = 0; i < 10000 && !r.side[side].gpu.live; i++)
			gpu_turn(&r);
		gpu_close(&r, side);
		gpu_pass(&r, 100 * TCPX_MS);
		assert_true(tcpx_test(side ? x : y) < 0 && tcpx_test(side ? x : y) != -EAGAIN);
		tcpx_xfer_free(side ? x : y);
		tcpx_lane_close(side ? p.tx : p.rx);
		gpu_close(&r, !side);
		r.count = 0;
		gpu_end(&r);
	}
}
