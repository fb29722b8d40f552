/* SPDX-License-Identifier: Apache-2.0 */
/* GPU memory is moved as host memory is: every size, shape and direction. */
#include "gpu_rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PIECES 500
#define BIG    (3u << 20)
#define AREA   (BIG + PIECES * 16)

static const uint64_t sizes[] = { 0,         1,               8191,      8192,     8193,
				  64u << 10, (64u << 10) + 1, 256u << 10, BIG };

/* ---- places ---- */

TEST(a_region_says_where_it_lies)
{
	struct gpu_rig r;
	int place = 7;

	gpu_begin(&r, &tcpx_net_loop, 2, NULL, NULL);
	assert_ok(tcpx_mem_place(r.side[0].e, gpu_area(&r, 0, HOST, 100, 1)->id, &place));
	assert_int_equal(place, -1);
	assert_ok(tcpx_mem_place(r.side[0].e, gpu_area(&r, 0, 5, 100, 1)->id, &place));
	assert_int_equal(place, 5);
	assert_code(tcpx_mem_place(r.side[0].e, gpu_area(&r, 1, 2, 100, 1)->far[0], &place),
		    TCPX_ESTALE);
	gpu_end(&r);
}

TEST(a_list_lies_in_one_place)
{
	struct gpu_rig r;
	struct area *host, *gpu, *far_host, *far_gpu;
	struct tcpx_desc two[2], one[1];
	tcpx_xfer *x;

	gpu_begin(&r, &tcpx_net_loop, 2, NULL, NULL);
	host = gpu_area(&r, 0, HOST, 4096, 1);
	gpu = gpu_area(&r, 0, 5, 4096, 1);
	far_host = gpu_area(&r, 1, HOST, 4096, 9);
	far_gpu = gpu_area(&r, 1, 2, 4096, 9);
	two[0] = (struct tcpx_desc){ host->id, 0, 10 };
	two[1] = (struct tcpx_desc){ gpu->id, 0, 10 };
	one[0] = (struct tcpx_desc){ far_host->far[0], 0, 20 };
	assert_code(tcpx_write(r.side[0].to[1], two, 2, one, 1, NULL, 0, &x), -EXDEV);
	assert_non_null(strstr(r.said, "memory of -1 and of 5"));
	assert_non_null(strstr(r.said, "one place a list"));
	/* the peer's list: only the peer knows */
	one[0] = (struct tcpx_desc){ host->id, 0, 20 };
	two[0] = (struct tcpx_desc){ far_host->far[0], 0, 10 };
	two[1] = (struct tcpx_desc){ far_gpu->far[0], 0, 10 };
	assert_ok(tcpx_write(r.side[0].to[1], one, 1, two, 2, NULL, 0, &x));
	assert_code(gpu_finish(&r, x), -EXDEV);
	assert_filled(far_host->at, 4096, 9);
	assert_filled(far_gpu->at, 4096, 9);
	gpu_end(&r);
}

/* ---- moving ---- */

/* Copies that are done in the pass of the loop that started them, or later: what a message
 * took from landing to its place is never less than no time. */
TEST(unpacking_takes_time)
{
	struct tcpx_counters n = { .struct_size = sizeof(n) };
	struct area *near, *far;
	struct gpu_rig r;

	gpu_begin(&r, &tcpx_net_loop_comm, 2, NULL, NULL);
	r.tick_ns = 100;
	r.side[1].gpu.delay_min_ns = r.side[1].gpu.delay_max_ns = 0;
	near = gpu_area(&r, 0, 0, BIG, 1);
	far = gpu_area(&r, 1, 1, BIG, 9);
	assert_ok(gpu_finish(&r, gpu_post(&r, TCPX_OP_WRITE, near, far, BIG)));
	assert_ok(tcpx_query(r.side[1].e, &n));
	assert_in_range(n.chunks_rx, 3, 1000);
	assert_in_range(n.unpack_ns, 100 * n.chunks_rx, TCPX_SEC);
	gpu_end(&r);
}

/* A list of total bytes in count pieces of an area, with holes between them. */
static size_t
cut(struct tcpx_desc *d, uint64_t region, uint64_t total, size_t count)
{
	for (size_t i = 0; i < count; i++)
		d[i] = (struct tcpx_desc){ region, total * i / count + i * 16,
					   total * (i + 1) / count - total * i / count };
	return count;
}

