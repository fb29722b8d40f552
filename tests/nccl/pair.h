/* SPDX-License-Identifier: Apache-2.0 */
/* Two processes, each with the plugin loaded anew, and the connections between them. */
#ifndef TESTS_NCCL_PAIR_H
#define TESTS_NCCL_PAIR_H

#include "player.h"

struct rank {
	int me;   /* 0 or 1                                             */
	int link; /* to the other                                       */
	struct player player;
	const void *arg;
};

/* Runs @play in two processes; true: both returned 0. One that hangs is killed after minutes. */
bool pair_run(const char *file, int version, int (*play)(struct rank *r), const void *arg);
/* The same where one may also end with @or_code: pair_exchange() does with 3, without the other. */
bool pair_run_to(const char *file, int version, int (*play)(struct rank *r), const void *arg,
		 int or_code);

/* @len bytes each way; @mine and @theirs may be the same. */
void pair_exchange(struct rank *r, const void *mine, void *theirs, size_t len);
/* A byte each way. */
void pair_meet(struct rank *r);
/* Another link between the two, for another thread; -1: there is none. */
int pair_link(struct rank *r);
/* Makes @count comms each way, all at once: @send[i] meets @recv[i] of the other. */
bool pair_connect(struct rank *r, void **send, void **recv, int count);

/* As pair_connect() for one comm, with itself; a handle from listen(). */
bool self_connect(struct player *p, void **send, void **recv);

#endif
