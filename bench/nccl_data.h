/* SPDX-License-Identifier: Apache-2.0 */
/* What two ranks send each other to compare, and what an operation makes of it. Sizes are bytes. */
#ifndef BENCH_NCCL_DATA_H
#define BENCH_NCCL_DATA_H

#include <stdint.h>

/* uni, bi: messages back to back. pingpong: one there and back. allreduce, allgather, reducescatter: back
 * to back, of 32-bit words; the size is that of the larger buffer, as NCCL's own tests count. path,
 * pathbi: no network, only the copies out of one GPU and into the other: the limit of any way through
 * host memory. */
enum verb { UNI, BI, PINGPONG, ALLREDUCE, ALLGATHER, REDUCESCATTER, PATH, PATHBI, VERBS };

enum { STAGE_BYTES = 4 << 20 }; /* host memory that patterns pass through; each stage is so long */

extern const char *const verb_names[VERBS];

static inline int
verb_is_collective(enum verb v)
{
	return v == ALLREDUCE || v == ALLGATHER || v == REDUCESCATTER;
}

/* Rank @sender's data from @offset on. */
void data_fill(uint8_t *stage, uint64_t offset, int sender);
/* How much of it an operation of @size leaves at a receiver. */
uint64_t data_received(enum verb v, uint64_t size);
/* What rank @me should have received, from @at on: the bytes filled in, at most STAGE_BYTES. */
uint64_t data_want(uint8_t *stage, enum verb v, uint64_t size, uint64_t at, int me);

#endif
