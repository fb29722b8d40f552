/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A queue of a GPU: batches of copies in one direction, with two streams and all that batches
 * need. All of it is made when the queue opens; a batch allocates nothing. One thread at a time
 * uses a queue.
 */
#ifndef DEVICE_CUDA_QUEUE_H
#define DEVICE_CUDA_QUEUE_H

#include "device/cuda_gpu.h"
#include "device/room.h"

#define TCPX_QUEUE_BATCHES 64		/* in flight, at most                             */
#define TCPX_QUEUE_PIECES  (64u << 10)	/* of lists in flight: 1 MiB of them              */
#define TCPX_QUEUE_BOUNCE  (8ull << 20) /* bytes: what the bus carries in 160 us          */
#define TCPX_QUEUE_RESTS   2048		/* entries gathered for one launch of a split batch */

/* How the completion of a batch is seen. */
enum tcpx_batch_end {
	TCPX_END_WORD,	/* its ticket appears in the completion word            */
	TCPX_END_COPIER, /* its ticket appears in the copier's completion word  */
	TCPX_END_EVENT, /* its event happens                                    */
	TCPX_END_PRIOR	/* it has no work: done with the batch before it        */
};

struct tcpx_batch {
	enum tcpx_batch_end end;
	bool copier; /* it is in the copier's stream, else in the queue's own */
	uint64_t pieces_end, bounce_end; /* heads of the rings after it  */
	uint32_t *sums;          /* the caller's; NULL: it copies        */
	struct tcpx_piece *part; /* with sums: what they are made of     */
	uint32_t parts;
};

struct tcpx_queue {
	struct tcpx_device *dev; /* borrowed */
	struct tcpx_gpu *gpu;	 /* borrowed */
	enum tcpx_flow flow;
	int broken;		 /* the first code; 0: whole */

	CUstream stream; /* kernels and their copies                              */
	struct tcpx_copier *copier; /* borrowed, shared by queues: batches of one copy */
	CUstream engine; /* UNPACK: copies that do not wait for kernels               */
	CUevent crossed; /* engine or copier to stream: it waits for earlier copies */
	bool behind;	 /* the engine has work that the stream does not wait for yet */
	CUevent *event;	 /* one for each batch, without stream memory operations  */

	void *mapped;			/* pinned: the word's page, then the pieces */
	_Atomic uint64_t *word;		/* newest completed ticket of the stream        */
	_Atomic uint64_t *copier_word;	/* the same of the copier's                 */
	struct tcpx_piece *piece;
	struct tcpx_room pieces;
	CUdeviceptr memory;		/* the GPU's: arrived, then bounce          */
	CUdeviceptr bounce;
	struct tcpx_room bounces;

	uint64_t tickets, done;		/* newest given out; newest seen done       */
	struct tcpx_batch batch[TCPX_QUEUE_BATCHES]; /* of ticket t: [t % BATCHES]  */
	unsigned fruitless;		/* polls since the last completion          */
	struct tcpx_copy rest[TCPX_QUEUE_RESTS]; /* entries for the next launch */
	size_t rests;
};

/* The operations of device.h. */
int tcpx_cuda_queue_open(struct tcpx_device *dev, int place, enum tcpx_flow flow,
			 struct tcpx_queue **queue);
void tcpx_cuda_queue_close(struct tcpx_queue *queue);
int tcpx_cuda_queue_copy(struct tcpx_queue *queue, const struct tcpx_copy *list, size_t count,
			 uint64_t *ticket);
int tcpx_cuda_queue_sum(struct tcpx_queue *queue, const struct tcpx_summed *list, size_t count,
			uint32_t *sums, uint64_t *ticket);
int tcpx_cuda_queue_poll(struct tcpx_queue *queue, uint64_t ticket);
int tcpx_cuda_queue_finish(struct tcpx_queue *queue, uint64_t ticket, uint64_t wait_ns);

/* For cuda_queue.c, cuda_batch.c and cuda_sum.c alone; all but look() with the GPU entered. */

/* Takes completed batches out of the rings. 0, or the code that broke the queue. */
int tcpx_cuda_queue_look(struct tcpx_queue *q);
/* Waits until the streams are empty. */
int tcpx_cuda_queue_drain(struct tcpx_queue *q);
/* Waits for the work that the GPU can still do, then breaks the queue. Returns the code. */
int tcpx_cuda_queue_break(struct tcpx_queue *q, int code);

#endif
