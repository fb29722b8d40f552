/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptor lists as operations. The writer writes one operation at a time, only where the
 * longest one fits, so a frame never ends inside one.
 */
#include "proto/runs.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"

enum { OP_REGION, OP_RUN, OP_AGAIN, OP_REPEAT };

#define OP_BITS    2
#define OP_MASK    ((1u << OP_BITS) - 1)
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
	return delta >> shift | (-(delta >> 63) & ~(UINT64_MAX >> shift));
}

static unsigned
common_shift(uint64_t a, uint64_t b)
{
	return a | b ? (unsigned)__builtin_ctzll(a | b) : 0;
}

static uint8_t *
put_op(uint8_t *at, unsigned op, unsigned shift)
{
	*at = (uint8_t)(shift << OP_BITS | op);
	return at + 1;
}

static uint8_t *
put_var(uint8_t *at, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*at++ = (uint8_t)(v | 0x80);
	*at = (uint8_t)v;
	return at + 1;
}

static uint8_t *
put_delta(uint8_t *at, uint64_t delta, unsigned shift)
{
	return put_var(at, zigzag(scale_down(delta, shift)));
}

void
tcpx_runs_write_init(struct tcpx_runs_writer *w)
{
	*w = (struct tcpx_runs_writer){
		.region = UINT32_MAX, /* none: the first entry cannot be AGAIN */
	};
}

static uint8_t *
put_region(struct tcpx_runs_writer *w, const struct tcpx_region_ref *ref, uint8_t *at)
{
	struct tcpx_buf b;

	at = put_op(at, OP_REGION, 0);
	tcpx_buf_init(&b, at, sizeof(ref->id) + sizeof(ref->key));
	tcpx_buf_put_u64(&b, ref->id);
	tcpx_buf_put_bytes(&b, ref->key, sizeof(ref->key));
	w->introduced++;
	return at + b.pos;
}

/* Writes the first held entry, or all held entries where they are one operation. */
static uint8_t *
put_held(struct tcpx_runs_writer *w, uint8_t *at)
{
	struct tcpx_run_entry *e = &w->first;
	uint64_t delta = e->offset - w->end, n = 1;
	unsigned shift;

	if (w->held >= REPEAT_MIN) {
		n = w->held;
		shift = common_shift(w->stride, delta);
		at = put_op(at, OP_REPEAT, shift);
		at = put_delta(at, w->stride, shift);
		at = put_var(at, e->len);
		at = put_var(at, n);
		at = put_var(at, e->region);
		at = put_delta(at, delta, shift);
	} else if (e->region == w->region && e->len == w->len) {
		shift = common_shift(delta, 0);
		at = put_op(at, OP_AGAIN, shift);
		at = put_delta(at, delta, shift);
	} else {
		shift = common_shift(delta, 0);
		at = put_op(at, OP_RUN, shift);
		at = put_var(at, e->region);
		at = put_delta(at, delta, shift);
		at = put_var(at, e->len);
	}
	w->end = e->offset + (n - 1) * w->stride + e->len;
	w->len = e->len;
	w->region = e->region;
	e->offset += n * w->stride; /* the second held entry, if there is one */
	w->held -= n;
	return at;
}

/* Does @e continue the held entries? Then it is held, too. */
static bool
hold(struct tcpx_runs_writer *w, const struct tcpx_run_entry *e)
{
	uint64_t step = e->offset - w->first.offset;

	if (w->held == 0) {
		w->first = *e;
		w->stride = 0;
	} else if (e->region != w->first.region || e->len != w->first.len) {
		return false;
	} else if (w->held == 1) {
		w->stride = step;
	} else if (step != w->held * w->stride) {
		return false;
	}
	w->held++;
	return true;
}

