/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory by name: registered regions, imported names of peers' regions, and descriptor
 * lists over them.
 */
#ifndef CORE_LIST_H
#define CORE_LIST_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/device.h"
#include "proto/blob.h"
#include "proto/frag.h"
#include "proto/oplist.h"
#include "tcpx/tcpx.h"

struct list_builder;
struct lookup;

/* A registered range, or an imported name of a peer's. */
struct region {
	uint64_t id;           /* 0: free slot                                        */
	uint32_t generation;   /* of the slot's present or last user                  */
	uint8_t *addr;
	uint64_t peer_addr, len;
	unsigned access;
	bool imported;
	int place;             /* TCPX_ON_HOST or a GPU; imported: 0 for any GPU      */
	bool locked;           /* host memory that GPUs were let reach                */
	struct tcpx_region_ref ref;
};

/* Chunks of paged slots: entries never move. */
struct regions {
	pthread_mutex_t lock;
	struct region **page;
	uint32_t pages, used;
	uint32_t live;
	_Atomic uint64_t gone; /* regions given back so far */
};

#define LIST_FEW 4 /* regions that need no memory of their own */

/* A checked descriptor list, refcounted; shared by the transfers that use it. */
struct tcpx_list {
	_Atomic int refs;
	struct tcpx_node handle; /* engine's chain while prepared; engine.lock */
	struct tcpx_engine *engine;
	bool imported;
	int place;           /* of all its regions; imported: 0 for any GPU            */
	uint64_t total;
	uint64_t *region_id; /* distinct, as named by the user; few, or of its own     */
	uint32_t region_count;
	uint64_t few_id[LIST_FEW];
	_Atomic uint64_t gone;  /* regions.gone when all of them were last seen alive   */
	/* local; both arrays behind the struct, 24 bytes an entry */
	struct tcpx_frag *frag;
	uint64_t *start;
	size_t frag_count;
	/* imported: as it travels, without empty entries; begins behind the struct */
	struct tcpx_oplist ops;
	size_t entry_count;
	uint64_t room[];     /* one allocation: small transfers are made by the million */
};

/* ---- region.c ---- */
int tcpx_regions_init(struct regions *r);
void tcpx_regions_fini(struct regions *r);
/* Copies the live entry; TCPX_ESTALE. */
/* At the engine's end: GPUs reach none of its regions any more. */
void tcpx_regions_unlock(struct tcpx_engine *e);
int tcpx_region_get(struct regions *r, uint64_t id, struct region *out);

/* ---- list.c ---- */
int tcpx_list_new(struct tcpx_engine *e, const struct tcpx_desc *desc, size_t count,
		  bool imported, struct tcpx_list **out);
void tcpx_list_put(struct tcpx_list *l);
/* A local list of nothing with room for @entries. */
struct tcpx_list *tcpx_list_empty(struct tcpx_engine *e, size_t entries);
/* Notes the place and the names of the regions that a list was made of. 0, -EXDEV, -ENOMEM. */
int tcpx_list_keep(struct tcpx_list *l, const struct lookup *k);
bool tcpx_list_names(const struct tcpx_list *l, uint64_t region_id);
/* 0, or TCPX_ESTALE when one of its regions is gone. */
int tcpx_list_check(struct tcpx_list *l);
static inline struct tcpx_fraglist
list_frags(const struct tcpx_list *l)
{
	return (struct tcpx_fraglist){ l->frag, l->start, l->frag_count };
}
static inline bool
list_staged(const struct tcpx_list *l)
{
	return l->place != TCPX_ON_HOST;
}

/* ---- builder.c ---- */
/* A target's list, checked as it arrives; need: enum tcpx_mem_access. */
int tcpx_builder_new(struct tcpx_engine *e, unsigned need, uint32_t entries, uint64_t total,
		     struct list_builder **out);
int tcpx_builder_feed(struct list_builder *b, const uint8_t *ops, size_t len);
int tcpx_builder_finish(struct list_builder *b, struct tcpx_list **out);
void tcpx_builder_free(struct list_builder *b);
/* All of that at once, for a list that arrived whole. */
int tcpx_list_read(struct tcpx_engine *e, unsigned need, uint32_t entries, uint64_t total,
		   const uint8_t *ops, size_t len, struct tcpx_list **out);

#endif
