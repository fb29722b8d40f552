/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call of the driver fails in turn: a code comes back, nothing is left behind, and
 * the caller's context stays.
 */
#include "cuda_rig.h"

#include <errno.h>

#include "device/cuda_queue.h"

/* What a failure of the function may do. */
enum effect {
	STOPS,    /* the operation in hand                                */
	IS_BORNE, /* nothing: there is another way                        */
	EITHER    /* it also serves cleaning up, which reports to nobody  */
};

static const struct {
	const char *name;
	enum effect effect;
	bool memops; /* streams can write words, so no events are used */
} functions[] = {
	{ "cuInit", STOPS, true },
	{ "cuDeviceGetCount", STOPS, true },
	{ "cuDeviceGet", STOPS, true },
	{ "cuDeviceGetName", IS_BORNE, true },
	{ "cuDeviceGetAttribute", EITHER, true },
	{ "cuDevicePrimaryCtxRetain", STOPS, true },
	{ "cuCtxGetStreamPriorityRange", STOPS, true },
	{ "cuStreamCreateWithPriority", STOPS, true },
	{ "cuEventCreate", STOPS, true },
	{ "cuEventCreate", STOPS, false },
	{ "cuMemHostAlloc", STOPS, true },
	{ "cuMemAlloc", STOPS, true },
	{ "cuMemsetD8Async", STOPS, true },
	{ "cuStreamSynchronize", EITHER, true },
	{ "cuModuleLoadData", IS_BORNE, true },
	{ "cuModuleGetFunction", IS_BORNE, true },
	{ "cuOccupancyMaxActiveBlocksPerMultiprocessor", IS_BORNE, true },
	{ "cuLaunchKernel", STOPS, true },
	{ "cuMemcpyAsync", STOPS, true },
	{ "cuStreamWriteValue64", STOPS, true },
	{ "cuEventRecord", STOPS, true },
	{ "cuEventRecord", STOPS, false },
	{ "cuStreamWaitEvent", STOPS, true },
	{ "cuEventQuery", STOPS, false },
	{ "cuStreamQuery", EITHER, true },
};

static int
move(struct rig *r, struct tcpx_queue *q, enum tcpx_flow flow)
{
	uint64_t ticket;
	int rc;

	rc = gpu->copy(q, r->list, r->count, &ticket);
	while (rc == 0 && (rc = gpu->poll(q, ticket)) == -EAGAIN)
		rc = 0;
	if (rc == 0)
		rig_check(r, flow);
	if (rc) { /* for ever the same */
		assert_int_equal(gpu->copy(q, r->list, r->count, &ticket), rc);
		assert_int_equal(gpu->poll(q, 1), rc);
		assert_int_equal(gpu->finish(q, 1, UINT64_MAX), rc);
	}
	return rc;
}

/* Batches for every route, both flows. */
static int
work(struct rig *r, struct tcpx_queue *const q[TCPX_FLOWS])
{
	int rc;

	rig_single(r, TCPX_FLOW_PACK, 1 << 20);
	rc = move(r, q[TCPX_FLOW_PACK], TCPX_FLOW_PACK);
	if (rc)
		return rc;
	rig_batch(r, TCPX_FLOW_UNPACK, 3000, 4096, 256, true);
	rc = move(r, q[TCPX_FLOW_UNPACK], TCPX_FLOW_UNPACK);
	if (rc)
		return rc;
	r->now_ns += TCPX_SEC;
	rig_single(r, TCPX_FLOW_UNPACK, 4096);
	return move(r, q[TCPX_FLOW_UNPACK], TCPX_FLOW_UNPACK);
}

static int
session(struct rig *r)
{
	struct tcpx_queue *q[TCPX_FLOWS] = { NULL };
	void *slots = NULL;
	int rc;

	rc = rig_device(r, TCPX_UNPACK_KERNEL);
	if (rc)
		return rc;
	rc = gpu->pinned(r->dev, 8192, &slots);
	for (int f = 0; f < TCPX_FLOWS && rc == 0; f++)
		rc = gpu->queue_open(r->dev, 0, f, &q[f]);
	if (rc == 0)
		rc = work(r, q);
	rig_context_is_kept(r);
	for (int f = 0; f < TCPX_FLOWS; f++) {
		if (q[f])
			gpu->queue_close(q[f]);
	}
	gpu->unpin(r->dev, slots);
	gpu->close(r->dev);
	r->dev = NULL;
	return rc;
}

static bool
allowed(enum effect effect, int rc)
{
	bool stopped = rc == -EIO || rc == -ENODEV;

	return effect == STOPS ? stopped : effect == IS_BORNE ? rc == 0 : rc == 0 || stopped;
}

TEST(each_call_may_fail_at_each_turn)
{
	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		bool hit = true;

		for (unsigned n = 1; hit; n++) {
			struct rig *r = rig_open_bare();
			int rc;

			fakecuda.fakecuda_memops(functions[i].memops);
			fakecuda.fakecuda_fail(functions[i].name, n, CUDA_ERROR_LAUNCH_FAILED);
			rc = session(r);
			hit = fakecuda.fakecuda_calls(functions[i].name) >= n;
			if (!allowed(hit ? functions[i].effect : IS_BORNE, rc))
				fail_msg("call %u of %s failed: session gives %d", n,
					 functions[i].name, rc);
			fakecuda.fakecuda_reset();
			rig_close(r);
		}
	}
}

