/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a descriptor list travels: a byte stream of operations, cut into frames only
 * between operations. A region is introduced once (id and key) and then named by its
 * index; entries are runs of equal length and stride. About 5 bytes an entry in a
 * shuffled list, a few bytes in all for a regular one. Deltas and strides are signed,
 * modulo 2^64.
 *
 *	u8: op in the low two bits; above them a shift (0 to 63): zigzag values of this
 *	operation stand shifted right by it, so that aligned blocks cost fewer bytes
 *
 *	op 0: REGION  u64 id, 16 bytes key               -> gets the next index
 *	op 1: RUN     var index, zigzag var (offset - end of the entry before, 0 at start),
 *	              var length
 *	op 2: AGAIN   zigzag var delta; region and length as before
 *	op 3: REPEAT  zigzag var stride, var length, var count, var index, zigzag var delta
 *	              count entries (>= 1), each stride behind the start of the one before
 * (the writer may use any; the reader accepts all)
 */
#ifndef PROTO_RUNS_H
#define PROTO_RUNS_H

#include <stdint.h>

#include "base/buf.h"

#define TCPX_KEY_BYTES 16

struct tcpx_region_ref {
	uint64_t id;
	uint8_t key[TCPX_KEY_BYTES];
};

/* One entry: len bytes at offset of regions[region]. */
struct tcpx_run_entry {
	uint32_t region;
	uint64_t offset, len;
};

struct tcpx_runs_writer {
	const struct tcpx_region_ref *regions; /* borrowed */
	uint32_t region_count;
	const struct tcpx_run_entry *entries;  /* borrowed */
	size_t entry_count;
	size_t next;           /* entries written so far       */
	uint32_t introduced;   /* regions written so far       */
	uint64_t end, len;     /* of the last entry            */
	uint32_t region;       /* of the last entry            */
};

void tcpx_runs_write_init(struct tcpx_runs_writer *w, const struct tcpx_region_ref *regions,
			  uint32_t region_count, const struct tcpx_run_entry *entries,
			  size_t entry_count);
/* Writes whole operations until b is full or all is written; regions are introduced just
 * before their first use, in the order of their array, so that an index on the wire is
 * one of regions[]. Returns 1 when all is written, else 0. Never marks b bad. An entry's
 * region must be below region_count. */
int tcpx_runs_write(struct tcpx_runs_writer *w, struct tcpx_buf *b);

struct tcpx_runs_reader {
	uint32_t introduced, region_limit;
	uint64_t end, len;
	uint32_t region;
	/* the run being expanded */
	uint64_t repeat_left, repeat_stride, repeat_next;
};

void tcpx_runs_read_init(struct tcpx_runs_reader *r, uint32_t region_limit);
/*
 * Reads the next thing from b.
 * Return: 1 *entry is filled; 2 *intro is filled (it has index r->introduced - 1); 0 b is
 * used up; TCPX_EPROTO: malformed, unknown op, index not introduced, over region_limit,
 * offset + len overflows. Expansion of a repeat goes on without b.
 */
int tcpx_runs_read(struct tcpx_runs_reader *r, struct tcpx_buf *b, struct tcpx_run_entry *entry,
		   struct tcpx_region_ref *intro);

#endif
