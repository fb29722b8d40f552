/* SPDX-License-Identifier: Apache-2.0 */
/* Queues of a GPU over the software driver: every byte, in order, and no
 * allocation on the way. */
#include "cuda_rig.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

#include "device/cuda_queue.h"

static int64_t napped_ns; /* all naps of a waiter */

int __wrap_nanosleep(const struct timespec *nap, struct timespec *left);

/* Nobody sleeps here. A wait that has no end is ended by its batch. */
int
__wrap_nanosleep(const struct timespec *nap, struct timespec *left)
{
	(void)left;
	napped_ns += nap->tv_nsec;
	if (napped_ns > (int64_t)TCPX_SEC)
		fakecuda.fakecuda_hold(false);
	sched_yield();
	return 0;
}

static uint64_t
start(struct rig *r, struct tcpx_queue *q)
{
	uint64_t ticket = 0;

	assert_int_equal(gpu->copy(q, r->list, r->count, &ticket), 0);
	return ticket;
}

static void
copy_and_check(struct rig *r, struct tcpx_queue *q, enum tcpx_flow flow)
{
	assert_int_equal(gpu->finish(q, start(r, q), UINT64_MAX), 0);
	rig_check(r, flow);
	rig_context_is_kept(r);
}

static const struct {
	uint64_t min, max;
	size_t count;
	bool dense;
} batches[] = {
	{ 4096, 4096, 512, true },     /* pages                 */
	{ 1448, 1448, 700, true },     /* packets               */
	{ 1, 999, 4000, false },       /* odd pieces            */
	{ 200000, 262144, 16, true },  /* chunks                */
	{ 64, 65536, 1, true },        /* a small one           */
	{ 1000000, 4000000, 1, true }, /* a large one           */
	{ 1, 500000, 8, true },        /* fragments and chunks  */
};

TEST(every_way_moves_every_byte)
{
	for (int impl = TCPX_UNPACK_KERNEL; impl <= TCPX_UNPACK_HOST; impl++) {
		struct rig *r = rig_open(impl);
		struct tcpx_queue *q[TCPX_FLOWS];

		for (int f = 0; f < TCPX_FLOWS; f++)
			q[f] = rig_queue(r, f);
		for (size_t i = 0; i < ARRAY_LEN(batches); i++) {
			for (int f = 0; f < TCPX_FLOWS; f++) {
				r->now_ns += i % 2 ? 10 * TCPX_MS : 1;
				rig_batch(r, f, batches[i].min, batches[i].max,
					  batches[i].count, batches[i].dense);
				copy_and_check(r, q[f], f);
			}
		}
		for (int f = 0; f < TCPX_FLOWS; f++)
			gpu->queue_close(q[f]);
		rig_close(r);
	}
}

TEST(without_stream_memory_operations_events_tell_the_end)
{
	struct rig *r = rig_open_bare();
	struct tcpx_queue *q;

	fakecuda.fakecuda_memops(false);
	assert_int_equal(rig_device(r, TCPX_UNPACK_D2D), 0);
	q = rig_queue(r, TCPX_FLOW_UNPACK);
	for (int i = 0; i < 150; i++) {
		rig_batch(r, TCPX_FLOW_UNPACK, 1, 2000, 5, true);
		copy_and_check(r, q, TCPX_FLOW_UNPACK);
	}
	assert_int_equal(fakecuda.fakecuda_calls("cuStreamWriteValue64"), 0);
	assert_true(fakecuda.fakecuda_calls("cuEventQuery") >= 150);
	gpu->queue_close(q);
	rig_close(r);
}

TEST(none_crosses_the_bus_and_spreads_nothing)
{
	struct rig *r = rig_open(TCPX_UNPACK_NONE);
	struct tcpx_queue *q = rig_queue(r, TCPX_FLOW_UNPACK);
	uint64_t copies;

	rig_batch(r, TCPX_FLOW_UNPACK, 2000, 2000, 50, false);
	memset(r->want, 0xee, USER_BYTES);
	copies = fakecuda.fakecuda_calls("cuMemcpyAsync");
	assert_int_equal(gpu->finish(q, start(r, q), UINT64_MAX), 0);
	copies = fakecuda.fakecuda_calls("cuMemcpyAsync") - copies;
	assert_in_range(copies, 1, 50);
	assert_int_equal(fakecuda.fakecuda_calls("cuLaunchKernel"), 0);
	rig_check(r, TCPX_FLOW_UNPACK);
	gpu->queue_close(q);
	rig_close(r);
}

