/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop's copies for a device: all of one place and one direction go as one batch. Batches
 * belong to the lease holder.
 */
#ifndef CORE_MEMORY_BATCH_H
#define CORE_MEMORY_BATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/chain.h"
#include "core/loop/loop.h"
#include "core/memory/late.h"
#include "core/memory/staging.h"
#include "device/device.h"
#include "proto/frag.h"

struct copy_batch;
struct left_chan;
struct loop;
struct payload;
struct tcpx_engine;

#define CORE_PLACES (1 + TCPX_GPUS_MAX) /* index of a place: place + 1 */

/* Completion of a message's copies. */
struct copy_calls {
	void (*packed)(struct copy_client *c, uint64_t seq, int error);
	void (*unpacked)(struct copy_client *c, uint64_t seq, int error, uint64_t now_ns);
	/* Once more for each message of an unpacked batch, after all of them. */
	void (*unpacked_all)(struct copy_client *c);
};

struct batch_item {
	struct copy_client *client;
	uint64_t seq;            /* of the client's message               */
	struct payload *payload; /* counted in its batched; NULL: none    */
	bool summed;
};

/* A loop's batches. The end of a transfer finishes those that touch its memory, on any
 * thread and with any lock held. So the lock is the innermost: held while a device is asked
 * or waited for, never while a completion is reported. Pools belong to the lease holder. */
struct batches {
	pthread_mutex_t lock;
	struct copy_batch *filling[TCPX_FLOWS][CORE_PLACES];
	struct tcpx_queue *queue[TCPX_FLOWS][CORE_PLACES]; /* NULL: place not in use    */
	struct tcpx_node flying;    /* launched, oldest first                           */
	struct tcpx_node late;      /* given up, and not yet done by the device         */
	struct tcpx_node waiters;   /* clients whose slots a late device may still reach */
	struct left_chan *left;     /* channels that are over, with such slots          */
	struct source nobody;       /* takes their events, and does nothing             */
	struct late_watch watch[TCPX_FLOWS][CORE_PLACES];
	struct tcpx_node spare;     /* done, for reuse: no allocation for each chunk    */
	struct pool pool[TCPX_FLOWS][STAGING_SIZES];
	_Atomic uint64_t flying_bytes; /* handed to devices and not yet reported        */
};

/* Makes them, with queues for host memory. */
int tcpx_batches_open(struct loop *l);
/* Queues and memory go; nothing may be in flight. */
void tcpx_batches_fini(struct loop *l);
/* Adds the copies of len bytes between two walks of the same stream, for message seq of
 * c. payload: the owner of the memory, or NULL (no copies, but the item is reported in
 * its turn). copy_calls reports the item. 0, -ENOMEM, or TCPX_EFRAME when one of the
 * walks is too short. */
int tcpx_batch_add(struct copy_client *c, enum tcpx_flow flow, int place, uint64_t seq,
		   struct payload *payload, uint64_t id, const struct tcpx_fraglist *src,
		   uint64_t src_off, const struct tcpx_fraglist *dst, uint64_t dst_off,
		   uint64_t len);
void tcpx_batches_launch(struct loop *l);
/* Waits until all batches are done on the device, or their device is late; poll still reports
 * them. Any thread, any lock. */
void tcpx_batches_finish(struct loop *l);
void tcpx_batches_poll(struct loop *l, uint64_t now_ns);
/* The longest sleep of a loop with copies in flight; -1: unlimited. */
int64_t tcpx_batches_timeout(const struct loop *l, uint64_t now_ns);

#endif
