/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces 0..r-1 are one byte longer than the others (r = total mod count), so arithmetic
 * finds piece and place of any byte. Places are multiples of the stride; the shuffle
 * assigns pieces to them.
 */
#include "measure/perf/layout.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define PAGE       4096u
#define LINE       64u        /* small transfers of a ring lie close, as in a cache      */
#define PIECES_MAX (1u << 24)
#define POISON     UINT64_MAX /* a transfer number that no transfer has */

static uint64_t
stride_of(uint64_t total, uint64_t count)
{
	uint64_t longest = (total + count - 1) / count, gap = longest / 4;

	return count == 1 ? longest : (longest + (gap < 64 ? 64 : gap) + 63) / 64 * 64;
}

/* Before the first place and, at least, after the last: one piece is page-aligned. */
static uint64_t
edge_of(uint64_t total)
{
	return total < PAGE ? LINE : PAGE;
}

uint64_t
layout_span(uint64_t total, uint64_t count)
{
	uint64_t edge = edge_of(total);

	return (edge + count * stride_of(total, count) + edge + edge - 1) / edge * edge;
}

int
layout_init(struct layout *l, uint64_t total, uint64_t count, uint64_t seed)
{
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	uint32_t *place = NULL, *piece = NULL;

	if (!count || count > PIECES_MAX || (count > 1 && count > total))
		return -EINVAL;
	if (count > 1) {
		place = malloc(2 * count * sizeof(*place));
		if (!place)
			return -ENOMEM;
		piece = place + count;
		for (uint64_t i = 0; i < count; i++) {
			uint64_t j = tcpx_rng_below(&rng, i + 1);

			place[i] = place[j];
			place[j] = (uint32_t)i;
		}
		for (uint64_t i = 0; i < count; i++)
			piece[place[i]] = (uint32_t)i;
	}
	*l = (struct layout){ total, count, stride_of(total, count), layout_span(total, count),
			      place, piece };
	return 0;
}

void
layout_fini(struct layout *l)
{
	free(l->place);
	*l = (struct layout){ 0 };
}

uint64_t
layout_piece_len(const struct layout *l, uint64_t piece)
{
	return l->total / l->count + (piece < l->total % l->count);
}

uint64_t
layout_piece_start(const struct layout *l, uint64_t piece)
{
	uint64_t longer = l->total % l->count;

	return piece * (l->total / l->count) + (piece < longer ? piece : longer);
}

uint64_t
layout_piece_at(const struct layout *l, uint64_t piece)
{
	return edge_of(l->total) + (l->place ? l->place[piece] * l->stride : 0);
}

void
layout_gap(const struct layout *l, uint64_t i, uint64_t *at, uint64_t *len)
{
	uint64_t edge = edge_of(l->total), to = i < l->count ? edge + i * l->stride : l->span;

	*at = i ? edge + (i - 1) * l->stride +
		  layout_piece_len(l, l->piece ? l->piece[i - 1] : 0) : 0;
	*len = to - *at;
}

static uint64_t
piece_of(const struct layout *l, uint64_t pos)
{
	uint64_t len = l->total / l->count, longer = l->total % l->count;

	if (pos < longer * (len + 1))
		return pos / (len + 1);
	return longer + (pos - longer * (len + 1)) / len;
}

int
layout_iov(const struct layout *l, void *mem, uint64_t pos, uint64_t max, struct iovec *iov,
	   int cap, uint64_t *bytes)
{
	uint64_t left = max < l->total - pos ? max : l->total - pos;
	int n = 0;

	*bytes = 0;
	if (!left)
		return 0;
	for (uint64_t piece = piece_of(l, pos); left && n < cap; piece++, n++) {
		uint64_t skip = pos - layout_piece_start(l, piece);
		uint64_t len = layout_piece_len(l, piece) - skip;

		if (len > left)
			len = left;
		iov[n].iov_base = (uint8_t *)mem + layout_piece_at(l, piece) + skip;
		iov[n].iov_len = len;
		pos += len;
		left -= len;
		*bytes += len;
	}
	return n;
}

void
layout_fill(const struct layout *l, void *mem, struct pattern p)
{
	for (uint64_t i = 0; i < l->count; i++)
		pattern_fill(p, layout_piece_start(l, i), (uint8_t *)mem + layout_piece_at(l, i),
			     layout_piece_len(l, i));
}

struct pattern
layout_poison_pattern(uint64_t seed)
{
	return pattern_of(seed, POISON);
}

void
layout_poison(const struct layout *l, void *mem, uint64_t seed)
{
	pattern_fill(layout_poison_pattern(seed), 0, mem, l->span);
}

