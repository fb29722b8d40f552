/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of a pair of ranks, as a line each, and their answers, a JSON object each; what the ranks send each
 * other to compare, and what an operation makes of it. Sizes are bytes.
 */
#ifndef BENCH_NCCL_DATA_H
#define BENCH_NCCL_DATA_H

#include <stdbool.h>
#include <stdint.h>

/* uni, bi: messages back to back. pingpong: one there and back. allreduce, allgather, reducescatter: back
 * to back, of 32-bit words; alltoall: a part of the buffer to each rank, itself too. The size is that of the
 * larger buffer, as NCCL's own tests count. path, pathbi: no network, only the copies out of one GPU and into the
 * other: the limit of any way through host memory. */
enum verb { UNI, BI, PINGPONG, ALLREDUCE, ALLGATHER, REDUCESCATTER, ALLTOALL, PATH, PATHBI, VERBS };

enum {
	STAGE_BYTES = 4 << 20, /* host memory that patterns pass through; each stage is so long */
	ROUND_TRIPS = 4096     /* of a pingpong, at most                                        */
};

struct command {
	enum verb verb;
	uint64_t size, count;
	uint64_t group; /* messages given to NCCL at once */
};

static inline int
verb_is_collective(enum verb v)
{
	return v == ALLREDUCE || v == ALLGATHER || v == REDUCESCATTER || v == ALLTOALL;
}

/* Of "VERB SIZE COUNT [GROUP]". */
bool command_parse(const char *line, struct command *c);
/* The answer to a line that is none. */
void command_refuse(void);
/* The first half of the answer; cpu_s is that of both ranks, wrong what differed at either. */
void answer_print(const struct command *c, double seconds, double cpu_s, uint64_t wrong);
/* Its round trips, as half of each; they are sorted. */
void round_trips_print(float *us, uint64_t count);

/* Rank @sender's data from @offset on. */
void data_fill(uint8_t *stage, uint64_t offset, int sender);
/* How much of it an operation of @size leaves at a receiver. */
uint64_t data_received(enum verb v, uint64_t size);
/* What rank @me should have received, from @at on: the bytes filled in, at most STAGE_BYTES. */
uint64_t data_want(uint8_t *stage, enum verb v, uint64_t size, uint64_t at, int me);

#endif
