/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Failures with GPU memory: copies that fail, transfers cancelled while they are copied,
 * staging buffers that run short, channels that die while pages are lent.
 */
#include "gpu_rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/channel/channel.h"
#include "core/loop/loop.h"
#include "core/memory/batch.h"
#include "core/session/peer.h"
#include "core/session/session.h"

#define LEN (1u << 20)

/* ---- broken queues ---- */

TEST(a_broken_queue_ends_its_transfers_only)
{
	/* the GPU of which side breaks; that side sends or receives; by which call */
	static const struct {
		int broken;
		enum tcpx_op op;
	} cases[] = { { 0, TCPX_OP_WRITE }, { 1, TCPX_OP_WRITE }, { 0, TCPX_OP_READ },
		      { 1, TCPX_OP_READ },  { 0, TCPX_OP_SEND },  { 1, TCPX_OP_SEND } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct gpu_rig r;
		struct area *near, *far, *host, *far_host;
		struct tcpx_desc d;
		tcpx_xfer *x, *y = NULL, *z;

		gpu_begin(&r, &tcpx_net_loop, 2, NULL, NULL);
		near = gpu_area(&r, 0, 0, LEN, 1);
		far = gpu_area(&r, 1, 1, LEN, 2);
		host = gpu_area(&r, 0, HOST, LEN, 3);
		far_host = gpu_area(&r, 1, HOST, LEN, 4);
		r.side[cases[i].broken].gpu.broken_ppm = 1000000;
		z = gpu_post(&r, TCPX_OP_WRITE, host, far_host, LEN);
		if (cases[i].op == TCPX_OP_SEND) {
			d = (struct tcpx_desc){ far->id, 0, LEN };
			assert_ok(tcpx_recv(r.side[1].to[0], &d, 1, 0, &y));
			d = (struct tcpx_desc){ near->id, 0, LEN };
			assert_ok(tcpx_send(r.side[0].to[1], &d, 1, 0, &x));
		} else {
			x = gpu_post(&r, cases[i].op, near, far, LEN);
		}
		assert_code(gpu_finish(&r, x), -EIO);
		if (y)
			assert_code(gpu_finish(&r, y), cases[i].broken == 1 ? -EIO : TCPX_ECANCELED);
		assert_ok(gpu_finish(&r, z));
		assert_ok(gpu_finish(&r, gpu_post(&r, TCPX_OP_READ, host, far_host, LEN)));
		assert_filled(near->at, LEN, 1);
		assert_filled(far->at, LEN, 2);
		assert_filled(host->at, LEN, 3);
		assert_true(r.side[cases[i].broken].gpu.broken > 0);
		assert_int_equal(r.side[0].e->count.channels_lost, 0);
		/* the other side keeps nothing of it */
		gpu_turns(&r, 100);
		for (int k = 0; k < 2; k++)
			assert_ok(tcpx_mem_deregister(r.side[k].e, (k ? far : near)->id));
		gpu_end(&r);
	}
}

/* ---- given up in flight ---- */

enum end { CANCEL, FREE, DEREGISTER, CLOSE, ENDS };

/* Until a copy of the side's GPU is under way. */
static void
until_copying(struct gpu_rig *r, int side)
{
	for (int i = 0; i < 10000 && !r->side[side].gpu.live; i++)
		gpu_turn(r);
	assert_true(r->side[side].gpu.live > 0);
}

TEST(no_byte_is_touched_after_the_end)
{
	for (int how = 0; how < ENDS; how++)
		for (int op = 0; op < 2; op++) {
			struct gpu_rig r;
			struct area *near, *far;
			tcpx_xfer *x;

			gpu_begin(&r, &tcpx_net_loop, 2, NULL, NULL);
			near = gpu_area(&r, 0, 0, LEN, 1);
			far = gpu_area(&r, 1, 1, LEN, 2);
			x = gpu_post(&r, op ? TCPX_OP_READ : TCPX_OP_WRITE, near, far, LEN);
			until_copying(&r, 0);
			if (how == CANCEL)
				tcpx_cancel(x);
			else if (how == DEREGISTER)
				assert_ok(tcpx_mem_deregister(r.side[0].e, near->id));
			if (how < CLOSE)
				tcpx_xfer_free(x);
			else
				gpu_close(&r, 0);
			/* written: not again. read: what is there now never reaches the peer */
			fill(near->at, LEN, 5);
			gpu_pass(&r, 50 * TCPX_MS);
			assert_filled(near->at, LEN, 5);
			for (size_t k = 0; k < LEN && !op; k++)
				if (far->at[k] != (uint8_t)((k * 2654435761u + 2 * 97) >> 11) &&
				    far->at[k] != (uint8_t)((k * 2654435761u + 1 * 97) >> 11))
					fail_msg("byte %zu was read after the end", k);
			gpu_end(&r);
		}
}

