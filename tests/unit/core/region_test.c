/* SPDX-License-Identifier: Apache-2.0 */
/* Regions as their owner and their users see them: ids, blobs, keys, rights, ends. */
#include "rig.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "proto/blob.h"

TEST_WITH(a_registered_region_is_known_until_given_back, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	uint8_t block[100];
	uint64_t id, again, addr, len;

	assert_ok(tcpx_mem_register(r->a, block, sizeof(block), TCPX_MEM_LOCAL, &id));
	assert_ok(tcpx_mem_query(r->a, id, &addr, &len));
	assert_int_equal(addr, (uintptr_t)block);
	assert_int_equal(len, sizeof(block));
	assert_ok(tcpx_mem_deregister(r->a, id));
	assert_code(tcpx_mem_deregister(r->a, id), TCPX_ESTALE);
	assert_code(tcpx_mem_query(r->a, id, &addr, &len), TCPX_ESTALE);
	assert_ok(tcpx_mem_register(r->a, block, sizeof(block), TCPX_MEM_LOCAL, &again));
	assert_int_not_equal(id, again);
	assert_int_equal(counters_of(r->a).regions, 1);
}

/* The slot belongs to another region by then. */
TEST_WITH(an_id_that_was_given_back_names_nothing_again, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	uint8_t block[100], blob[64];
	uint64_t old, now, addr, len;
	size_t room = sizeof(blob);
	struct tcpx_desc near = { .len = 10 }, far = { .len = 10 };
	tcpx_list *list;
	tcpx_xfer *x;
	int gpu;

	rig_memory(r, 100, 100);
	far.region = r->far.far;
	assert_ok(tcpx_mem_register(r->a, block, sizeof(block), TCPX_MEM_LOCAL, &old));
	assert_ok(tcpx_mem_deregister(r->a, old));
	assert_ok(tcpx_mem_register(r->a, block, sizeof(block), TCPX_MEM_LOCAL, &now));
	assert_int_equal((uint32_t)now, (uint32_t)old);
	assert_int_not_equal(now, old);
	near.region = old;
	assert_code(tcpx_mem_query(r->a, old, &addr, &len), TCPX_ESTALE);
	assert_code(tcpx_mem_place(r->a, old, &gpu), TCPX_ESTALE);
	assert_code(tcpx_mem_export(r->a, old, blob, &room), TCPX_ESTALE);
	assert_code(tcpx_mem_deregister(r->a, old), TCPX_ESTALE);
	assert_code(tcpx_list_prepare(r->a, &near, 1, &list), TCPX_ESTALE);
	assert_code(tcpx_write(r->to_b, &near, 1, &far, 1, NULL, 0, &x), TCPX_ESTALE);
	assert_code(tcpx_read(r->to_b, &near, 1, &far, 1, NULL, 0, &x), TCPX_ESTALE);
	near.region = now; /* and the newer one is as it was */
	assert_ok(tcpx_mem_query(r->a, now, &addr, &len));
	assert_ok(tcpx_write(r->to_b, &near, 1, &far, 1, NULL, 0, &x));
	assert_ok(finish(x));
}

/* A prepared list keeps the names of its regions, whose slots have others by then. */
TEST_WITH(a_prepared_list_reaches_nothing_that_was_given_back, rig_setup, rig_teardown)
{
	static const size_t lens[] = { 10, 200000 }; /* within a frame, and in chunks */
	struct rig *r = *state;

	rig_memory(r, 200000, 200000);
	for (int i = 0; i < 4; i++) {
		size_t len = lens[i / 2];
		struct tcpx_desc near = { 0, 0, len }, far = near;
		struct mem mine, again;
		tcpx_list *l, *f;
		tcpx_xfer *x;

		mem_open(&mine, r->a, len, TCPX_MEM_LOCAL);
		near.region = mine.id;
		far.region = mem_tell(&r->far, r->b, r->a);
		assert_ok(tcpx_list_prepare(r->a, &near, 1, &l));
		assert_ok(tcpx_list_prepare(r->a, &far, 1, &f));
		assert_ok(tcpx_xfer_prepare(r->to_b, TCPX_OP_READ, l, f, &x));
		assert_ok(tcpx_xfer_post(x, NULL, 0));
		assert_ok(tcpx_wait(x, WAIT_MS));
		assert_ok(tcpx_mem_deregister(r->a, i % 2 ? mine.id : far.region));
		mem_open(&again, r->a, len, TCPX_MEM_LOCAL); /* takes the slot */
		fill(mine.at, len, 7);
		assert_code(tcpx_xfer_post(x, NULL, 0), TCPX_ESTALE);
		assert_filled(mine.at, len, 7);
		tcpx_xfer_free(x);
		tcpx_list_free(l);
		tcpx_list_free(f);
		mem_close(&again);
		mem_close(&mine);
	}
}

