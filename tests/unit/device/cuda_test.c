/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU memory through the driver: its place, the order of events and copies, and the
 * caller's context, which never changes.
 */
#include "cuda_rig.h"

#include <errno.h>
#include <unistd.h>

#include "device/cuda.h"

#define PAGE 4096

TEST(without_a_driver_there_is_no_device)
{
	static const struct {
		const char *library;
		int rc;
	} cases[] = {
		{ NULL, -ENODEV }, /* this process has none of the usual name */
		{ "", -ENODEV },
		{ "/no/such/libcuda.so", -ENODEV },
		{ "libm.so.6", -EINVAL }, /* a library, but no driver */
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct tcpx_device_params params = { .library = cases[i].library,
						     .clock = &tcpx_clock_system };
		struct tcpx_device *dev = NULL;

		assert_int_equal(gpu->open(&params, &dev), cases[i].rc);
		assert_null(dev);
	}
}

TEST(memory_is_found_where_it_lies)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	uint64_t user = (uintptr_t)r->user, slots = (uintptr_t)r->slots;
	uint64_t heap = (uintptr_t)r;
	CUdeviceptr managed, whole, apart, other;
	CUcontext second;
	int place;

	assert_int_equal(r->cu.cuMemAlloc(&managed, PAGE), 0);
	fakecuda.fakecuda_managed(managed, true);
	assert_int_equal(r->cu.cuMemAlloc(&whole, 4 * PAGE), 0);
	fakecuda.fakecuda_split(whole, 2 * PAGE, 0);
	assert_int_equal(r->cu.cuMemAlloc(&apart, 4 * PAGE), 0);
	fakecuda.fakecuda_split(apart, 2 * PAGE, 1);
	assert_int_equal(r->cu.cuDevicePrimaryCtxRetain(&second, 1), 0);
	assert_int_equal(r->cu.cuCtxPushCurrent(second), 0);
	assert_int_equal(r->cu.cuMemAlloc(&other, PAGE), 0);
	assert_int_equal(r->cu.cuCtxPopCurrent(&second), 0);
	const struct {
		uint64_t addr, len;
		int rc, place;
	} cases[] = {
		{ user, USER_BYTES, 0, 0 },
		{ user + 100, 1, 0, 0 },
		{ user, 0, 0, 0 },
		{ other, PAGE, 0, 1 },
		{ slots, SLOTS_BYTES, 0, TCPX_ON_HOST },
		{ heap, sizeof(*r), 0, TCPX_ON_HOST },
		{ managed, PAGE, 0, TCPX_ON_HOST },
		{ whole, 4 * PAGE, 0, 0 }, /* two allocations side by side */
		{ whole + PAGE, 2 * PAGE, 0, 0 },
		{ apart, 2 * PAGE, 0, 0 },
		{ apart, 2 * PAGE + 1, -EINVAL, 0 }, /* into another GPU's */
		{ user, USER_BYTES + 1, -EINVAL, 0 }, /* past its end        */
		{ user - 1, 2, -EINVAL, 0 },	      /* begins before it    */
		{ user, UINT64_MAX, -EINVAL, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		place = 99;
		assert_int_equal(gpu->where(r->dev, cases[i].addr, cases[i].len, &place),
				 cases[i].rc);
		assert_int_equal(place, cases[i].rc ? 99 : cases[i].place);
	}
	assert_int_equal(r->cu.cuMemFree(managed), 0);
	assert_int_equal(r->cu.cuMemFree(whole), 0);
	assert_int_equal(r->cu.cuMemFree(whole + 2 * PAGE), 0);
	assert_int_equal(r->cu.cuMemFree(apart), 0);
	assert_int_equal(r->cu.cuMemFree(apart + 2 * PAGE), 0);
	assert_int_equal(r->cu.cuMemFree(other), 0);
	assert_int_equal(r->cu.cuDevicePrimaryCtxRelease(1), 0);
	rig_close(r);
}

TEST(pinned_memory_is_of_whole_pages_and_known_to_the_driver)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	void *mem = NULL, *none = NULL;
	CUcontext ours;

	assert_int_equal(r->cu.cuCtxPopCurrent(&ours), 0); /* a thread without any context */
	assert_int_equal(gpu->pinned(r->dev, 100000, &mem), 0);
	assert_int_equal((uintptr_t)mem % PAGE, 0);
	memset(mem, 1, 100000);
	fakecuda.fakecuda_fail("cuMemHostAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(gpu->pinned(r->dev, 100000, &none), -ENOMEM);
	assert_null(none);
	gpu->unpin(r->dev, mem);
	assert_int_equal(r->cu.cuCtxPushCurrent(ours), 0);
	rig_close(r);
}

