/* SPDX-License-Identifier: Apache-2.0 */
/* Memory by name: registered regions, and imported names of peers' regions. */
#ifndef CORE_MEMORY_REGION_H
#define CORE_MEMORY_REGION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/blob.h"
#include "proto/runs.h"

struct tcpx_engine;

/* A registered range, or an imported name of a peer's. */
struct region {
	uint64_t id;           /* 0: free entry                                       */
	uint32_t generation;   /* of the entry's present or last user                 */
	uint32_t next_free;    /* free entry: the next one's index + 1, 0: none       */
	uint8_t *addr;         /* NULL if imported                                    */
	uint64_t owner_addr;   /* in the process that registered it                   */
	uint64_t len;
	unsigned access;
	bool imported;
	int place;             /* TCPX_ON_HOST or a GPU; imported: 0 for any GPU      */
	bool locked;           /* by tcpx_gpu_lock()                                  */
	struct tcpx_region_ref ref;
};

/* A paged table: entries never move. */
struct regions {
	pthread_mutex_t lock;
	struct region **page;
	uint32_t pages, used;
	uint32_t free;         /* index + 1 of the entry freed last; 0: none is free  */
	uint32_t live;
	_Atomic uint64_t gone; /* regions given back so far */
};

int tcpx_regions_init(struct regions *r);
void tcpx_regions_fini(struct regions *r);
/* At the engine's end: undoes tcpx_gpu_lock() for all regions. */
void tcpx_regions_unlock(struct tcpx_engine *e);
/* Copies the live entry; TCPX_ESTALE. */
int tcpx_region_get(struct regions *r, uint64_t id, struct region *out);
/* Removes a live entry, and copies it. TCPX_ESTALE (logged). */
int tcpx_region_drop(struct regions *r, uint64_t id, struct region *was);

#endif
