/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transfer's life: prepared and posted again, cancelled and freed at any moment, ended by
 * a region that goes. Memory is unmapped at once, so any late access crashes.
 */
#include "rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MIB (1u << 20)

TEST_WITH(a_prepared_transfer_is_posted_again_and_again, rig_setup, rig_teardown)
{
	static const enum tcpx_op ops[] = { TCPX_OP_WRITE, TCPX_OP_READ };
	static const size_t sizes[] = { 100, 300000 };
	struct rig *r = *state;

	rig_memory(r, 300000, 300000);
	for (int k = 0; k < 4; k++) {
		size_t len = sizes[k / 2];
		struct tcpx_desc l[2] = { { r->near.id, 0, 60 }, { r->near.id, 60, len - 60 } };
		struct tcpx_desc f = { r->far.far, 0, len };
		struct mem *from = k % 2 ? &r->far : &r->near, *to = k % 2 ? &r->near : &r->far;
		tcpx_list *ll, *fl;
		tcpx_xfer *x;

		assert_ok(tcpx_list_prepare(r->a, l, 2, &ll));
		assert_ok(tcpx_list_prepare(r->a, &f, 1, &fl));
		assert_ok(tcpx_xfer_prepare(r->to_b, ops[k % 2], ll, fl, &x));
		tcpx_list_free(ll);
		tcpx_list_free(fl);
		assert_code(tcpx_test(x), TCPX_ESTATE);
		for (uint32_t i = 0; i < 100; i++) {
			fill(from->at, len, 100 + i);
			assert_ok(tcpx_xfer_post(x, "again", 5));
			assert_ok(tcpx_wait(x, WAIT_MS));
			assert_filled(to->at, len, 100 + i);
			assert_note(r->b, "anna", "again");
		}
		tcpx_xfer_free(x);
	}
}

TEST_WITH(a_new_post_has_moved_nothing_yet, rig_setup, rig_teardown)
{
	struct tcpx_xfer_info info = TCPX_XFER_INFO_INIT;
	struct rig *r = *state;
	struct tcpx_desc l, f;
	tcpx_list *ll, *fl;
	tcpx_xfer *x;

	rig_memory(r, 300000, 300000);
	l = (struct tcpx_desc){ r->near.id, 0, 300000 };
	f = (struct tcpx_desc){ r->far.far, 0, 300000 };
	assert_ok(tcpx_list_prepare(r->a, &l, 1, &ll));
	assert_ok(tcpx_list_prepare(r->a, &f, 1, &fl));
	assert_ok(tcpx_xfer_prepare(r->to_b, TCPX_OP_READ, ll, fl, &x));
	tcpx_list_free(ll);
	tcpx_list_free(fl);
	assert_ok(tcpx_xfer_post(x, NULL, 0));
	assert_ok(tcpx_wait(x, WAIT_MS));
	assert_int_equal(length_of(x), 300000);
	assert_ok(tcpx_mem_deregister(r->b, r->far.id));
	assert_ok(tcpx_xfer_post(x, NULL, 0));
	assert_code(tcpx_wait(x, WAIT_MS), TCPX_EREGION);
	assert_ok(tcpx_xfer_query(x, &info));
	assert_int_equal(info.bytes_done, 0);
	tcpx_xfer_free(x);
}