TEST(a_batch_is_not_done_before_its_kernel_is)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	struct tcpx_queue *q = rig_queue(r, TCPX_FLOW_UNPACK);
	uint64_t ticket;

	rig_batch(r, TCPX_FLOW_UNPACK, 4096, 4096, 64, true);
	fakecuda.fakecuda_hold(true);
	ticket = start(r, q);
	for (int i = 0; i < 5000; i++) /* also when the driver is asked in between */
		assert_int_equal(gpu->poll(q, ticket), -EAGAIN);
	fakecuda.fakecuda_hold(false);
	assert_int_equal(gpu->finish(q, ticket, UINT64_MAX), 0);
	rig_check(r, TCPX_FLOW_UNPACK);
	gpu->queue_close(q);
	rig_close(r);
}

TEST(a_wait_ends_though_its_batch_does_not)
{
	static const int64_t waits[] = { 0, 1, 70000, TCPX_MS, 25 * TCPX_MS };
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	struct tcpx_queue *q = rig_queue(r, TCPX_FLOW_UNPACK);
	uint64_t ticket;

	rig_batch(r, TCPX_FLOW_UNPACK, 4096, 4096, 64, true);
	fakecuda.fakecuda_hold(true);
	ticket = start(r, q);
	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		napped_ns = 0;
		assert_int_equal(gpu->finish(q, ticket, (uint64_t)waits[i]), -EAGAIN);
		assert_true(napped_ns <= waits[i] && napped_ns > waits[i] - 100000);
	}
	fakecuda.fakecuda_hold(false);
	assert_int_equal(gpu->finish(q, ticket, UINT64_MAX), 0);
	rig_check(r, TCPX_FLOW_UNPACK);
	gpu->queue_close(q);
	rig_close(r);
}

TEST(tickets_count_up_and_may_be_asked_for_in_any_order)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	struct tcpx_queue *q = rig_queue(r, TCPX_FLOW_UNPACK);
	uint64_t ticket;

	assert_int_equal(gpu->poll(q, 0), 0);
	assert_int_equal(gpu->poll(q, 1), -EINVAL);
	fakecuda.fakecuda_hold(true);
	for (uint64_t want = 1; want <= 6; want++) {
		/* kernels, lone copies, and batches of nothing */
		static const uint64_t len[] = { 100000, 64, 0 };

		rig_single(r, TCPX_FLOW_UNPACK, len[want % 3]);
		ticket = start(r, q);
		assert_int_equal(ticket, want);
	}
	for (uint64_t t = 6; t >= 1; t--)
		assert_int_equal(gpu->poll(q, t), -EAGAIN);
	fakecuda.fakecuda_hold(false);
	assert_int_equal(gpu->finish(q, 3, UINT64_MAX), 0);
	assert_int_equal(gpu->finish(q, 6, UINT64_MAX), 0);
	for (uint64_t t = 1; t <= 6; t++)
		assert_int_equal(gpu->poll(q, t), 0);
	assert_int_equal(gpu->poll(q, 7), -EINVAL);
	gpu->queue_close(q);
	rig_close(r);
}

TEST(a_kernel_that_overtakes_a_copy_is_told_after_it)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	struct tcpx_queue *q = rig_queue(r, TCPX_FLOW_UNPACK);
	uint64_t copy, kernel;

	fakecuda.fakecuda_hold(true);
	rig_single(r, TCPX_FLOW_UNPACK, 1u << 20);
	copy = start(r, q);
	rig_batch(r, TCPX_FLOW_UNPACK, 4096, 4096, 64, true);
	kernel = start(r, q);
	atomic_store(q->word, kernel); /* as the kernel will, in a stream of its own */
	assert_int_equal(gpu->poll(q, copy), -EAGAIN);
	assert_int_equal(gpu->poll(q, kernel), -EAGAIN);
	fakecuda.fakecuda_hold(false);
	assert_int_equal(gpu->finish(q, kernel, UINT64_MAX), 0);
	assert_int_equal(gpu->poll(q, copy), 0);
	gpu->queue_close(q);
	rig_close(r);
}

TEST(queues_share_streams_of_copies)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	struct tcpx_queue *q[TCPX_GPU_COPIERS + 1], *other = rig_queue(r, TCPX_FLOW_PACK);
	unsigned made;

	for (int i = 0; i <= TCPX_GPU_COPIERS; i++)
		q[i] = rig_queue(r, TCPX_FLOW_UNPACK);
	assert_ptr_equal(q[TCPX_GPU_COPIERS]->copier, q[0]->copier);
	assert_ptr_not_equal(q[1]->copier, q[0]->copier);
	assert_ptr_not_equal(other->copier, q[0]->copier);
	for (int i = 0; i <= TCPX_GPU_COPIERS; i++) {
		rig_single(r, TCPX_FLOW_UNPACK, 300000);
		copy_and_check(r, q[i], TCPX_FLOW_UNPACK);
	}
	/* they outlive their queues: the next has no stream of copies to make */
	for (int i = 0; i <= TCPX_GPU_COPIERS; i++)
		gpu->queue_close(q[i]);
	made = fakecuda.fakecuda_calls("cuStreamCreateWithPriority");
	q[0] = rig_queue(r, TCPX_FLOW_UNPACK);
	assert_int_equal(fakecuda.fakecuda_calls("cuStreamCreateWithPriority"), made + 2);
	gpu->queue_close(q[0]);
	gpu->queue_close(other);
	rig_close(r);
}

