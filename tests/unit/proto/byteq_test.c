/* SPDX-License-Identifier: Apache-2.0 */
/* The byte queue: offsets stay right when memory moves, and lent memory does not move. */
#include <errno.h>

#include "base_test.h"
#include "base/err.h"
#include "proto/byteq.h"

static bool no_memory;
static int mallocs;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

void *
__wrap_malloc(size_t size)
{
	mallocs++;
	return no_memory ? NULL : __real_malloc(size);
}

static void
append(struct tcpx_byteq *q, size_t len, struct tcpx_loan *loan)
{
	assert_int_equal(tcpx_byteq_reserve(q, len, loan, false), 0);
	for (size_t i = 0; i < len; i++, q->end++)
		*tcpx_byteq_at(q, q->end) = (uint8_t)(q->end * 31);
}

static bool
intact(const struct tcpx_byteq *q)
{
	for (uint64_t off = q->begin; off < q->end; off++) {
		if (*tcpx_byteq_at(q, off) != (uint8_t)(off * 31))
			return false;
	}
	return true;
}

TEST(bytes_keep_their_offsets)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	struct tcpx_byteq q = { 0 };
	struct tcpx_loan loan = { 0 };

	for (int round = 0; round < 3000; round++) {
		append(&q, tcpx_rng_below(&rng, 3000), &loan);
		tcpx_byteq_drop(&q, q.begin + tcpx_rng_below(&rng, tcpx_byteq_len(&q) + 1), &loan);
		check_random(seed, intact(&q));
	}
	tcpx_byteq_fini(&q, &loan);
	assert_int_equal(q.cap, 0);
}

TEST(lent_memory_is_left_not_moved)
{
	struct tcpx_byteq q = { 0 };
	struct tcpx_loan loan = { 0 };
	const uint8_t *lent;

	append(&q, 2000, &loan);
	tcpx_byteq_drop(&q, 1900, &loan);
	append(&q, 2000, &loan);
	tcpx_byteq_drop(&q, 3900, &loan);
	assert_int_equal(q.cap, 4096); /* room enough for 1000, once the rest is moved down */
	lent = loan.data = q.data;
	append(&q, 1000, &loan);
	assert_ptr_equal(loan.retired, lent);
	assert_ptr_not_equal(q.data, lent);
	append(&q, 100000, &loan); /* only what is lent is kept */
	assert_int_equal(loan.retired_cap, 4096);
	for (int i = 0; i < 4000; i++) /* as it was */
		assert_int_equal(lent[i], (uint8_t)(i * 31));
	assert_true(intact(&q));
	tcpx_loan_end(&loan);
	assert_null(loan.retired);
	tcpx_byteq_fini(&q, &loan);
}

TEST(lent_memory_is_not_freed_when_all_is_dropped)
{
	struct tcpx_byteq q = { 0 };
	struct tcpx_loan loan = { 0 };
	const uint8_t *lent;

	append(&q, 200000, &loan);
	lent = loan.data = q.data;
	tcpx_byteq_drop(&q, q.end, &loan);
	append(&q, 10, &loan);
	assert_int_equal(lent[0], 0);
	assert_int_equal(lent[199999], (uint8_t)(199999 * 31));
	tcpx_loan_end(&loan);
	tcpx_byteq_drop(&q, q.end, &loan);
	assert_int_equal(q.cap, 0); /* now it goes back */
	append(&q, 10, &loan);
	assert_true(intact(&q));
	tcpx_byteq_fini(&q, &loan);
}

TEST(memory_is_moved_down_instead_of_grown)
{
	struct tcpx_byteq q = { 0 };
	struct tcpx_loan loan = { 0 };

	for (int i = 0; i < 1000; i++) {
		append(&q, 1000, &loan);
		tcpx_byteq_drop(&q, q.end - 500, &loan);
		assert_true(intact(&q));
	}
	assert_int_equal(q.cap, 4096);
	tcpx_byteq_fini(&q, &loan);
}

/* Charge for a queue of @cap bytes. */
static uint64_t
price(size_t cap)
{
	return cap > TCPX_BYTEQ_OWN ? cap : 0;
}

