/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers of GPU memory are cancelled at any moment while three I/O threads an engine
 * pack and unpack them. The end of a transfer may wait for a loop that waits for it. The
 * GPUs are in software. An alarm ends a deadlock.
 */
#include "rig.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/rng.h"
#include "device/cuda_api.h"

#define ROUNDS   120
#define POSTED   4
#define AREA     (16u << 20)
#define LIMIT_S  60 /* far above what it takes, even with a thread sanitizer */
#define DELAY_US 3000

enum end { CANCEL, FREE, DEREGISTER, ENDS };

struct gpus {
	struct tcpx_cuda_api cu;
	CUcontext context[2];
	CUdeviceptr memory[2]; /* one an engine; the driver is in software: the CPU reads it */
};

static const char *
library(void)
{
	const char *path = getenv("FAKECUDA_LIBRARY");

	if (!path)
		fail_msg("FAKECUDA_LIBRARY is not set");
	return path;
}

static void
gpus_open(struct gpus *g)
{
	CUcontext old;

	assert_ok(tcpx_cuda_api_load(library(), &g->cu));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(g->cu.cuDevicePrimaryCtxRetain(&g->context[i], i), 0);
		assert_int_equal(g->cu.cuCtxPushCurrent(g->context[i]), 0);
		assert_int_equal(g->cu.cuMemAlloc(&g->memory[i], AREA), 0);
		assert_int_equal(g->cu.cuCtxPopCurrent(&old), 0);
	}
}

static void
gpus_close(struct gpus *g)
{
	CUcontext old;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(g->cu.cuCtxPushCurrent(g->context[i]), 0);
		assert_int_equal(g->cu.cuMemFree(g->memory[i]), 0);
		assert_int_equal(g->cu.cuCtxPopCurrent(&old), 0);
		assert_int_equal(g->cu.cuDevicePrimaryCtxRelease(i), 0);
	}
	tcpx_cuda_api_unload(&g->cu);
}

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
whoever_gives_up_gpu_transfers_comes_back(void **state)
{
	char driver[512];
	const char *const set[] = { "TCPX_THREADS=3", "TCPX_CHANNELS=6", driver, NULL };
	struct tcpx_rng rng = tcpx_rng_seed(1);
	struct gpus g = { 0 };
	struct rig r = { 0 };

	snprintf(driver, sizeof(driver), "TCPX_CUDA_LIBRARY=%s", library());
	gpus_open(&g);
	r.a = rig_open("anna", set);
	r.b = rig_open("bert", set);
	r.to_b = rig_add(r.a, r.b);
	assert_ok(tcpx_peer_wait(r.to_b, WAIT_MS));
	r.near = lend(&g, 0, r.a);
	r.far = lend(&g, 1, r.b);
	r.far.far = mem_tell(&r.far, r.b, r.a);
	for (int i = 0; i < ROUNDS; i++)
		give_up(&r, &g, i % ENDS, tcpx_rng_below(&rng, DELAY_US) * 1000);
	/* and nothing of it is left: */
	fill(r.near.at, AREA, 1);
	assert_ok(finish(post(&r, true)));
	assert_filled(r.far.at, AREA, 1);
	tcpx_peer_free(r.to_b);
	tcpx_close(r.a);
	tcpx_close(r.b);
	gpus_close(&g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whoever_gives_up_gpu_transfers_comes_back),
	};

	alarm(LIMIT_S);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