/* Opening costs no context on GPUs that are not used; the one that is seen pays. */
TEST(only_gpus_in_use_are_retained)
{
	struct rig *r = rig_open_bare();
	unsigned before = fakecuda.fakecuda_live();
	CUdeviceptr other;
	CUcontext second;
	void *mem;
	int place;

	assert_int_equal(rig_device(r, TCPX_UNPACK_KERNEL), 0);
	assert_int_equal(fakecuda.fakecuda_live(), before);
	assert_int_equal(r->cu.cuDevicePrimaryCtxRetain(&second, 1), 0);
	assert_int_equal(r->cu.cuCtxPushCurrent(second), 0);
	assert_int_equal(r->cu.cuMemAlloc(&other, PAGE), 0);
	assert_int_equal(gpu->where(r->dev, other, PAGE, &place), 0);
	assert_int_equal(gpu->pinned(r->dev, PAGE, &mem), 0);
	assert_int_equal(fakecuda.fakecuda_retained(0), 1); /* by the application */
	assert_int_equal(fakecuda.fakecuda_retained(1), 2);
	gpu->unpin(r->dev, mem);
	gpu->close(r->dev);
	r->dev = NULL;
	assert_int_equal(r->cu.cuMemFree(other), 0);
	assert_int_equal(r->cu.cuCtxPopCurrent(&second), 0);
	assert_int_equal(r->cu.cuDevicePrimaryCtxRelease(1), 0);
	rig_close(r);
}

TEST(an_event_has_happened_when_the_stream_came_to_it)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	CUstream stream;
	CUevent event;
	int rc;

	assert_int_equal(r->cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), 0);
	assert_int_equal(r->cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), 0);
	fakecuda.fakecuda_hold(true);
	assert_int_equal(r->cu.cuEventRecord(event, stream), 0);
	assert_int_equal(gpu->event(r->dev, event), -EAGAIN);
	fakecuda.fakecuda_hold(false);
	while ((rc = gpu->event(r->dev, event)) == -EAGAIN)
		;
	assert_int_equal(rc, 0);
	fakecuda.fakecuda_fail("cuEventQuery", 1, CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(gpu->event(r->dev, event), -EINVAL);
	assert_int_equal(r->cu.cuEventDestroy(event), 0);
	assert_int_equal(r->cu.cuStreamDestroy(stream), 0);
	rig_close(r);
}

TEST(a_stream_waits_for_the_word)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	CUcontext ours;
	CUstream stream;
	uint64_t *word;
	void *mem;

	assert_int_equal(gpu->pinned(r->dev, PAGE, &mem), 0);
	word = mem;
	*word = 4;
	assert_int_equal(r->cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), 0);
	assert_int_equal(r->cu.cuCtxPopCurrent(&ours), 0); /* the stream knows its context */
	assert_int_equal(gpu->stream_wait(r->dev, stream, word, 5), 0);
	assert_int_equal(r->cu.cuCtxPushCurrent(ours), 0);
	rig_context_is_kept(r);
	assert_int_equal(r->cu.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	__atomic_store_n(word, 6, __ATOMIC_RELEASE);
	assert_int_equal(r->cu.cuStreamSynchronize(stream), 0);
	fakecuda.fakecuda_memops(false);
	assert_int_equal(gpu->stream_wait(r->dev, stream, word, 7), -ENOTSUP);
	assert_int_equal(r->cu.cuStreamDestroy(stream), 0);
	gpu->unpin(r->dev, mem);
	rig_close(r);
}

TEST(a_dma_buf_is_of_gpu_memory_only)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	int fd = -1;

	assert_int_equal(tcpx_cuda_dmabuf(r->dev, (uintptr_t)r->user, 2 * PAGE, &fd), 0);
	assert_true(fd >= 0);
	close(fd);
	fd = -7;
	assert_int_equal(tcpx_cuda_dmabuf(r->dev, (uintptr_t)r->slots, PAGE, &fd), -EINVAL);
	assert_int_equal(tcpx_cuda_dmabuf(r->dev, (uintptr_t)r->user + 8, PAGE, &fd), -EINVAL);
	assert_int_equal(fd, -7);
	rig_context_is_kept(r);
	rig_close(r);
}

TEST(peers_are_opened_once_and_again)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);

	assert_int_equal(tcpx_cuda_peer(r->dev, 0, 1), 0);
	fakecuda.fakecuda_fail("cuCtxEnablePeerAccess", 1,
			       CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	assert_int_equal(tcpx_cuda_peer(r->dev, 0, 1), 0);
	assert_int_equal(tcpx_cuda_peer(r->dev, 1, 1), 0);
	assert_int_equal(tcpx_cuda_peer(r->dev, 0, 2), -EINVAL); /* there are two */
	rig_context_is_kept(r);
	rig_close(r);
}

TEST(a_gpu_that_is_not_there_has_no_queue)
{
	static const int places[] = { TCPX_ON_HOST, 2, TCPX_GPUS_MAX, 1000 };
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	struct tcpx_queue *q = NULL;

	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		assert_int_equal(gpu->queue_open(r->dev, places[i], TCPX_FLOW_PACK, &q), -EINVAL);
	assert_null(q);
	rig_close(r);
}