TEST(the_target_of_one_given_up_keeps_nothing)
{
	for (int op = 0; op < 2; op++) {
		struct gpu_rig r;
		struct area *near, *far;
		tcpx_xfer *x;

		gpu_begin(&r, &tcpx_net_loop, 2, NULL, NULL);
		near = gpu_area(&r, 0, 0, LEN, 1);
		far = gpu_area(&r, 1, 1, LEN, 2);
		x = gpu_post(&r, op ? TCPX_OP_READ : TCPX_OP_WRITE, near, far, LEN);
		until_copying(&r, 1);
		assert_ok(tcpx_mem_deregister(r.side[1].e, far->id));
		fill(far->at, LEN, 5);
		assert_code(gpu_finish(&r, x), TCPX_EREGION);
		gpu_pass(&r, 50 * TCPX_MS);
		assert_filled(far->at, LEN, 5);
		gpu_end(&r);
	}
}

TEST(a_channel_may_die_while_its_messages_are_copied)
{
	static const char *const set[] = { "TCPX_CHUNK=256K", "TCPX_CHANNELS=3", NULL };

	for (int i = 0; i < 48; i++) {
		const struct tcpx_net_ops *net = i >= 24 ? &tcpx_net_loop_comm :
						 i & 1 ? &tcpx_net_loop : &tcpx_net_loop_lend;
		struct gpu_rig r;
		struct area *near, *far;
		tcpx_xfer *x;

		gpu_begin(&r, net, 2, NULL, set);
		near = gpu_area(&r, 0, 0, 4 * LEN, 1);
		far = gpu_area(&r, 1, 1, 4 * LEN, 2);
		x = gpu_post(&r, TCPX_OP_WRITE, near, far, 4 * LEN);
		until_copying(&r, i & 2 ? 1 : 0);
		assert_ok(tcpx_fabric_break_channel(r.fabric, (uint32_t)i % 24 / 4));
		assert_ok(gpu_finish(&r, x));
		assert_filled(far->at, 4 * LEN, 1);
		/* what was in place already is not sent again as something new */
		assert_null(strstr(r.said, "not of the protocol"));
		gpu_turns(&r, 100);
		for (int k = 0; k < 2; k++)
			for (int f = 0; f < TCPX_FLOWS; f++)
				assert_int_equal(r.side[k].e->loop[0].batches->pool[f][STAGING_LARGE].used, 0);
		gpu_end(&r);
	}
}

TEST(closing_with_everything_in_flight_leaves_nothing)
{
	static const char *const threads[] = { "TCPX_THREADS=2", "TCPX_CHANNELS=4", NULL };

	for (int turns = 0; turns < 40; turns += 3) {
		struct gpu_rig r;
		struct area *near, *far;
		uint64_t never = UINT64_MAX;
		struct tcpx_desc d;
		tcpx_list *l, *f;
		tcpx_xfer *x;
		int stream;

		gpu_begin(&r, turns & 1 ? &tcpx_net_loop_lend : &tcpx_net_loop_comm, 2, NULL, threads);
		near = gpu_area(&r, 0, 0, LEN, 1);
		far = gpu_area(&r, 1, 1, LEN, 2);
		for (int i = 0; i < 20; i++) {
			x = gpu_post(&r, i & 1 ? TCPX_OP_READ : TCPX_OP_WRITE, near, far,
				     i & 2 ? 5000 : LEN);
			if (i & 4)
				assert_ok(tcpx_xfer_stream_wait(x, &stream));
		}
		d = (struct tcpx_desc){ near->id, 0, LEN };
		assert_ok(tcpx_list_prepare(r.side[0].e, &d, 1, &l));
		d = (struct tcpx_desc){ far->far[0], 0, LEN };
		assert_ok(tcpx_list_prepare(r.side[0].e, &d, 1, &f));
		assert_ok(tcpx_xfer_prepare(r.side[0].to[1], TCPX_OP_WRITE, l, f, &x));
		assert_ok(tcpx_xfer_post_after(x, &never, NULL, 0));
		gpu_turns(&r, (uint32_t)turns);
		gpu_end(&r); /* which looks */
	}
}

