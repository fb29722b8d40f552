/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers and lanes of GPU memory are given up at any moment while three I/O threads an engine
 * pack and unpack them. The end of a transfer may wait for a loop that waits for it. The
 * GPUs are in software. An alarm ends a deadlock.
 */
#include "gpus.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"

#define ROUNDS   120
#define POSTED   4
#define AREA     (16u << 20)
#define LIMIT_S  60 /* far above what it takes, even with a thread sanitizer */
#define DELAY_US 3000

enum end { CANCEL, FREE, DEREGISTER, ENDS };

/* The memory of GPU i, registered with engine e. */
static struct mem
lend(const struct gpus *g, int i, tcpx_engine *e)
{
	struct mem m = { .at = (uint8_t *)(uintptr_t)g->memory[i], .len = AREA };

	assert_ok(tcpx_mem_register(e, m.at, m.len, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE,
				    &m.id));
	return m;
}

static tcpx_xfer *
post(const struct rig *r, bool write)
{
	struct tcpx_desc l = { r->near.id, 0, AREA }, f = { r->far.far, 0, AREA };
	tcpx_xfer *x;

	assert_ok(write ? tcpx_write(r->to_b, &l, 1, &f, 1, NULL, 0, &x) :
			  tcpx_read(r->to_b, &l, 1, &f, 1, NULL, 0, &x));
	return x;
}

/* Posts a few both ways and takes them back a moment later. */
static void
give_up(struct rig *r, const struct gpus *g, enum end how, uint64_t delay_ns)
{
	tcpx_xfer *x[POSTED];
	uint64_t end_ns;

	for (int i = 0; i < POSTED; i++)
		x[i] = post(r, i & 1);
	end_ns = tcpx_clock_now(&tcpx_clock_system) + delay_ns;
	while (tcpx_clock_now(&tcpx_clock_system) < end_ns)
		(void)tcpx_test(x[0]);
	if (how == DEREGISTER) {
		assert_ok(tcpx_mem_deregister(r->a, r->near.id));
		r->near = lend(g, 0, r->a);
	}
	for (int i = 0; i < POSTED && how == CANCEL; i++)
		tcpx_cancel(x[i]);
	for (int i = 0; i < POSTED; i++)
		tcpx_xfer_free(x[i]);
}

static void
meet(struct rig *r, struct gpus *g)
{
	char driver[512];
	const char *const set[] = { "TCPX_THREADS=3", "TCPX_CHANNELS=6", driver, NULL };

	snprintf(driver, sizeof(driver), "TCPX_CUDA_LIBRARY=%s", gpus_library());
	gpus_open(g, AREA);
	r->a = rig_open("anna", set);
	r->b = rig_open("bert", set);
	r->to_b = rig_add(r->a, r->b);
	assert_ok(tcpx_peer_wait(r->to_b, WAIT_MS));
	r->near = lend(g, 0, r->a);
	r->far = lend(g, 1, r->b);
}

static void
part(struct rig *r, struct gpus *g)
{
	tcpx_peer_free(r->to_b);
	tcpx_close(r->a);
	tcpx_close(r->b);
	gpus_close(g);
}

TEST(whoever_gives_up_gpu_transfers_comes_back)
{
	struct tcpx_rng rng = tcpx_rng_seed(1);
	struct gpus g = { 0 };
	struct rig r = { 0 };

	meet(&r, &g);
	r.far.far = mem_tell(&r.far, r.b, r.a);
	for (int i = 0; i < ROUNDS; i++)
		give_up(&r, &g, i % ENDS, tcpx_rng_below(&rng, DELAY_US) * 1000);
	/* and nothing of it is left: */
	fill(r.near.at, AREA, 1);
	assert_ok(finish(post(&r, true)));
	assert_filled(r.far.at, AREA, 1);
	part(&r, &g);
}

/* ---- lanes ---- */

enum { MESSAGES = 16, PART = AREA / MESSAGES };

struct pipe {
	tcpx_lane *tx, *rx;
	tcpx_xfer *send[MESSAGES], *recv[MESSAGES];
};

static void
pipe_open(struct pipe *p, struct rig *r)
{
	uint8_t key[TCPX_LANE_KEY];

	assert_ok(tcpx_lane_listen(r->b, key, &p->rx));
	assert_ok(tcpx_lane_open(r->to_b, key, &p->tx));
	while (tcpx_lane_ready(p->tx) == -EAGAIN || tcpx_lane_ready(p->rx) == -EAGAIN)
		sched_yield();
	for (uint64_t i = 0; i < MESSAGES; i++) {
		assert_ok(tcpx_lane_post(p->rx, r->far.id, i * PART, PART, &p->recv[i]));
		assert_ok(tcpx_lane_post(p->tx, r->near.id, i * PART, PART >> i % 5, &p->send[i]));
	}
}

/* By the receiver. What it has got back it uses at once. */
static void
pipe_give_up(struct pipe *p, struct rig *r, const struct gpus *g, enum end how)
{
	for (int i = MESSAGES; i-- > 0 && how == CANCEL;)
		tcpx_cancel(p->recv[i]); /* the first that has not ended ends the others */
	if (how == FREE)
		tcpx_lane_close(p->rx);
	else if (how == DEREGISTER)
		assert_ok(tcpx_mem_deregister(r->b, r->far.id));
	for (int i = 0; i < MESSAGES; i++) {
		assert_true(tcpx_test(p->recv[i]) != -EAGAIN);
		if (tcpx_test(p->recv[i]) == 0)
			assert_memory_equal(r->far.at + i * PART, r->near.at + i * PART, PART >> i % 5);
	}
	memset(r->far.at, how, AREA);
	if (how == DEREGISTER)
		r->far = lend(g, 1, r->b);
	if (how != FREE)
		tcpx_lane_close(p->rx);
}

static void
pipe_end(struct pipe *p)
{
	for (int i = 0; i < MESSAGES; i++) {
		if (finish(p->send[i]) == 0)
			assert_ok(tcpx_test(p->recv[i]));
		tcpx_xfer_free(p->recv[i]);
	}
	tcpx_lane_close(p->tx);
}

TEST(whoever_gives_up_gpu_lanes_comes_back)
{
	struct tcpx_rng rng = tcpx_rng_seed(2);
	struct gpus g = { 0 };
	struct rig r = { 0 };
	struct pipe p;

	meet(&r, &g);
	fill(r.near.at, AREA, 1);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t end_ns;

		pipe_open(&p, &r);
		end_ns = tcpx_clock_now(&tcpx_clock_system) +
			 tcpx_rng_below(&rng, 2 * DELAY_US) * 1000;
		while (tcpx_clock_now(&tcpx_clock_system) < end_ns)
			(void)tcpx_test(p.recv[0]);
		pipe_give_up(&p, &r, &g, i % ENDS);
		pipe_end(&p);
		if (r.far.at[0] != i % ENDS || memcmp(r.far.at, r.far.at + 1, AREA - 1) != 0)
			fail_msg("round %d: a byte was written after the end", i);
	}
	pipe_open(&p, &r);
	for (int i = 0; i < MESSAGES; i++)
		assert_ok(tcpx_wait(p.recv[i], WAIT_MS));
	pipe_end(&p);
	tcpx_lane_close(p.rx);
	part(&r, &g);
}

int
main(void)
{
	alarm(LIMIT_S);
	return run_cases(NULL, NULL);
}