TEST(a_full_queue_says_so_and_goes_on_later)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	struct tcpx_queue *q = rig_queue(r, TCPX_FLOW_PACK);
	uint64_t ticket = 0;
	int taken = 0, rc;

	rig_batch(r, TCPX_FLOW_PACK, 4096, 4096, 128, true);
	fakecuda.fakecuda_hold(true);
	while ((rc = gpu->copy(q, r->list, r->count, &ticket)) == 0)
		taken++;
	assert_int_equal(rc, -EAGAIN);
	assert_int_equal(taken, TCPX_QUEUE_BATCHES);
	fakecuda.fakecuda_hold(false);
	assert_int_equal(gpu->finish(q, 1, UINT64_MAX), 0);
	copy_and_check(r, q, TCPX_FLOW_PACK);
	gpu->queue_close(q);
	rig_close(r);
}

/* Lists in flight lie in a ring that the GPU reads late: none may be overwritten. Each batch
 * writes a part of its own, so one that reads another's list leaves a hole. */
TEST(lists_wait_for_room_and_are_never_overwritten)
{
	const uint64_t batches_all = 60, len = 16;
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	struct tcpx_queue *q = rig_queue(r, TCPX_FLOW_UNPACK);
	uint64_t ticket = 0, waits = 0, src, dst;
	int rc;

	fakecuda.fakecuda_hold(true);
	rig_single(r, TCPX_FLOW_UNPACK, batches_all * LIST_MAX * len);
	src = r->list->src;
	dst = r->list->dst;
	for (uint64_t i = 0; i < batches_all; i++) {
		/* in pairs, the later one first: what lies together would not be cut */
		for (uint64_t k = 0; k < LIST_MAX; k++, src += len, dst += len)
			r->list[k ^ 1] = (struct tcpx_copy){ src, dst, len };
		while ((rc = gpu->copy(q, r->list, LIST_MAX, &ticket)) == -EAGAIN) {
			fakecuda.fakecuda_allow(1);
			while (gpu->poll(q, waits + 1) == -EAGAIN)
				;
			waits++;
		}
		assert_int_equal(rc, 0);
	}
	assert_int_equal(waits, batches_all - TCPX_QUEUE_PIECES / LIST_MAX);
	fakecuda.fakecuda_hold(false);
	assert_int_equal(gpu->finish(q, ticket, UINT64_MAX), 0);
	rig_check(r, TCPX_FLOW_UNPACK);
	gpu->queue_close(q);
	rig_close(r);
}

TEST(a_list_longer_than_the_ring_goes_in_several_launches)
{
	const size_t count = TCPX_QUEUE_PIECES + 5000;
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	struct tcpx_queue *q = rig_queue(r, TCPX_FLOW_UNPACK);
	struct tcpx_copy *list = malloc(count * sizeof(*list));
	uint64_t ticket;

	assert_non_null(list);
	rig_single(r, TCPX_FLOW_UNPACK, 16 * count);
	for (size_t i = 0; i < count; i++) /* in pairs, as above */
		list[i ^ 1] = (struct tcpx_copy){ r->list->src + 16 * i, r->list->dst + 16 * i, 16 };
	assert_int_equal(gpu->copy(q, list, count, &ticket), 0);
	assert_int_equal(ticket, 1);
	assert_int_equal(gpu->finish(q, ticket, UINT64_MAX), 0);
	rig_check(r, TCPX_FLOW_UNPACK);
	assert_int_equal(fakecuda.fakecuda_calls("cuLaunchKernel"), 2);
	free(list);
	gpu->queue_close(q);
	rig_close(r);
}

TEST(nothing_is_made_for_a_batch)
{
	static const char *const makers[] = {
		"cuMemAlloc", "cuMemFree", "cuMemHostAlloc", "cuMemFreeHost", "cuEventCreate",
		"cuEventDestroy", "cuStreamCreate", "cuStreamCreateWithPriority",
		"cuStreamDestroy", "cuModuleLoadData", "cuModuleGetFunction", "cuStreamSynchronize",
	};
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	struct tcpx_queue *q[TCPX_FLOWS];
	uint64_t ticket;

	for (int f = 0; f < TCPX_FLOWS; f++)
		q[f] = rig_queue(r, f);
	fakecuda.fakecuda_reset();
	for (int i = 0; i < 100; i++) {
		int f = i % TCPX_FLOWS;

		rig_batch(r, f, 1, 60000, 40, true);
		ticket = start(r, q[f]);
		while (gpu->poll(q[f], ticket) == -EAGAIN)
			;
		rig_check(r, f);
	}
	for (size_t i = 0; i < ARRAY_LEN(makers); i++) {
		if (fakecuda.fakecuda_calls(makers[i]))
			fail_msg("%u calls of %s", fakecuda.fakecuda_calls(makers[i]), makers[i]);
	}
	for (int f = 0; f < TCPX_FLOWS; f++)
		gpu->queue_close(q[f]);
	rig_close(r);
}

