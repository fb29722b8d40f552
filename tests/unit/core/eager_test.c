/* SPDX-License-Identifier: Apache-2.0 */
/* Small messages of lanes that come before their receives: kept, within what is granted, and given to
 * receives that are posted later, whatever has become of their sender. */
#include "lane_rig.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/context/context.h"
#include "core/session/peer.h"
#include "core/session/session.h"

#define ROOM  (1u << 20)
#define SLOT  (16u << 10)
#define SMALL 8192u
#define MOST  TCPX_EAGER_FRAME

/* What came early is given back, too. */
static void
end_empty(struct pipe *p)
{
	close_tx(p);
	close_rx(p);
	if (p->rig.b)
		assert_int_equal(p->rig.b->registry.session_count ? 0 : p->rig.b->eager.used, 0);
	pipe_end(p);
}

static tcpx_xfer *
post(tcpx_lane *l, uint64_t region, size_t off, size_t len)
{
	tcpx_xfer *x;

	assert_ok(tcpx_lane_post(l, region, off, len, &x));
	return x;
}

/* It has ended when the post returns. Its memory is used for something else. */
static void
send_early(struct pipe *p, size_t len, uint32_t seed)
{
	tcpx_xfer *x;

	fill(p->rig.near.at, len, seed);
	x = post(p->tx, p->rig.near.id, 0, len);
	assert_ok(tcpx_test(x));
	tcpx_xfer_free(x);
	memset(p->rig.near.at, 0x77, MOST);
}

static void
receive(struct pipe *p, size_t len, uint32_t seed)
{
	struct tcpx_xfer_info info = TCPX_XFER_INFO_INIT;
	tcpx_xfer *x;

	memset(p->rig.far.at, 0xee, SLOT);
	x = post(p->rx, p->rig.far.id, 0, SLOT);
	assert_ok(tcpx_wait(x, WAIT_MS));
	assert_ok(tcpx_xfer_query(x, &info));
	tcpx_xfer_free(x);
	assert_int_equal(info.bytes_total, len);
	assert_int_equal(info.bytes_done, len);
	assert_filled(p->rig.far.at, len, seed);
	for (size_t i = len; i < SLOT; i++)
		assert_int_equal(p->rig.far.at[i], 0xee);
}

TEST(sends_end_before_their_receives)
{
	static const size_t len[] = { 0, 1, 4095, 4096, 8191, SMALL, MOST };
	struct pipe p;

	pipe_begin(&p, NULL, NULL, ROOM);
	for (uint32_t i = 0; i < 7; i++)
		send_early(&p, len[i], i);
	for (uint32_t i = 0; i < 7; i++)
		receive(&p, len[i], i);
	wait_kept(&p, 0);
	end_empty(&p);
}

/* 64 messages may be ahead of the receives that a sender knows of. It hears of receives that were
 * served at once after 32. */
TEST(no_farther_ahead_than_the_window)
{
	struct pipe p;
	tcpx_xfer *x;

	pipe_begin(&p, NULL, NULL, ROOM);
	for (uint32_t i = 0; i < TCPX_LANE_OPEN; i++)
		send_early(&p, 8, i);
	wait_kept(&p, TCPX_LANE_OPEN * (8 + 128));
	fill(p.rig.near.at, 8, TCPX_LANE_OPEN);
	x = post(p.tx, p.rig.near.id, 0, 8);
	for (uint32_t i = 0; i < TCPX_LANE_OPEN / 2; i++) {
		assert_code(tcpx_test(x), -EAGAIN);
		receive(&p, 8, i);
	}
	end_with(x, 0);
	for (uint32_t i = TCPX_LANE_OPEN / 2; i <= TCPX_LANE_OPEN; i++)
		receive(&p, 8, i);
	end_empty(&p);
}

TEST(no_more_than_is_granted)
{
	static const char *const little[] = { "TCPX_EAGER=64K", NULL }; /* a half of it at once */
	struct pipe p;
	tcpx_xfer *x;

	pipe_begin(&p, NULL, little, ROOM);
	for (uint32_t round = 0; round < 30; round++) {
		uint32_t i = 0;

		wait_credit(&p, 24 << 10); /* grants come a quarter of the window at a time */
		do {
			fill(p.rig.near.at + i * SLOT, SMALL, 10 * round + i);
			x = post(p.tx, p.rig.near.id, i * SLOT, SMALL);
		} while (tcpx_test(x) == 0 && (tcpx_xfer_free(x), ++i));
		assert_in_range(i, 2, 3);
		wait_kept(&p, i * (SMALL + 128));
		for (uint32_t k = 0; k <= i; k++)
			receive(&p, SMALL, 10 * round + k);
		end_with(x, 0);
	}
	assert_int_equal(p.rig.b->eager.used, 32 << 10);
	end_empty(&p);
}

TEST(nothing_is_granted)
{
	static const char *const none[] = { "TCPX_EAGER=0", NULL };
	struct pipe p;
	tcpx_xfer *x;

	pipe_begin(&p, NULL, none, ROOM);
	fill(p.rig.near.at, 8, 1);
	x = post(p.tx, p.rig.near.id, 0, 8);
	assert_code(tcpx_wait(x, 20), -EAGAIN);
	receive(&p, 8, 1);
	end_with(x, 0);
	end_empty(&p);
}