TEST_WITH(a_transfer_in_progress_is_not_posted_again, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_desc l, f;
	tcpx_list *ll, *fl;
	tcpx_xfer *x;

	rig_memory(r, 40 * MIB, 40 * MIB);
	l = (struct tcpx_desc){ r->near.id, 0, 40 * MIB };
	f = (struct tcpx_desc){ r->far.far, 0, 40 * MIB };
	assert_ok(tcpx_list_prepare(r->a, &l, 1, &ll));
	assert_ok(tcpx_list_prepare(r->a, &f, 1, &fl));
	assert_ok(tcpx_xfer_prepare(r->to_b, TCPX_OP_WRITE, ll, fl, &x));
	assert_ok(tcpx_xfer_post(x, NULL, 0));
	assert_code(tcpx_xfer_post(x, NULL, 0), TCPX_ESTATE);
	assert_ok(tcpx_wait(x, WAIT_MS));
	for (int i = 0; i < 10; i++) { /* cancelled posts leave nothing behind */
		assert_ok(tcpx_xfer_post(x, NULL, 0));
		tcpx_cancel(x);
	}
	assert_ok(tcpx_notify(r->to_b, "cancelled", 9)); /* comes after the cancels */
	assert_note(r->b, "anna", "cancelled");
	fill(r->far.at, 40 * MIB, 2);
	assert_ok(tcpx_xfer_post(x, NULL, 0));
	assert_ok(tcpx_wait(x, WAIT_MS));
	assert_filled(r->far.at, 40 * MIB, 1);
	tcpx_xfer_free(x);
	assert_code(tcpx_xfer_prepare(r->to_b, TCPX_OP_SEND, ll, fl, &x), -EINVAL);
	assert_code(tcpx_xfer_prepare(r->to_b, TCPX_OP_WRITE, fl, ll, &x), -EINVAL);
	assert_code(tcpx_xfer_prepare(r->to_b, TCPX_OP_WRITE, ll, NULL, &x), -EINVAL);
	tcpx_list_free(ll);
	tcpx_list_free(fl);
}

TEST_WITH(a_list_whose_region_went_is_stale, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_desc l, f;
	tcpx_list *ll, *fl;
	tcpx_xfer *x;

	rig_memory(r, 100, 100);
	l = (struct tcpx_desc){ r->near.id, 0, 100 };
	f = (struct tcpx_desc){ r->far.far, 0, 100 };
	assert_ok(tcpx_list_prepare(r->a, &l, 1, &ll));
	assert_ok(tcpx_list_prepare(r->a, &f, 1, &fl));
	assert_ok(tcpx_xfer_prepare(r->to_b, TCPX_OP_WRITE, ll, fl, &x));
	assert_ok(tcpx_mem_deregister(r->a, r->near.id));
	assert_code(tcpx_xfer_post(x, NULL, 0), TCPX_ESTALE);
	tcpx_xfer_free(x);
	tcpx_list_free(ll);
	tcpx_list_free(fl);
}

/* ---- memory that goes ---- */

