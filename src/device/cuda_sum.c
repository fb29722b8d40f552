/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starting a batch of sums: one launch, whose warps leave the sums of pieces in the list that
 * names them. They are put together when the batch is seen done.
 */
#include <errno.h>

#include "device/cuda_queue.h"

static bool
has_room(const struct tcpx_queue *q, size_t pieces)
{
	struct tcpx_room probe = q->pieces;
	uint64_t at;

	return q->tickets - q->done < TCPX_QUEUE_BATCHES && tcpx_room_take(&probe, pieces, &at);
}

/* Copies of one batch may be in the copier's stream. What was received is there already. */
static CUresult
wait_for_copier(struct tcpx_queue *q)
{
	const struct tcpx_cuda_api *cu = q->gpu->cu;
	CUresult result = CUDA_SUCCESS;
	bool waits = false;

	for (uint64_t t = q->done + 1; t <= q->tickets; t++)
		waits |= q->batch[t % TCPX_QUEUE_BATCHES].copier;
	if (!waits || q->flow == TCPX_FLOW_UNPACK)
		return result;
	pthread_mutex_lock(&q->copier->lock);
	result = cu->cuEventRecord(q->crossed, q->copier->stream);
	pthread_mutex_unlock(&q->copier->lock);
	if (result == CUDA_SUCCESS)
		result = cu->cuStreamWaitEvent(q->stream, q->crossed, 0);
	return result;
}

static CUresult
launch(struct tcpx_queue *q, const struct tcpx_launch *l, struct tcpx_piece *piece)
{
	CUdeviceptr piece_ptr = (uintptr_t)piece, arrived = q->memory, done = (uintptr_t)q->word;
	uint32_t pieces = l->pieces;
	uint64_t ticket = q->tickets + 1;
	void *params[] = { &piece_ptr, &pieces, &arrived, &done, &ticket };
	CUresult result = wait_for_copier(q);

	if (result == CUDA_SUCCESS)
		result = q->gpu->cu->cuLaunchKernel(q->gpu->kernel[l->kernel], l->blocks, 1, 1,
						    l->threads, 1, 1, 0, q->stream, params, NULL);
	return result;
}

static int
start(struct tcpx_queue *q, const struct tcpx_summed *list, size_t count, size_t pieces,
      struct tcpx_batch *b)
{
	struct tcpx_launch l;
	CUresult result;
	uint64_t at;
	int rc;

	if (!q->gpu->module)
		return tcpx_fail(TCPX_SUB_DEV, -ENOTSUP, "sum memory of GPU %d without our "
				 "kernels (TCPX_UNPACK_IMPL)", q->gpu->ordinal);
	if (!tcpx_room_take(&q->pieces, pieces, &at))
		return tcpx_fail(TCPX_SUB_DEV, -ENOBUFS, "%zu pieces to sum for a ring of %u",
				 pieces, TCPX_QUEUE_PIECES);
	b->part = &q->piece[at];
	rc = tcpx_launch_sum(list, count, q->gpu->sms, b->part, pieces, &l);
	if (rc)
		return tcpx_fail(TCPX_SUB_DEV, rc, "sum %zu parts of the memory of GPU %d", count,
				 q->gpu->ordinal);
	b->parts = l.pieces;
	result = launch(q, &l, b->part);
	return result == CUDA_SUCCESS ? 0 : tcpx_cuda_fail(q->gpu->cu, result, "launching a sum on "
							   "GPU %d", q->gpu->ordinal);
}

int
tcpx_cuda_queue_sum(struct tcpx_queue *q, const struct tcpx_summed *list, size_t count,
		    uint32_t *sums, uint64_t *ticket)
{
	struct tcpx_batch b = { .end = TCPX_END_WORD, .sums = sums };
	size_t pieces = tcpx_launch_sum_pieces(list, count);
	int rc;

	if (q->broken)
		return q->broken;
	if (pieces <= TCPX_QUEUE_PIECES && !has_room(q, pieces)) {
		rc = tcpx_cuda_queue_look(q);
		if (rc || !has_room(q, pieces))
			return rc ? rc : -EAGAIN;
	}
	rc = tcpx_gpu_enter(q->gpu);
	if (rc)
		return q->broken = rc;
	rc = start(q, list, count, pieces, &b);
	if (rc)
		rc = tcpx_cuda_queue_break(q, rc);
	tcpx_gpu_leave(q->gpu);
	if (rc)
		return rc;
	b.pieces_end = q->pieces.head;
	b.bounce_end = q->bounces.head;
	*ticket = ++q->tickets;
	q->batch[*ticket % TCPX_QUEUE_BATCHES] = b;
	return 0;
}