/* ---- slots ---- */

TEST(two_sessions_share_few_slots)
{
	static const char *const few[] = { "TCPX_STAGING=2M", "TCPX_CHANNELS=4", NULL };
	struct gpu_rig r;
	struct area *a, *b, *c;
	tcpx_xfer *x[12];

	gpu_begin(&r, &tcpx_net_loop, 3, NULL, few);
	a = gpu_area(&r, 0, 0, LEN, 1);
	b = gpu_area(&r, 1, 1, LEN, 2);
	c = gpu_area(&r, 2, 2, LEN, 3);
	for (int i = 0; i < 12; i++)
		x[i] = gpu_post(&r, i % 4 < 2 ? TCPX_OP_WRITE : TCPX_OP_READ, a, i & 1 ? b : c,
				i % 3 ? LEN : 4096);
	for (int i = 0; i < 12; i++)
		assert_ok(gpu_finish(&r, x[i]));
	gpu_end(&r);
}

/* One peer's NICs carry nothing: what waits for it keeps its slots. With another peer data
 * goes both ways all the time. */
static void
stand_still(const char *const *set)
{
	static const struct tcpx_fabric_script small = { .buffer_bytes = 100000 };
	struct gpu_rig r;
	struct area *a, *b, *c;
	tcpx_xfer *stuck, *x, *read[4];
	uint64_t end;

	gpu_begin(&r, &tcpx_net_loop, 3, &small, set);
	a = gpu_area(&r, 0, 0, 4 * LEN, 1);
	b = gpu_area(&r, 1, 1, 4 * LEN, 2);
	c = gpu_area(&r, 2, 2, 4 * LEN, 3);
	for (int k = 0; k < 2; k++)
		assert_ok(tcpx_fabric_set_nic_up(r.fabric, &r.side[2].nic[k].addr, false));
	stuck = gpu_post(&r, TCPX_OP_WRITE, a, c, 4 * LEN);
	gpu_pass(&r, TCPX_MS);
	for (int i = 0; i < 4; i++)
		read[i] = gpu_post(&r, TCPX_OP_READ, a, b, LEN);
	x = gpu_post(&r, TCPX_OP_WRITE, a, b, LEN);
	end = gpu_now(&r) + TCPX_SEC;
	while (gpu_now(&r) < end && tcpx_test(x) == -EAGAIN) {
		gpu_turn(&r);
		for (int i = 0; i < 4; i++)
			if (tcpx_test(read[i]) != -EAGAIN) {
				assert_ok(gpu_finish(&r, read[i]));
				read[i] = gpu_post(&r, TCPX_OP_READ, a, b, LEN);
			}
	}
	assert_ok(tcpx_test(x));
	assert_code(tcpx_test(stuck), -EAGAIN);
	for (int i = 0; i < 4; i++)
		assert_ok(gpu_finish(&r, read[i]));
	tcpx_xfer_free(x);
	tcpx_xfer_free(stuck);
	gpu_end(&r);
}

TEST(a_peer_that_stands_still_stops_nobody_else)
{
	stand_still(NULL);
}

/* Two slots a direction: as many as one channel takes if it may. */
TEST(the_last_slot_is_for_who_has_none)
{
	static const char *const few[] = { "TCPX_STAGING=2M", "TCPX_CHANNELS=2", NULL };

	stand_still(few);
}

