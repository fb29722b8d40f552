/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mistakes of an application: memory that is not mapped, or no longer; a thread that is cancelled
 * while it waits. They cost what they touch, and nothing else.
 */
#include "rig.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u
#define GIB  (1u << 30)
#define MANY 50000

static void *
pages(size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

static void
memory_that_is_not_mapped_is_refused(void **state)
{
	struct rig *r = *state;
	uint8_t *at = pages(4 * PAGE);
	uint64_t id;

	assert_ok(munmap(at + PAGE, PAGE));
	assert_code(tcpx_mem_register(r->a, at, 4 * PAGE, 0, &id), -EFAULT);
	assert_code(tcpx_mem_register(r->a, at + PAGE + 7, 5, 0, &id), -EFAULT);
	assert_code(tcpx_mem_register(r->a, at + PAGE - 1, 2, 0, &id), -EFAULT);
	assert_ok(tcpx_mem_register(r->a, at, PAGE, 0, &id));
	assert_ok(tcpx_mem_register(r->a, at + 2 * PAGE + 1, 2 * PAGE - 1, 0, &id));
	munmap(at, 4 * PAGE);
}

static void
registering_fills_no_page(void **state)
{
	static unsigned char in_core[GIB / PAGE];
	struct rig *r = *state;
	uint8_t *at = pages(GIB);
	uint64_t id;

	assert_ok(tcpx_mem_register(r->a, at, GIB, 0, &id));
	assert_ok(mincore(at, GIB, in_core));
	for (size_t i = 0; i < sizeof(in_core); i++)
		assert_int_equal(in_core[i] & 1, 0);
	assert_ok(tcpx_mem_deregister(r->a, id));
	munmap(at, GIB);
}

/* A transfer that ends with -EFAULT, and says of which region. */
static void
assert_fault(struct rig *r, enum tcpx_op op, size_t len, uint64_t owners_id)
{
	struct tcpx_desc l = { r->near.id, 0, len }, f = { r->far.far, 0, len };
	struct tcpx_xfer_info info = TCPX_XFER_INFO_INIT;
	char name[32];
	tcpx_xfer *x;

	assert_ok((op == TCPX_OP_READ ? tcpx_read : tcpx_write)(r->to_b, &l, 1, &f, 1, NULL, 0, &x));
	assert_code(tcpx_wait(x, WAIT_MS), -EFAULT);
	assert_ok(tcpx_xfer_query(x, &info));
	snprintf(name, sizeof(name), "region %#llx", (unsigned long long)owners_id);
	if (!strstr(info.cause, name))
		fail_msg("\"%s\" does not name %s", info.cause, name);
	tcpx_xfer_free(x);
}

static void
assert_whole(struct rig *r)
{
	struct tcpx_peer_info info = TCPX_PEER_INFO_INIT;

	assert_ok(tcpx_peer_query(r->to_b, &info));
	assert_ok(info.status);
	assert_int_equal(info.channels_tx, info.channels_wanted);
	assert_int_equal(info.channels_rx, info.channels_wanted);
	assert_int_equal(counters_of(r->a).channels_lost, 0);
	assert_int_equal(counters_of(r->b).channels_lost, 0);
}

static void
memory_lost_later_ends_its_transfer_alone(void **state)
{
	static const size_t lens[] = { 64, 4096, 200000, 3 << 20 };
	static const enum tcpx_op ops[] = { TCPX_OP_WRITE, TCPX_OP_READ };
	struct rig *r = *state;
	struct mem near, gone;

	rig_memory(r, 3 << 20, 3 << 20);
	near = r->near;
	for (size_t i = 0; i < 16; i++) {
		size_t len = lens[i % 4];
		enum tcpx_op op = ops[i / 4 % 2];
		tcpx_engine *owner = i < 8 ? r->a : r->b;
		size_t good = len > 2 * PAGE ? 2 * PAGE : 0;
		uint64_t far = r->far.far;

		gone.at = pages(3 << 20);
		assert_ok(tcpx_mem_register(owner, gone.at, 3 << 20,
					    TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE, &gone.id));
		if (i < 8)
			r->near = gone;
		else
			r->far.far = mem_tell(&gone, r->b, r->a);
		memset(gone.at, 1, 3 << 20);
		assert_ok(mprotect(gone.at + good, (3 << 20) - good, PROT_NONE));
		assert_fault(r, op, len, gone.id);
		r->near = near;
		r->far.far = far;
		assert_ok(rig_move(r, op, 0, 0, len));
		assert_whole(r);
		assert_ok(tcpx_mem_deregister(owner, gone.id));
		munmap(gone.at, 3 << 20);
	}
}

static void
a_receive_into_lost_memory_fails_at_both_sides(void **state)
{
	static const size_t lens[] = { 64, 200000 };
	struct rig *r = *state;
	tcpx_peer *to_a;
	tcpx_xfer *from, *to;

	rig_memory(r, 200000, 200000);
	to_a = rig_add(r->b, r->a);
	for (size_t i = 0; i < 2; i++) {
		uint8_t *at = pages(200000);
		struct tcpx_desc l = { r->near.id, 0, lens[i] }, f = { 0, 0, lens[i] };

		assert_ok(tcpx_mem_register(r->b, at, 200000, 0, &f.region));
		assert_ok(mprotect(at, 200000, PROT_NONE)); /* nobody else gets the place */
		assert_ok(tcpx_recv(to_a, &f, 1, 5, &to));
		assert_ok(tcpx_send(r->to_b, &l, 1, 5, &from));
		assert_code(finish(to), -EFAULT);
		assert_code(finish(from), -EFAULT);
		assert_ok(tcpx_mem_deregister(r->b, f.region));
		munmap(at, 200000);
	}
	assert_ok(rig_move(r, TCPX_OP_WRITE, 0, 0, 200000));
	assert_whole(r);
	tcpx_peer_free(to_a);
}

/* A mapping of a file that has become shorter: touched by the process it would be SIGBUS. */
static void
a_file_that_became_shorter_is_no_signal(void **state)
{
	struct rig *r = *state;
	struct tcpx_desc l = { 0, 0, 100 }, f;
	int fd = memfd_create("short", MFD_CLOEXEC);
	uint8_t *at;
	tcpx_xfer *x;

	rig_memory(r, 100, 100);
	assert_ok(ftruncate(fd, PAGE));
	at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	assert_ok(tcpx_mem_register(r->a, at, PAGE, 0, &l.region));
	assert_ok(ftruncate(fd, 0));
	f = (struct tcpx_desc){ r->far.far, 0, 100 };
	assert_ok(tcpx_write(r->to_b, &l, 1, &f, 1, NULL, 0, &x));
	assert_code(finish(x), -EFAULT);
	assert_ok(tcpx_read(r->to_b, &l, 1, &f, 1, NULL, 0, &x));
	assert_code(finish(x), -EFAULT);
	assert_whole(r);
	munmap(at, PAGE);
	close(fd);
}

/* What a child does with its parent's engine: 0, or the step that went wrong. */
static int
use_in_child(struct rig *r, tcpx_xfer *open)
{
	struct tcpx_desc l = { r->near.id, 0, 100 }, f = { r->far.far, 0, 100 };
	tcpx_xfer *x;

	if (tcpx_write(r->to_b, &l, 1, &f, 1, NULL, 0, &x) != TCPX_ESTATE)
		return 1;
	if (tcpx_notify(r->to_b, "n", 1) != TCPX_ESTATE || tcpx_wait(open, -1) != TCPX_ESTATE)
		return 2;
	if (tcpx_test(open) != -EAGAIN || tcpx_mem_deregister(r->a, r->near.id) != TCPX_ESTATE)
		return 3;
	tcpx_xfer_free(open);
	tcpx_peer_free(r->to_b);
	tcpx_close(r->a);
	return 0;
}

static void
a_forked_child_cannot_touch_the_engine(void **state)
{
	struct rig *r = *state;
	struct tcpx_desc l;
	int status = -1;
	tcpx_xfer *x;
	pid_t child;

	rig_memory(r, 100000, 100000);
	l = (struct tcpx_desc){ r->near.id, 0, 100 };
	assert_ok(tcpx_recv(r->to_b, &l, 1, 9, &x));
	child = fork();
	if (child == 0)
		_exit(use_in_child(r, x));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_ok(rig_move(r, TCPX_OP_WRITE, 0, 0, 100000));
	assert_ok(rig_move(r, TCPX_OP_READ, 0, 0, 100));
	assert_whole(r);
	tcpx_xfer_free(x);
}

static void *
waits(void *arg)
{
	(void)tcpx_wait(arg, -1);
	pthread_testcancel();
	return NULL;
}

static void
a_thread_cancelled_while_it_waits_blocks_nobody(void **state)
{
	struct rig *r = *state;
	struct tcpx_desc l;
	void *how = NULL;
	uint64_t borrows;
	pthread_t t;
	tcpx_xfer *x;

	rig_memory(r, 100, 100);
	l = (struct tcpx_desc){ r->near.id, 0, 100 };
	assert_ok(tcpx_recv(r->to_b, &l, 1, 9, &x));
	borrows = counters_of(r->a).lease_borrows;
	assert_int_equal(pthread_create(&t, NULL, waits, x), 0);
	while (counters_of(r->a).lease_borrows == borrows)
		sched_yield(); /* until it runs the loop */
	pthread_cancel(t);
	assert_ok(rig_move(r, TCPX_OP_WRITE, 0, 0, 100));
	tcpx_cancel(x);
	pthread_join(t, &how);
	assert_ptr_equal(how, PTHREAD_CANCELED);
	assert_ok(rig_move(r, TCPX_OP_READ, 0, 0, 100));
	tcpx_xfer_free(x);
}

/* Does the first test in vain, soon after a wait, do the I/O? */
static bool
helps_at_once(struct rig *r, const struct tcpx_desc *l)
{
	uint64_t borrows;
	tcpx_xfer *x;

	assert_ok(tcpx_recv(r->to_b, l, 1, 9, &x));
	assert_code(tcpx_wait(x, 1), -EAGAIN);
	borrows = counters_of(r->a).lease_borrows;
	assert_code(tcpx_test(x), -EAGAIN);
	borrows = counters_of(r->a).lease_borrows - borrows;
	tcpx_xfer_free(x);
	return borrows > 0;
}

/* Its I/O thread leaves the loop to who ran it last, so nobody else does. This thread may be
 * interrupted for longer than that. */
static void
who_has_run_the_loop_goes_on_at_once(void **state)
{
	struct rig *r = *state;
	struct tcpx_desc l;
	int tries = 1;

	rig_memory(r, 100, 100);
	l = (struct tcpx_desc){ r->near.id, 0, 100 };
	while (!helps_at_once(r, &l))
		assert_in_range(tries++, 1, 3000);
}

static uint64_t
cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* CPU time of giving back and registering again, the least of some rounds. */
static uint64_t
cost_of_turns(tcpx_engine *e, uint8_t *block, uint64_t id)
{
	uint64_t least = UINT64_MAX, begin, took;

	for (int round = 0; round < 5; round++) {
		begin = cpu_ns();
		for (int i = 0; i < 100; i++) {
			assert_ok(tcpx_mem_deregister(e, id));
			assert_ok(tcpx_mem_register(e, block, 100, 0, &id));
		}
		took = cpu_ns() - begin;
		least = took < least ? took : least;
	}
	return least;
}

/* A search for a free entry would make it seven times as much, or more. */
static void
giving_back_costs_the_same_among_many(void **state)
{
	struct rig *r = *state;
	static uint8_t block[100];
	uint64_t id, few, many;

	assert_ok(tcpx_mem_register(r->a, block, 100, 0, &id));
	few = cost_of_turns(r->a, block, id);
	assert_ok(tcpx_mem_register(r->a, block, 100, 0, &id));
	for (int i = 0; i < MANY; i++) /* a search finds the last one last */
		assert_ok(tcpx_mem_register(r->a, block, 100, 0, &id));
	many = cost_of_turns(r->a, block, id);
	if (many > 4 * few)
		fail_msg("100 turns: %llu ns among few, %llu ns among many",
			 (unsigned long long)few, (unsigned long long)many);
}

static int
setup_summed(void **state)
{
	static const char *const sums[] = { "TCPX_CHECKSUM=1", NULL };
	struct rig *r = malloc(sizeof(*r));

	assert_non_null(r);
	rig_begin(r, sums, NULL);
	*state = r;
	return 0;
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, rig_setup, rig_teardown)
#define SUMMED(name) cmocka_unit_test_setup_teardown(name, setup_summed, rig_teardown)
	const struct CMUnitTest tests[] = {
		T(memory_that_is_not_mapped_is_refused),
		T(registering_fills_no_page),
		T(memory_lost_later_ends_its_transfer_alone),
		T(a_receive_into_lost_memory_fails_at_both_sides),
		T(a_file_that_became_shorter_is_no_signal),
		SUMMED(memory_lost_later_ends_its_transfer_alone),
		SUMMED(a_receive_into_lost_memory_fails_at_both_sides),
		SUMMED(a_file_that_became_shorter_is_no_signal),
		T(a_forked_child_cannot_touch_the_engine),
		T(a_thread_cancelled_while_it_waits_blocks_nobody),
		T(who_has_run_the_loop_goes_on_at_once),
		T(giving_back_costs_the_same_among_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
