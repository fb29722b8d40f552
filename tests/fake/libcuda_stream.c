/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams of the software driver: lists of work that a thread carries out, each in order,
 * at its time. Completion words appear without a call.
 */
#include "fake/libcuda.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define POLL_NS 20000 /* a wait for a word, or for a time: how often to look */

/* ---- the thread ---------------------------------------------------------------------- */

/* Older work of another stream is in the same queue. */
static bool
behind(const struct CUstream_st *s)
{
	for (CUstream other = fake.streams; fake.queues && other; other = other->next) {
		if (other->head && other->context == s->context && other->queue == s->queue &&
		    other->head->order < s->head->order)
			return true;
	}
	return false;
}

static bool
ready(const struct CUstream_st *s, uint64_t now)
{
	const struct op *op = s->head;
	uint64_t from;

	if (!op || (fake.held && !fake.allowed) || fake.broken || behind(s))
		return false;
	switch (op->kind) {
	case OP_WAIT_EVENT:
		return op->event->done >= op->seq;
	case OP_WAIT_VALUE:
		return (int64_t)(__atomic_load_n((uint64_t *)(uintptr_t)op->dst,
						 __ATOMIC_ACQUIRE) - op->len) >= 0;
	case OP_RECORD:
	case OP_WRITE:
		return true;
	default:
		from = op->queued_ns > s->free_ns ? op->queued_ns : s->free_ns;
		return now >= from + fake.delay_ns;
	}
}

/* Clears whole pages by giving them back: reading finds zeros, and only what is used costs
 * memory. */
static void
set(char *dst, int byte, uint64_t len)
{
	uint64_t before = -(uintptr_t)dst % PAGE_BYTES, pages;

	if (byte || len < before + PAGE_BYTES) {
		memset(dst, byte, len);
		return;
	}
	pages = (len - before) / PAGE_BYTES * PAGE_BYTES;
	memset(dst, 0, before);
	if (madvise(dst + before, pages, MADV_DONTNEED))
		memset(dst + before, 0, pages);
	memset(dst + before + pages, 0, len - before - pages);
}

static void
carry_out(const struct op *op, uint64_t now)
{
	switch (op->kind) {
	case OP_COPY:
		if (fake_memory_good(op->src, op->len, false, "copy from") &&
		    fake_memory_good(op->dst, op->len, false, "copy to"))
			memcpy((void *)(uintptr_t)op->dst, (const void *)(uintptr_t)op->src,
			       op->len);
		break;
	case OP_SET:
		if (fake_memory_good(op->dst, op->len, true, "memset"))
			set((char *)(uintptr_t)op->dst, op->byte, op->len);
		break;
	case OP_KERNEL:
		fake_kernel_run(op);
		break;
	case OP_RECORD:
		op->event->done = op->seq;
		op->event->time_ns = now;
		break;
	case OP_WRITE:
		if (fake_memory_good(op->dst, sizeof(uint64_t), true, "write of a word"))
			__atomic_store_n((uint64_t *)(uintptr_t)op->dst, op->len,
					 __ATOMIC_RELEASE);
		break;
	default:
		break;
	}
}

/* One piece of work of any stream; false: there is none to do now. */
static bool
work(void)
{
	uint64_t now = fake_now_ns();

	for (CUstream s = fake.streams; s; s = s->next) {
		struct op *op = s->head;

		if (!ready(s, now))
			continue;
		carry_out(op, now);
		s->free_ns = now;
		if (fake.held)
			fake.allowed--;
		s->head = op->next;
		if (!s->head)
			s->tail = NULL;
		free(op);
		return true;
	}
	return false;
}

static bool
anything_queued(void)
{
	for (CUstream s = fake.streams; s; s = s->next) {
		if (s->head)
			return (!fake.held || fake.allowed) && !fake.broken;
	}
	return false;
}

