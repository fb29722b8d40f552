/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of GPU memory over the software driver: right ones, in their turn. */
#include "cuda_rig.h"

#include <errno.h>

#include "base/crc32c.h"

static const struct kind {
	uint64_t min, max;
	size_t count;
	bool dense;
} kinds[] = {
	{ 4096, 4096, 512, true },     /* pages             */
	{ 1, 999, 4000, false },       /* odd pieces        */
	{ 1000000, 4000000, 1, true }, /* one, by an engine */
};

/* What the batch before copied, or copies still, is what is summed. */
TEST(sums_are_those_of_what_was_copied)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	struct tcpx_queue *q, *others[2];
	uint64_t ticket, other;

	/* the third has the copier of the first, which is older than its own stream: the software
	 * driver does that stream's work first, if nothing waits */
	others[0] = rig_queue(r, TCPX_FLOW_PACK);
	others[1] = rig_queue(r, TCPX_FLOW_PACK);
	q = rig_queue(r, TCPX_FLOW_PACK);
	for (size_t i = 0; i < 40 * ARRAY_LEN(kinds); i++) {
		const struct kind *k = &kinds[i % ARRAY_LEN(kinds)];
		uint64_t half = tcpx_rng_below(&r->rng, USER_BYTES), rest = USER_BYTES - half;
		struct tcpx_summed list[] = {
			{ (uintptr_t)r->slots, half, 0 },
			{ (uintptr_t)r->slots + half, rest / 2, 1 },
			{ (uintptr_t)r->slots + half + rest / 2, rest - rest / 2, 1 },
		};
		uint32_t sums[2] = { 0 };

		rig_batch(r, TCPX_FLOW_PACK, k->min, k->max, k->count, k->dense);
		fakecuda.fakecuda_hold(true); /* so that the sum could overtake the copy */
		assert_int_equal(gpu->copy(q, r->list, r->count, &ticket), 0);
		assert_int_equal(gpu->sum(q, list, 3, sums, &ticket), 0);
		fakecuda.fakecuda_hold(false);
		assert_int_equal(gpu->copy(q, r->list, 1, &other), 0); /* may be seen done with it */
		assert_int_equal(gpu->finish(q, i % 2 ? other : ticket, UINT64_MAX), 0);
		assert_int_equal(sums[0], tcpx_crc32c(0, r->want, half));
		assert_int_equal(sums[1], tcpx_crc32c(0, r->want + half, rest));
		assert_int_equal(gpu->finish(q, other, UINT64_MAX), 0);
		rig_check(r, TCPX_FLOW_PACK);
	}
	rig_context_is_kept(r);
	gpu->queue_close(q);
	gpu->queue_close(others[0]);
	gpu->queue_close(others[1]);
	rig_close(r);
}

TEST(sums_need_room_and_our_kernels)
{
	struct rig *r = rig_open(TCPX_UNPACK_D2D);
	struct tcpx_queue *q = rig_queue(r, TCPX_FLOW_UNPACK);
	struct tcpx_summed part = { (uintptr_t)r->slots, 4096, 0 };
	uint32_t sums[100] = { 0 };
	uint64_t ticket = 0;
	int n = 0, rc;

	assert_int_equal(gpu->sum(q, &part, 1, sums, &ticket), -ENOTSUP);
	gpu->queue_close(q);
	rig_close(r);

	r = rig_open(TCPX_UNPACK_KERNEL);
	q = rig_queue(r, TCPX_FLOW_UNPACK);
	part.addr = (uintptr_t)r->slots;
	memset(r->slots, 'x', 4096);
	fakecuda.fakecuda_hold(true);
	while ((rc = gpu->sum(q, &part, 1, &sums[n], &ticket)) == 0)
		assert_true(++n < 100);
	assert_int_equal(rc, -EAGAIN);
	assert_int_equal(gpu->poll(q, ticket), -EAGAIN);
	assert_int_equal(sums[0], 0);
	fakecuda.fakecuda_hold(false);
	assert_int_equal(gpu->finish(q, ticket, UINT64_MAX), 0);
	for (int i = 0; i < n; i++)
		assert_int_equal(sums[i], tcpx_crc32c(0, r->slots, 4096));
	fakecuda.fakecuda_fail("cuLaunchKernel", 1, CUDA_ERROR_LAUNCH_FAILED);
	assert_int_equal(gpu->sum(q, &part, 1, sums, &ticket), -EIO);
	assert_int_equal(gpu->sum(q, &part, 1, sums, &ticket), -EIO);
	gpu->queue_close(q);
	rig_close(r);
}