/* The queue holds the bytes that it was charged for, beyond its own, whatever is done with it. */
TEST(its_memory_is_charged)
{
	struct tcpx_quota quota = { .limit = 400000 };
	struct tcpx_loan loan = { .quota = &quota };
	struct tcpx_byteq q = { 0 };

	append(&q, 3000, &loan);
	assert_int_equal(tcpx_quota_used(&quota), 0);
	append(&q, 17000, &loan);
	assert_int_equal(q.cap, 65536);
	assert_int_equal(tcpx_quota_used(&quota), price(q.cap));
	loan.data = q.data;
	append(&q, 50000, &loan);
	assert_int_equal(loan.retired_cap, 65536);
	assert_int_equal(tcpx_quota_used(&quota), price(q.cap) + price(loan.retired_cap));
	tcpx_loan_end(&loan);
	assert_int_equal(tcpx_quota_used(&quota), price(q.cap));
	assert_int_equal(tcpx_byteq_reserve(&q, 200000, &loan, false), TCPX_ELIMIT);
	assert_int_equal(tcpx_quota_used(&quota), price(q.cap));
	tcpx_byteq_drop(&q, q.end, &loan);
	assert_int_equal(tcpx_quota_used(&quota), 0); /* was more than is kept */
	append(&q, 20000, &loan);
	assert_int_equal(tcpx_quota_used(&quota), price(q.cap));
	tcpx_byteq_fini(&q, &loan);
	assert_int_equal(tcpx_quota_used(&quota), 0);
}

TEST(memory_that_does_not_come_is_not_charged)
{
	struct tcpx_quota whole = { .limit = 1 << 20 };
	struct tcpx_quota quota = { .limit = 1 << 20, .whole = &whole };
	struct tcpx_loan loan = { .quota = &quota };
	struct tcpx_byteq q = { 0 };

	append(&q, 3000, &loan);
	no_memory = true;
	assert_int_equal(tcpx_byteq_reserve(&q, 40000, &loan, false), -ENOMEM);
	assert_int_equal(tcpx_byteq_reserve(&q, 40000, &loan, true), -ENOMEM);
	assert_int_equal(tcpx_byteq_try(&q, 40000, 1 << 20, &loan), -ENOMEM);
	no_memory = false;
	assert_int_equal(tcpx_quota_used(&quota), 0);
	assert_int_equal(tcpx_quota_used(&whole), 0);
	append(&q, 40000, &loan);
	assert_int_equal(tcpx_quota_used(&whole), price(q.cap));
	assert_true(intact(&q));
	tcpx_byteq_fini(&q, &loan);
	assert_int_equal(tcpx_quota_used(&quota), 0);
	assert_int_equal(tcpx_quota_used(&whole), 0);
}

/* Others have used up the quota. What can wait leaves a quarter of the queue's own memory, whatever has
 * gone in and out before; answers use all of it. */
TEST(its_own_memory_is_there_when_the_quota_is_not)
{
	struct tcpx_quota quota = { .limit = 0 };
	struct tcpx_loan loan = { .quota = &quota };
	struct tcpx_byteq q = { 0 };

	for (int round = 0; round < 3; round++) {
		while (tcpx_byteq_reserve(&q, 1000, &loan, true) == 0)
			append(&q, 1000, &loan);
		assert_int_equal(tcpx_byteq_len(&q), 24000);
		while (tcpx_byteq_reserve(&q, 1000, &loan, false) == 0)
			append(&q, 1000, &loan);
		assert_int_equal(tcpx_byteq_len(&q), 32000);
		assert_int_equal(tcpx_byteq_reserve(&q, 1000, &loan, false), TCPX_ELIMIT);
		assert_true(intact(&q));
		tcpx_byteq_drop(&q, q.end - 20000, &loan); /* more than half of it */
	}
	tcpx_byteq_fini(&q, &loan);
}

/* A log of writes of 8 KiB, cut by an acknowledgement of 256 KiB: each further piece of memory
 * is mapped anew, and its pages cost more than the bytes that are copied into them. */
TEST(a_log_of_frames_grows_in_few_steps)
{
	struct tcpx_quota quota = { .limit = 4 << 20 };
	struct tcpx_loan loan = { .quota = &quota };
	struct tcpx_byteq q = { 0 };

	mallocs = 0;
	for (int frame = 0; frame < 32; frame++) {
		assert_int_equal(tcpx_byteq_reserve(&q, 8224, &loan, true), 0);
		append(&q, 8224, &loan);
	}
	assert_int_equal(mallocs, 3);
	assert_int_equal(q.cap, 512 << 10);
	tcpx_byteq_drop(&q, q.end, &loan);
	assert_int_equal(tcpx_quota_used(&quota), 0);
	tcpx_byteq_fini(&q, &loan);
}
