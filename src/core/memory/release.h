/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of long lists, given back to the system a part in a turn: the pages of a million entries
 * take milliseconds, in which nobody else would be served.
 */
#ifndef CORE_MEMORY_RELEASE_H
#define CORE_MEMORY_RELEASE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/chain.h"
#include "core/loop/loop.h"

struct tcpx_engine;

#define RELEASE_LARGE (4u << 20)   /* shorter ones are freed at once                       */
#define RELEASE_STEP  (512u << 10) /* in a turn, and a 64th of what waits: it may be a lot */

struct release {
	pthread_mutex_t lock;
	struct tcpx_node blocks;
	size_t bytes;      /* of these */
	bool closed;       /* all is freed at once */
	struct work work;  /* of loop 0 */
	struct tcpx_engine *engine;
};

void tcpx_release_init(struct tcpx_engine *e);
/* Frees what waits; from now on nothing does. No thread runs a loop any more. */
void tcpx_release_close(struct tcpx_engine *e);
/* Frees malloc()'s @block of so many bytes, now or a little later. Any thread, any lock. */
void tcpx_release(struct tcpx_engine *e, void *block, size_t bytes);

#endif
