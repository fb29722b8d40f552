/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's own answer: where a placed thread may run, and where all others may. */
#include "cases.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "measure/perf/sides.h"
#include "base/log.h"
#include "tool/tool.h"

static void
quiet(void *arg, int level, const char *line)
{
}

static cpu_set_t
mask_of_this_thread(void)
{
	cpu_set_t mask;

	CPU_ZERO(&mask);
	assert_int_equal(sched_getaffinity(0, sizeof(mask), &mask), 0);
	return mask;
}

static int
nth_cpu(const cpu_set_t *mask, int n)
{
	int cpu = 0;

	while (!CPU_ISSET(cpu, mask) || n--)
		cpu++;
	return cpu;
}

TEST(sides_take_the_first_two_cpus)
{
	cpu_set_t all = mask_of_this_thread();
	struct sides s = { 0 };

	assert_int_equal(sides_choose(&s), 0);
	assert_true(s.placed);
	assert_int_equal(s.client, nth_cpu(&all, 0));
	assert_int_equal(s.server, nth_cpu(&all, CPU_COUNT(&all) > 1));
}

TEST(sides_share_the_only_cpu)
{
	cpu_set_t all = mask_of_this_thread();
	int last = nth_cpu(&all, CPU_COUNT(&all) - 1);
	struct placed p = { 0 };
	struct sides s;

	assert_int_equal(thread_place(&p, (unsigned)last), 0);
	assert_int_equal(sides_choose(&s), 0);
	thread_release(&p);
	assert_int_equal(s.client, last);
	assert_int_equal(s.server, last);
}

static void *
read_mask_of_thread(void *mask)
{
	*(cpu_set_t *)mask = mask_of_this_thread();
	return NULL;
}

/* A thread that waits for a signal, then prints its mask. */
struct waiter {
	pthread_barrier_t meet;
	cpu_set_t mask;
};

static void *
wait_and_read(void *arg)
{
	struct waiter *w = arg;

	pthread_barrier_wait(&w->meet);
	return read_mask_of_thread(&w->mask);
}

TEST(only_the_calling_thread_is_placed_and_released)
{
	cpu_set_t all = mask_of_this_thread(), now;
	int last = nth_cpu(&all, CPU_COUNT(&all) - 1);
	struct placed p = { 0 };
	struct waiter w;
	pthread_t other;

	pthread_barrier_init(&w.meet, NULL, 2);
	assert_int_equal(pthread_create(&other, NULL, wait_and_read, &w), 0);
	for (int i = 0; i < 2; i++) { /* placing again changes nothing */
		assert_int_equal(thread_place(&p, (unsigned)last), 0);
		now = mask_of_this_thread();
		assert_int_equal(CPU_COUNT(&now), 1);
		assert_true(CPU_ISSET(last, &now));
	}
	pthread_barrier_wait(&w.meet);
	pthread_join(other, NULL);
	pthread_barrier_destroy(&w.meet);
	assert_true(CPU_EQUAL(&w.mask, &all));
	thread_release(&p);
	now = mask_of_this_thread();
	assert_true(CPU_EQUAL(&now, &all));
}

TEST(a_cpu_that_is_not_there_changes_nothing)
{
	cpu_set_t all = mask_of_this_thread(), now;
	struct placed p = { 0 };

	assert_int_equal(thread_place(&p, TCPX_CPUS_MAX - 1), -EINVAL);
	assert_int_equal(thread_place(&p, TCPX_CPUS_MAX), -ERANGE);
	assert_false(p.on);
	thread_release(&p);
	now = mask_of_this_thread();
	assert_true(CPU_EQUAL(&now, &all));
}

TEST(the_sides_as_text)
{
	char text[SIDES_TEXT];

	assert_string_equal(sides_format(&(struct sides){ true, 0, 1 }, text),
			    "sides: CPU 0 and CPU 1");
	assert_string_equal(sides_format(&(struct sides){ true, 3, 3 }, text),
			    "both sides on CPU 3");
	assert_string_equal(sides_format(&(struct sides){ false, 3, 3 }, text), "");
	assert_true(strlen(sides_format(&(struct sides){ true, 8190, 8191 }, text)) <
		    sizeof(text) - 1);
}

int
main(void)
{
	tcpx_log_sink(quiet, NULL);
	return run_cases(NULL, NULL);
}