/* Without a context nothing can be given back, but the caller learns of it. */
TEST(a_context_that_cannot_be_entered_is_an_error)
{
	bool hit = true;
	int stopped = 0;

	for (unsigned n = 1; hit; n++) {
		struct rig *r = rig_open_bare();

		fakecuda.fakecuda_fail("cuCtxPushCurrent", n, CUDA_ERROR_INVALID_CONTEXT);
		stopped += session(r) == -EIO;
		hit = fakecuda.fakecuda_calls("cuCtxPushCurrent") >= n;
		rig_context_is_kept(r);
		assert_int_equal(fakecuda.fakecuda_errors(), 0);
		rig_abandon(r);
	}
	assert_true(stopped > 5);
}

/* Users take their memory back when they see the code. */
TEST(a_broken_queue_writes_nothing_any_more)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	struct tcpx_queue *q;
	uint64_t ticket;

	assert_int_equal(gpu->queue_open(r->dev, 0, TCPX_FLOW_UNPACK, &q), 0);
	rig_batch(r, TCPX_FLOW_UNPACK, 3000, 4096, 256, true);
	fakecuda.fakecuda_delay_us(20000);
	assert_int_equal(gpu->copy(q, r->list, r->count, &ticket), 0);
	fakecuda.fakecuda_fail("cuLaunchKernel", 1, CUDA_ERROR_LAUNCH_FAILED);
	assert_int_equal(gpu->copy(q, r->list, r->count, &ticket), -EIO);
	rig_check(r, TCPX_FLOW_UNPACK); /* the first one is over */
	gpu->queue_close(q);
	rig_close(r);
}

/* Without kernels a batch is as many calls as it has pieces. */
TEST(a_piece_that_fails_fails_its_batch)
{
	static const struct {
		enum tcpx_unpack_impl impl;
		const char *call;
	} table[] = {
		{ TCPX_UNPACK_D2D, "cuMemcpyAsync" },
		{ TCPX_UNPACK_HOST, "cuMemcpyAsync" },
		{ TCPX_UNPACK_HOST, "cuStreamSynchronize" },
		{ TCPX_UNPACK_NONE, "cuMemcpyAsync" },
	};

	for (size_t i = 0; i < 3 * ARRAY_LEN(table); i++) {
		struct rig *r = rig_open(table[i / 3].impl);
		struct tcpx_queue *q;
		uint64_t ticket;

		assert_int_equal(gpu->queue_open(r->dev, 0, TCPX_FLOW_UNPACK, &q), 0);
		rig_batch(r, TCPX_FLOW_UNPACK, 100, 200, 3, false);
		fakecuda.fakecuda_fail(table[i / 3].call, i % 3 + 1, CUDA_ERROR_LAUNCH_FAILED);
		assert_int_equal(gpu->copy(q, r->list, r->count, &ticket), -EIO);
		gpu->queue_close(q);
		rig_close(r);
	}
}

TEST(a_gpu_that_fails_ends_its_batches)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	struct tcpx_queue *q;
	uint64_t ticket;
	int rc, polls = 0;

	assert_int_equal(gpu->queue_open(r->dev, 0, TCPX_FLOW_UNPACK, &q), 0);
	rig_batch(r, TCPX_FLOW_UNPACK, 3000, 4096, 256, true);
	fakecuda.fakecuda_hold(true);
	assert_int_equal(gpu->copy(q, r->list, r->count, &ticket), 0);
	assert_int_equal(gpu->poll(q, ticket), -EAGAIN);
	fakecuda.fakecuda_break(CUDA_ERROR_LAUNCH_FAILED);
	while ((rc = gpu->poll(q, ticket)) == -EAGAIN)
		assert_true(++polls < 10000);
	assert_int_equal(rc, -EIO);
	assert_int_equal(gpu->finish(q, ticket, UINT64_MAX), -EIO);
	fakecuda.fakecuda_reset();
	gpu->queue_close(q);
	rig_close(r);
}

TEST(a_waiter_learns_of_a_gpu_that_fails)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	struct tcpx_queue *q;
	uint64_t ticket;

	assert_int_equal(gpu->queue_open(r->dev, 0, TCPX_FLOW_PACK, &q), 0);
	rig_batch(r, TCPX_FLOW_PACK, 3000, 4096, 256, true);
	fakecuda.fakecuda_hold(true);
	assert_int_equal(gpu->copy(q, r->list, r->count, &ticket), 0);
	fakecuda.fakecuda_break(CUDA_ERROR_LAUNCH_FAILED);
	assert_int_equal(gpu->finish(q, ticket, UINT64_MAX), -EIO);
	fakecuda.fakecuda_reset();
	gpu->queue_close(q);
	rig_close(r);
}

TEST(a_kernel_that_ends_and_does_not_say_so_is_an_error)
{
	for (int wait = 0; wait < 2; wait++) {
		struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
		struct tcpx_queue *q;
		uint64_t ticket;
		int rc, polls = 0;

		assert_int_equal(gpu->queue_open(r->dev, 0, TCPX_FLOW_UNPACK, &q), 0);
		rig_batch(r, TCPX_FLOW_UNPACK, 3000, 4096, 256, true);
		fakecuda.fakecuda_mute(true);
		assert_int_equal(gpu->copy(q, r->list, r->count, &ticket), 0);
		if (wait)
			rc = gpu->finish(q, ticket, UINT64_MAX);
		else
			while ((rc = gpu->poll(q, ticket)) == -EAGAIN)
				assert_true(++polls < 10000000);
		assert_int_equal(rc, -EIO);
		gpu->queue_close(q);
		rig_close(r);
	}
}