static uint8_t *
map(size_t len)
{
	uint8_t *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

/* Runs the transfer for a moment that differs from try to try. */
static void
a_moment(tcpx_xfer *x, int i)
{
	if (i % 4 == 3)
		(void)tcpx_wait(x, 1 + i % 3);
	else
		for (int k = 0; k < (i * 37) % 200; k++)
			(void)tcpx_test(x);
}

TEST_WITH(after_cancel_nobody_touches_the_memory, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	tcpx_peer *witness = rig_add(r->b, r->a);

	rig_memory(r, 4, 8 * MIB);
	for (int i = 0; i < 60; i++) {
		uint8_t *at = map(8 * MIB);
		struct tcpx_desc l = { 0, 0, 8 * MIB }, f = { r->far.far, 0, 8 * MIB };
		tcpx_xfer *x;

		assert_ok(tcpx_mem_register(r->a, at, 8 * MIB, TCPX_MEM_LOCAL, &l.region));
		if (i % 2)
			assert_ok(tcpx_write(r->to_b, &l, 1, &f, 1, "never", 5, &x));
		else
			assert_ok(tcpx_read(r->to_b, &l, 1, &f, 1, "never", 5, &x));
		a_moment(x, i);
		if (i % 3 == 0)
			tcpx_cancel(x);
		tcpx_xfer_free(x);
		munmap(at, 8 * MIB);
		assert_ok(tcpx_mem_deregister(r->a, l.region));
	}
	assert_ok(tcpx_notify(r->to_b, "end", 3));
	assert_int_equal(counters_of(r->a).sessions + counters_of(r->b).sessions, 2);
	tcpx_peer_free(witness);
}

TEST_WITH(a_cancelled_write_delivers_no_note, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_desc l, f;
	int cancelled = 0;

	rig_memory(r, 8 * MIB, 8 * MIB);
	l = (struct tcpx_desc){ r->near.id, 0, 8 * MIB };
	f = (struct tcpx_desc){ r->far.far, 0, 8 * MIB };
	for (int i = 0; i < 40; i++) {
		struct tcpx_xfer_info info = TCPX_XFER_INFO_INIT;
		tcpx_note *n;
		size_t len;
		tcpx_xfer *x;
		int rc;

		assert_ok(tcpx_write(r->to_b, &l, 1, &f, 1, "whole", 5, &x));
		a_moment(x, i % 8);
		tcpx_cancel(x);
		rc = tcpx_test(x);
		assert_true(rc == 0 || rc == TCPX_ECANCELED);
		assert_ok(tcpx_xfer_query(x, &info));
		tcpx_xfer_free(x);
		assert_ok(tcpx_notify(r->to_b, "mark", 4));
		assert_ok(tcpx_note_wait(r->b, WAIT_MS, &n));
		if (memcmp(tcpx_note_data(n, &len), "whole", 4) == 0) {
			/* only when all of it was there; its acknowledgement came too late */
			tcpx_note_free(n);
			assert_note(r->b, "anna", "mark");
		} else {
			assert_int_equal(rc, TCPX_ECANCELED);
			cancelled++;
			tcpx_note_free(n);
		}
	}
	assert_true(cancelled > 0);
}

TEST_WITH(deregister_at_the_initiator_ends_its_transfers, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	int lost = 0;

	rig_memory(r, 4, 8 * MIB);
	for (int i = 0; i < 40; i++) {
		uint8_t *at = map(8 * MIB);
		struct tcpx_desc l = { 0, 0, 8 * MIB }, f = { r->far.far, 0, 8 * MIB };
		tcpx_xfer *x, *y;
		int rc;

		assert_ok(tcpx_mem_register(r->a, at, 8 * MIB, TCPX_MEM_LOCAL, &l.region));
		assert_ok(tcpx_write(r->to_b, &l, 1, &f, 1, NULL, 0, &x));
		assert_ok(tcpx_read(r->to_b, &l, 1, &f, 1, NULL, 0, &y));
		a_moment(x, i);
		assert_ok(tcpx_mem_deregister(r->a, l.region));
		munmap(at, 8 * MIB);
		rc = tcpx_test(x);
		assert_true(rc == 0 || rc == TCPX_EREGION);
		lost += rc != 0;
		rc = tcpx_test(y);
		assert_true(rc == 0 || rc == TCPX_EREGION);
		tcpx_xfer_free(x);
		tcpx_xfer_free(y);
	}
	assert_true(lost > 0);
}

TEST_WITH(deregister_at_the_target_ends_them_too, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	int lost = 0;

	rig_memory(r, 8 * MIB, 4);
	for (int i = 0; i < 40; i++) {
		struct mem m = { .at = map(8 * MIB), .len = 8 * MIB };
		struct tcpx_desc l = { r->near.id, 0, 8 * MIB }, f = { 0, 0, 8 * MIB };
		tcpx_xfer *x, *y;
		int rc;

		assert_ok(tcpx_mem_register(r->b, m.at, m.len, 3, &m.id));
		f.region = mem_tell(&m, r->b, r->a);
		assert_ok(tcpx_read(r->to_b, &l, 1, &f, 1, NULL, 0, &x));
		assert_ok(tcpx_write(r->to_b, &l, 1, &f, 1, NULL, 0, &y));
		a_moment(x, i);
		assert_ok(tcpx_mem_deregister(r->b, m.id));
		munmap(m.at, m.len);
		rc = finish(x);
		assert_true(rc == 0 || rc == TCPX_EREGION);
		lost += rc != 0;
		rc = finish(y);
		assert_true(rc == 0 || rc == TCPX_EREGION);
		assert_ok(tcpx_mem_deregister(r->a, f.region));
	}
	assert_true(lost > 0);
}

/* The first that waits for credit is long; when it goes, short ones behind it start. */
TEST(deregister_ends_what_waits_for_credit)
{
	static const char *const tight[] = { "TCPX_CREDIT_XFERS=2", "TCPX_CREDIT_LIST_BYTES=64K",
					     NULL };
	enum { PIECES = 2000, N = 20 };
	struct tcpx_desc *f = calloc(PIECES, sizeof(*f)), l;
	struct rig r;
	struct mem other;
	tcpx_xfer *x[N];

	rig_begin(&r, tight, tight);
	rig_memory(&r, 8 * MIB, 8 * MIB);
	mem_open(&other, r.a, 8 * MIB, TCPX_MEM_LOCAL);
	for (int i = 0; i < N; i++) {
		size_t n = i % 2 ? PIECES : 1, len = 8 * MIB / PIECES;

		for (size_t k = 0; k < n; k++)
			f[k] = (struct tcpx_desc){ r.far.far, k % 1000 * 2 * len, len };
		l = (struct tcpx_desc){ i % 3 ? other.id : r.near.id, 0, n * len };
		assert_ok(tcpx_write(r.to_b, &l, 1, f, n, NULL, 0, &x[i]));
	}
	assert_ok(tcpx_mem_deregister(r.a, other.id));
	memset(other.at, 0, 8 * MIB);
	for (int i = 0; i < N; i++) {
		int rc = finish(x[i]);

		assert_true(rc == 0 || (i % 3 && rc == TCPX_EREGION));
	}
	mem_close(&other);
	rig_end(&r);
	free(f);
}

TEST_WITH(waiting_ends_in_time, rig_setup, rig_teardown)
{
	struct rig *r = *state;
	struct tcpx_desc l;
	tcpx_xfer *x;

	rig_memory(r, 100, 100);
	l = (struct tcpx_desc){ r->near.id, 0, 100 };
	assert_ok(tcpx_send(r->to_b, &l, 1, 1, &x));
	assert_code(tcpx_wait(x, 0), -EAGAIN);
	assert_code(tcpx_wait(x, 20), -EAGAIN);
	tcpx_xfer_free(x);
	tcpx_xfer_free(NULL);
}

TEST_WITH(a_transfer_that_waits_tells_for_what, rig_setup, rig_teardown)
{
	struct tcpx_xfer_info info = TCPX_XFER_INFO_INIT;
	struct rig *r = *state;
	struct tcpx_desc l;
	tcpx_xfer *out, *in;

	rig_memory(r, MIB, MIB);
	l = (struct tcpx_desc){ r->near.id, 0, MIB };
	assert_ok(tcpx_send(r->to_b, &l, 1, 1, &out));
	assert_ok(tcpx_recv(r->to_b, &l, 1, 2, &in));
	assert_ok(tcpx_xfer_query(in, &info));
	assert_string_equal(info.stage, "waits for its send");
	assert_code(tcpx_wait(out, 20), -EAGAIN); /* its OPEN has gone */
	assert_ok(tcpx_xfer_query(out, &info));
	assert_string_equal(info.stage, "waits for its receive");
	assert_int_equal(info.stuck_channel, -1);
	tcpx_cancel(out);
	assert_ok(tcpx_xfer_query(out, &info));
	assert_int_equal(info.status, TCPX_ECANCELED);
	assert_string_equal(info.stage, "waits for its receive"); /* as it was then */
	tcpx_xfer_free(out);
	tcpx_xfer_free(in);
}

TEST_WITH(chunks_under_way_are_told_with_their_channel, rig_setup, rig_teardown)
{
	struct tcpx_xfer_info info = TCPX_XFER_INFO_INIT;
	struct rig *r = *state;
	struct tcpx_desc l, f;
	uint64_t seen = 0, chunk = 0;
	tcpx_xfer *x;

	rig_memory(r, 8 * MIB, 8 * MIB);
	l = (struct tcpx_desc){ r->near.id, 0, 8 * MIB };
	f = (struct tcpx_desc){ r->far.far, 0, 8 * MIB };
	for (int i = 0; i < 100 && !seen; i++) {
		chunk = 0;
		assert_ok(tcpx_write(r->to_b, &l, 1, &f, 1, NULL, 0, &x));
		while (tcpx_test(x) == -EAGAIN) {
			assert_ok(tcpx_xfer_query(x, &info));
			if (info.status != -EAGAIN) /* it ended after the test */
				break;
			if (!strcmp(info.stage, "queued")) /* no session yet, or no more */
				continue;
			assert_true(info.stuck_chunk >= chunk); /* what is in place stays so */
			chunk = info.stuck_chunk;
			if (strcmp(info.stage, "sent, not acknowledged"))
				continue;
			assert_true(info.stuck_channel >= 0 && info.stuck_nic[0]);
			assert_true(info.stuck_chunk * info.chunk_bytes < info.bytes_total);
			seen++;
		}
		assert_ok(tcpx_test(x));
		assert_ok(tcpx_xfer_query(x, &info));
		assert_int_equal(info.stuck_channel, -1); /* done: nothing is stuck */
		tcpx_xfer_free(x);
	}
	assert_true(seen);
}