TEST(one_way_a_batch_is_one_launch_and_nothing_else)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	struct tcpx_queue *q = rig_queue(r, TCPX_FLOW_UNPACK);
	unsigned context_calls;

	rig_batch(r, TCPX_FLOW_UNPACK, 4096, 4096, 256, true);
	fakecuda.fakecuda_reset();
	(void)start(r, q);
	context_calls = fakecuda.fakecuda_calls("cuCtxPushCurrent") +
			fakecuda.fakecuda_calls("cuCtxPopCurrent");
	assert_int_equal(fakecuda.fakecuda_calls("cuLaunchKernel"), 1);
	assert_int_equal(fakecuda.fakecuda_calls_all() - context_calls, 1);
	gpu->queue_close(q);
	rig_close(r);
}

TEST(while_the_gpu_packs_the_engine_unpacks)
{
	const unsigned rounds = TCPX_QUEUE_BOUNCE / (256 * 4096) + 2;
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	struct tcpx_queue *pack = rig_queue(r, TCPX_FLOW_PACK);
	struct tcpx_queue *unpack = rig_queue(r, TCPX_FLOW_UNPACK);

	rig_single(r, TCPX_FLOW_PACK, 1 << 20);
	copy_and_check(r, pack, TCPX_FLOW_PACK);
	fakecuda.fakecuda_reset();
	r->now_ns += TCPX_MS;
	rig_single(r, TCPX_FLOW_UNPACK, 1 << 20); /* whole: straight into place */
	copy_and_check(r, unpack, TCPX_FLOW_UNPACK);
	assert_int_equal(fakecuda.fakecuda_calls("cuLaunchKernel"), 0);
	assert_int_equal(fakecuda.fakecuda_calls("cuMemcpyAsync"), 1);
	/* scattered: over the bounce memory, which all of these are too much for */
	for (unsigned i = 1; i <= rounds; i++) {
		rig_batch(r, TCPX_FLOW_UNPACK, 4096, 4096, 256, true);
		copy_and_check(r, unpack, TCPX_FLOW_UNPACK);
		assert_int_equal(fakecuda.fakecuda_calls("cuLaunchKernel"), i);
		assert_int_equal(fakecuda.fakecuda_calls("cuMemcpyAsync"), 1 + i);
	}
	r->now_ns += 10 * TCPX_MS; /* the packing is over */
	rig_batch(r, TCPX_FLOW_UNPACK, 4096, 4096, 256, true);
	copy_and_check(r, unpack, TCPX_FLOW_UNPACK);
	assert_int_equal(fakecuda.fakecuda_calls("cuLaunchKernel"), rounds + 1);
	assert_int_equal(fakecuda.fakecuda_calls("cuMemcpyAsync"), rounds + 1);
	gpu->queue_close(pack);
	gpu->queue_close(unpack);
	rig_close(r);
}

/* More than the bounce memory holds, again and again, while the device is late. */
TEST(bounce_memory_is_not_used_twice_at_once)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	struct tcpx_queue *pack = rig_queue(r, TCPX_FLOW_PACK);
	struct tcpx_queue *unpack = rig_queue(r, TCPX_FLOW_UNPACK);
	uint64_t ticket = 0;

	rig_single(r, TCPX_FLOW_PACK, 1 << 20);
	copy_and_check(r, pack, TCPX_FLOW_PACK);
	fakecuda.fakecuda_delay_us(200);
	rig_batch(r, TCPX_FLOW_UNPACK, 2000, 4096, 1024, true);
	memcpy(r->list + 1024, r->list, 1024 * sizeof(*r->list));
	for (int i = 0; i < 12; i++) { /* what a place holds now it did not hold before */
		memset(r->user, 0xee, USER_BYTES);
		r->now_ns++;
		for (int part = 0; part < 4; part++)
			assert_int_equal(gpu->copy(unpack, r->list + i * 80 + part * 256, 256,
						   &ticket), 0);
		assert_int_equal(gpu->finish(unpack, ticket, UINT64_MAX), 0);
		rig_check(r, TCPX_FLOW_UNPACK);
	}
	gpu->queue_close(pack);
	gpu->queue_close(unpack);
	rig_close(r);
}
