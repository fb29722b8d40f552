/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A real GPU that runs out of memory, hangs, and dies, with transfers of its memory in flight.
 * Those end with a cause within the stall deadline; transfers of host memory between the same engines
 * go on, every byte compared. The last test costs the process its GPU. 77 without a GPU.
 */
#include "rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/cuda_api.h"

#define AREA	 (64u << 20)
#define HOST	 (4u << 20)
#define PIECE	 4096u
#define PIECES	 (AREA / PIECE / 2)
#define POSTED	 6
#define STALL_MS 4000
#define LIMIT_S	 120 /* a deadlock ends here */
#define EXIT_SKIP 77

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry spin(.param .u64 flag)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<2>;\n"
	".reg .b64 %rd<2>;\nld.param.u64 %rd1, [flag];\n"
	"AGAIN: ld.volatile.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p1, %r1, 0;\n"
	"@%p1 bra AGAIN;\nret;\n}\n"
	".visible .entry die()\n{\ntrap;\nret;\n}\n";

struct bed {
	struct tcpx_cuda_api cu;
	CUcontext context;
	CUmodule module;
	CUstream stream;
	CUdeviceptr memory[2]; /* one an engine */
	uint32_t *flag;
	uint8_t *copy; /* AREA bytes of the host */
	tcpx_engine *e[2];
	tcpx_peer *to;
	struct mem gpu[2], host[2];
	struct tcpx_desc near[PIECES], far[PIECES];
};

static struct bed bed;

static uint64_t
now_ms(void)
{
	return tcpx_clock_now(&tcpx_clock_system) / TCPX_MS;
}

#define cuda_ok(call) assert_int_equal(bed.cu.call, CUDA_SUCCESS)

static CUfunction
kernel(const char *name)
{
	CUfunction f;

	cuda_ok(cuModuleGetFunction(&f, bed.module, name));
	return f;
}

static struct mem
lend_gpu(int i)
{
	struct mem m = { .at = (uint8_t *)(uintptr_t)bed.memory[i], .len = AREA };

	assert_ok(tcpx_mem_register(bed.e[i], m.at, m.len,
				    TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE, &m.id));
	return m;
}

/* Every second page, in one's order here and in the opposite one there: nothing to do for a copy
 * engine. */
static void
scatter(void)
{
	for (uint32_t i = 0; i < PIECES; i++) {
		bed.near[i] = (struct tcpx_desc){ bed.gpu[0].id, (uint64_t)i * 2 * PIECE, PIECE };
		bed.far[i] = (struct tcpx_desc){ bed.gpu[1].far,
						 (uint64_t)(PIECES - 1 - i) * 2 * PIECE, PIECE };
	}
}

