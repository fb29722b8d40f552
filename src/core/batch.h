/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies that a loop hands to a device: everything it has at hand for one place and one
 * direction goes as one batch. And the staging slots that lie between sockets and GPUs.
 * All of it belongs to whoever holds the loop's lease.
 */
#ifndef CORE_BATCH_H
#define CORE_BATCH_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/chain.h"
#include "device/device.h"
#include "proto/frag.h"

struct channel;
struct loop;
struct tcpx_engine;
struct tcpx_xfer;


#define CORE_PLACES (1 + TCPX_GPUS_MAX) /* index of a place: place + 1 */

/* One chunk of page-locked memory that every GPU can address. */
struct slot {
	struct slot *next;  /* in the pool's free list, or in its cold one              */
	struct pool *pool;
	struct channel *holder; /* NULL: free or cold */
	uint64_t until_ns;  /* in the cold one: not to be written before                */
	uint8_t *mem;
};

/* A loop's slots for one direction, used last first, so that few stay warm in the caches. */
struct pool {
	struct slot *free;
	struct slot *cold; /* given up while a kernel may still read them; oldest first */
	struct slot *all;  /* owned */
	uint32_t count, used; /* used: neither free nor cold */
	enum tcpx_flow flow;
	bool large;
	struct tcpx_node starved; /* channels that wait for one */
};

/* Messages of one page are many, chunks large. */
enum slot_size { SLOT_SMALL, SLOT_LARGE, SLOT_SIZES };

#define SLOT_SMALL_BYTES (64u << 10)

struct batch_item {
	struct channel *channel;
	uint64_t seq;           /* of the channel's message              */
	struct tcpx_xfer *xfer; /* counted in its batched; NULL: nothing */
};

struct copy_batch;

/* A loop's batches. Whoever ends a transfer finishes those that touch its memory, on any
 * thread and with any lock held: so the lock is the innermost, held while a device is asked
 * or waited for, never while something is reported. Pools are the lease holder's alone. */
struct batches {
	pthread_mutex_t lock;
	struct copy_batch *filling[TCPX_FLOWS][CORE_PLACES];
	struct tcpx_queue *queue[TCPX_FLOWS][CORE_PLACES]; /* NULL: place not in use    */
	struct tcpx_node flying;    /* launched, oldest first                           */
	struct tcpx_node spare;     /* done, to be used again: no allocation a chunk    */
	struct pool pool[TCPX_FLOWS][SLOT_SIZES];
	uint64_t hot_end_ns;        /* a GPU was busy with little: look often until then */
	_Atomic uint64_t flying_bytes; /* handed to GPUs and not yet done               */
	_Atomic uint32_t flights;   /* batches in flying                                */
	_Atomic uint32_t waiting;   /* items in filling                                 */
};

/* ---- batch.c ---- */
void tcpx_batches_init(struct batches *b);
int tcpx_batches_open_host(struct loop *l); /* queues for host memory */
/* Queues and memory go; nothing may be in flight. */
void tcpx_batches_fini(struct loop *l);
/* Adds what copies len bytes between two walks of the same stream, for message seq of c.
 * xfer: whose memory it touches, or NULL (no copies, but the item is reported in its turn);
 * the item is reported to tcpx_pack_done() or tcpx_unpack_done(). 0, -ENOMEM, or
 * TCPX_EFRAME when one of the walks is too short. */
int tcpx_batch_add(struct channel *c, enum tcpx_flow flow, int place, uint64_t seq,
		   struct tcpx_xfer *xfer, uint64_t id, const struct tcpx_fraglist *src,
		   uint64_t src_off, const struct tcpx_fraglist *dst, uint64_t dst_off,
		   uint64_t len);
void tcpx_batches_launch(struct loop *l);
void tcpx_batches_poll(struct loop *l, uint64_t now_ns);
/* All batches are done on the device; reporting is left to poll. Any thread, any lock. */
void tcpx_batches_finish(struct loop *l);
/* How long a loop with copies in flight may sleep: -1 as it likes. */
/* For a while the loop does not sleep. */
void tcpx_batches_heat(struct loop *l, uint64_t now_ns);
int64_t tcpx_batches_timeout(const struct loop *l, uint64_t now_ns);

/* ---- staging.c ---- */
/* For len bytes. NULL: none free; c is told by its work when there is. */
struct slot *tcpx_slot_get(struct channel *c, enum tcpx_flow flow, uint32_t len);
void tcpx_slot_put(struct loop *l, struct slot *slot);
/* Who was told has had its turn: the next. */
void tcpx_slot_pass(struct loop *l, enum tcpx_flow flow);
/* The same for a slot whose pages a dead connection may still show to the peer. */
void tcpx_slot_cool(struct loop *l, struct slot *slot, uint64_t now_ns);
/* Cold slots whose time has come are free again. */
void tcpx_staging_timer(struct loop *l, uint64_t now_ns);
/* Pools for all loops out of one piece of pinned memory; a no-op if they stand. */
int tcpx_staging_open(struct tcpx_engine *e, const struct tcpx_device_ops *ops,
		      struct tcpx_device *dev);
void tcpx_staging_close(struct tcpx_engine *e);

#endif
