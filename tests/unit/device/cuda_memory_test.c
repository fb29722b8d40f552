/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for others' buffers on a GPU, host memory that GPUs reach, and the current context
 * while foreign code runs.
 */
#include "cuda_rig.h"

#include <errno.h>

#define PAGE 4096

/* NICs beside a GPU are found in sysfs by its name, which has small letters. */
TEST(gpus_are_named_as_the_kernel_names_them)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	char pci[4][TCPX_PCI_TEXT];
	uint32_t count = 0;

	assert_int_equal(gpu->list(r->dev, pci, 4, &count), 0);
	assert_int_equal(count, 2);
	assert_string_equal(pci[0], "0000:1a:00.0");
	assert_string_equal(pci[1], "0000:1b:00.0");
	assert_int_equal(gpu->list(r->dev, pci, 1, &count), 0);
	assert_int_equal(count, 1);
	fakecuda.fakecuda_fail("cuDeviceGetPCIBusId", 2, CUDA_ERROR_LAUNCH_FAILED);
	assert_int_equal(gpu->list(r->dev, pci, 4, &count), -EIO);
	rig_close(r);
}

TEST(slots_are_pages_zeroed_and_given_back)
{
	static const size_t sizes[] = { 1, PAGE, 3u << 20 };
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	uint8_t zero[PAGE] = { 0 };
	void *mem;

	for (int place = 0; place < 2; place++) {
		for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
			assert_int_equal(gpu->alloc(r->dev, place, sizes[i], &mem), 0);
			assert_int_equal((uintptr_t)mem % PAGE, 0);
			assert_memory_equal(mem, zero, sizes[i] < PAGE ? sizes[i] : PAGE);
			gpu->free(r->dev, place, mem);
		}
	}
	gpu->free(r->dev, 0, NULL);
	rig_context_is_kept(r);
	rig_close(r);
}

TEST(no_memory_is_an_error_and_nothing_stays)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	void *mem = r;

	fakecuda.fakecuda_fail("cuMemAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(gpu->alloc(r->dev, 0, PAGE, &mem), -ENOMEM);
	fakecuda.fakecuda_fail("cuMemsetD8", 1, CUDA_ERROR_LAUNCH_FAILED);
	assert_true(gpu->alloc(r->dev, 0, PAGE, &mem) < 0);
	assert_ptr_equal(mem, r);
	rig_close(r);
}

TEST(a_gpu_is_current_between_enter_and_leave)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	CUcontext now = NULL, other;

	assert_int_equal(r->cu.cuDevicePrimaryCtxRetain(&other, 1), 0);
	assert_int_equal(gpu->enter(r->dev, 1), 0);
	assert_int_equal(r->cu.cuCtxGetCurrent(&now), 0);
	assert_ptr_equal(now, other);
	gpu->leave(r->dev, 1);
	assert_int_equal(r->cu.cuDevicePrimaryCtxRelease(1), 0);
	rig_context_is_kept(r);
	rig_close(r);
}

TEST(what_a_gpu_holds_can_be_read)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	uint8_t got[24];

	for (size_t i = 0; i < sizeof(got); i++)
		r->user[i] = (uint8_t)(i * 7);
	assert_int_equal(gpu->read(r->dev, 0, got, (uintptr_t)r->user, sizeof(got)), 0);
	assert_memory_equal(got, r->user, sizeof(got));
	fakecuda.fakecuda_fail("cuMemcpyDtoH", 1, CUDA_ERROR_LAUNCH_FAILED);
	assert_int_equal(gpu->read(r->dev, 0, got, (uintptr_t)r->user, sizeof(got)), -EIO);
	rig_close(r);
}

TEST(host_memory_is_locked_once)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);
	uint8_t *mem = malloc(3 * PAGE);

	assert_int_equal(gpu->lock(r->dev, mem, 3 * PAGE), 0);
	assert_int_equal(gpu->lock(r->dev, mem, PAGE), 1);
	gpu->unlock(r->dev, mem);
	assert_int_equal(gpu->lock(r->dev, mem, PAGE), 0);
	gpu->unlock(r->dev, mem);
	fakecuda.fakecuda_fail("cuMemHostRegister", 1, CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(gpu->lock(r->dev, mem, PAGE), -ENOMEM);
	free(mem);
	rig_close(r);
}

TEST(gpus_reach_each_other)
{
	struct rig *r = rig_open(TCPX_UNPACK_KERNEL);

	assert_int_equal(gpu->reach(r->dev, 0, 1), 0);
	assert_int_equal(gpu->reach(r->dev, 0, 1), 0);
	assert_int_equal(gpu->reach(r->dev, 1, 1), 0);
	assert_true(gpu->reach(r->dev, 0, 9) < 0);
	rig_close(r);
}
