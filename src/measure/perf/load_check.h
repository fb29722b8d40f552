/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data that is compared. Each transfer has a slot of the ring, its own pattern in it, and poison
 * where it is to arrive.
 */
#ifndef MEASURE_PERF_LOAD_CHECK_H
#define MEASURE_PERF_LOAD_CHECK_H

#include "measure/perf/load_ring.h"

/* Unless -c 0 says otherwise. */
bool load_compares(const struct load *l);

/* Both sides fill @s with patterns of @seed and poison what is to be overwritten; likewise they
 * compare. @out, @in, @out_layout, @in_layout: what is ours of it. */
struct load_side {
	const struct mem *out, *in;            /* NULL: there is none               */
	const struct layout *out_layout, *in_layout;
};
TCPX_MUST_CHECK int load_arm(struct perf *p, const struct load_side *here, struct job_slots s,
			     uint64_t *seed);
TCPX_MUST_CHECK int load_compare(struct perf *p, const struct load_side *here, struct job_slots s,
				 uint64_t seed, const struct tcpx_xfer_info *moved,
				 uint64_t *wrong);

/* The same for slots from l->at on, */
TCPX_MUST_CHECK int load_arm_ring(struct load *l, uint64_t slots, uint64_t *seed);
/* and from @slot on. */
TCPX_MUST_CHECK int load_compare_ring(struct load *l, uint64_t slot, uint64_t slots, uint64_t seed,
				      struct load_stats *stats);
/* Gives the first @slots slots of the ring pages, data and transfers, if they have none yet. */
TCPX_MUST_CHECK int load_fill(struct load *l, uint64_t slots);

#endif
