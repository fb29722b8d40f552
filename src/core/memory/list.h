/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptor lists over regions: checked once, then only numbers. */
#ifndef CORE_MEMORY_LIST_H
#define CORE_MEMORY_LIST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/context/context.h"
#include "device/device.h"
#include "proto/frag.h"
#include "proto/packed.h"
#include "tcpx/tcpx.h"

struct lookup;

#define LIST_FEW 4 /* regions that fit without an allocation */

/* A checked descriptor list, refcounted; shared by the transfers that use it. */
struct tcpx_list {
	_Atomic int refs;
	struct tcpx_node handle; /* in registry.lists while prepared; registry.lock */
	struct tcpx_engine *engine;
	bool imported;
	int place;           /* of all its regions; imported: 0 for any GPU            */
	bool mapped;         /* its owners keep all of it mapped (TCPX_MEM_LEND)       */
	bool lend;           /* and its pieces are large enough to lend their pages    */
	uint64_t total;
	uint64_t *region_id; /* distinct, as named by the user; few_id, or an allocation */
	uint32_t region_count;
	uint64_t few_id[LIST_FEW];
	_Atomic uint64_t gone;  /* regions.gone when all of them were last seen alive   */
	/* local; both arrays behind the struct, 24 bytes an entry */
	struct tcpx_frag *frag;
	uint64_t *start;
	size_t frag_count;
	/* imported: as it travels, without empty entries; begins behind the struct */
	struct tcpx_packed ops;
	size_t entry_count;
	size_t bytes;        /* of this struct and its room                            */
	uint64_t room[];     /* one allocation: small transfers are very many */
};

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

/* An empty local list with room for @entries. */
struct tcpx_list *tcpx_list_empty(struct tcpx_engine *e, size_t entries);
void tcpx_list_put(struct tcpx_list *l);
/* Records the place and the regions of a list. 0, -EXDEV, -ENOMEM. */
int tcpx_list_keep(struct tcpx_list *l, const struct lookup *k);
int tcpx_list_new(struct tcpx_engine *e, const struct tcpx_desc *desc, size_t count,
		  bool imported, struct tcpx_list **out);
bool tcpx_list_names(const struct tcpx_list *l, uint64_t region_id);
/* 0, or TCPX_ESTALE if one of its regions is gone. */
int tcpx_list_check(struct tcpx_list *l);

#endif
