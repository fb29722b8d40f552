/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches that a device has, the oldest first, until it has done them or is late with them. The lock of
 * the loop's batches is held, unless noted.
 */
#ifndef CORE_MEMORY_FLIGHT_H
#define CORE_MEMORY_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/batch.h"
#include "core/memory/memory.h"
#include "core/memory/spans.h"
#include "core/memory/sums.h"

struct copy_batch {
	struct tcpx_node node;
	enum tcpx_flow flow;
	int place;
	uint64_t ticket;
	bool finished; /* done on the device, or given up; not yet reported */
	bool late;     /* given up: the device may still carry it out */
	uint64_t bytes;
	int error;
	uint32_t item_count;
	struct span_list spans;
	uint32_t copied;      /* spans that the device has; it had no room for sums then */
	struct sum_list sums; /* of what is copied                                      */
	struct batch_item item[BATCH_ITEMS];
};

static inline struct tcpx_queue *
flight_queue(const struct loop *l, const struct copy_batch *b)
{
	return l->batches->queue[b->flow][b->place + 1];
}

static inline const struct tcpx_device_ops *
flight_ops(const struct loop *l, const struct copy_batch *b)
{
	return b->place == TCPX_ON_HOST ? l->engine->memory->host_ops : l->engine->memory->gpus.ops;
}

static inline struct late_watch *
flight_watch(struct loop *l, const struct copy_batch *b)
{
	return &l->batches->watch[b->flow][b->place + 1];
}

/* It is launched; or not, for @rc, and reported with that in its turn. */
void tcpx_flight_begin(struct loop *l, struct copy_batch *b, int rc);
/* The oldest unfinished batch of the same queue. */
struct copy_batch *tcpx_flight_before(struct loop *l, const struct copy_batch *b);
/* Waits for it a little. False: the device needs longer. */
bool tcpx_flight_finish(struct loop *l, struct copy_batch *b);
/* Takes out the oldest batch that is done; NULL: none is. Takes the lock. */
struct copy_batch *tcpx_flight_take(struct loop *l);
/* It has been reported, and may be used again; one that is late, once the device has done it. Takes
 * the lock. */
void tcpx_flight_end(struct loop *l, struct copy_batch *b, uint64_t now_ns);
/* Looks for what devices were late with, and have done by now. Takes the lock. */
void tcpx_flight_timer(struct loop *l, uint64_t now_ns);

#endif