/* A sender that uses up its credit gets more, from the pool of the engine. */
TEST(credit_grows_with_use)
{
	struct pipe p;

	pipe_begin(&p, NULL, NULL, ROOM);
	assert_int_equal(p.rig.b->eager.used, 256 << 10);
	wait_credit(&p, 256 << 10);
	for (uint32_t i = 0; i < 31; i++)
		send_early(&p, SMALL, i);
	wait_kept(&p, 31 * (SMALL + 128));
	for (uint32_t i = 0; i < 31; i++)
		receive(&p, SMALL, i);
	assert_int_equal(p.rig.b->eager.used, 512 << 10);
	wait_credit(&p, 384 << 10);
	end_empty(&p);
}

/* What was sent is received, though its sender has closed the lane, and the engine, since. */
TEST(the_sender_is_over)
{
	struct pipe p;
	tcpx_xfer *x;

	for (int gone = 0; gone < 3; gone++) {
		pipe_begin(&p, NULL, NULL, ROOM);
		for (uint32_t i = 0; i < 5; i++)
			send_early(&p, 100 * i, i);
		tcpx_lane_close(p.tx);
		p.tx = NULL;
		wait_kept(&p, 5 * 128 + 1000);
		if (gone) {
			struct session *s = session_of(&p);

			tcpx_session_get(s);
			tcpx_close(p.rig.a);
			p.rig.a = NULL;
			p.rig.to_b = NULL;
			while (s->state != SESS_FAILED)
				sched_yield();
			pthread_mutex_lock(&s->lock); /* which the failure holds until all is given back */
			assert_int_equal(p.rig.b->eager.used, 5 * 128 + 1000);
			pthread_mutex_unlock(&s->lock);
			tcpx_session_put(s);
		}
		for (uint32_t i = 0; i < (gone == 2 ? 2 : 5); i++) {
			assert_ok(tcpx_lane_ready(p.rx));
			receive(&p, 100 * i, i);
		}
		if (gone < 2) {
			assert_code(tcpx_lane_ready(p.rx), TCPX_ECLOSED);
			assert_code(tcpx_lane_post(p.rx, p.rig.far.id, 0, 1, &x), TCPX_ECLOSED);
		}
		if (gone) {
			tcpx_lane_close(p.rx);
			p.rx = NULL;
			assert_int_equal(p.rig.b->eager.used, 0);
		}
		end_empty(&p);
	}
}

/* The last message of a lane that its sender has closed does not fit. */
TEST(the_sender_is_over_and_too_long)
{
	struct pipe p;

	pipe_begin(&p, NULL, NULL, ROOM);
	send_early(&p, 100, 1);
	send_early(&p, 100, 2);
	tcpx_lane_close(p.tx);
	p.tx = NULL;
	wait_kept(&p, 2 * 228);
	end_with(post(p.rx, p.rig.far.id, 0, 99), TCPX_ELENGTH);
	assert_code(tcpx_lane_ready(p.rx), TCPX_ELENGTH);
	wait_kept(&p, 0);
	end_empty(&p);
}

/* A receiver that closes gives up what it keeps; its sender hears of it. */
TEST(the_receiver_is_over)
{
	struct pipe p;
	tcpx_xfer *x;
	int rc;

	pipe_begin(&p, NULL, NULL, ROOM);
	for (uint32_t i = 0; i < 5; i++)
		send_early(&p, 100, i);
	wait_kept(&p, 5 * 228);
	tcpx_lane_close(p.rx);
	p.rx = NULL;
	wait_kept(&p, 0);
	while ((rc = tcpx_lane_post(p.tx, p.rig.near.id, 0, 8, &x)) == 0) {
		(void)tcpx_wait(x, -1); /* to free it before would cancel it, and with it the lane */
		tcpx_xfer_free(x);
	}
	assert_code(rc, TCPX_ECLOSED);
	wait_kept(&p, 0); /* what came for the lane that is no more */
	end_empty(&p);
}

TEST(memory_that_is_gone)
{
	struct pipe p;
	uint64_t hole;
	tcpx_xfer *x;
	void *at;

	for (int sends = 0; sends < 2; sends++) {
		pipe_begin(&p, NULL, NULL, ROOM);
		at = mmap(NULL, SLOT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_ptr_not_equal(at, MAP_FAILED);
		assert_ok(tcpx_mem_register(sends ? p.rig.a : p.rig.b, at, SLOT, TCPX_MEM_LOCAL, &hole));
		assert_int_equal(munmap(at, SLOT), 0);
		if (sends) {
			x = post(p.rx, p.rig.far.id, 0, 100);
			end_with(post(p.tx, hole, 0, 100), -EFAULT);
			end_with(x, -EFAULT);
		} else {
			x = post(p.rx, hole, 0, 100);
			send_early(&p, 100, 1);
			end_with(x, -EFAULT);
			while (tcpx_lane_ready(p.tx) == 0)
				sched_yield();
		}
		assert_code(tcpx_lane_ready(p.tx), -EFAULT);
		assert_code(tcpx_lane_ready(p.rx), -EFAULT);
		end_empty(&p);
	}
}