static uint8_t
byte_of(uint64_t k)
{
	return (uint8_t)(k * 2654435761u >> 13);
}

/* The list's bytes are the stream's; every other byte is 0x55. */
static void
assert_arrived(const struct area *a, const struct tcpx_desc *d, size_t count, bool put)
{
	uint8_t *want = put ? a->at : malloc(a->len);
	uint64_t k = 0;

	assert_non_null(want);
	memset(want, 0x55, a->len);
	for (size_t i = 0; i < count; i++)
		for (uint64_t b = 0; b < d[i].len; b++)
			want[d[i].offset + b] = byte_of(k++);
	if (put)
		return;
	assert_memory_equal(a->at, want, a->len);
	free(want);
}

static void
move(struct gpu_rig *r, enum tcpx_op op, const struct area *near, const struct area *far,
     uint64_t size, size_t near_count, size_t far_count)
{
	static struct tcpx_desc n[PIECES], f[PIECES], named[PIECES];
	const struct area *src = op == TCPX_OP_READ ? far : near;
	const struct area *dst = op == TCPX_OP_READ ? near : far;
	tcpx_peer *to = r->side[0].to[1];
	tcpx_xfer *x, *y = NULL;

	cut(n, near->id, size, near_count);
	cut(f, far->id, size, far_count);
	cut(named, far->far[0], size, far_count);
	assert_arrived(src, op == TCPX_OP_READ ? f : n, src == far ? far_count : near_count, true);
	memset(dst->at, 0x55, dst->len);
	if (op == TCPX_OP_SEND) {
		assert_ok(tcpx_recv(r->side[1].to[0], f, far_count, 3, &y));
		assert_ok(tcpx_send(to, n, near_count, 3, &x));
	} else {
		assert_ok(op == TCPX_OP_WRITE ?
			tcpx_write(to, n, near_count, named, far_count, NULL, 0, &x) :
			tcpx_read(to, n, near_count, named, far_count, NULL, 0, &x));
	}
	assert_ok(gpu_finish(r, x));
	if (y)
		assert_ok(gpu_finish(r, y));
	assert_arrived(dst, dst == far ? f : n, dst == far ? far_count : near_count, false);
}

