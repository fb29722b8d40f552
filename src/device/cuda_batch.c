/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting one batch: its copies by the route of route.h, then a signal of completion at the end
 * of the stream. A failure after the first driver call breaks the queue.
 */
#include <errno.h>

#include "device/cuda_queue.h"
#include "device/route.h"

static int
failed(struct tcpx_queue *q, CUresult result, const char *what)
{
	return tcpx_cuda_fail(q->gpu->cu, result, "%s on GPU %d", what, q->gpu->ordinal);
}

static int
copy_one(struct tcpx_queue *q, CUstream stream, uint64_t dst, uint64_t src, uint64_t len)
{
	CUresult result = q->gpu->cu->cuMemcpyAsync(dst, src, len, stream);

	return result == CUDA_SUCCESS ? 0 : failed(q, result, "a driver copy");
}

/* One driver copy for each piece, synchronous or not. */
static int
copy_each(struct tcpx_queue *q, const struct tcpx_copy *list, size_t count, bool wait)
{
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++) {
		if (!list[i].len)
			continue;
		rc = copy_one(q, q->stream, list[i].dst, list[i].src, list[i].len);
		if (rc == 0 && wait) {
			CUresult result = q->gpu->cu->cuStreamSynchronize(q->stream);

			if (result != CUDA_SUCCESS)
				rc = failed(q, result, "a driver copy");
		}
	}
	return rc;
}

/* Every byte crosses the bus, to or from the scratch place, one copy for each run of the staging
 * side. Nothing is scattered or gathered. */
static int
cross_only(struct tcpx_queue *q, CUstream stream, const struct tcpx_copy *list, size_t count)
{
	bool packs = q->flow == TCPX_FLOW_PACK;
	uint64_t at, len;
	size_t i = 0;
	int rc = 0;

	while (i < count && rc == 0) {
		at = packs ? list[i].dst : list[i].src;
		len = list[i++].len;
		while (i < count && (packs ? list[i].dst : list[i].src) == at + len &&
		       len + list[i].len <= TCPX_QUEUE_BOUNCE)
			len += list[i++].len;
		for (; len && rc == 0; at += TCPX_QUEUE_BOUNCE) {
			uint64_t part = len < TCPX_QUEUE_BOUNCE ? len : TCPX_QUEUE_BOUNCE;

			rc = packs ? copy_one(q, stream, at, q->bounce, part) :
				     copy_one(q, stream, q->bounce, at, part);
			len -= part;
		}
	}
	return rc;
}

/* ---- kernels ----------------------------------------------------------------------- */

/* Later work of the stream waits for the copy engine. */
static int
join_engine(struct tcpx_queue *q)
{
	CUresult result;

	if (!q->behind)
		return 0;
	result = q->gpu->cu->cuEventRecord(q->crossed, q->engine);
	if (result == CUDA_SUCCESS)
		result = q->gpu->cu->cuStreamWaitEvent(q->stream, q->crossed, 0);
	if (result != CUDA_SUCCESS)
		return failed(q, result, "joining two streams");
	q->behind = false;
	return 0;
}

static int
launch(struct tcpx_queue *q, const struct tcpx_launch *l, struct tcpx_piece *piece,
       uint64_t ticket)
{
	CUdeviceptr piece_ptr = (uintptr_t)piece, arrived = q->memory;
	CUdeviceptr done = ticket ? (uintptr_t)q->word : 0;
	uint32_t pieces = l->pieces;
	void *params[] = { &piece_ptr, &pieces, &arrived, &done, &ticket };
	CUresult result;
	int rc;

	rc = join_engine(q);
	if (rc)
		return rc;
	result = q->gpu->cu->cuLaunchKernel(q->gpu->kernel[l->kernel], l->blocks, 1, 1,
					    l->threads, 1, 1, 0, q->stream, params, NULL);
	return result == CUDA_SUCCESS ? 0 : failed(q, result, "launching a copy kernel");
}

/* A batch being started. */
struct start {
	struct tcpx_queue *q;
	uint64_t ticket;
	bool copier; /* it is in the copier's stream                                        */
	bool ended;  /* the signal of completion is in the stream, after the batch          */
	enum tcpx_batch_end end;
};