/* Both the owner and the importer refuse such a name. */
TEST_WITH(a_name_of_what_was_given_back_reaches_nothing, rig_setup, rig_teardown)
{
	static const size_t lens[] = { 10, 200000 }; /* within a frame, and in chunks */
	struct rig *r = *state;
	struct mem again;
	uint64_t old;

	rig_memory(r, 200000, 200000);
	old = r->far.far;
	assert_ok(tcpx_mem_deregister(r->b, r->far.id));
	mem_open(&again, r->b, 200000, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
	assert_int_equal((uint32_t)again.id, (uint32_t)r->far.id);
	fill(again.at, 200000, 5);
	for (size_t i = 0; i < 2; i++) {
		assert_code(rig_move(r, TCPX_OP_WRITE, 0, 0, lens[i]), TCPX_EREGION);
		assert_code(rig_move(r, TCPX_OP_READ, 0, 0, lens[i]), TCPX_EREGION);
	}
	assert_filled(again.at, 200000, 5);
	assert_ok(tcpx_mem_deregister(r->a, old));
	r->far.far = mem_tell(&again, r->b, r->a);
	assert_int_equal((uint32_t)r->far.far, (uint32_t)old);
	assert_ok(rig_move(r, TCPX_OP_WRITE, 0, 0, 200000));
	fill(again.at, 200000, 5);
	r->far.far = old;
	assert_code(rig_move(r, TCPX_OP_WRITE, 0, 0, 10), TCPX_ESTALE);
	assert_filled(again.at, 200000, 5);
	assert_ok(tcpx_mem_deregister(r->b, again.id));
	mem_close(&again);
}

TEST_WITH(impossible_memory_is_refused, rig_setup, rig_teardown)
{
	static const struct { uintptr_t addr; size_t len; unsigned access; } bad[] = {
		{ 0, 10, 0 }, { 4096, 0, 0 }, { 4096, 10, 8 }, { UINTPTR_MAX - 5, 10, 0 },
	};
	struct rig *r = *state;
	uint64_t id = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_code(tcpx_mem_register(r->a, (void *)bad[i].addr, bad[i].len,
					      bad[i].access, &id), -EINVAL);
	assert_int_equal(id, 7);
}

TEST_WITH(a_blob_says_what_it_needs_and_survives_no_flipped_bit, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	uint8_t blob[64];
	size_t len = 0, need;
	uint64_t id;

	rig_memory(r, 10, 1000);
	assert_code(tcpx_mem_export(r->b, r->far.id, NULL, &len), -ENOBUFS);
	need = len;
	assert_in_range(need, 1, sizeof(blob));
	len = need - 1;
	assert_code(tcpx_mem_export(r->b, r->far.id, blob, &len), -ENOBUFS);
	assert_int_equal(len, need);
	assert_ok(tcpx_mem_export(r->b, r->far.id, blob, &len));
	for (size_t bit = 0; bit < 8 * need; bit++) {
		blob[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_code(tcpx_mem_import(r->a, blob, need, &id), TCPX_EBLOB);
		blob[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_code(tcpx_mem_import(r->a, blob, need - 1, &id), TCPX_EBLOB);
	assert_code(tcpx_mem_import(r->a, NULL, 0, &id), TCPX_EBLOB);
	assert_code(tcpx_mem_export(r->a, r->far.far, blob, &len), TCPX_ESTALE);
	assert_code(tcpx_mem_export(r->a, 0, blob, &len), TCPX_ESTALE);
}

TEST_WITH(an_imported_name_can_be_given_back, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	uint64_t addr, len;

	rig_memory(r, 100, 100);
	assert_ok(tcpx_mem_query(r->a, r->far.far, &addr, &len));
	assert_int_equal(addr, (uintptr_t)r->far.at);
	assert_int_equal(len, 100);
	assert_ok(tcpx_mem_deregister(r->a, r->far.far));
	assert_code(tcpx_mem_deregister(r->a, r->far.far), TCPX_ESTALE);
	assert_code(rig_move(r, TCPX_OP_WRITE, 0, 0, 10), TCPX_ESTALE);
}

TEST_WITH(lists_outside_their_region_are_refused, rig_setup, rig_teardown)
{
	static const struct { uint64_t off, len; } bad[] = {
		{ 100, 1 }, { 0, 101 }, { 101, 0 }, { 50, 51 }, { UINT64_MAX, 2 }, { 2, UINT64_MAX },
	};
	struct rig *r = *state;
	struct tcpx_desc in, out;
	tcpx_xfer *x;

	rig_memory(r, 100, 100);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		in = (struct tcpx_desc){ r->near.id, 0, 10 };
		out = (struct tcpx_desc){ r->far.far, bad[i].off, bad[i].len };
		assert_code(tcpx_write(r->to_b, &in, 1, &out, 1, NULL, 0, &x), TCPX_ERANGE);
		in = (struct tcpx_desc){ r->near.id, bad[i].off, bad[i].len };
		out = (struct tcpx_desc){ r->far.far, 0, 10 };
		assert_code(tcpx_read(r->to_b, &in, 1, &out, 1, NULL, 0, &x), TCPX_ERANGE);
	}
	in = (struct tcpx_desc){ r->far.far, 0, 10 }; /* local and remote exchanged */
	assert_code(tcpx_write(r->to_b, &in, 1, &out, 1, NULL, 0, &x), TCPX_ESTALE);
	assert_ok(rig_move(r, TCPX_OP_WRITE, 100, 100, 0));
}

/* Bert's region at anna, its blob changed on the way. */
static uint64_t
mem_tell_wrong(struct rig *r, uint8_t key, uint64_t longer)
{
	uint8_t blob[TCPX_BLOB_MAX];
	struct tcpx_region_blob said;
	struct tcpx_buf b;
	size_t len = sizeof(blob);
	uint64_t id;

	assert_ok(tcpx_mem_export(r->b, r->far.id, blob, &len));
	tcpx_buf_init(&b, blob, len);
	assert_ok(tcpx_region_blob_read(&b, &said));
	said.key[TCPX_KEY_BYTES - 1] ^= key;
	said.len += longer;
	tcpx_buf_init(&b, blob, sizeof(blob));
	tcpx_region_blob_write(&b, &said);
	assert_ok(tcpx_mem_import(r->a, blob, b.pos, &id));
	return id;
}

/* The peer says that its region is half of all that 64 bits count; two halves are too much. */
TEST_WITH(a_list_of_all_that_64_bits_count_is_refused, rig_setup, rig_teardown)
{
	enum { BYTES = 1000 };
	const uint64_t half = UINT64_MAX / 2 + 1;
	struct rig *r = *state;
	struct tcpx_desc d[3];
	tcpx_list *list;

	rig_memory(r, BYTES, BYTES);
	d[0] = (struct tcpx_desc){ mem_tell_wrong(r, 0, half - BYTES), 0, half };
	d[1] = d[2] = d[0];
	d[1].len = half - 1;
	assert_ok(tcpx_list_prepare(r->a, d, 2, &list));
	tcpx_list_free(list);
	d[1].len = half;
	assert_code(tcpx_list_prepare(r->a, d, 2, &list), TCPX_ERANGE);
	assert_code(tcpx_list_prepare(r->a, d, 3, &list), TCPX_ERANGE);
}

TEST_WITH(totals_must_be_equal, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_desc in, out;
	tcpx_xfer *x;

	rig_memory(r, 100, 100);
	in = (struct tcpx_desc){ r->near.id, 0, 11 };
	out = (struct tcpx_desc){ r->far.far, 0, 10 };
	assert_code(tcpx_write(r->to_b, &in, 1, &out, 1, NULL, 0, &x), -EINVAL);
	assert_code(tcpx_read(r->to_b, &in, 1, NULL, 1, NULL, 0, &x), -EINVAL);
}

/* A session of a third engine, which must not notice what the first two do. */
struct witness {
	tcpx_engine *e;
	tcpx_peer *to_b;
	struct mem mem;
	uint64_t far;
};

static void
witness_open(struct witness *w, struct rig *r)
{
	w->e = rig_open("cleo", NULL);
	w->to_b = rig_add(w->e, r->b);
	mem_open(&w->mem, w->e, 100000, TCPX_MEM_LOCAL);
	w->far = mem_tell(&r->far, r->b, w->e);
	assert_ok(tcpx_peer_wait(w->to_b, WAIT_MS));
}

static void
witness_close(struct witness *w)
{
	struct tcpx_desc l = { w->mem.id, 0, 100000 }, f = { w->far, 0, 100000 };
	tcpx_xfer *x;

	assert_ok(tcpx_read(w->to_b, &l, 1, &f, 1, NULL, 0, &x));
	assert_ok(finish(x));
	tcpx_peer_free(w->to_b);
	tcpx_close(w->e);
	mem_close(&w->mem);
}

TEST_WITH(a_right_not_given_is_refused_and_nobody_else_suffers, rig_setup, rig_teardown)
{
	static const struct { unsigned access; enum tcpx_op op; int code; } tries[] = {
		{ TCPX_MEM_LOCAL, TCPX_OP_WRITE, TCPX_EKEY },
		{ TCPX_MEM_LOCAL, TCPX_OP_READ, TCPX_EKEY },
		{ TCPX_MEM_REMOTE_READ, TCPX_OP_WRITE, TCPX_EKEY },
		{ TCPX_MEM_REMOTE_READ, TCPX_OP_READ, 0 },
		{ TCPX_MEM_REMOTE_WRITE, TCPX_OP_READ, TCPX_EKEY },
		{ TCPX_MEM_REMOTE_WRITE, TCPX_OP_WRITE, 0 },
	};
	static const size_t lens[] = { 10, 200000 };
	struct rig *r = *state;
	struct witness w;
	struct mem far;

	rig_memory(r, 200000, 200000);
	witness_open(&w, r);
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++)
		for (size_t k = 0; k < 2; k++) {
			uint64_t all = r->far.far;

			mem_open(&far, r->b, 200000, tries[i].access);
			fill(far.at, 200000, 5);
			r->far.far = mem_tell(&far, r->b, r->a);
			assert_code(rig_move(r, tries[i].op, 0, 0, lens[k]), tries[i].code);
			if (tries[i].code)
				assert_filled(far.at, 200000, 5);
			assert_ok(tcpx_mem_deregister(r->b, far.id));
			mem_close(&far);
			r->far.far = all;
		}
	assert_int_equal(counters_of(r->b).refused, 8);
	assert_ok(rig_move(r, TCPX_OP_WRITE, 0, 0, 200000));
	witness_close(&w);
}

/* What the initiator can read about the refusal: the peer's reason, not the code's sentence. */
static void
assert_refusal(struct rig *r, uint64_t far, uint64_t len, int code, const char *says)
{
	struct tcpx_desc l = { r->near.id, 0, len }, f = { far, 0, len };
	struct tcpx_xfer_info info = TCPX_XFER_INFO_INIT;
	tcpx_xfer *x;

	assert_ok(tcpx_write(r->to_b, &l, 1, &f, 1, NULL, 0, &x));
	assert_code(tcpx_wait(x, WAIT_MS), code);
	assert_ok(tcpx_xfer_query(x, &info));
	if (!strstr(info.cause, says))
		fail_msg("\"%s\" does not say \"%s\"", info.cause, says);
	tcpx_xfer_free(x);
}

TEST_WITH(the_initiator_reads_which_refusal_it_was, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct mem far;
	uint64_t there;

	rig_memory(r, 200000, 200000);
	mem_open(&far, r->b, 200000, TCPX_MEM_REMOTE_READ);
	there = mem_tell(&far, r->b, r->a);
	assert_refusal(r, there, 100, TCPX_EKEY, "peer may not write region");
	assert_refusal(r, there, 200000, TCPX_EKEY, "peer may not write region");
	assert_ok(tcpx_mem_deregister(r->b, far.id));
	assert_refusal(r, there, 100, TCPX_EREGION, "not registered here");
	mem_close(&far);
}

/* Within a frame, and in chunks. */
TEST_WITH(the_initiator_reads_of_a_wrong_key_and_of_the_range, rig_setup, rig_teardown)
{
	static const uint64_t lens[] = { 1001, 200000 };
	struct rig *r = *state;
	uint64_t id;

	rig_memory(r, 200000, 1000);
	for (size_t i = 0; i < 2; i++) {
		id = mem_tell_wrong(r, 1, lens[i] - 1000);
		assert_refusal(r, id, lens[i], TCPX_EKEY, "peer has a wrong key for region");
		id = mem_tell_wrong(r, 0, lens[i] - 1000);
		assert_refusal(r, id, lens[i], TCPX_ERANGE, "has 1000 bytes");
	}
	assert_filled(r->far.at, 1000, 2);
	assert_ok(rig_move(r, TCPX_OP_WRITE, 0, 0, 1000));
}

/* The blob of another region of the same id at another engine has another key. */
TEST_WITH(a_key_of_another_region_opens_nothing, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct witness w;
	struct mem forged;
	uint64_t mine = 0;

	rig_memory(r, 100000, 100000);
	witness_open(&w, r);
	/* cleo's first id equals bert's: both tables are fresh */
	assert_int_equal(w.mem.id, r->far.id);
	forged = w.mem;
	mine = r->far.far;
	r->far.far = mem_tell(&forged, w.e, r->a);
	assert_code(rig_move(r, TCPX_OP_WRITE, 0, 0, 100), TCPX_EKEY);
	assert_code(rig_move(r, TCPX_OP_READ, 0, 0, 100000), TCPX_EKEY);
	assert_filled(r->far.at, 100000, 2);
	r->far.far = mine;
	assert_ok(rig_move(r, TCPX_OP_WRITE, 0, 0, 100000));
	witness_close(&w);
}

TEST_WITH(a_region_the_peer_gave_back_is_gone, rig_setup, rig_teardown)
{
	struct rig *r = *state;

	rig_memory(r, 1000, 1000);
	assert_ok(tcpx_mem_deregister(r->b, r->far.id));
	assert_code(rig_move(r, TCPX_OP_WRITE, 0, 0, 1000), TCPX_EREGION);
	assert_code(rig_move(r, TCPX_OP_READ, 0, 0, 1000), TCPX_EREGION);
}
