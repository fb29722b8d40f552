/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of a transfer: one piece, or many of (nearly) equal length with gaps between
 * them, in an order unrelated to their addresses. Both sides make the same layout from the
 * same numbers. Gaps are checked like data.
 */
#ifndef MEASURE_PERF_LAYOUT_H
#define MEASURE_PERF_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "tool/gpu/pattern.h"

struct layout {
	uint64_t total;  /* bytes of the transfer                              */
	uint64_t count;  /* pieces, >= 1                                       */
	uint64_t stride; /* from one place to the next                         */
	uint64_t span;   /* bytes of memory, gaps before and after included    */
	uint32_t *place; /* of piece k, in stream order; NULL: one piece       */
	uint32_t *piece; /* in place i                                         */
};

/* The result of a check. */
struct layout_verdict {
	uint64_t wrong;  /* bytes; of pieces and gaps           */
	uint64_t first;  /* offset of the first in the transfer */
	char text[256];  /* about the first of them; "" if none */
};

/* Adds the result of another check of the same transfers; the first text stays. */
void layout_verdict_add(struct layout_verdict *total, const struct layout_verdict *v);

/* The span that layout_init() will have. */
uint64_t layout_span(uint64_t total, uint64_t count);
/* -ENOMEM; -EINVAL for more pieces than bytes or than 2^24. */
int layout_init(struct layout *l, uint64_t total, uint64_t count, uint64_t seed);
void layout_fini(struct layout *l);

uint64_t layout_piece_len(const struct layout *l, uint64_t piece);
/* The start of piece k: in the transfer, and in memory. */
uint64_t layout_piece_start(const struct layout *l, uint64_t piece);
uint64_t layout_piece_at(const struct layout *l, uint64_t piece);
/* Memory before, between and after the pieces: gap i of 0 to count. */
void layout_gap(const struct layout *l, uint64_t i, uint64_t *at, uint64_t *len);
/* Memory of stream bytes from @pos on, at most @max bytes in at most @cap parts. Returns
 * the parts, *bytes what they hold. */
int layout_iov(const struct layout *l, void *mem, uint64_t pos, uint64_t max,
	       struct iovec *iov, int cap, uint64_t *bytes);

/* Writes the transfer's pattern to its pieces. */
void layout_fill(const struct layout *l, void *mem, struct pattern p);
/* The pattern written before a run to pieces and gaps, from the first byte of the span on.
 * None of it may be found afterwards. */
struct pattern layout_poison_pattern(uint64_t seed);
void layout_poison(const struct layout *l, void *mem, uint64_t seed);
/* Compares pieces with the pattern and gaps with the poison. @chunk: bytes, to name
 * the chunk of a wrong byte; 0 unknown. @transfers: number of patterns of @seed that
 * may be mixed up. */
void layout_verify(const struct layout *l, const void *mem, uint64_t seed, uint64_t transfer,
		   uint64_t transfers, uint64_t poison, uint64_t chunk,
		   struct layout_verdict *v);

/* The four layouts of a case: both sides of the two ways data can go. All have the same
 * span; transfer d of several in flight lies d spans further on. */
struct layouts {
	struct layout client_out, server_out; /* client to server */
	struct layout client_in, server_in;   /* server to client */
	uint64_t span;
};

int layouts_init(struct layouts *l, uint64_t total, uint64_t count, uint64_t seed);
void layouts_fini(struct layouts *l);

#endif