static void *
worker(void *arg)
{
	struct timespec until;

	(void)arg;
	pthread_mutex_lock(&fake.lock);
	for (;;) {
		if (work()) {
			pthread_cond_broadcast(&fake.changed);
		} else if (!anything_queued()) {
			pthread_cond_wait(&fake.changed, &fake.lock);
		} else {
			clock_gettime(CLOCK_REALTIME, &until);
			until.tv_nsec += POLL_NS;
			if (until.tv_nsec >= 1000000000) {
				until.tv_nsec -= 1000000000;
				until.tv_sec++;
			}
			pthread_cond_timedwait(&fake.changed, &fake.lock, &until);
		}
	}
	return NULL;
}

void
fake_streams_start(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, worker, NULL) == 0)
		pthread_detach(thread);
}

/* ---- queueing ------------------------------------------------------------------------- */

static CUstream
make(CUcontext context)
{
	CUstream s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->context = context;
	if (fake.queues)
		s->queue = fake.streams_of[context->device]++ % fake.queues;
	s->next = fake.streams;
	fake.streams = s;
	return s;
}

/* The stream meant, or NULL after a mistake. */
static CUstream
stream_of(CUstream stream, bool any_context, const char *what)
{
	CUcontext context = fake_context(what);

	if (!context)
		return NULL;
	if (!stream) {
		if (!context->null_stream)
			context->null_stream = make(context);
		return context->null_stream;
	}
	if (!stream->live || (!any_context && stream->context != context)) {
		fake_mistake(0, "%s on a stream that is %s", what,
			     stream->live ? "of another context" : "destroyed");
		return NULL;
	}
	return stream;
}

CUresult
fake_queue(CUstream stream, const struct op *op)
{
	CUstream s = stream_of(stream, op->kind == OP_WAIT_EVENT, "work");
	struct op *o;

	if (!s)
		return CUDA_ERROR_INVALID_HANDLE;
	if (fake.broken)
		return fake.broken;
	o = malloc(sizeof(*o));
	if (!o)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*o = *op;
	o->next = NULL;
	o->queued_ns = fake_now_ns();
	o->order = ++fake.order;
	if (s->tail)
		s->tail->next = o;
	else
		s->head = o;
	s->tail = o;
	pthread_cond_broadcast(&fake.changed);
	return CUDA_SUCCESS;
}

CUresult
fake_queue_wait(CUstream stream)
{
	CUstream s = stream_of(stream, true, "synchronize");

	if (!s)
		return CUDA_ERROR_INVALID_HANDLE;
	while (s->head && !fake.broken)
		pthread_cond_wait(&fake.changed, &fake.lock);
	return fake.broken;
}

EXPORT CUresult
cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
	CUcontext context;
	CUstream s;

	(void)flags;
	(void)priority;
	ENTER(cuStreamCreateWithPriority);
	context = fake_context("cuStreamCreate");
	s = context ? make(context) : NULL;
	if (!s)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	s->live = true;
	*stream = s;
	LEAVE(CUDA_SUCCESS);
}

EXPORT CUresult
cuStreamCreate(CUstream *stream, unsigned flags)
{
	ENTER(cuStreamCreate);
	fake_leave(CUDA_SUCCESS);
	return cuStreamCreateWithPriority(stream, flags, 0);
}

EXPORT CUresult
cuStreamDestroy_v2(CUstream stream)
{
	ENTER(cuStreamDestroy);
	if (!stream || !stream->live || stream->head)
		LEAVE(fake_mistake(CUDA_ERROR_INVALID_HANDLE,
				   "cuStreamDestroy of a stream that is no more, or at work"));
	stream->live = false;
	LEAVE(CUDA_SUCCESS);
}

