/* SPDX-License-Identifier: Apache-2.0 */
/* Two-sided transfers: which receive matches which send, with how many bytes, and how
 * either side cancels. */
#include "rig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MIB (1u << 20)

/* A pair whose bert has a name for anna, and memory on both sides. */
struct two {
	struct rig rig;
	tcpx_peer *to_a;
};

static int
two_setup(void **state)
{
	struct two *t = calloc(1, sizeof(*t));

	rig_begin(&t->rig, NULL, NULL);
	rig_memory(&t->rig, 4 * MIB, 4 * MIB);
	t->to_a = rig_add(t->rig.b, t->rig.a);
	*state = t;
	return 0;
}

static int
two_teardown(void **state)
{
	struct two *t = *state;

	tcpx_peer_free(t->to_a);
	rig_end(&t->rig);
	free(t);
	return 0;
}

static tcpx_xfer *
send_at(struct two *t, size_t off, size_t len, uint64_t tag)
{
	struct tcpx_desc d = { t->rig.near.id, off, len };
	tcpx_xfer *x;

	assert_ok(tcpx_send(t->rig.to_b, &d, 1, tag, &x));
	return x;
}

static tcpx_xfer *
recv_at(struct two *t, size_t off, size_t len, uint64_t tag)
{
	struct tcpx_desc d = { t->rig.far.id, off, len };
	tcpx_xfer *x;

	assert_ok(tcpx_recv(t->to_a, &d, 1, tag, &x));
	return x;
}

/* Everything that anna has said so far has reached bert. */
static void
settle(struct two *t)
{
	assert_ok(tcpx_notify(t->rig.to_b, "settled", 7));
	assert_note(t->rig.b, "anna", "settled");
}

static const size_t lens[] = { 0, 1, 8192, 8193, 4 * MIB };

TEST_WITH(a_send_finds_the_receive_that_waits, two_setup, two_teardown)
{
	struct two *t = *state;

	for (int i = 0; i < 5; i++) {
		tcpx_xfer *in = recv_at(t, 0, lens[i], 7), *out = send_at(t, 0, lens[i], 7);

		assert_ok(finish(out));
		assert_ok(finish(in));
		assert_filled(t->rig.far.at, lens[i], 1);
		fill(t->rig.far.at, t->rig.far.len, 2);
	}
}

TEST_WITH(a_receive_finds_the_send_that_waits, two_setup, two_teardown)
{
	struct two *t = *state;

	for (int i = 0; i < 5; i++) {
		tcpx_xfer *in, *out = send_at(t, 0, lens[i], 7);

		settle(t);
		assert_code(tcpx_test(out), -EAGAIN);
		in = recv_at(t, 0, lens[i], 7);
		assert_ok(finish(in));
		assert_ok(finish(out));
		assert_filled(t->rig.far.at, lens[i], 1);
		fill(t->rig.far.at, t->rig.far.len, 2);
	}
}

TEST_WITH(tags_decide_and_then_the_order_of_posting, two_setup, two_teardown)
{
	struct two *t = *state;
	tcpx_xfer *a = recv_at(t, 0, 100, 1), *b = recv_at(t, 100, 100, 2),
		  *c = recv_at(t, 200, 100, 1), *two = send_at(t, 1000, 100, 2),
		  *one = send_at(t, 2000, 100, 1), *uno = send_at(t, 3000, 100, 1);

	assert_ok(finish(two));
	assert_ok(finish(one));
	assert_ok(finish(uno));
	assert_ok(finish(c));
	assert_ok(finish(b));
	assert_ok(finish(a));
	assert_memory_equal(t->rig.far.at, t->rig.near.at + 2000, 100);
	assert_memory_equal(t->rig.far.at + 100, t->rig.near.at + 1000, 100);
	assert_memory_equal(t->rig.far.at + 200, t->rig.near.at + 3000, 100);
}

/* Thousands wait, of many tags and of few, and some are cancelled: the n-th send of a tag meets the n-th
 * receive that is left. */
