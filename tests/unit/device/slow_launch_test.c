/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow-launch of docs/errors.md: the driver calls of a client that makes a stream, its
 * events and its launcher for each chunk and waits for each, and those of one queue.
 */
#include "cuda_rig.h"

#include <errno.h>
#include <sched.h>

#define CHUNKS 64
#define FRAGS  8 /* of each chunk */

static unsigned
made(void)
{
	return fakecuda.fakecuda_calls("cuStreamCreate") +
	       fakecuda.fakecuda_calls("cuStreamCreateWithPriority") +
	       fakecuda.fakecuda_calls("cuEventCreate") +
	       fakecuda.fakecuda_calls("cuMemHostAlloc");
}

static unsigned
waited(void)
{
	return fakecuda.fakecuda_calls("cuStreamSynchronize") +
	       fakecuda.fakecuda_calls("cuEventSynchronize");
}

static struct tcpx_queue *
queue(struct rig *r)
{
	struct tcpx_queue *q = NULL;

	assert_int_equal(gpu->queue_open(r->dev, 0, TCPX_FLOW_UNPACK, &q), 0);
	return q;
}

static void
launch(struct rig *r, struct tcpx_queue *q, size_t first, size_t count)
{
	uint64_t ticket;

	assert_int_equal(gpu->copy(q, r->list + first, count, &ticket), 0);
	assert_int_equal(gpu->finish(q, ticket, UINT64_MAX), 0);
}

TEST(a_launcher_for_each_chunk_is_slow)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);

	rig_batch(r, TCPX_FLOW_UNPACK, 1000, 4096, CHUNKS * FRAGS, true);
	fakecuda.fakecuda_reset();
	for (size_t i = 0; i < CHUNKS; i++) {
		struct tcpx_queue *q = queue(r);

		launch(r, q, i * FRAGS, FRAGS);
		gpu->queue_close(q);
	}
	rig_check(r, TCPX_FLOW_UNPACK);
	assert_true(made() >= CHUNKS);
	assert_true(waited() >= CHUNKS);
	assert_int_equal(fakecuda.fakecuda_calls("cuLaunchKernel"), CHUNKS);
	rig_close(r);
}

TEST(one_queue_makes_nothing_and_launches_once)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	struct tcpx_queue *q = queue(r);
	uint64_t ticket;

	rig_batch(r, TCPX_FLOW_UNPACK, 1000, 4096, CHUNKS * FRAGS, true);
	fakecuda.fakecuda_reset();
	assert_int_equal(gpu->copy(q, r->list, r->count, &ticket), 0);
	while (gpu->poll(q, ticket) == -EAGAIN) /* as loops do; finish() waits in the driver */
		sched_yield();
	rig_check(r, TCPX_FLOW_UNPACK);
	assert_int_equal(made(), 0);
	assert_int_equal(waited(), 0);
	assert_int_equal(fakecuda.fakecuda_calls("cuLaunchKernel"), 1);
	gpu->queue_close(q);
	rig_close(r);
}
