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

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "proto/frag.h"

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

/* Writes entries one by one; holds back those that may become a REPEAT. */
struct tcpx_runs_writer {
	uint32_t introduced;   /* regions written so far       */
	uint64_t end, len;     /* of the last entry written    */
	uint32_t region;       /* of the last entry written    */
	/* held: this many entries of equal length, each stride behind the one before */
	struct tcpx_run_entry first;
	uint64_t held, stride;
};

#define TCPX_RUNS_ROOM 64u /* more than the longest operation: 1 + 5 * 10 */

void tcpx_runs_write_init(struct tcpx_runs_writer *w);
/*
 * Adds an entry (@e), or writes the held ones (NULL: the list's end). Whole operations go to
 * *at, which advances. A region is introduced just before its first use, in the order of
 * @regions, so that an index on the wire is one of regions[]; the array may grow between calls.
 * Return: true; false: fewer than TCPX_RUNS_ROOM bytes are left before @limit, repeat the
 * call with more.
 */
bool tcpx_runs_write(struct tcpx_runs_writer *w, const struct tcpx_region_ref *regions,
		     const struct tcpx_run_entry *e, uint8_t **at, const uint8_t *limit);

struct tcpx_runs_reader {
	uint32_t introduced, region_limit;
	uint64_t end, len;
	uint32_t region;
	/* the run being expanded */
	uint64_t repeat_left, repeat_stride, repeat_next;
};

void tcpx_runs_read_init(struct tcpx_runs_reader *r, uint32_t region_limit);
/*
 * Reads the next item of b.
 * Return: 1 *entry is filled; 2 *intro is filled (it has index r->introduced - 1); 0 b is
 * used up; TCPX_EPROTO: malformed, unknown op, index not introduced, over region_limit,
 * offset + len overflows. The expansion of a REPEAT continues without b.
 */
int tcpx_runs_read(struct tcpx_runs_reader *r, struct tcpx_buf *b, struct tcpx_run_entry *entry,
		   struct tcpx_region_ref *intro);
/*
 * The fast loop for most of a long list: reads at most @most entries with region and length
 * of the last one, and adds them to @out as memory from @base on, if they lie within the
 * region's @limit bytes. It stops before anything else, valid or not, which is left to
 * tcpx_runs_read(). Returns the number of entries; 0 is no error.
 */
size_t tcpx_runs_read_alike(struct tcpx_runs_reader *r, struct tcpx_buf *b, uint64_t base,
			    uint64_t limit, size_t most, struct tcpx_fraggrow *out);

#endif
