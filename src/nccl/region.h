/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that NCCL has registered: each place once, however many comms name it. */
#ifndef NCCL_REGION_H
#define NCCL_REGION_H

#include <pthread.h>
#include <stdint.h>

#include "nccl/pipe.h"

struct region {
	uint64_t id;   /* in the hub                                                */
	uintptr_t addr;
	size_t len;
	unsigned users;
	struct region *next;
};

struct regions {
	pthread_mutex_t lock;
	struct region *first;
};

/* 0 and a region, for tcpx_nccl_region_put(). The same place gives the same region. */
int tcpx_nccl_region_get(struct regions *all, struct hub *hub, void *addr, size_t len,
			 struct region **out);
/* After its last user no byte of it is read or written. */
void tcpx_nccl_region_put(struct regions *all, struct hub *hub, struct region *region);

#endif
