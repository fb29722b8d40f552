/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptor lists as operations. The writer encodes one operation at a time into a
 * scratch and copies it if it fits, so a frame never ends inside one.
 */
#include "proto/runs.h"

#include <stdbool.h>

#include "base/err.h"

enum { OP_REGION, OP_RUN, OP_AGAIN, OP_REPEAT };

#define OP_BITS    2
#define OP_BYTES   64 /* more than the longest operation: 1 + 5 * 10 */
#define REPEAT_MIN 3u

static uint64_t
zigzag(uint64_t delta)
{
	return delta << 1 ^ (delta >> 63 ? UINT64_MAX : 0);
}

static uint64_t
unzigzag(uint64_t z)
{
	return z >> 1 ^ (z & 1 ? UINT64_MAX : 0);
}

/* Signed shift right of a value whose low bits are zero. */
static uint64_t
scale_down(uint64_t delta, unsigned shift)
{
	return delta >> shift | (shift && delta >> 63 ? UINT64_MAX << (64 - shift) : 0);
}

static unsigned
common_shift(uint64_t a, uint64_t b)
{
	return a | b ? (unsigned)__builtin_ctzll(a | b) : 0;
}

static void
put_op(struct tcpx_buf *b, unsigned op, unsigned shift)
{
	tcpx_buf_put_u8(b, (uint8_t)(shift << OP_BITS | op));
}

static void
put_delta(struct tcpx_buf *b, uint64_t delta, unsigned shift)
{
	tcpx_buf_put_var(b, zigzag(scale_down(delta, shift)));
}

void
tcpx_runs_write_init(struct tcpx_runs_writer *w, const struct tcpx_region_ref *regions,
		     uint32_t region_count, const struct tcpx_run_entry *entries,
		     size_t entry_count)
{
	*w = (struct tcpx_runs_writer){
		.regions = regions,
		.region_count = region_count,
		.entries = entries,
		.entry_count = entry_count,
		.region = UINT32_MAX, /* none: the first entry cannot be AGAIN */
	};
}

/* How many entries from w->next on are one run of equal length and stride. */
static size_t
run_length(const struct tcpx_runs_writer *w, uint64_t *stride)
{
	const struct tcpx_run_entry *e = &w->entries[w->next];
	size_t left = w->entry_count - w->next;
	size_t n = 1;

	*stride = left > 1 ? e[1].offset - e[0].offset : 0;
	while (n < left && e[n].region == e->region && e[n].len == e->len &&
	       e[n].offset - e[n - 1].offset == *stride)
		n++;
	return n;
}

/* Encodes what comes next; returns how many entries it stands for. */
static size_t
encode_next(const struct tcpx_runs_writer *w, struct tcpx_buf *op)
{
	const struct tcpx_run_entry *e = &w->entries[w->next];
	uint64_t delta = e->offset - w->end;
	uint64_t stride;
	unsigned shift;
	size_t n;

	if (e->region >= w->introduced) {
		const struct tcpx_region_ref *r = &w->regions[w->introduced];

		put_op(op, OP_REGION, 0);
		tcpx_buf_put_u64(op, r->id);
		tcpx_buf_put_bytes(op, r->key, sizeof(r->key));
		return 0;
	}
	n = run_length(w, &stride);
	if (n >= REPEAT_MIN) {
		shift = common_shift(stride, delta);
		put_op(op, OP_REPEAT, shift);
		put_delta(op, stride, shift);
		tcpx_buf_put_var(op, e->len);
		tcpx_buf_put_var(op, n);
		tcpx_buf_put_var(op, e->region);
		put_delta(op, delta, shift);
		return n;
	}
	shift = common_shift(delta, 0);
	if (e->region == w->region && e->len == w->len) {
		put_op(op, OP_AGAIN, shift);
		put_delta(op, delta, shift);
		return 1;
	}
	put_op(op, OP_RUN, shift);
	tcpx_buf_put_var(op, e->region);
	put_delta(op, delta, shift);
	tcpx_buf_put_var(op, e->len);
	return 1;
}

