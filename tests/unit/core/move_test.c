/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and reads of every shape put every byte where it belongs, and no other. */
#include "rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1u << 20)
#define EDGE 64 /* bytes around a range that must not change */

static const size_t sizes[] = { 0, 1, 63, 64, 4095, 8191, 8192, 8193, 65535, 65536, 65537,
				1000003, 2 * MIB + 1, 40 * MIB + 13 };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void
assert_only(const uint8_t *at, size_t total, size_t off, size_t len, uint32_t inside,
	    uint32_t outside)
{
	uint8_t *want = malloc(total), *part = malloc(len + 1);

	fill(want, total, outside);
	fill(part, len, inside);
	memcpy(want + off, part, len);
	assert_memory_equal(at, want, total);
	free(want);
	free(part);
}

TEST_WITH(a_write_puts_its_bytes_and_no_others, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	rig_memory(r, 40 * MIB + 100, 40 * MIB + 200);
	for (size_t i = 0; i < COUNT(sizes); i++) {
		size_t total = sizes[i] + 2 * EDGE < r->far.len ? sizes[i] + 2 * EDGE : r->far.len;

		fill(r->near.at, sizes[i], 10 + (uint32_t)i);
		fill(r->far.at, total, 2);
		assert_ok(rig_move(r, TCPX_OP_WRITE, 0, EDGE, sizes[i]));
		assert_only(r->far.at, total, EDGE, sizes[i], 10 + (uint32_t)i, 2);
	}
}

TEST_WITH(a_read_gets_its_bytes_and_no_others, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	rig_memory(r, 40 * MIB + 200, 40 * MIB + 100);
	for (size_t i = 0; i < COUNT(sizes); i++) {
		size_t total = sizes[i] + 2 * EDGE < r->near.len ? sizes[i] + 2 * EDGE :
								   r->near.len;

		fill(r->far.at, sizes[i], 10 + (uint32_t)i);
		fill(r->near.at, total, 1);
		assert_ok(rig_move(r, TCPX_OP_READ, EDGE, 0, sizes[i]));
		assert_only(r->near.at, total, EDGE, sizes[i], 10 + (uint32_t)i, 1);
	}
}

/* Cuts len bytes into pieces of about size, some of them empty; every second pair of
 * pieces changes places. */
static size_t
cut(struct tcpx_desc *d, uint64_t region, size_t len, size_t size)
{
	size_t n = 0, at = 0;

	while (at < len) {
		size_t piece = 1 + (n * 7919) % (2 * size - 1);

		piece = piece < len - at ? piece : len - at;
		if (n % 97 == 5)
			piece = 0;
		d[n++] = (struct tcpx_desc){ region, at, piece };
		at += piece;
	}
	for (size_t i = 0; i + 1 < n; i += 4) {
		struct tcpx_desc swap = d[i];

		d[i] = d[i + 1];
		d[i + 1] = swap;
	}
	return n;
}

static uint8_t *
flatten(const uint8_t *at, const struct tcpx_desc *d, size_t n, size_t len)
{
	uint8_t *flat = malloc(len + 1);
	size_t done = 0;

	for (size_t i = 0; i < n; i++) {
		memcpy(flat + done, at + d[i].offset, d[i].len);
		done += d[i].len;
	}
	assert_int_equal(done, len);
	return flat;
}

static void
check_lists(struct rig *r, enum tcpx_op op, size_t len, size_t near_piece, size_t far_piece)
{
	struct tcpx_desc *l = calloc(4 * len / near_piece + 8, sizeof(*l));
	struct tcpx_desc *f = calloc(4 * len / far_piece + 8, sizeof(*f));
	size_t nl = cut(l, r->near.id, len, near_piece), nf = cut(f, r->far.far, len, far_piece);
	uint8_t *here, *there;
	tcpx_xfer *x;

	fill(r->near.at, len, 1);
	fill(r->far.at, len, 2);
	if (op == TCPX_OP_WRITE)
		assert_ok(tcpx_write(r->to_b, l, nl, f, nf, NULL, 0, &x));
	else
		assert_ok(tcpx_read(r->to_b, l, nl, f, nf, NULL, 0, &x));
	assert_ok(finish(x));
	here = flatten(r->near.at, l, nl, len);
	there = flatten(r->far.at, f, nf, len);
	assert_memory_equal(here, there, len);
	if (op == TCPX_OP_WRITE)
		assert_filled(r->near.at, len, 1);
	else
		assert_filled(r->far.at, len, 2);
	free(here);
	free(there);
	free(l);
	free(f);
}

TEST_WITH(lists_may_be_cut_differently, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	rig_memory(r, 3 * MIB, 3 * MIB);
	check_lists(r, TCPX_OP_WRITE, 3 * MIB, 100, 8192);
	check_lists(r, TCPX_OP_READ, 3 * MIB, 8192, 100);
	check_lists(r, TCPX_OP_WRITE, 100, 1, 7);
	check_lists(r, TCPX_OP_READ, 8193, 3, 1000);
}

TEST_WITH(a_hundred_thousand_pieces_on_both_sides, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	rig_memory(r, 6 * MIB, 6 * MIB);
	check_lists(r, TCPX_OP_WRITE, 6 * MIB, 60, 57);
	check_lists(r, TCPX_OP_READ, 6 * MIB, 55, 61);
}

TEST_WITH(sources_may_overlap, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_desc l[3], f = { 0, 0, 300000 };
	tcpx_xfer *x;

	rig_memory(r, 100000, 300000);
	for (int i = 0; i < 3; i++)
		l[i] = (struct tcpx_desc){ r->near.id, 0, 100000 };
	f.region = r->far.far;
	assert_ok(tcpx_write(r->to_b, l, 3, &f, 1, NULL, 0, &x));
	assert_ok(finish(x));
	for (int i = 0; i < 3; i++)
		assert_filled(r->far.at + i * 100000, 100000, 1);
}