/* The entries of a list whose pieces fit into the empty ring. */
static int
launch_part(struct start *s, const struct tcpx_copy *list, size_t count, size_t pieces,
	    bool last)
{
	struct tcpx_queue *q = s->q;
	struct tcpx_launch l;
	uint64_t at;
	int rc;

	if (!tcpx_room_take(&q->pieces, pieces, &at)) {
		rc = tcpx_cuda_queue_drain(q);
		if (rc)
			return rc;
		tcpx_room_free(&q->pieces, q->pieces.head);
		if (!tcpx_room_take(&q->pieces, pieces, &at))
			return tcpx_fail(TCPX_SUB_DEV, -ENOBUFS, "%zu pieces for a ring of %u",
					 pieces, TCPX_QUEUE_PIECES);
	}
	/* one side of every copy is a staging slot in host memory */
	rc = tcpx_launch_plan(list, count, true, q->gpu->sms, &q->piece[at], pieces, &l);
	if (rc == -ERANGE) {
		rc = join_engine(q);
		return rc ? rc : copy_each(q, list, count, false);
	}
	if (rc)
		return tcpx_fail(TCPX_SUB_DEV, rc, "cut %zu copies into %zu pieces", count,
				 pieces);
	rc = launch(q, &l, &q->piece[at], last ? s->ticket : 0);
	if (rc == 0 && last) {
		s->ended = true;
		s->end = TCPX_END_WORD;
	}
	return rc;
}

/* As many launches as the ring needs. Only the last signals completion: earlier work of the
 * stream is done by then. */
static int
launch_list(struct start *s, const struct tcpx_copy *list, size_t count, bool last)
{
	size_t pieces = tcpx_launch_pieces(list, count), n, more;
	int rc = 0;

	if (pieces <= TCPX_QUEUE_PIECES)
		return launch_part(s, list, count, pieces, last);
	while (count && rc == 0) {
		for (n = 0, pieces = 0; n < count; n++, pieces += more) {
			more = tcpx_launch_pieces(&list[n], 1);
			if (pieces + more > TCPX_QUEUE_PIECES)
				break;
		}
		if (n) {
			rc = launch_part(s, list, n, pieces, last && n == count);
		} else { /* too long for a launch: a copy engine is good at it */
			n = 1;
			rc = copy_each(s->q, list, n, false);
		}
		list += n;
		count -= n;
	}
	return rc;
}

/* ---- run by run -------------------------------------------------------------------- */

static int
rest_add(struct start *s, uint64_t src, const struct tcpx_copy *c)
{
	struct tcpx_queue *q = s->q;
	int rc = 0;

	if (q->rests == TCPX_QUEUE_RESTS) {
		rc = launch_list(s, q->rest, q->rests, false);
		q->rests = 0;
	}
	q->rest[q->rests++] = (struct tcpx_copy){ src, c->dst, c->len };
	return rc;
}

/* Bounce memory for a run, with the alignment of its source; 0: none is free. */
static CUdeviceptr
bounce_take(struct tcpx_queue *q, const struct tcpx_copy *list, uint64_t len)
{
	const uint64_t line = 128;
	uint64_t at;

	if (!tcpx_room_take(&q->bounces, (len + 2 * line - 1) & ~(line - 1), &at))
		return 0;
	return q->bounce + at + list->src % line;
}

static int
start_run(struct start *s, const struct tcpx_copy *list, const struct tcpx_route_run *run)
{
	struct tcpx_queue *q = s->q;
	CUdeviceptr to = list->dst;
	uint64_t src = list->src;
	int rc = 0;

	if (run->route == TCPX_ROUTE_BOUNCE)
		to = bounce_take(q, list, run->len);
	if (run->route != TCPX_ROUTE_KERNEL && to) {
		rc = copy_one(q, q->engine, to, src, run->len);
		q->behind = true;
	}
	if (run->route == TCPX_ROUTE_ENGINE)
		return rc;
	for (size_t i = 0; i < run->count && rc == 0; i++) {
		if (run->route == TCPX_ROUTE_BOUNCE && to)
			rc = rest_add(s, list[i].src - src + to, &list[i]);
		else
			rc = rest_add(s, list[i].src, &list[i]);
	}
	return rc;
}

static int
start_runs(struct start *s, const struct tcpx_copy *list, size_t count)
{
	struct tcpx_queue *q = s->q;
	struct tcpx_route_run run;
	int rc = 0;

	q->rests = 0;
	for (; count && rc == 0; list += run.count, count -= run.count) {
		run = tcpx_route_run(list, count);
		rc = start_run(s, list, &run);
	}
	if (rc == 0 && q->rests)
		rc = launch_list(s, q->rest, q->rests, true);
	return rc ? rc : join_engine(q);
}

/* ---- a batch ----------------------------------------------------------------------- */

/* The route of a batch, from the history of the flows, which it updates. */
static enum tcpx_route
choose(struct tcpx_queue *q, const struct tcpx_copy *list, size_t count, uint64_t bytes)
{
	uint64_t now = tcpx_clock_now(q->dev->clock), other;

	other = atomic_load_explicit(&q->gpu->busy_ns[!q->flow], memory_order_relaxed);
	if (bytes >= TCPX_ROUTE_BUSY_BYTES)
		atomic_store_explicit(&q->gpu->busy_ns[q->flow], now, memory_order_relaxed);
	return tcpx_route_batch(list, count, q->flow,
				other ? (now > other ? now - other : 0) : UINT64_MAX);
}