TEST_WITH(many_receives_wait_and_each_gets_its_send, two_setup, two_teardown)
{
	enum { COUNT = 3000, SIZE = 8, EACH = 60 };
	static tcpx_xfer *in[COUNT], *out[COUNT];
	struct two *t = *state;

	for (int way = 0; way < 2; way++) {
		uint64_t tags = way ? COUNT / 2 : 7;
		int next = 0, i, k;

		fill(t->rig.far.at, COUNT * SIZE, 2);
		for (i = 0; i < COUNT; i++)
			in[i] = recv_at(t, (size_t)i * SIZE, SIZE, (uint64_t)i * 11 % tags << 32);
		for (i = 0; i < COUNT; i += 3)
			tcpx_cancel(in[i]);
		while (next < COUNT) { /* as many as there is credit for */
			for (i = next, k = 0; i < COUNT && k < EACH; i++)
				if (i % 3 && ++k)
					out[i] = send_at(t, (size_t)i * SIZE, SIZE,
							 (uint64_t)i * 11 % tags << 32);
			for (; next < i; next++)
				if (next % 3)
					assert_ok(finish(out[next]));
		}
		for (i = 0; i < COUNT; i++)
			assert_code(finish(in[i]), i % 3 ? 0 : TCPX_ECANCELED);
		for (i = 0; i < COUNT; i++)
			if (i % 3)
				assert_memory_equal(t->rig.far.at + i * SIZE, t->rig.near.at + i * SIZE,
						    SIZE);
	}
}

/* A row of sends waits, and each receive takes the first of its tag. */
TEST_WITH(sends_that_wait_are_taken_by_tag_and_in_order, two_setup, two_teardown)
{
	enum { COUNT = 60, SIZE = 100 };
	struct two *t = *state;
	tcpx_xfer *in[COUNT], *out[COUNT];

	for (int i = 0; i < COUNT; i++)
		out[i] = send_at(t, (size_t)i * SIZE, SIZE, (uint64_t)i % 5);
	settle(t);
	tcpx_cancel(out[12]);
	settle(t);
	for (int tag = 4; tag >= 0; tag--)
		for (int i = tag; i < COUNT; i += 5)
			if (i != 12)
				in[i] = recv_at(t, (size_t)i * SIZE, SIZE, (uint64_t)tag);
	for (int i = 0; i < COUNT; i++)
		assert_code(finish(out[i]), i == 12 ? TCPX_ECANCELED : 0);
	for (int i = 0; i < COUNT; i++)
		if (i != 12)
			assert_ok(finish(in[i]));
	assert_filled(t->rig.far.at, 12 * SIZE, 1);
	assert_memory_equal(t->rig.far.at + 13 * SIZE, t->rig.near.at + 13 * SIZE, (COUNT - 13) * SIZE);
}

/* More sends wait, one after the other, than may wait at once; some of them are cancelled. */
TEST(sends_that_have_waited_cost_no_credit)
{
	enum { CREDIT = 4, ROUNDS = 3 };
	const char *const few[] = { "TCPX_CREDIT_XFERS=4", NULL };
	struct two t;

	rig_begin(&t.rig, few, few);
	rig_memory(&t.rig, 100, 100);
	t.to_a = rig_add(t.rig.b, t.rig.a);
	for (int i = 0; i < ROUNDS * CREDIT; i++) {
		tcpx_xfer *in, *out = send_at(&t, 0, 100, 7);

		settle(&t);
		if (i % 3 == 2) {
			tcpx_cancel(out);
			assert_code(finish(out), TCPX_ECANCELED);
			continue;
		}
		in = recv_at(&t, 0, 100, 7);
		assert_ok(finish(in));
		assert_ok(finish(out));
	}
	assert_int_equal(counters_of(t.rig.b).sessions, 1);
	tcpx_peer_free(t.to_a);
	rig_end(&t.rig);
}

TEST_WITH(a_shorter_send_says_its_length, two_setup, two_teardown)
{
	static const size_t sent[] = { 0, 10, 8193, 3 * MIB };
	struct two *t = *state;

	for (int i = 0; i < 4; i++) {
		tcpx_xfer *in = recv_at(t, 0, 4 * MIB, 3), *out = send_at(t, 0, sent[i], 3);

		assert_ok(tcpx_wait(in, WAIT_MS));
		assert_int_equal(length_of(in), sent[i]);
		tcpx_xfer_free(in);
		assert_ok(finish(out));
		assert_filled(t->rig.far.at, sent[i], 1);
		if (sent[i] < 4096) { /* what was not sent is untouched */
			fill(t->rig.near.at, 4096, 2);
			assert_memory_equal(t->rig.far.at + sent[i], t->rig.near.at + sent[i],
					    4096 - sent[i]);
			fill(t->rig.near.at, 4096, 1);
		}
	}
}

