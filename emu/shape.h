/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a NIC cuts a chunk into fragments. Pure: the seed alone decides, never the
 * arrival of bytes.
 */
#ifndef EMU_SHAPE_H
#define EMU_SHAPE_H

#include <stdint.h>

#include "emu/faults.h"

struct emu_shape {
	const struct emu_fault *fault; /* of the kinds frag-*, or NULL: mostly whole pages */
	uint64_t rng;
	uint32_t left;  /* bytes to come                                                   */
	uint32_t made;  /* fragments so far                                                */
	uint32_t quota; /* frag-count: fragments in all                                    */
};

struct emu_cut {
	uint32_t src; /* offset in its first page */
	uint32_t len; /* at least 1, src + len <= EMU_PAGE but with frag-large */
};

/* A chunk [offset, offset + len) of a request of @total bytes. Fragments are counted as if
 * the request were cut evenly. */
void emu_shape_begin(struct emu_shape *s, const struct emu_fault *fault, uint64_t seed,
		     uint32_t offset, uint32_t len, uint32_t total);
/* left must not be 0; it shrinks. */
struct emu_cut emu_shape_next(struct emu_shape *s);

#endif