TEST_WITH(lists_of_nothing_are_transfers_too, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_desc l[3], f[2];
	tcpx_xfer *x;

	rig_memory(r, 10, 10);
	for (int i = 0; i < 3; i++)
		l[i] = (struct tcpx_desc){ r->near.id, (uint64_t)i, 0 };
	f[0] = f[1] = (struct tcpx_desc){ r->far.far, 10, 0 };
	assert_ok(tcpx_write(r->to_b, l, 3, f, 2, "all", 3, &x));
	assert_ok(finish(x));
	assert_note(r->b, "anna", "all");
	assert_ok(tcpx_read(r->to_b, NULL, 0, NULL, 0, NULL, 0, &x));
	assert_ok(finish(x));
	assert_filled(r->far.at, 10, 2);
}

TEST_WITH(a_thousand_posts_at_once_all_finish, rig_setup, rig_teardown)
{
	enum { N = 1000, LEN = 20000 };
	struct rig *r = *state;
	tcpx_xfer **x = calloc(N, sizeof(*x));

	rig_memory(r, LEN, 100 * LEN);
	for (int i = 0; i < N; i++) {
		struct tcpx_desc l = { r->near.id, 0, LEN - 7 * (i % 2000) };
		struct tcpx_desc f = { r->far.far, (uint64_t)(i % 100) * LEN, l.len };

		assert_ok(tcpx_write(r->to_b, &l, 1, &f, 1, NULL, 0, &x[i]));
	}
	for (int i = 0; i < N; i++)
		assert_ok(finish(x[i]));
	for (int i = 0; i < 100; i++)
		assert_filled(r->far.at + (size_t)i * LEN, LEN - 7 * 999, 1);
	assert_int_equal(counters_of(r->a).xfers_done, N);
	assert_int_equal(counters_of(r->a).xfers_failed, 0);
	free(x);
}

TEST_WITH(a_transfer_to_oneself_works, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	tcpx_peer *me = rig_add(r->a, r->a);
	struct mem from, to;
	struct tcpx_desc l = { 0, 0, 3 * MIB }, f = l;
	tcpx_xfer *x;

	mem_open(&from, r->a, 3 * MIB, TCPX_MEM_LOCAL);
	mem_open(&to, r->a, 3 * MIB, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
	fill(from.at, from.len, 1);
	l.region = from.id;
	f.region = mem_tell(&to, r->a, r->a);
	assert_ok(tcpx_write(me, &l, 1, &f, 1, "me", 2, &x));
	assert_ok(finish(x));
	assert_filled(to.at, to.len, 1);
	assert_note(r->a, "anna", "me");
	fill(to.at, to.len, 3);
	assert_ok(tcpx_read(me, &l, 1, &f, 1, NULL, 0, &x));
	assert_ok(finish(x));
	assert_filled(from.at, from.len, 3);
	assert_ok(tcpx_mem_deregister(r->a, from.id));
	assert_ok(tcpx_mem_deregister(r->a, to.id));
	tcpx_peer_free(me);
	mem_close(&from);
	mem_close(&to);
}

TEST_WITH(counters_and_infos_tell_what_was_moved, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_xfer_info info = { .struct_size = sizeof(info) };
	struct tcpx_counters a, b;
	struct tcpx_channel_info ch[8];
	size_t count = COUNT(ch), bytes = 0;
	int patience = WAIT_MS;
	struct tcpx_desc l, f;
	tcpx_note *n;
	tcpx_xfer *x;

	rig_memory(r, 5 * MIB, 5 * MIB);
	l = (struct tcpx_desc){ r->near.id, 0, 5 * MIB };
	f = (struct tcpx_desc){ r->far.far, 0, 5 * MIB };
	assert_ok(tcpx_write(r->to_b, &l, 1, &f, 1, "x", 1, &x));
	assert_ok(tcpx_wait(x, WAIT_MS));
	assert_ok(tcpx_xfer_query(x, &info));
	assert_int_equal(info.bytes_total, 5 * MIB);
	assert_int_equal(info.bytes_done, 5 * MIB);
	assert_true(info.done_ns > info.post_ns);
	assert_string_equal(info.cause, "");
	tcpx_xfer_free(x);
	/* the last acknowledgements may come behind the word that all is there */
	do
		a = counters_of(r->a);
	while (a.bytes_tx < 5 * MIB && tcpx_note_wait(r->a, 1, &n) == -EAGAIN && --patience);
	b = counters_of(r->b);
	assert_int_equal(a.bytes_tx, 5 * MIB);
	assert_int_equal(b.bytes_rx, 5 * MIB);
	assert_int_equal(a.chunks_tx, b.chunks_rx);
	assert_int_equal(a.chunks_tx, (5 * MIB + info.chunk_bytes - 1) / info.chunk_bytes);
	assert_int_equal(a.xfers_posted, 1);
	assert_int_equal(a.xfers_done, 1);
	assert_int_equal(a.notes_tx, 1);
	assert_int_equal(b.notes_rx, 1);
	assert_int_equal(a.sessions, 1);
	assert_true(a.memory_bytes > 0);
	assert_ok(tcpx_query_channels(r->a, ch, sizeof(ch[0]), &count));
	assert_int_equal(count, 4);
	for (size_t i = 0; i < count; i++)
		bytes += ch[i].sending ? ch[i].bytes : 0;
	assert_int_equal(bytes, 5 * MIB);
	assert_note(r->b, "anna", "x");
}
