/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU memory is registered and written like any other. New are streams: the transfer
 * starts when one stream has come far enough, and another goes on when the transfer has
 * ended. Both sides are in this process, on GPU 0. Without a GPU the program says so
 * and returns 77.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "example.h"

#define LEN    (8u << 20)
#define RESULT 42 /* the result of a kernel of yours, in every byte */

/* Your program would include <cuda.h>, or use CUDA's runtime. This one looks the driver up,
 * so that it builds without one; CUresult, CUdevice are int, handles void *. */
#define DRIVER(X)                                                                          \
	X(cuInit, (unsigned flags))                                                        \
	X(cuDevicePrimaryCtxRetain, (void **context, int device))                          \
	X(cuCtxPushCurrent_v2, (void *context))                                            \
	X(cuMemAlloc_v2, (uint64_t *addr, size_t len))                                     \
	X(cuMemsetD8Async, (uint64_t addr, unsigned char byte, size_t len, void *stream))  \
	X(cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t len))                          \
	X(cuStreamCreate, (void **stream, unsigned flags))                                 \
	X(cuStreamSynchronize, (void *stream))                                             \
	X(cuEventCreate, (void **event, unsigned flags))                                   \
	X(cuEventRecord, (void *event, void *stream))

#define DECLARE(name, params) static int (*name) params;
#define WANT(name, params) { #name, &name },
DRIVER(DECLARE)

static int
find_driver(void)
{
	const struct { const char *name; void *to; } wanted[] = { DRIVER(WANT) };
	const char *name = getenv("TCPX_CUDA_LIBRARY");
	void *driver = dlopen(name && *name ? name : "libcuda.so.1", RTLD_NOW);

	for (size_t i = 0; driver && i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		void *function = dlsym(driver, wanted[i].name);

		if (!function)
			return -1;
		memcpy(wanted[i].to, &function, sizeof(function));
	}
	return driver && cuInit(0) == 0 ? 0 : -1;
}

static void
cu(int result, const char *what)
{
	if (result == 0)
		return;
	fprintf(stderr, "%s: CUDA error %d\n", what, result);
	exit(1);
}

/* A prepared transfer can be posted again for every result. */
static void
send_result(const struct invitation *inv, uint64_t source, void *stream)
{
	tcpx_engine *engine = open_engine("sender");
	tcpx_list *local, *remote;
	uint64_t mine, theirs;
	tcpx_peer *peer;
	tcpx_xfer *xfer;
	void *event;

	must(tcpx_mem_register(engine, (void *)(uintptr_t)source, LEN, TCPX_MEM_LOCAL, &mine),
	     "tcpx_mem_register");
	must(tcpx_mem_import(engine, inv->region, inv->region_len, &theirs), "tcpx_mem_import");
	must(tcpx_peer_add(engine, inv->engine, inv->engine_len, &peer), "tcpx_peer_add");

	struct tcpx_desc from = { mine, 0, LEN }, to = { theirs, 0, LEN };

	must(tcpx_list_prepare(engine, &from, 1, &local), "tcpx_list_prepare");
	must(tcpx_list_prepare(engine, &to, 1, &remote), "tcpx_list_prepare");
	must(tcpx_xfer_prepare(peer, TCPX_OP_WRITE, local, remote, &xfer), "tcpx_xfer_prepare");

	/* the stream computes it; the transfer reads it only after that */
	cu(cuMemsetD8Async(source, RESULT, LEN, stream), "cuMemsetD8Async");
	cu(cuEventCreate(&event, 0), "cuEventCreate");
	cu(cuEventRecord(event, stream), "cuEventRecord");
	must(tcpx_xfer_post_after(xfer, event, "done", 4), "tcpx_xfer_post_after");

	/* the stream may reuse the memory only after the transfer's end */
	must(tcpx_xfer_stream_wait(xfer, stream), "tcpx_xfer_stream_wait");
	cu(cuMemsetD8Async(source, 0, LEN, stream), "cuMemsetD8Async");

	must(tcpx_wait(xfer, 30000), "tcpx_wait"); /* every byte is in place at the peer */
	cu(cuStreamSynchronize(stream), "cuStreamSynchronize"); /* it no longer waits for xfer */
	tcpx_xfer_free(xfer);
	tcpx_list_free(local);
	tcpx_list_free(remote);
	tcpx_peer_free(peer);
	tcpx_close(engine);
}

int
main(void)
{
	uint64_t source, target, region;
	struct invitation inv;
	void *context, *stream;
	unsigned char *seen;
	tcpx_engine *engine;
	tcpx_note *note;
	size_t right = 0;

	if (find_driver() != 0) {
		printf("no GPU driver here\n");
		return 77;
	}
	cu(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
	cu(cuCtxPushCurrent_v2(context), "cuCtxPushCurrent");
	cu(cuMemAlloc_v2(&source, LEN), "cuMemAlloc");
	cu(cuMemAlloc_v2(&target, LEN), "cuMemAlloc");
	cu(cuStreamCreate(&stream, 0), "cuStreamCreate");

	engine = open_engine("receiver");
	must(tcpx_mem_register(engine, (void *)(uintptr_t)target, LEN, TCPX_MEM_REMOTE_WRITE,
			       &region), "tcpx_mem_register");
	inv = invite(engine, region);
	send_result(&inv, source, stream);

	/* the note comes after the last byte, which every stream can then see */
	must(tcpx_note_wait(engine, 60000, &note), "tcpx_note_wait");
	tcpx_note_free(note);
	seen = calloc(1, LEN);
	cu(cuMemcpyDtoH_v2(seen, target, LEN), "cuMemcpyDtoH");
	while (right < LEN && seen[right] == RESULT)
		right++;
	printf("%zu of %u bytes are right\n", right, LEN);
	tcpx_close(engine);
	free(seen);
	return right == LEN ? 0 : 1; /* the driver releases its own resources */
}