/* Makes the stream signal when its present work is done. */
static int
end_by_stream(struct start *s, CUstream stream)
{
	struct tcpx_queue *q = s->q;
	const struct tcpx_cuda_api *cu = q->gpu->cu;
	CUresult result;

	if (q->gpu->memops)
		result = cu->cuStreamWriteValue64(
			stream, (uintptr_t)(s->copier ? q->copier_word : q->word), s->ticket, 0);
	else
		result = cu->cuEventRecord(q->event[s->ticket % TCPX_QUEUE_BATCHES], stream);
	s->end = !q->gpu->memops ? TCPX_END_EVENT : s->copier ? TCPX_END_COPIER : TCPX_END_WORD;
	s->ended = true;
	return result == CUDA_SUCCESS ? 0 : failed(q, result, "marking the end of a batch");
}

/* Queues a batch of one copy, or one whose bytes only cross the bus, behind other queues'. */
static int
start_copier(struct start *s, const struct tcpx_copy *list, size_t count, uint64_t bytes)
{
	struct tcpx_copier *c = s->q->copier;
	int rc;

	s->copier = true;
	pthread_mutex_lock(&c->lock);
	if (s->q->gpu->impl == TCPX_UNPACK_NONE)
		rc = cross_only(s->q, c->stream, list, count);
	else
		rc = copy_one(s->q, c->stream, list->dst, list->src, bytes);
	if (rc == 0)
		rc = end_by_stream(s, c->stream);
	pthread_mutex_unlock(&c->lock);
	return rc;
}

static int
start_kernels(struct start *s, const struct tcpx_copy *list, size_t count, uint64_t bytes)
{
	switch (choose(s->q, list, count, bytes)) {
	case TCPX_ROUTE_ENGINE:
		return start_copier(s, list, count, bytes);
	case TCPX_ROUTE_RUNS:
		return start_runs(s, list, count);
	default:
		return launch_list(s, list, count, true);
	}
}

static int
start_batch(struct start *s, const struct tcpx_copy *list, size_t count, uint64_t bytes)
{
	int rc;

	switch (s->q->gpu->impl) {
	case TCPX_UNPACK_KERNEL:
		rc = start_kernels(s, list, count, bytes);
		break;
	case TCPX_UNPACK_D2D:
		rc = copy_each(s->q, list, count, false);
		break;
	case TCPX_UNPACK_HOST:
		s->end = TCPX_END_PRIOR;
		return copy_each(s->q, list, count, true);
	default:
		rc = start_copier(s, list, count, bytes);
		break;
	}
	return rc || s->ended ? rc : end_by_stream(s, s->q->stream);
}

/* Whether there is room for a batch. One that is larger than the ring waits on its way. */
static bool
has_room(struct tcpx_queue *q, const struct tcpx_copy *list, size_t count)
{
	size_t pieces = tcpx_launch_pieces(list, count);
	struct tcpx_room probe = q->pieces;
	uint64_t at;

	if (q->tickets - q->done >= TCPX_QUEUE_BATCHES)
		return false;
	return pieces > TCPX_QUEUE_PIECES || tcpx_room_take(&probe, pieces, &at);
}

int
tcpx_cuda_queue_copy(struct tcpx_queue *q, const struct tcpx_copy *list, size_t count,
		     uint64_t *ticket)
{
	struct start s = { .q = q, .ticket = q->tickets + 1, .end = TCPX_END_PRIOR };
	uint64_t bytes = 0;
	int rc = 0;

	if (q->broken)
		return q->broken;
	if (!has_room(q, list, count)) {
		rc = tcpx_cuda_queue_look(q);
		if (rc)
			return rc;
		if (!has_room(q, list, count))
			return -EAGAIN;
	}
	for (size_t i = 0; i < count; i++)
		bytes += list[i].len;
	if (bytes) {
		rc = tcpx_gpu_enter(q->gpu);
		if (rc)
			return q->broken = rc;
		rc = start_batch(&s, list, count, bytes);
		if (rc)
			rc = tcpx_cuda_queue_break(q, rc);
		tcpx_gpu_leave(q->gpu);
	}
	if (rc)
		return rc;
	q->batch[s.ticket % TCPX_QUEUE_BATCHES] =
		(struct tcpx_batch){ s.end, s.copier, q->pieces.head, q->bounces.head, NULL, NULL, 0 };
	*ticket = q->tickets = s.ticket;
	return 0;
}
