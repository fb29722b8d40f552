/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives in GPU memory and sends from the host's, over a GPU in software.
 * Usage: nccl_gpu PLUGIN DRIVER
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "device/cuda_api.h"
#include "net/plugin/plug.h"
#include "pair.h"

enum { VERSION = 11, ROOM = 4 << 20 };

static const char *plugin, *driver;
static const size_t size_of[] = { 0, 1, 8, 4097, 65536, 1000000, ROOM };

static uint8_t
byte_at(size_t message, size_t i)
{
	return (uint8_t)(i * 7 + i / 251 + message);
}

/* GPU memory as an application has it; 0: none. */
static CUdeviceptr
gpu_memory(struct tcpx_cuda_api *cuda)
{
	CUcontext context;
	CUdevice device;
	CUdeviceptr at = 0;

	if (tcpx_cuda_api_load(driver, cuda) || cuda->cuInit(0) || cuda->cuDeviceGet(&device, 0) ||
	    cuda->cuDevicePrimaryCtxRetain(&context, device) || cuda->cuCtxPushCurrent(context) ||
	    cuda->cuMemAlloc(&at, ROOM))
		return 0;
	return at;
}

static int
finish(struct player *p, void *request)
{
	int done = 0, size = -1;

	while (!done)
		if (p->abi->test(p->table, request, &done, &size))
			return -1;
	return size;
}

static int
play_sender(struct rank *r, void *comm)
{
	static uint8_t memory[ROOM];
	struct player *p = &r->player;
	void *mhandle, *request = NULL;

	if (p->abi->reg(p->table, comm, memory, ROOM, NCCL_PTR_HOST, &mhandle))
		return 10;
	for (size_t k = 0; k < sizeof(size_of) / sizeof(size_of[0]); k++) {
		for (size_t i = 0; i < size_of[k]; i++)
			memory[i] = byte_at(k, i);
		if (p->abi->isend(p->table, comm, memory, size_of[k], 0, mhandle, &request) ||
		    finish(p, request) != (int)size_of[k])
			return 11;
	}
	return 0;
}

static int
play_receiver(struct rank *r, void *comm)
{
	static uint8_t got[ROOM];
	const struct nccl_net_v11 *table = r->player.table;
	struct player *p = &r->player;
	struct tcpx_cuda_api cuda;
	CUdeviceptr gpu = gpu_memory(&cuda);
	void *at = (void *)(uintptr_t)gpu, *mhandle, *request = NULL, *flush = &r;
	int size = ROOM;

	if (!gpu || p->abi->reg(p->table, comm, at, ROOM, NCCL_PTR_CUDA, &mhandle))
		return 20;
	for (size_t k = 0; k < sizeof(size_of) / sizeof(size_of[0]); k++) {
		if (p->abi->irecv(p->table, comm, at, ROOM, 0, mhandle, &request) ||
		    finish(p, request) != (int)size_of[k])
			return 21;
		if (table->iflush(comm, 1, &at, &size, &mhandle, &flush) || flush)
			return 22;
		if (size_of[k] && cuda.cuMemcpyDtoH(got, gpu, size_of[k]))
			return 23;
		for (size_t i = 0; i < size_of[k]; i++)
			if (got[i] != byte_at(k, i))
				return 24;
	}
	return 0;
}

static int
support(struct player *p)
{
	struct plug_facts facts;

	return p->abi->properties(p->table, 0, &facts) ? -1 : facts.ptr_support;
}

static int
play(struct rank *r)
{
	void *send, *recv;
	int rc;

	if (support(&r->player) != (NCCL_PTR_HOST | NCCL_PTR_CUDA))
		return 1;
	if (!pair_connect(r, &send, &recv, 1))
		return 2;
	rc = r->me ? play_receiver(r, recv) : play_sender(r, send);
	pair_meet(r);
	r->player.abi->close_send(r->player.table, send);
	r->player.abi->close_recv(r->player.table, recv);
	return rc;
}

static void
receives_in_gpu_memory_are_whole_and_visible(void **state)
{
	setenv("TCPX_CUDA_LIBRARY", driver, 1);
	assert_true(pair_run(plugin, VERSION, play, NULL));
}

static int
play_unasked(struct rank *r)
{
	static uint8_t memory[4096];
	struct player *p = &r->player;
	void *send, *recv, *mhandle;

	if (support(p) != NCCL_PTR_HOST || !pair_connect(r, &send, &recv, 1) ||
	    !p->abi->reg(p->table, recv, memory, sizeof(memory), NCCL_PTR_CUDA, &mhandle))
		return 1;
	pair_meet(r);
	p->abi->close_send(p->table, send);
	p->abi->close_recv(p->table, recv);
	return 0;
}

static void
no_gpu_memory_is_taken_unasked(void **state)
{
	unsetenv("TCPX_CUDA_LIBRARY");
	assert_true(pair_run(plugin, VERSION, play_unasked, NULL));
	setenv("TCPX_CUDA_LIBRARY", "none", 1);
	assert_true(pair_run(plugin, VERSION, play_unasked, NULL));
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(receives_in_gpu_memory_are_whole_and_visible),
		cmocka_unit_test(no_gpu_memory_is_taken_unasked),
	};

	if (argc < 3)
		return 2;
	plugin = argv[1];
	driver = argv[2];
	setenv("NCCL_SOCKET_IFNAME", "lo", 1);
	return cmocka_run_group_tests_name("nccl/gpu", tests, NULL, NULL);
}
