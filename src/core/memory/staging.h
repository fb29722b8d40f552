/* SPDX-License-Identifier: Apache-2.0 */
/* Staging buffers between sockets and GPUs. They belong to the lease holder of their loop. */
#ifndef CORE_MEMORY_STAGING_H
#define CORE_MEMORY_STAGING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/chain.h"
#include "device/device.h"

struct loop;
struct tcpx_engine;
struct work;

/* This room's view of a channel: a user of buffers and copies. */
struct copy_client {
	struct loop *loop;
	struct work *work;         /* of the loop: runs when a buffer is free             */
	const void *session;       /* its buffers decide who gets the next one            */
	struct tcpx_node waiting; /* in a chain: waits for a buffer, or for its slots      */
	/* The last time it waited while other sessions held all buffers; UINT64_MAX: it does now */
	_Atomic uint64_t short_ns;
	bool sums;                /* a GPU sums what its messages have in their slots    */
	bool summed;              /* so it was with the message that is being reported,  */
	uint32_t sum;             /* and this is its CRC32C                              */
	_Atomic uint32_t late;    /* GPUs that were late with copies of it, one bit each */
};

/* One chunk of page-locked memory that every GPU can address. */
struct staging_buffer {
	struct staging_buffer *next;  /* in the pool's free list, or in its cold one              */
	struct pool *pool;
	struct copy_client *holder; /* NULL: free or cold */
	uint64_t until_ns;  /* in the cold list: may be reused after this               */
	int place;          /* the GPU that copies to or from it                        */
	uint8_t *mem;
};

/* A loop's buffers for one direction. The last one used is reused first, so that few
 * stay in the caches. */
struct pool {
	struct staging_buffer *free;
	struct staging_buffer *cold; /* given back while a kernel may still read them; oldest first */
	struct staging_buffer *late; /* given back while a GPU that is late may still copy     */
	struct staging_buffer *all;  /* owned */
	uint32_t count, used; /* used: neither free, cold nor late */
	uint32_t idle;        /* in the free list                  */
	enum tcpx_flow flow;
	bool large;
	struct tcpx_node waiters; /* channels that wait for one */
};

/* Messages of one page are many; chunks are large. */
enum staging_size { STAGING_SMALL, STAGING_LARGE, STAGING_SIZES };

#define STAGING_SMALL_BYTES (64u << 10)

/* How many of a pool's free buffers are for sessions that have none of it. */
uint32_t tcpx_staging_reserve(uint32_t count, uint32_t sessions);
/* Makes pools for all loops from one piece of pinned memory; a no-op if they exist. */
int tcpx_staging_open(struct tcpx_engine *e, const struct tcpx_device_ops *ops,
		      struct tcpx_device *dev);
void tcpx_staging_close(struct tcpx_engine *e);
/* A buffer for len bytes of place. NULL: none is free; c's work runs when one is. */
struct staging_buffer *tcpx_staging_get(struct copy_client *c, enum tcpx_flow flow, int place,
					uint32_t len);
/* Does c wait while other sessions hold all buffers? */
bool tcpx_staging_is_short(const struct copy_client *c);
/* c no longer waits. */
void tcpx_staging_leave(struct copy_client *c);
/* Runs the work of all that wait for a buffer. */
void tcpx_staging_wake_all(struct loop *l, enum tcpx_flow flow);
/* The woken channel has run; wakes the next waiter. */
void tcpx_staging_wake_next(struct loop *l, enum tcpx_flow flow);
void tcpx_staging_put(struct loop *l, struct staging_buffer *buffer);
/* Puts back a buffer whose pages a dead connection may still show to the peer. */
void tcpx_staging_put_lent(struct loop *l, struct staging_buffer *buffer, uint64_t now_ns);
/* Frees cold buffers whose time has come, and late ones whose GPU is late no more. */
void tcpx_staging_timer(struct loop *l, uint64_t now_ns);

#endif
