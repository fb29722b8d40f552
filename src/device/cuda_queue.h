/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of a GPU: two streams and everything that batches need, made when it opens.
 * Nothing is allocated, made or destroyed for a batch.
 */
#ifndef DEVICE_CUDA_QUEUE_H
#define DEVICE_CUDA_QUEUE_H

#include "device/cuda_gpu.h"
#include "device/room.h"

#define TCPX_QUEUE_BATCHES 64		/* in flight, at most                             */
#define TCPX_QUEUE_PIECES  (64u << 10)	/* of lists in flight: 1 MiB of them              */
#define TCPX_QUEUE_BOUNCE  (8ull << 20) /* bytes: what the bus carries in 160 us          */
#define TCPX_QUEUE_RESTS   2048		/* entries gathered for one launch of a split batch */

/* How one learns that a batch is done. */
enum tcpx_batch_end {
	TCPX_END_WORD,	/* its ticket appears in the completion word            */
	TCPX_END_COPIER, /* its ticket appears in the copier's completion word  */
	TCPX_END_EVENT, /* its event happens                                    */
	TCPX_END_PRIOR	/* nothing of it runs: it is done when those before are */
};

struct tcpx_batch {
	enum tcpx_batch_end end;
	bool copier; /* it is in the copier's stream, else in the queue's own */
	uint64_t pieces_end, bounce_end; /* heads of the rings behind it */
};

struct tcpx_queue {
	struct tcpx_device *dev; /* borrowed */
	struct tcpx_gpu *gpu;	 /* borrowed */
	enum tcpx_flow flow;
	int broken;		 /* the first code; 0: whole */

	CUstream stream; /* kernels and what goes with them                       */
	struct tcpx_copier *copier; /* borrowed: batches that are one copy each   */
	CUstream engine; /* UNPACK: copies for which the kernels' turn is not awaited */
	CUevent crossed; /* engine to stream: the stream awaits what is before it */
	bool behind;	 /* the engine has work that the stream does not await yet */
	CUevent *event;	 /* one a batch, without stream memory operations         */

	void *mapped;			/* pinned: the word's page, then the pieces */
	_Atomic uint64_t *word;		/* the newest ticket of the stream that is done */
	_Atomic uint64_t *copier_word;	/* the same of the copier's                 */
	struct tcpx_piece *piece;
	struct tcpx_room pieces;
	CUdeviceptr memory;		/* the GPU's: arrived, then bounce          */
	CUdeviceptr bounce;
	struct tcpx_room bounces;

	uint64_t tickets, done;		/* given out; known to be done              */
	struct tcpx_batch batch[TCPX_QUEUE_BATCHES]; /* of ticket t: [t % BATCHES]  */
	unsigned fruitless;		/* polls since anything was done            */
	struct tcpx_copy rest[TCPX_QUEUE_RESTS];
	size_t rests;
};

/* The operations of device.h. */
int tcpx_cuda_queue_open(struct tcpx_device *dev, int place, enum tcpx_flow flow,
			 struct tcpx_queue **queue);
void tcpx_cuda_queue_close(struct tcpx_queue *queue);
int tcpx_cuda_queue_copy(struct tcpx_queue *queue, const struct tcpx_copy *list, size_t count,
			 uint64_t *ticket);
int tcpx_cuda_queue_poll(struct tcpx_queue *queue, uint64_t ticket);
int tcpx_cuda_queue_finish(struct tcpx_queue *queue, uint64_t ticket);

/* Between the two files of a queue; all but look() with the GPU entered. */

/* Sees what is done and frees its room. 0, or what broke. */
int tcpx_cuda_queue_look(struct tcpx_queue *q);
/* Waits until the streams are empty. */
int tcpx_cuda_queue_drain(struct tcpx_queue *q);
/* Breaks the queue, after waiting for what the GPU can still do. Returns the code. */
int tcpx_cuda_queue_break(struct tcpx_queue *q, int code);

#endif
