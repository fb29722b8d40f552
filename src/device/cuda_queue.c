/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue: open, close and completion. The GPU writes a completion word into host memory, so a
 * poll costs one load. The driver is queried only now and then, for errors.
 */
#include "device/cuda_queue.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#define PAGE_BYTES    4096
#define LINE_BYTES    128 /* each word has its own line */
#define MAPPED_BYTES  (PAGE_BYTES + TCPX_QUEUE_PIECES * sizeof(struct tcpx_piece))
#define ARRIVED_BYTES 256 /* of which 4 are used: the bounce memory begins aligned */

/* A query of the driver costs 1.7 us, a load of the word nothing. So errors are noticed late. */
#define POLLS_A_QUERY 1000
/* Polls before a waiter sleeps between them; few batches take longer. */
#define FINISH_SPINS 2000
#define FINISH_NAP_NS 50000

/* ---- open and close ---------------------------------------------------------------- */

/* Memory is cleared on the queue's stream: the default stream may wait for the caller's. */
static CUresult
make_memory(struct tcpx_queue *q)
{
	const struct tcpx_cuda_api *cu = q->gpu->cu;
	size_t size = ARRIVED_BYTES + (q->flow == TCPX_FLOW_UNPACK ? TCPX_QUEUE_BOUNCE : 0);
	CUresult result;

	result = cu->cuMemHostAlloc(&q->mapped, MAPPED_BYTES,
				    CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
	if (result != CUDA_SUCCESS)
		return result;
	q->word = q->mapped;
	atomic_init(q->word, 0);
	q->copier_word = (_Atomic uint64_t *)((char *)q->mapped + LINE_BYTES);
	atomic_init(q->copier_word, 0);
	q->piece = (struct tcpx_piece *)((char *)q->mapped + PAGE_BYTES);
	q->pieces.size = TCPX_QUEUE_PIECES;
	if (q->gpu->impl == TCPX_UNPACK_NONE)
		size = ARRIVED_BYTES + TCPX_QUEUE_BOUNCE; /* the scratch place */
	else if (q->gpu->impl != TCPX_UNPACK_KERNEL)
		return CUDA_SUCCESS;
	result = cu->cuMemAlloc(&q->memory, size);
	if (result != CUDA_SUCCESS)
		return result;
	q->bounce = q->memory + ARRIVED_BYTES;
	q->bounces.size = size - ARRIVED_BYTES;
	result = cu->cuMemsetD8Async(q->memory, 0, ARRIVED_BYTES, q->stream);
	return result == CUDA_SUCCESS ? cu->cuStreamSynchronize(q->stream) : result;
}

static CUresult
make_events(struct tcpx_queue *q)
{
	CUresult result = CUDA_SUCCESS;

	if (q->gpu->memops)
		return CUDA_SUCCESS;
	q->event = calloc(TCPX_QUEUE_BATCHES, sizeof(*q->event));
	if (!q->event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (int i = 0; i < TCPX_QUEUE_BATCHES && result == CUDA_SUCCESS; i++)
		result = q->gpu->cu->cuEventCreate(&q->event[i], CU_EVENT_DISABLE_TIMING);
	return result;
}

static CUresult
make_streams(struct tcpx_queue *q)
{
	CUresult result = tcpx_gpu_stream(q->gpu, &q->stream);

	if (result == CUDA_SUCCESS)
		result = tcpx_gpu_copier(q->dev, q->gpu, q->flow, &q->copier);
	if (q->gpu->impl != TCPX_UNPACK_KERNEL)
		return result;
	if (result == CUDA_SUCCESS && q->flow == TCPX_FLOW_UNPACK)
		result = tcpx_gpu_stream(q->gpu, &q->engine);
	if (result == CUDA_SUCCESS)
		result = q->gpu->cu->cuEventCreate(&q->crossed, CU_EVENT_DISABLE_TIMING);
	return result;
}

static CUresult
make(struct tcpx_queue *q)
{
	CUresult result = make_streams(q);

	if (result == CUDA_SUCCESS)
		result = make_events(q);
	return result == CUDA_SUCCESS ? make_memory(q) : result;
}

/* No work may run in memory that is freed. A failed GPU runs none. */
static void
make_idle(struct tcpx_queue *q)
{
	if (q->engine)
		(void)q->gpu->cu->cuStreamSynchronize(q->engine);
	if (q->stream)
		(void)q->gpu->cu->cuStreamSynchronize(q->stream);
	if (q->copier)
		(void)q->gpu->cu->cuStreamSynchronize(q->copier->stream);
}

static void
unmake(struct tcpx_queue *q)
{
	const struct tcpx_cuda_api *cu = q->gpu->cu;

	make_idle(q);
	if (q->memory)
		(void)cu->cuMemFree(q->memory);
	if (q->mapped)
		(void)cu->cuMemFreeHost(q->mapped);
	for (int i = 0; i < TCPX_QUEUE_BATCHES && q->event; i++) {
		if (q->event[i])
			(void)cu->cuEventDestroy(q->event[i]);
	}
	if (q->crossed)
		(void)cu->cuEventDestroy(q->crossed);
	if (q->engine)
		(void)cu->cuStreamDestroy(q->engine);
	if (q->stream)
		(void)cu->cuStreamDestroy(q->stream);
	free(q->event);
}

int
tcpx_cuda_queue_open(struct tcpx_device *dev, int place, enum tcpx_flow flow,
		     struct tcpx_queue **queue)
{
	struct tcpx_queue *q = calloc(1, sizeof(*q));
	CUresult result;
	int rc;

	if (!q)
		return tcpx_fail(TCPX_SUB_DEV, -ENOMEM, "a queue of GPU %d", place);
	q->dev = dev;
	q->flow = flow;
	rc = tcpx_gpu_get(dev, place, true, &q->gpu);
	if (rc == 0)
		rc = tcpx_gpu_enter(q->gpu);
	if (rc)
		goto free_queue;
	result = make(q);
	if (result != CUDA_SUCCESS) {
		rc = tcpx_cuda_fail(&dev->cu, result, "a queue of GPU %d", place);
		unmake(q);
	}
	tcpx_gpu_leave(q->gpu);
	if (rc)
		goto free_queue;
	*queue = q;
	return 0;

free_queue:
	free(q);
	return rc;
}

void
tcpx_cuda_queue_close(struct tcpx_queue *queue)
{
	if (tcpx_gpu_enter(queue->gpu) == 0) {
		(void)tcpx_cuda_queue_drain(queue);
		unmake(queue);
		tcpx_gpu_leave(queue->gpu);
	}
	free(queue);
}

/* ---- what is done ------------------------------------------------------------------ */

int
tcpx_cuda_queue_break(struct tcpx_queue *q, int code)
{
	if (q->broken)
		return q->broken;
	q->broken = code;
	make_idle(q); /* callers reuse their memory when they see this code */
	return code;
}

static void
free_room(struct tcpx_queue *q)
{
	const struct tcpx_batch *b = &q->batch[q->done % TCPX_QUEUE_BATCHES];

	tcpx_room_free(&q->pieces, b->pieces_end);
	tcpx_room_free(&q->bounces, b->bounce_end);
}

/* Queries the event of the oldest batch in flight. 0, or the code that broke the queue. */
static int
ask_event(struct tcpx_queue *q, bool *over)
{
	CUresult result;
	int rc;

	rc = tcpx_gpu_enter(q->gpu);
	if (rc)
		return q->broken = rc;
	result = q->gpu->cu->cuEventQuery(q->event[(q->done + 1) % TCPX_QUEUE_BATCHES]);
	*over = result == CUDA_SUCCESS;
	if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
		rc = tcpx_cuda_queue_break(q, tcpx_cuda_fail(q->gpu->cu, result,
				"batch %llu of GPU %d", (unsigned long long)q->done + 1,
				q->gpu->ordinal));
	tcpx_gpu_leave(q->gpu);
	return rc;
}

/* Whether the oldest batch in flight is done. Batches of the two streams end in any order; they
 * are reported in the order of their tickets. */
static int
ask(struct tcpx_queue *q, bool *over)
{
	uint64_t ticket = q->done + 1;

	switch (q->batch[ticket % TCPX_QUEUE_BATCHES].end) {
	case TCPX_END_WORD:
		*over = atomic_load_explicit(q->word, memory_order_acquire) >= ticket;
		return 0;
	case TCPX_END_COPIER:
		*over = atomic_load_explicit(q->copier_word, memory_order_acquire) >= ticket;
		return 0;
	case TCPX_END_EVENT:
		return ask_event(q, over);
	default:
		*over = true;
		return 0;
	}
}

/* The oldest batch in flight is done. Its room may be taken soon. */
static void
take(struct tcpx_queue *q)
{
	const struct tcpx_batch *b = &q->batch[++q->done % TCPX_QUEUE_BATCHES];

	if (b->sums)
		tcpx_launch_sum_join(b->part, b->parts, b->sums);
}

int
tcpx_cuda_queue_look(struct tcpx_queue *q)
{
	uint64_t before = q->done;
	bool over = true;
	int rc = 0;

	while (rc == 0 && over && q->done < q->tickets) {
		rc = ask(q, &over);
		if (rc == 0 && over)
			take(q);
	}
	if (q->done != before) {
		q->fruitless = 0;
		free_room(q);
	}
	return rc;
}

/* 0 if @result is a success; else breaks the queue and returns the code. */
static int
settle(struct tcpx_queue *q, CUresult result)
{
	if (result != CUDA_SUCCESS)
		return tcpx_cuda_queue_break(q, tcpx_cuda_fail(q->gpu->cu, result,
				"batch %llu of GPU %d", (unsigned long long)q->done + 1,
				q->gpu->ordinal));
	return 0;
}

int
tcpx_cuda_queue_drain(struct tcpx_queue *q)
{
	CUresult result = CUDA_SUCCESS;
	int rc;

	if (q->broken)
		return q->broken;
	if (q->engine)
		result = q->gpu->cu->cuStreamSynchronize(q->engine);
	if (result == CUDA_SUCCESS)
		result = q->gpu->cu->cuStreamSynchronize(q->stream);
	if (result == CUDA_SUCCESS && q->copier)
		result = q->gpu->cu->cuStreamSynchronize(q->copier->stream);
	rc = settle(q, result);
	if (rc)
		return rc;
	q->behind = false;
	return tcpx_cuda_queue_look(q);
}

/* Queries the driver for errors: a broken kernel never writes its ticket. */
static int
watch(struct tcpx_queue *q)
{
	CUresult result;
	bool copier;
	int rc;

	rc = tcpx_gpu_enter(q->gpu);
	if (rc)
		return q->broken = rc;
	copier = q->batch[(q->done + 1) % TCPX_QUEUE_BATCHES].copier;
	result = q->gpu->cu->cuStreamQuery(copier ? q->copier->stream : q->stream);
	if (result != CUDA_ERROR_NOT_READY) {
		rc = settle(q, result);
		if (rc == 0)
			rc = tcpx_cuda_queue_look(q);
		if (rc == 0 && q->done < q->tickets)
			rc = tcpx_cuda_queue_break(q, tcpx_fail(TCPX_SUB_DEV, -EIO,
				"GPU %d has nothing left to do, and batch %llu of %llu did not "
				"say that it is done", q->gpu->ordinal,
				(unsigned long long)q->done + 1,
				(unsigned long long)q->tickets));
	}
	tcpx_gpu_leave(q->gpu);
	return rc;
}

int
tcpx_cuda_queue_poll(struct tcpx_queue *q, uint64_t ticket)
{
	int rc;

	if (q->broken)
		return q->broken;
	if (ticket <= q->done)
		return 0;
	if (ticket > q->tickets)
		return tcpx_fail(TCPX_SUB_DEV, -EINVAL, "poll for batch %llu of %llu",
				 (unsigned long long)ticket, (unsigned long long)q->tickets);
	rc = tcpx_cuda_queue_look(q);
	if (rc == 0 && ticket > q->done && ++q->fruitless % POLLS_A_QUERY == 0)
		rc = watch(q);
	if (rc)
		return rc;
	return ticket <= q->done ? 0 : -EAGAIN;
}

/* The driver has no wait with an end. */
int
tcpx_cuda_queue_finish(struct tcpx_queue *q, uint64_t ticket, uint64_t wait_ns)
{
	const struct timespec nap = { .tv_nsec = FINISH_NAP_NS };
	int rc = tcpx_cuda_queue_poll(q, ticket);

	for (int i = 0; i < FINISH_SPINS && rc == -EAGAIN; i++) {
		if (i % 16 == 15)
			sched_yield();
		rc = tcpx_cuda_queue_poll(q, ticket);
	}
	while (rc == -EAGAIN) {
		rc = watch(q);
		if (rc == 0)
			rc = tcpx_cuda_queue_poll(q, ticket);
		if (rc != -EAGAIN || wait_ns < FINISH_NAP_NS)
			break;
		nanosleep(&nap, NULL);
		wait_ns -= FINISH_NAP_NS;
	}
	return rc;
}