/* Explains the 8 bytes at mem + at, if they are known. */
static void
explain_word(const struct layout *l, const uint8_t *mem, uint64_t at, uint64_t seed,
	     uint64_t transfers, uint64_t poison, char *out, size_t cap)
{
	uint64_t word, offset;

	memcpy(&word, mem + at, 8);
	word = le64toh(word);
	snprintf(out, cap, "no part of the pattern");
	if (!pattern_check(layout_poison_pattern(poison), at, mem + at, 8, &offset)) {
		snprintf(out, cap, "nothing was written here");
		return;
	}
	for (uint64_t t = 0; t < transfers; t++) {
		if (!pattern_find(pattern_of(seed, t), word, l->total, &offset))
			continue;
		snprintf(out, cap, "it belongs to transfer %" PRIu64 " offset %" PRIu64, t, offset);
		return;
	}
}

static uint64_t
verify_pieces(const struct layout *l, const uint8_t *mem, uint64_t seed, uint64_t transfer,
	      uint64_t transfers, uint64_t poison, uint64_t chunk, struct layout_verdict *v)
{
	struct pattern p = pattern_of(seed, transfer);
	uint64_t wrong = 0, first = 0;

	for (uint64_t i = 0; i < l->count; i++) {
		uint64_t start = layout_piece_start(l, i), len = layout_piece_len(l, i), n, whole;
		uint64_t at = layout_piece_at(l, i);
		char what[96], where[64] = "";

		n = pattern_check(p, start, mem + at, len, &first);
		wrong += n;
		if (!n || wrong > n)
			continue;
		whole = first / 8 * 8 > start ? first / 8 * 8 : start;
		explain_word(l, mem, at + (whole - start), seed, transfers, poison, what,
			     sizeof(what));
		if (chunk)
			snprintf(where, sizeof(where), "chunk %" PRIu64 " ", first / chunk);
		v->first = first;
		snprintf(v->text, sizeof(v->text),
			 "transfer %" PRIu64 " %soffset %" PRIu64
			 ": expected 0x%02x, got 0x%02x (%s)", transfer, where, first,
			 pattern_byte(p, first), mem[at + (first - start)], what);
	}
	return wrong;
}

/* Bytes between places, before the first and after the last. */
static uint64_t
verify_gaps(const struct layout *l, const uint8_t *mem, uint64_t transfer, uint64_t poison,
	    char *text, size_t cap)
{
	struct pattern p = layout_poison_pattern(poison);
	uint64_t wrong = 0, at, len, first = 0, n;

	for (uint64_t i = 0; i <= l->count; i++) {
		layout_gap(l, i, &at, &len);
		n = pattern_check(p, at, mem + at, len, &first);
		if (n && !wrong)
			snprintf(text, cap,
				 "transfer %" PRIu64 ": byte %" PRIu64 " of the memory belongs to"
				 " no piece, but was written: expected 0x%02x, got 0x%02x",
				 transfer, first, pattern_byte(p, first), mem[first]);
		wrong += n;
	}
	return wrong;
}

void
layout_verify(const struct layout *l, const void *mem, uint64_t seed, uint64_t transfer,
	      uint64_t transfers, uint64_t poison, uint64_t chunk, struct layout_verdict *v)
{
	char gaps[sizeof(v->text)] = "";

	*v = (struct layout_verdict){ 0 };
	v->wrong = verify_pieces(l, mem, seed, transfer, transfers, poison, chunk, v);
	v->wrong += verify_gaps(l, mem, transfer, poison, gaps, sizeof(gaps));
	if (!v->text[0])
		memcpy(v->text, gaps, sizeof(gaps));
}

void
layout_verdict_add(struct layout_verdict *total, const struct layout_verdict *v)
{
	uint64_t wrong = total->wrong;

	if (!wrong)
		*total = *v;
	total->wrong = wrong + v->wrong;
}

int
layouts_init(struct layouts *l, uint64_t total, uint64_t count, uint64_t seed)
{
	struct layouts made = { .span = layout_span(total, count) };
	struct layout *const each[] = { &made.client_out, &made.server_out, &made.client_in,
					&made.server_in };
	int rc = 0;

	for (uint64_t i = 0; !rc && i < 4; i++)
		rc = layout_init(each[i], total, count, seed * 4 + i);
	if (rc)
		layouts_fini(&made);
	else
		*l = made;
	return rc;
}

void
layouts_fini(struct layouts *l)
{
	layout_fini(&l->client_out);
	layout_fini(&l->server_out);
	layout_fini(&l->client_in);
	layout_fini(&l->server_in);
	l->span = 0;
}
