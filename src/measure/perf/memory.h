/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of one side for one way of the data: registered host memory, or memory of one
 * or several GPUs, a part on each. Slot d of its ring lies in part d mod parts, d / parts spans
 * from its begin: a list names memory of one GPU only.
 */
#ifndef MEASURE_PERF_MEMORY_H
#define MEASURE_PERF_MEMORY_H

#include <jansson.h>

#include "tcpx/tcpx.h"
#include "tool/gpu/gpu.h"
#include "measure/perf/layout.h"
#include "tool/gpu/place.h"

/* The regions of descriptors: one for each part. Of this side, or imported. */
struct regions {
	unsigned count;
	uint64_t id[PLACE_GPUS];
};

struct mem {
	struct gpus *gpus;         /* borrowed; NULL: host memory                  */
	uint64_t len;              /* of each part, whole pages; 0: there is none  */
	unsigned parts;            /* 0: there are none                            */
	int gpu[PLACE_GPUS];
	uint64_t addr[PLACE_GPUS]; /* the GPU's, or ours                           */
	struct regions regions;
	bool pinned;               /* host memory that belongs to the driver       */
};

/* Bytes that the rings at @place may have together: at most 1 GiB, and a quarter of what is free,
 * which they share with those of so many @beside; less what others were @promised of the host's.
 * Of several GPUs the least counts. */
uint64_t mem_ring_bytes(struct gpus *gpus, const struct place *place, uint64_t promised,
			uint64_t beside);
/* For a ring of @ring bytes in all, but for at least @depth slots of @span. @gpus may be NULL if
 * @place is the host, whose pages are made when they are first filled. A failure has been
 * logged; -ENOMEM also for more memory than the machine has. */
TCPX_MUST_CHECK int mem_open(tcpx_engine *engine, struct gpus *gpus, const struct place *place,
			     uint64_t ring, uint64_t depth, uint64_t span, unsigned access,
			     struct mem *mem);
/* How many slots of @span it has. */
uint64_t mem_slots(const struct mem *mem, uint64_t span);
void mem_close(tcpx_engine *engine, struct mem *mem);
/* For plain sockets: the same host memory, or @len bytes of page-locked memory, closed without
 * an engine. *same: @mem, or @own; NULL if there is no memory. */
TCPX_MUST_CHECK int mem_for_sockets(const struct mem *mem, uint64_t len, struct mem *own,
				    const struct mem **same);
/* Host memory of one part as a pointer; NULL: there is none. */
uint8_t *mem_at(const struct mem *mem);

/* Like the functions of perf_layout.h, for the layout in @slot, whose number is that of its
 * pattern. */
TCPX_MUST_CHECK int mem_fill(const struct mem *mem, const struct layout *l, uint64_t slot,
			     struct pattern p);
TCPX_MUST_CHECK int mem_poison(const struct mem *mem, const struct layout *l, uint64_t slot,
			       uint64_t seed);
TCPX_MUST_CHECK int mem_verify(const struct mem *mem, const struct layout *l, uint64_t slot,
			       uint64_t seed, uint64_t transfers, uint64_t poison,
			       uint64_t chunk, struct layout_verdict *v);
/* The first bytes of a transfer in one piece. */
TCPX_MUST_CHECK int mem_put(const struct mem *mem, const struct layout *l, uint64_t slot,
			    const void *from, size_t len);
TCPX_MUST_CHECK int mem_get(const struct mem *mem, const struct layout *l, uint64_t slot, void *to,
			    size_t len);
/* Changes the byte in the middle of the transfer. */
TCPX_MUST_CHECK int mem_spoil(const struct mem *mem, const struct layout *l, uint64_t slot);

/* Fills desc[l->count]. */
void regions_descs(const struct regions *r, const struct layout *l, uint64_t slot,
		   struct tcpx_desc *desc);
/* The blobs as a JSON list under @member. */
TCPX_MUST_CHECK int regions_export(tcpx_engine *engine, const struct regions *r, json_t *msg,
				   const char *member);
TCPX_MUST_CHECK int regions_import(tcpx_engine *engine, const json_t *msg, const char *member,
				   struct regions *r);
/* Of what was imported. */
void regions_forget(tcpx_engine *engine, struct regions *r);

#endif
