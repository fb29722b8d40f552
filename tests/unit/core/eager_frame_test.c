/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of lanes that are longer than other frames travel in one, where their memory stays mapped:
 * up to 32 KiB, and up to 128 where nothing comes back and CPUs suffice. */
#include "lane_rig.h"

#include <errno.h>
#include <string.h>

#include "core/context/context.h"
#include "core/memory/memory.h"
#include "core/session/session.h"
#include "core/transfer/lane.h"
#include "core/transfer/transfer.h"

#define ROOM       (1u << 20)
#define SLOT       (256u << 10)
#define BOTH_WAYS  (32u << 10)
#define A_WHILE_NS (2 * TCPX_SEC)

struct bed {
	struct pipe p;
	struct session *s; /* anna's */
	uint64_t lent;     /* region */
};

static void
bed_begin(struct bed *b)
{
	pipe_begin(&b->p, NULL, NULL, ROOM);
	b->s = tcpx_session_after(b->p.rig.a, NULL);
	assert_ok(tcpx_mem_register(b->p.rig.a, b->p.rig.near.at, ROOM, TCPX_MEM_LEND, &b->lent));
}

static void
bed_end(struct bed *b)
{
	tcpx_session_put(b->s);
	close_tx(&b->p);
	close_rx(&b->p);
	assert_ok(tcpx_mem_deregister(b->p.rig.a, b->lent));
	pipe_end(&b->p);
}

/* When anything long last came, and whether CPUs suffice. No message was sent lately. */
static void
set_scene(struct bed *b, bool one_way, bool cpus_suffice)
{
	pthread_mutex_lock(&b->s->lock);
	b->s->lanes.long_ns = b->s->lanes.crowd_ns = 0;
	b->s->lanes.came_ns = engine_now(b->p.rig.a) + (one_way ? -A_WHILE_NS : A_WHILE_NS);
	b->p.rig.a->limit.long_frames = cpus_suffice;
	pthread_mutex_unlock(&b->s->lock);
}

/* Into a receive that is announced. */
static bool
travels_in_a_frame(struct bed *b, uint64_t region, size_t len, uint32_t seed)
{
	tcpx_xfer *in = post_recv(&b->p, 0, SLOT), *out;
	bool announced = false, framed;

	while (!announced) {
		pthread_mutex_lock(&b->s->lock);
		announced = b->p.tx->tx.announced == b->p.tx->tx.launched + 1;
		pthread_mutex_unlock(&b->s->lock);
	}
	fill(b->p.rig.near.at, len, seed);
	assert_ok(tcpx_lane_post(b->p.tx, region, 0, len, &out));
	framed = out->payload.chunk == TCPX_LANE_UNIT; /* chunks are longer */
	end_with(out, 0);
	assert_ok(tcpx_wait(in, WAIT_MS));
	assert_int_equal(length_of(in), len);
	tcpx_xfer_free(in);
	assert_filled(b->p.rig.far.at, len, seed);
	return framed;
}

TEST(long_messages_of_memory_that_is_lent)
{
	uint64_t own, lent;
	struct bed b;

	bed_begin(&b);
	own = b.p.rig.near.id;
	lent = b.lent;
	set_scene(&b, false, true);
	assert_true(travels_in_a_frame(&b, own, TCPX_EAGER_FRAME, 1));
	assert_false(travels_in_a_frame(&b, own, TCPX_EAGER_FRAME + 1, 2));
	assert_true(travels_in_a_frame(&b, lent, TCPX_EAGER_FRAME + 1, 3));
	assert_true(travels_in_a_frame(&b, lent, BOTH_WAYS, 4));
	assert_false(travels_in_a_frame(&b, lent, BOTH_WAYS + 1, 5));
	set_scene(&b, true, true);
	assert_true(travels_in_a_frame(&b, lent, BOTH_WAYS + 1, 6));
	set_scene(&b, true, true);
	assert_true(travels_in_a_frame(&b, lent, TCPX_LANE_DATA_MAX, 7));
	set_scene(&b, true, true);
	assert_false(travels_in_a_frame(&b, lent, TCPX_LANE_DATA_MAX + 1, 8));
	assert_false(travels_in_a_frame(&b, own, BOTH_WAYS + 1, 9));
	set_scene(&b, true, false);
	assert_false(travels_in_a_frame(&b, lent, BOTH_WAYS + 1, 10));
	assert_true(travels_in_a_frame(&b, lent, BOTH_WAYS, 11));
	bed_end(&b);
}

/* What comes in such frames says that the peer sends, too. */
TEST(long_frames_count_as_the_other_way)
{
	struct session *t;
	struct bed b;

	bed_begin(&b);
	t = session_of(&b.p);
	assert_true(travels_in_a_frame(&b, b.lent, TCPX_EAGER_FRAME, 1));
	assert_int_equal(t->lanes.came_ns, 0);
	assert_true(travels_in_a_frame(&b, b.lent, BOTH_WAYS, 2));
	assert_int_not_equal(t->lanes.came_ns, 0);
	bed_end(&b);
}

/* The first window has credit for one of the longest messages, and not for two. */
TEST(the_window_grows_for_long_frames)
{
	tcpx_xfer *out;
	struct bed b;

	bed_begin(&b);
	set_scene(&b, true, true);
	assert_int_equal(b.p.rig.b->eager.used, TCPX_EAGER_FIRST);
	assert_ok(tcpx_lane_post(b.p.tx, b.lent, 0, TCPX_LANE_DATA_MAX, &out));
	end_with(out, 0);
	wait_kept(&b.p, TCPX_LANE_DATA_MAX + TCPX_EAGER_KEEP);
	end_with(post_recv(&b.p, 0, SLOT), 0);
	assert_int_equal(b.p.rig.b->eager.used, 2 * TCPX_EAGER_FIRST);
	bed_end(&b);
}

/* The engine's room for copies by system calls: without it these end with EFAULT. */
static int
swap_room(struct tcpx_engine *e, int fd)
{
	struct touch *t = &e->memory->touch;
	int before;

	pthread_mutex_lock(&t->lock);
	before = t->fd;
	t->fd = fd;
	pthread_mutex_unlock(&t->lock);
	return before;
}

static int
send_small(struct bed *b, uint64_t from, uint64_t to)
{
	tcpx_xfer *in, *out;
	int rc;

	assert_ok(tcpx_lane_post(b->p.rx, to, 0, 8, &in));
	rc = tcpx_lane_post(b->p.tx, from, 0, 8, &out);
	if (rc == 0) {
		rc = tcpx_wait(out, WAIT_MS);
		tcpx_xfer_free(out);
	}
	if (rc == 0)
		assert_ok(tcpx_wait(in, WAIT_MS));
	tcpx_xfer_free(in);
	return rc;
}

/* Such calls would cost more than the copies. */
TEST(small_messages_of_such_memory_take_no_call)
{
	uint64_t to;
	struct bed b;
	int a, z;

	bed_begin(&b);
	assert_ok(tcpx_mem_register(b.p.rig.b, b.p.rig.far.at, ROOM, TCPX_MEM_LEND, &to));
	a = swap_room(b.p.rig.a, -1);
	z = swap_room(b.p.rig.b, -1);
	fill(b.p.rig.near.at, 8, 1);
	assert_ok(send_small(&b, b.lent, to));
	assert_filled(b.p.rig.far.at, 8, 1);
	assert_code(send_small(&b, b.p.rig.near.id, to), -EFAULT);
	(void)swap_room(b.p.rig.a, a);
	(void)swap_room(b.p.rig.b, z);
	assert_ok(tcpx_mem_deregister(b.p.rig.b, to));
	bed_end(&b);
}