int
tcpx_runs_write(struct tcpx_runs_writer *w, struct tcpx_buf *b)
{
	while (w->next < w->entry_count) {
		const struct tcpx_run_entry *last;
		uint8_t scratch[OP_BYTES];
		struct tcpx_buf op;
		size_t n;

		tcpx_buf_init(&op, scratch, sizeof(scratch));
		n = encode_next(w, &op);
		if (op.pos > tcpx_buf_left(b))
			return 0;
		tcpx_buf_put_bytes(b, scratch, op.pos);
		if (!n) {
			w->introduced++;
			continue;
		}
		w->next += n;
		last = &w->entries[w->next - 1];
		w->end = last->offset + last->len;
		w->len = last->len;
		w->region = last->region;
	}
	return 1;
}

void
tcpx_runs_read_init(struct tcpx_runs_reader *r, uint32_t region_limit)
{
	*r = (struct tcpx_runs_reader){ .region_limit = region_limit };
}

static uint64_t
get_delta(struct tcpx_buf *b, unsigned shift)
{
	uint64_t small = unzigzag(tcpx_buf_get_var(b));
	uint64_t delta = small << shift;

	b->bad |= scale_down(delta, shift) != small; /* bits fell out at the top */
	return delta;
}

static uint32_t
get_index(struct tcpx_buf *b, const struct tcpx_runs_reader *r)
{
	uint64_t index = tcpx_buf_get_var(b);

	b->bad |= index >= r->introduced;
	return (uint32_t)index;
}

/* The entry of r->region and r->len at @offset. */
static int
emit(struct tcpx_runs_reader *r, uint64_t offset, struct tcpx_run_entry *entry)
{
	if (__builtin_add_overflow(offset, r->len, &r->end))
		return TCPX_EPROTO;
	*entry = (struct tcpx_run_entry){ .region = r->region, .offset = offset, .len = r->len };
	return 1;
}

static int
emit_repeat(struct tcpx_runs_reader *r, struct tcpx_run_entry *entry)
{
	uint64_t offset = r->repeat_next;

	r->repeat_left--;
	r->repeat_next += r->repeat_stride;
	return emit(r, offset, entry);
}

static int
read_region(struct tcpx_runs_reader *r, struct tcpx_buf *b, struct tcpx_region_ref *intro)
{
	struct tcpx_region_ref ref = { .id = tcpx_buf_get_u64(b) };

	tcpx_buf_get_bytes(b, ref.key, sizeof(ref.key));
	if (b->bad || r->introduced >= r->region_limit)
		return TCPX_EPROTO;
	r->introduced++;
	*intro = ref;
	return 2;
}

static int
read_repeat(struct tcpx_runs_reader *r, struct tcpx_buf *b, unsigned shift,
	    struct tcpx_run_entry *entry)
{
	r->repeat_stride = get_delta(b, shift);
	r->len = tcpx_buf_get_var(b);
	r->repeat_left = tcpx_buf_get_var(b);
	r->region = get_index(b, r);
	r->repeat_next = r->end + get_delta(b, shift);
	if (b->bad || !r->repeat_left) {
		r->repeat_left = 0;
		return TCPX_EPROTO;
	}
	return emit_repeat(r, entry);
}

int
tcpx_runs_read(struct tcpx_runs_reader *r, struct tcpx_buf *b, struct tcpx_run_entry *entry,
	       struct tcpx_region_ref *intro)
{
	uint64_t delta;
	unsigned shift;
	uint8_t op;

	if (r->repeat_left)
		return emit_repeat(r, entry);
	if (b->bad)
		return TCPX_EPROTO;
	if (!tcpx_buf_left(b))
		return 0;

	op = tcpx_buf_get_u8(b);
	shift = op >> OP_BITS;
	switch (op & ((1 << OP_BITS) - 1)) {
	case OP_REGION:
		return shift ? TCPX_EPROTO : read_region(r, b, intro);
	case OP_REPEAT:
		return read_repeat(r, b, shift, entry);
	case OP_RUN:
		r->region = get_index(b, r);
		delta = get_delta(b, shift);
		r->len = tcpx_buf_get_var(b);
		break;
	default: /* OP_AGAIN */
		b->bad |= r->region >= r->introduced;
		delta = get_delta(b, shift);
	}
	if (b->bad)
		return TCPX_EPROTO;
	return emit(r, r->end + delta, entry);
}