TEST_WITH(a_longer_send_fails_on_both_sides, two_setup, two_teardown)
{
	static const size_t sent[] = { 101, 8193, 4 * MIB };
	struct two *t = *state;

	for (int i = 0; i < 3; i++) {
		tcpx_xfer *in = recv_at(t, 0, 100, 3), *out = send_at(t, 0, sent[i], 3);

		assert_code(finish(in), TCPX_ELENGTH);
		assert_code(finish(out), TCPX_ELENGTH);
		out = send_at(t, 0, sent[i], 3);
		settle(t);
		in = recv_at(t, 0, 100, 3);
		assert_code(finish(out), TCPX_ELENGTH);
		assert_code(finish(in), TCPX_ELENGTH);
	}
	assert_filled(t->rig.far.at, 4 * MIB, 2);
}

TEST_WITH(a_cancelled_send_meets_nobody, two_setup, two_teardown)
{
	static const size_t sent[] = { 100, 4 * MIB };
	struct two *t = *state;

	for (int i = 0; i < 2; i++) {
		tcpx_xfer *out = send_at(t, 0, sent[i], 4), *in;

		settle(t);
		tcpx_cancel(out);
		assert_code(tcpx_test(out), TCPX_ECANCELED);
		tcpx_xfer_free(out);
		settle(t);
		in = recv_at(t, 0, 4 * MIB, 4);
		assert_code(tcpx_wait(in, 10), -EAGAIN);
		out = send_at(t, 5, 10, 4);
		assert_ok(finish(out));
		assert_ok(finish(in));
		assert_memory_equal(t->rig.far.at, t->rig.near.at + 5, 10);
	}
}

TEST_WITH(a_cancelled_receive_meets_nobody, two_setup, two_teardown)
{
	struct two *t = *state;
	tcpx_xfer *in = recv_at(t, 0, 100, 4), *out, *next;

	tcpx_cancel(in);
	assert_code(tcpx_test(in), TCPX_ECANCELED);
	tcpx_xfer_free(in);
	out = send_at(t, 0, 100, 4);
	settle(t);
	assert_code(tcpx_test(out), -EAGAIN);
	assert_filled(t->rig.far.at, 100, 2);
	next = recv_at(t, 0, 100, 4);
	assert_ok(finish(next));
	assert_ok(finish(out));
}

TEST_WITH(a_receive_cancelled_in_the_middle_ends_its_send, two_setup, two_teardown)
{
	struct two *t = *state;

	for (int i = 0; i < 30; i++) {
		tcpx_xfer *in = recv_at(t, 0, 4 * MIB, 5), *out = send_at(t, 0, 4 * MIB, 5);
		int rc;

		settle(t); /* they have met */
		(void)tcpx_wait(out, i % 3);
		tcpx_cancel(in);
		fill(t->rig.far.at, 4096, 9); /* nothing may write here any more */
		rc = finish(out);
		assert_true(rc == 0 || rc == TCPX_ECANCELED);
		assert_true(tcpx_test(in) == 0 || tcpx_test(in) == TCPX_ECANCELED);
		tcpx_xfer_free(in);
		settle(t);
		assert_filled(t->rig.far.at, 4096, 9);
	}
}

TEST_WITH(receives_end_when_their_region_or_their_peer_goes, two_setup, two_teardown)
{
	struct two *t = *state;
	struct mem other;
	struct tcpx_desc d;
	tcpx_xfer *in, *out;

	mem_open(&other, t->rig.b, 100, TCPX_MEM_LOCAL);
	d = (struct tcpx_desc){ other.id, 0, 100 };
	assert_ok(tcpx_recv(t->to_a, &d, 1, 6, &in));
	assert_ok(tcpx_mem_deregister(t->rig.b, other.id));
	assert_code(tcpx_test(in), TCPX_EREGION);
	tcpx_xfer_free(in);
	mem_close(&other);

	in = recv_at(t, 0, 100, 6);
	assert_ok(tcpx_peer_wait(t->to_a, WAIT_MS));
	tcpx_peer_free(t->rig.to_b);
	tcpx_close(t->rig.a);
	t->rig.a = NULL;
	assert_code(finish(in), TCPX_EPEERGONE);
	assert_code(tcpx_recv(t->to_a, &(struct tcpx_desc){ t->rig.far.id, 0, 1 }, 1, 6, &out),
		    TCPX_EPEERGONE);
}