/* Small messages gather at the first channel, until its window is full. */
TEST(who_finds_a_channel_full_takes_another)
{
	static const char *const set[] = { "TCPX_WINDOW=4", NULL };
	struct gpu_rig r;
	struct area *near, *far;
	struct session *s;
	tcpx_xfer *x[6];

	gpu_begin(&r, &tcpx_net_loop, 2, NULL, set);
	near = gpu_area(&r, 0, 0, 4096, 1);
	far = gpu_area(&r, 1, 1, 4096, 2);
	assert_ok(gpu_finish(&r, gpu_post(&r, TCPX_OP_WRITE, near, far, 4096)));
	tcpx_fabric_hold(r.fabric, TCPX_FABRIC_DATA, 20 * TCPX_MS);
	for (int i = 0; i < 6; i++) {
		x[i] = gpu_post(&r, TCPX_OP_WRITE, near, far, 4096);
		gpu_pass(&r, TCPX_MS);
	}
	s = r.side[0].to[1]->out;
	assert_int_equal(s->chan.tx[0]->tx.outstanding + s->chan.tx[1]->tx.outstanding, 6);
	assert_int_equal(s->chan.tx[0]->tx.outstanding, 4);
	for (int i = 0; i < 6; i++)
		assert_ok(gpu_finish(&r, x[i]));
	gpu_end(&r);
}

static struct pool *
pool_of(struct gpu_rig *r, int side, enum staging_size size)
{
	return &r->side[side].e->loop[0].batches->pool[TCPX_FLOW_PACK][size];
}

static uint32_t
in_chain(const struct staging_buffer *s)
{
	uint32_t n = 0;

	for (; s; s = s->next)
		n++;
	return n;
}

/* A transfer whose slots are lent and whose messages have not reached the peer. */
static tcpx_xfer *
lend(struct gpu_rig *r, struct pool **pool)
{
	struct area *near, *far;
	tcpx_xfer *x;

	near = gpu_area(r, 0, 0, LEN, 1);
	far = gpu_area(r, 1, 1, LEN, 2);
	tcpx_fabric_hold(r->fabric, TCPX_FABRIC_DATA, 20 * TCPX_MS);
	x = gpu_post(r, TCPX_OP_WRITE, near, far, LEN);
	*pool = pool_of(r, 0, STAGING_LARGE);
	gpu_pass(r, 5 * TCPX_MS);
	assert_int_equal(r->side[0].gpu.live, 0);
	assert_true((*pool)->used > 0);
	return x;
}

TEST(lent_slots_are_kept_until_the_fence)
{
	static const char *const set[] = { "TCPX_CHUNK=256K", NULL };
	struct gpu_rig r;
	struct pool *p;
	uint32_t used;
	tcpx_xfer *x;

	gpu_begin(&r, &tcpx_net_loop_lend, 2, NULL, set);
	x = lend(&r, &p);
	used = p->used;
	tcpx_fabric_hold(r.fabric, TCPX_FABRIC_CONTROL, 10 * TCPX_MS);
	assert_ok(tcpx_fabric_break_channel(r.fabric, 0));
	gpu_pass(&r, 5 * TCPX_MS);
	assert_true(r.side[0].e->count.channels_lost > 0);
	assert_int_equal(p->used, used);
	assert_null(p->cold);
	assert_ok(gpu_finish(&r, x));
	assert_true(r.side[0].e->count.chunks_resent > 0); /* those were lent */
	gpu_pass(&r, 10 * TCPX_MS);
	assert_int_equal(p->used, 0);
	assert_null(p->cold);
	assert_filled(r.area[1].at, LEN, 1);
	gpu_end(&r);
}

TEST(lent_slots_cool_down_when_nobody_fences)
{
	static const char *const set[] = { "TCPX_CHUNK=256K", NULL };
	struct gpu_rig r;
	struct pool *p;
	uint32_t used;
	tcpx_xfer *x;

	gpu_begin(&r, &tcpx_net_loop_lend, 2, NULL, set);
	x = lend(&r, &p);
	used = p->used;
	tcpx_peer_free(r.side[0].to[1]);
	gpu_close(&r, 1);
	gpu_pass(&r, TCPX_SEC);
	assert_true(tcpx_test(x) != -EAGAIN);
	tcpx_xfer_free(x);
	assert_int_equal(p->used, 0);
	assert_int_equal(in_chain(p->cold), used);
	assert_int_equal(in_chain(p->free), p->count - used);
	gpu_pass(&r, 3 * TCPX_SEC);
	assert_int_equal(in_chain(p->cold), used);
	gpu_pass(&r, 2 * TCPX_SEC); /* half of TCPX_STALL_MS */
	assert_null(p->cold);
	assert_int_equal(p->used, 0);
	assert_int_equal(in_chain(p->free), p->count);
	gpu_end(&r);
}
