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
	X(cuDevicePrimaryCtxRelease_v2, (int device))                                      \
	X(cuCtxPushCurrent_v2, (void *context))                                            \
	X(cuCtxPopCurrent_v2, (void **context))                                            \
	X(cuMemAlloc_v2, (uint64_t *addr, size_t len))                                     \
	X(cuMemFree_v2, (uint64_t addr))                                                   \
	X(cuMemsetD8Async, (uint64_t addr, unsigned char byte, size_t len, void *stream))  \
	X(cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t len))                          \
	X(cuStreamCreate, (void **stream, unsigned flags))                                 \
	X(cuStreamDestroy_v2, (void *stream))                                              \
	X(cuStreamSynchronize, (void *stream))                                             \
	X(cuEventCreate, (void **event, unsigned flags))                                   \
	X(cuEventDestroy_v2, (void *event))                                                \
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

struct gpu {
	void *context, *stream, *event;
	uint64_t source, target; /* memory on it */
};

static int
cuda_failed(int result, const char *call)
{
	fprintf(stderr, "%s: CUDA error %d\n", call, result);
	return 1;
}

#define CU(call) do { int rc_ = (call); if (rc_) return cuda_failed(rc_, #call); } while (0)

static int
open_gpu(struct gpu *g)
{
	CU(cuDevicePrimaryCtxRetain(&g->context, 0));
	CU(cuCtxPushCurrent_v2(g->context));
	CU(cuMemAlloc_v2(&g->source, LEN));
	CU(cuMemAlloc_v2(&g->target, LEN));
	CU(cuStreamCreate(&g->stream, 0));
	CU(cuEventCreate(&g->event, 0));
	return 0;
}

/* Peers could write to the memory as long as it was a region. The engines are closed now. */
static void
close_gpu(struct gpu *g)
{
	if (g->event)
		cuEventDestroy_v2(g->event);
	if (g->stream)
		cuStreamDestroy_v2(g->stream);
	if (g->target)
		cuMemFree_v2(g->target);
	if (g->source)
		cuMemFree_v2(g->source);
	if (g->context) {
		cuCtxPopCurrent_v2(&g->context);
		cuDevicePrimaryCtxRelease_v2(0);
	}
}

static int
open_sides(struct side *sender, struct side *receiver, const struct gpu *g)
{
	struct invitation inv;

	if (open_engine(receiver, "receiver") || open_engine(sender, "sender"))
		return 1;
	DO(tcpx_mem_register(receiver->engine, (void *)(uintptr_t)g->target, LEN,
			     TCPX_MEM_REMOTE_WRITE, &receiver->mine));
	DO(tcpx_mem_register(sender->engine, (void *)(uintptr_t)g->source, LEN, TCPX_MEM_LOCAL,
			     &sender->mine));
	return invite(receiver, &inv) || accept_invitation(sender, &inv);
}

/* A prepared transfer can be posted again for every result. */
static int
prepare(struct side *s)
{
	struct tcpx_desc from = { s->mine, 0, LEN }, to = { s->theirs, 0, LEN };

	DO(tcpx_list_prepare(s->engine, &from, 1, &s->local));
	DO(tcpx_list_prepare(s->engine, &to, 1, &s->remote));
	DO(tcpx_xfer_prepare(s->peer, TCPX_OP_WRITE, s->local, s->remote, &s->xfer));
	return 0;
}

static int
send_result(struct side *s, const struct gpu *g)
{
	/* the stream computes it; the transfer reads it only after that */
	CU(cuMemsetD8Async(g->source, RESULT, LEN, g->stream));
	CU(cuEventRecord(g->event, g->stream));
	DO(tcpx_xfer_post_after(s->xfer, g->event, "done", 4));

	/* the stream may reuse the memory only after the transfer's end, however it ends */
	DO(tcpx_xfer_stream_wait(s->xfer, g->stream));
	CU(cuMemsetD8Async(g->source, 0, LEN, g->stream));
	CU(cuStreamSynchronize(g->stream)); /* from here on the transfer may be freed */

	DO(tcpx_wait(s->xfer, 30000)); /* every byte is in place at the peer */
	return 0;
}

/* The note comes after the last byte, which every stream can then see. */
static int
take_result(struct side *s, const struct gpu *g)
{
	size_t right = 0;

	DO(tcpx_note_wait(s->engine, 60000, &s->note));
	s->memory = calloc(1, LEN);
	CU(cuMemcpyDtoH_v2(s->memory, g->target, LEN));
	while (right < LEN && s->memory[right] == RESULT)
		right++;
	printf("%zu of %u bytes are right\n", right, LEN);
	return right < LEN;
}

int
main(void)
{
	struct side sender = { 0 }, receiver = { 0 };
	struct gpu gpu = { 0 };
	int rc;

	if (find_driver() != 0) {
		printf("no GPU driver here\n");
		return 77;
	}
	rc = open_gpu(&gpu) || open_sides(&sender, &receiver, &gpu) || prepare(&sender) ||
	     send_result(&sender, &gpu) || take_result(&receiver, &gpu);
	give_back(&sender);
	give_back(&receiver);
	close_gpu(&gpu);
	return rc;
}