static int
begin(void **state)
{
	static const char *const set[] = { "TCPX_STALL_MS=4000", "TCPX_CHANNELS=4",
					   "TCPX_CUDA_LIBRARY=" TCPX_CUDA_LIBRARY, NULL };

	(void)state;
	cuda_ok(cuDevicePrimaryCtxRetain(&bed.context, 0));
	cuda_ok(cuCtxPushCurrent(bed.context));
	cuda_ok(cuModuleLoadData(&bed.module, ptx));
	cuda_ok(cuStreamCreate(&bed.stream, CU_STREAM_NON_BLOCKING));
	cuda_ok(cuMemHostAlloc((void **)&bed.flag, PIECE, CU_MEMHOSTALLOC_DEVICEMAP));
	for (int i = 0; i < 2; i++)
		cuda_ok(cuMemAlloc(&bed.memory[i], AREA));
	bed.copy = malloc(AREA);
	assert_non_null(bed.copy);
	bed.e[0] = rig_open("anna", set);
	bed.e[1] = rig_open("bert", set);
	bed.to = rig_add(bed.e[0], bed.e[1]);
	assert_ok(tcpx_peer_wait(bed.to, WAIT_MS));
	for (int i = 0; i < 2; i++) {
		bed.gpu[i] = lend_gpu(i);
		mem_open(&bed.host[i], bed.e[i], HOST, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
	}
	bed.gpu[1].far = mem_tell(&bed.gpu[1], bed.e[1], bed.e[0]);
	bed.host[1].far = mem_tell(&bed.host[1], bed.e[1], bed.e[0]);
	scatter();
	return 0;
}

/* The GPU is dead by now, and what is its own cannot be given back. */
static int
end(void **state)
{
	(void)state;
	tcpx_peer_free(bed.to);
	for (int i = 0; i < 2; i++)
		tcpx_close(bed.e[i]);
	for (int i = 0; i < 2; i++)
		mem_close(&bed.host[i]);
	free(bed.copy);
	return 0;
}

static tcpx_xfer *
post_gpu(int i)
{
	tcpx_xfer *x;

	assert_ok(i & 1 ? tcpx_read(bed.to, bed.near, PIECES, bed.far, PIECES, NULL, 0, &x) :
			  tcpx_write(bed.to, bed.near, PIECES, bed.far, PIECES, NULL, 0, &x));
	return x;
}

static void
host_goes_on(uint32_t seed)
{
	struct tcpx_desc l = { bed.host[0].id, 0, HOST }, f = { bed.host[1].far, 0, HOST };
	tcpx_xfer *x;

	fill(bed.host[0].at, HOST, seed);
	assert_ok(tcpx_write(bed.to, &l, 1, &f, 1, NULL, 0, &x));
	assert_ok(finish(x));
	assert_filled(bed.host[1].at, HOST, seed);
}

/* One way over GPU memory, every byte compared. */
static void
gpu_is_right(uint32_t seed)
{
	fill(bed.copy, AREA, seed);
	cuda_ok(cuMemcpyHtoD(bed.memory[0], bed.copy, AREA));
	cuda_ok(cuMemsetD8(bed.memory[1], 0xa5, AREA));
	assert_ok(finish(post_gpu(0)));
	memset(bed.copy, 0, AREA);
	cuda_ok(cuMemcpyDtoH(bed.copy, bed.memory[1], AREA));
	for (uint32_t i = 0; i < AREA / PIECE; i++) {
		uint8_t want[PIECE], *whole = bed.copy + (size_t)i * PIECE;

		if (i & 1)
			memset(want, 0xa5, PIECE);
		else
			cuda_ok(cuMemcpyDtoH(want, bed.memory[0] +
						   (uint64_t)(PIECES - 1 - i / 2) * 2 * PIECE, PIECE));
		assert_memory_equal(whole, want, PIECE);
	}
}

TEST(a_full_gpu_still_moves_what_it_holds)
{
	CUdeviceptr taken[64] = { 0 };
	size_t left, total, part;
	int n = 0;

	for (part = (size_t)64 << 30; part >= 2u << 20 && n < 64;)
		if (bed.cu.cuMemAlloc(&taken[n], part) == CUDA_SUCCESS)
			n++;
		else
			part /= 2;
	assert_true(n > 0);
	if (bed.cu.cuMemGetInfo && bed.cu.cuMemGetInfo(&left, &total) == CUDA_SUCCESS)
		print_message("# %zu of %zu MiB of the GPU are free\n", left >> 20, total >> 20);
	gpu_is_right(11);
	host_goes_on(12);
	while (n)
		cuda_ok(cuMemFree(taken[--n]));
}

/* All of them; the codes that are right are 0 and -EIO. Returns how many failed. */
static unsigned
gather(tcpx_xfer **x, const char *what, uint64_t began_ms)
{
	unsigned failed = 0;
	char said[256] = "";

	for (int i = 0; i < POSTED; i++) {
		int rc = tcpx_wait(x[i], WAIT_MS);

		if (rc != 0)
			assert_code(rc, -EIO);
		failed += rc != 0;
		tcpx_xfer_free(x[i]);
	}
	tcpx_last_error(bed.e[0], said, sizeof(said));
	print_message("# %s: %u of %d transfers failed, the last ended after %llu ms: %s\n", what, failed,
		      POSTED, (unsigned long long)(now_ms() - began_ms), said);
	assert_true(now_ms() - began_ms < STALL_MS + 1000);
	return failed;
}

TEST(a_gpu_that_hangs_ends_its_transfers_only)
{
	tcpx_xfer *x[POSTED];
	CUdeviceptr flag = (CUdeviceptr)(uintptr_t)bed.flag;
	void *param[] = { &flag };
	uint64_t began_ms;
	int units;

	cuda_ok(cuDeviceGetAttribute(&units, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	*(volatile uint32_t *)bed.flag = 0;
	cuda_ok(cuLaunchKernel(kernel("spin"), (unsigned)units * 2, 1, 1, 1024, 1, 1, 0, bed.stream,
			       param, NULL));
	began_ms = now_ms();
	for (int i = 0; i < POSTED; i++)
		x[i] = post_gpu(i);
	host_goes_on(21);
	assert_true(gather(x, "hung", began_ms) > 0);
	host_goes_on(22);
	*(volatile uint32_t *)bed.flag = 1;
	cuda_ok(cuStreamSynchronize(bed.stream));
	/* what was given up may still be under way for a moment */
	for (int rc = -EIO; rc == -EIO && now_ms() - began_ms < 4 * STALL_MS;)
		rc = finish(post_gpu(0));
	gpu_is_right(23);
}

TEST(a_gpu_that_dies_ends_its_transfers_only)
{
	tcpx_xfer *x[POSTED];
	uint64_t began_ms = now_ms(), id;

	for (int i = 0; i < POSTED; i++)
		x[i] = post_gpu(i);
	cuda_ok(cuLaunchKernel(kernel("die"), 1, 1, 1, 1, 1, 1, 0, bed.stream, NULL, NULL));
	host_goes_on(31);
	assert_true(gather(x, "dead", began_ms) > 0);
	for (int i = 0; i < POSTED; i++)
		x[i] = post_gpu(i);
	assert_int_equal(gather(x, "dead for a while", now_ms()), POSTED);
	host_goes_on(32);
	assert_ok(tcpx_mem_register(bed.e[0], bed.copy, AREA, 0, &id));
	assert_ok(tcpx_mem_deregister(bed.e[0], id));
	for (int i = 0; i < 2; i++)
		assert_ok(tcpx_mem_deregister(bed.e[i], bed.gpu[i].id));
	host_goes_on(33);
}

int
main(void)
{
	alarm(LIMIT_S);
	if (tcpx_cuda_api_load(TCPX_CUDA_LIBRARY, &bed.cu) != 0) {
		puts("skipped: no GPU here");
		return EXIT_SKIP;
	}
	return run_cases(begin, end);
}