bool
tcpx_runs_write(struct tcpx_runs_writer *w, const struct tcpx_region_ref *regions,
		const struct tcpx_run_entry *e, uint8_t **at, const uint8_t *limit)
{
	while (e ? !hold(w, e) : w->held > 0) {
		if (limit - *at < TCPX_RUNS_ROOM)
			return false;
		*at = w->first.region >= w->introduced ?
		      put_region(w, &regions[w->introduced], *at) : put_held(w, *at);
	}
	return true;
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

	b->bad |= scale_down(delta, shift) != small; /* bits were lost at the top */
	return delta;
}

static uint32_t
get_index(struct tcpx_buf *b, const struct tcpx_runs_reader *r)
{
	uint64_t index = tcpx_buf_get_var(b);

	b->bad |= index >= r->introduced;
	return (uint32_t)index;
}

/* The entry of length r->len in region r->region, at @offset. */
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
	switch (op & OP_MASK) {
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

/* The rest of a REPEAT. */
static size_t
read_repeated(struct tcpx_runs_reader *r, uint64_t base, uint64_t last, size_t most,
	      struct tcpx_fraggrow *out)
{
	size_t n;

	for (n = 0; n < most && r->repeat_left && r->repeat_next <= last; n++) {
		tcpx_frag_add(out, base + r->repeat_next, r->len);
		r->end = r->repeat_next + r->len;
		r->repeat_next += r->repeat_stride;
		r->repeat_left--;
	}
	return n;
}

#define WORD      sizeof(uint64_t)
#define VAR_ENDS  0x0080808080808080u /* last bytes of numbers of 1 to 7 bytes, behind the op */

/* The value bits of a number of at most 7 bytes, without the continuation bits. */
static uint64_t
pack_var(uint64_t v)
{
	v = (v & 0x007f007f007f007f) | (v & 0x7f007f007f007f00) >> 1;
	v = (v & 0x00003fff00003fff) | (v & 0x3fff00003fff0000) >> 2;
	return (v & 0x000000000fffffff) | (v & 0x0fffffff00000000) >> 4;
}

/*
 * A plain AGAIN: op and number within the eight bytes at @at. Returns its length, or 0 if
 * it is anything else.
 */
static inline size_t
plain_again(const uint8_t *at, uint64_t *delta)
{
	uint64_t word, ends, last;
	unsigned shift, bits;

	memcpy(&word, at, WORD);
	word = le64toh(word);
	shift = word >> OP_BITS & 63;
	ends = ~(word >> 8) & VAR_ENDS;
	if ((word & OP_MASK) != OP_AGAIN || !ends)
		return 0;
	ends &= -ends; /* the first of them */
	bits = (unsigned)__builtin_ctzll(ends) + 1;
	word = word >> 8 & (ends - 1);
	last = ends - (ends >> 7); /* bits of its last byte */
	if (!(word & last) && bits > 8)
		return 0; /* padded */
	if (bits - bits / 8 + shift > 64)
		return 0; /* may lose bits at the top */
	*delta = unzigzag(pack_var(word)) << shift;
	return 1 + bits / 8;
}

size_t
tcpx_runs_read_alike(struct tcpx_runs_reader *r, struct tcpx_buf *b, uint64_t base,
		     uint64_t limit, size_t most, struct tcpx_fraggrow *out)
{
	uint64_t len = r->len, last = limit - len, end, delta;
	size_t left = tcpx_buf_left(b), n, size;
	const uint8_t *at = b->data + b->pos;
	struct tcpx_fraggrow grow;

	if (r->region >= r->introduced || len > limit)
		return 0;
	n = read_repeated(r, base, last, most, out);
	end = r->end;
	grow = *out; /* a local copy, so that the stores to its arrays cannot change it: it
		      * stays in registers */
	for (; n < most && left >= WORD && !r->repeat_left; n++) {
		size = plain_again(at, &delta);
		if (!size || end + delta > last)
			break;
		tcpx_frag_add(&grow, base + end + delta, len);
		end += delta + len;
		at += size;
		left -= size;
	}
	r->end = end;
	b->pos = b->bad ? b->pos : b->cap - left;
	*out = grow;
	return n;
}