EXPORT CUresult
cuStreamQuery(CUstream stream)
{
	CUstream s;

	ENTER(cuStreamQuery);
	s = stream_of(stream, true, "cuStreamQuery");
	if (!s)
		LEAVE(CUDA_ERROR_INVALID_HANDLE);
	if (fake.broken)
		LEAVE(fake.broken);
	LEAVE(s->head ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
}

EXPORT CUresult
cuStreamSynchronize(CUstream stream)
{
	ENTER(cuStreamSynchronize);
	LEAVE(fake_queue_wait(stream));
}

EXPORT CUresult
cuStreamGetCtx(CUstream stream, CUcontext *context)
{
	ENTER(cuStreamGetCtx);
	if (stream && stream->live)
		*context = stream->context;
	else if (stream || !(*context = fake_context("cuStreamGetCtx")))
		LEAVE(fake_mistake(CUDA_ERROR_INVALID_HANDLE, "the context of no stream"));
	LEAVE(CUDA_SUCCESS);
}

EXPORT CUresult
cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	(void)flags;
	ENTER(cuStreamWaitEvent);
	if (!event || !event->live)
		LEAVE(fake_mistake(CUDA_ERROR_INVALID_HANDLE, "wait for no event"));
	LEAVE(fake_queue(stream, &(struct op){ .kind = OP_WAIT_EVENT, .event = event,
					       .seq = event->recorded }));
}

EXPORT CUresult
cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, uint64_t value, unsigned flags)
{
	ENTER(cuStreamWriteValue64);
	if (flags || !fake.memops || addr % 8)
		LEAVE(CUDA_ERROR_NOT_SUPPORTED);
	LEAVE(fake_queue(stream, &(struct op){ .kind = OP_WRITE, .dst = addr, .len = value }));
}

EXPORT CUresult
cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, uint64_t value, unsigned flags)
{
	ENTER(cuStreamWaitValue64);
	if (flags != CU_STREAM_WAIT_VALUE_GEQ || !fake.memops || addr % 8 ||
	    !fake_memory_good(addr, 8, true, "wait for a word"))
		LEAVE(CUDA_ERROR_NOT_SUPPORTED);
	LEAVE(fake_queue(stream,
			 &(struct op){ .kind = OP_WAIT_VALUE, .dst = addr, .len = value }));
}

/* ---- events ----------------------------------------------------------------------------- */

EXPORT CUresult
cuEventCreate(CUevent *event, unsigned flags)
{
	CUevent e;

	(void)flags;
	ENTER(cuEventCreate);
	e = fake_context("cuEventCreate") ? calloc(1, sizeof(*e)) : NULL;
	if (!e)
		LEAVE(CUDA_ERROR_OUT_OF_MEMORY);
	e->live = true;
	e->next = fake.events;
	fake.events = e;
	*event = e;
	LEAVE(CUDA_SUCCESS);
}

EXPORT CUresult
cuEventDestroy_v2(CUevent event)
{
	ENTER(cuEventDestroy);
	if (!event || !event->live)
		LEAVE(fake_mistake(CUDA_ERROR_INVALID_HANDLE, "cuEventDestroy of no event"));
	event->live = false;
	LEAVE(CUDA_SUCCESS);
}

EXPORT CUresult
cuEventRecord(CUevent event, CUstream stream)
{
	ENTER(cuEventRecord);
	if (!event || !event->live)
		LEAVE(fake_mistake(CUDA_ERROR_INVALID_HANDLE, "cuEventRecord of no event"));
	LEAVE(fake_queue(stream, &(struct op){ .kind = OP_RECORD, .event = event,
					       .seq = ++event->recorded }));
}

EXPORT CUresult
cuEventQuery(CUevent event)
{
	ENTER(cuEventQuery);
	if (!event || !event->live)
		LEAVE(fake_mistake(CUDA_ERROR_INVALID_HANDLE, "cuEventQuery of no event"));
	if (fake.broken)
		LEAVE(fake.broken);
	LEAVE(event->done < event->recorded ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
}

EXPORT CUresult
cuEventSynchronize(CUevent event)
{
	ENTER(cuEventSynchronize);
	while (event->done < event->recorded && !fake.broken)
		pthread_cond_wait(&fake.changed, &fake.lock);
	LEAVE(fake.broken);
}

EXPORT CUresult
cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	ENTER(cuEventElapsedTime);
	*ms = (float)(end->time_ns - start->time_ns) / 1e6f;
	LEAVE(CUDA_SUCCESS);
}