static void
move_all(const struct tcpx_net_ops *net, int near_place, int far_place, const char *const *set)
{
	static const enum tcpx_op ops[] = { TCPX_OP_WRITE, TCPX_OP_READ, TCPX_OP_SEND };
	static const size_t counts[][2] = { { 1, 1 }, { PIECES, 1 }, { 1, PIECES - 3 },
					    { PIECES, PIECES - 3 } };
	struct gpu_rig r;
	struct area *near, *far;

	gpu_begin(&r, net, 2, NULL, set);
	near = gpu_area(&r, 0, near_place, AREA, 1);
	far = gpu_area(&r, 1, far_place, AREA, 2);
	for (size_t o = 0; o < 3; o++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			for (size_t k = 0; k < 4; k++)
				move(&r, ops[o], near, far, sizes[i], counts[k][0], counts[k][1]);
	gpu_end(&r);
}

TEST(from_gpu_to_gpu)
{
	move_all(&tcpx_net_loop, 0, 1, NULL);
}

TEST(from_gpu_to_gpu_with_small_ones_in_the_open)
{
	static const char *const set[] = { "TCPX_INLINE=8K", NULL };

	move_all(&tcpx_net_loop, 0, 0, set);
}

TEST(from_gpu_to_gpu_through_slots_of_the_network)
{
	move_all(&tcpx_net_loop_comm, 3, 15, NULL);
}

/* Its slots would have been elsewhere. */
TEST(a_gpu_that_came_after_its_engine_is_named)
{
	struct gpu_rig r;

	gpu_begin(&r, &tcpx_net_loop_comm, 2, NULL, NULL);
	gpu_area(&r, 0, 0, 4096, 1);
	assert_string_equal(r.said, "");
	atomic_store(&r.side[0].e->nics.host_only, true);
	gpu_area(&r, 0, HOST, 4096, 1);
	assert_string_equal(r.said, "");
	gpu_area(&r, 0, 3, 4096, 1);
	assert_non_null(strstr(r.said, "memory of GPU 3, but this engine's NICs carry host memory"));
	r.said[0] = '\0';
	gpu_area(&r, 0, 4, 4096, 1);
	assert_string_equal(r.said, "");
	gpu_end(&r);
}

TEST(from_host_to_gpu)
{
	move_all(&tcpx_net_loop, HOST, 2, NULL);
}

TEST(from_gpu_to_host)
{
	move_all(&tcpx_net_loop, 2, HOST, NULL);
}

TEST(nothing_is_made_for_a_transfer)
{
	struct gpu_rig r;
	struct area *near, *far;
	uint64_t queues, pinned;

	gpu_begin(&r, &tcpx_net_loop, 2, NULL, NULL);
	near = gpu_area(&r, 0, 0, BIG, 1);
	far = gpu_area(&r, 1, 1, BIG, 2);
	queues = r.side[0].gpu.queues + r.side[1].gpu.queues;
	pinned = r.side[0].gpu.pinned + r.side[1].gpu.pinned;
	assert_true(queues > 0 && pinned > 0);
	r.ops.pinned = NULL; /* a call is a crash */
	r.ops.queue_open = NULL;
	for (int i = 0; i < 20; i++)
		assert_ok(gpu_finish(&r, gpu_post(&r, i & 1 ? TCPX_OP_READ : TCPX_OP_WRITE, near,
						  far, i < 10 ? BIG : 100)));
	assert_int_equal(r.side[0].gpu.queues + r.side[1].gpu.queues, queues);
	assert_int_equal(r.side[0].gpu.pinned + r.side[1].gpu.pinned, pinned);
	assert_true(r.side[0].gpu.batches > 0);
	gpu_end(&r);
}

/* ---- what is written when ---- */

TEST(an_open_goes_while_its_payload_is_packed)
{
	struct gpu_rig r;
	struct area *near, *far;
	uint64_t before;
	tcpx_xfer *x;
	bool told = false;

	gpu_begin(&r, &tcpx_net_loop, 2, NULL, NULL);
	near = gpu_area(&r, 0, 0, BIG, 1);
	far = gpu_area(&r, 1, 1, BIG, 2);
	assert_ok(gpu_finish(&r, gpu_post(&r, TCPX_OP_WRITE, near, far, 100))); /* they have met */
	gpu_pass(&r, 10 * TCPX_MS);
	r.side[0].gpu.delay_min_ns = r.side[0].gpu.delay_max_ns = 5 * TCPX_MS;
	before = counters_of(r.side[1].e).ctrl_frames_rx;
	x = gpu_post(&r, TCPX_OP_WRITE, near, far, BIG);
	assert_int_equal(counters_of(r.side[1].e).ctrl_frames_rx, before);
	while (r.side[0].gpu.live == 0)
		gpu_turn(&r);
	while (r.side[0].gpu.live > 0) {
		told |= counters_of(r.side[1].e).ctrl_frames_rx > before;
		gpu_turn(&r);
	}
	assert_true(told);
	assert_ok(gpu_finish(&r, x));
	assert_filled(far->at, BIG, 1);
	gpu_end(&r);
}

/* Two channels: a lone transfer of 2 MiB has four chunks of 512 KiB. Those behind it are cut
 * as if all that is open were one, with the scripted network's longest chunk, 1 MiB. */
TEST(chunks_of_queued_transfers_are_cut_as_one)
{
	const char *const set[] = { "TCPX_STAGING=64M", NULL };
	struct gpu_rig r;
	struct area *near[4], *far[4];
	tcpx_xfer *x[4];
	uint64_t before;

	gpu_begin(&r, &tcpx_net_loop, 2, NULL, set);
	for (uint32_t i = 0; i < 4; i++) {
		near[i] = gpu_area(&r, 0, 0, 2u << 20, i + 1);
		far[i] = gpu_area(&r, 1, 1, 2u << 20, i + 10);
	}
	assert_ok(gpu_finish(&r, gpu_post(&r, TCPX_OP_WRITE, near[0], far[0], 2u << 20)));
	assert_int_equal(counters_of(r.side[0].e).chunks_tx, 4);
	before = counters_of(r.side[0].e).chunks_tx;
	for (int i = 0; i < 4; i++)
		x[i] = gpu_post(&r, TCPX_OP_WRITE, near[i], far[i], 2u << 20);
	for (uint32_t i = 0; i < 4; i++) {
		assert_ok(gpu_finish(&r, x[i]));
		assert_filled(far[i]->at, 2u << 20, i + 1);
	}
	assert_int_equal(counters_of(r.side[0].e).chunks_tx - before, 4 + 2 + 2 + 2);
	gpu_end(&r);
}
