/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The application's host memory, touched by system calls: where it is not mapped, or its file has
 * become shorter, a call fails and no signal is raised.
 */
#ifndef CORE_MEMORY_TOUCH_H
#define CORE_MEMORY_TOUCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/device.h"
#include "proto/frag.h"

struct tcpx_engine;

/* A small file in memory, mapped: between it and the application's memory the kernel copies. */
struct touch {
	pthread_mutex_t lock;
	uint8_t *room; /* NULL: not open */
	size_t bytes;  /* of it          */
	int fd;
};

#define TOUCH_SMALL (16u << 10)  /* for payload that travels in a frame     */
#define TOUCH_ROOM  (64u << 10)  /* for payload that is summed, a loop each */

/* Whole pages. 0 or a code (logged). */
int tcpx_touch_open(struct touch *t, size_t bytes);
void tcpx_touch_close(struct touch *t);

/* Is all of it mapped, whatever it maps? Reads and fills no page; its cost is that of the
 * number of mappings. */
bool tcpx_memory_mapped(const void *addr, size_t len);
/* Copies @len bytes between @buf and pieces of the application's memory: PACK into @buf, UNPACK out
 * of it. 0, or -EFAULT (not logged): a part may have been copied then. */
int tcpx_touch_copy(struct touch *t, enum tcpx_flow flow, const struct tcpx_frag *frag,
		    size_t count, uint8_t *buf, size_t len);
/* The same between its room, of one thread, and pieces of at least @len bytes, which fit. */
int tcpx_touch_move(struct touch *t, enum tcpx_flow flow, const struct tcpx_frag *frag,
		    size_t count, size_t len);
/* Rooms of all loops, if there are none. 0 or a code (logged). */
int tcpx_touch_rooms_open(struct tcpx_engine *e);
void tcpx_touch_rooms_close(struct tcpx_engine *e);

#endif
