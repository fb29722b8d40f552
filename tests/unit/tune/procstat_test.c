/* SPDX-License-Identifier: Apache-2.0 */
/* Time of CPUs, packets of CPUs, and threads. */
#include "../fixture.h"

#include <errno.h>
#include <unistd.h>

#include "tune/facts/irqtab.h"
#include "tune/record/threads.h"

static void
times_are_of_single_cpus(void **state)
{
	struct tcpx_cpu_times *times;
	unsigned count;

	assert_int_equal(tcpx_cpu_times_parse("cpu  10 20 30 40 50 60 70 80 90 100\n"
					      "cpu0 1 2 3 4 5 6 7 8 9 10\n"
					      "cpu5 11 12 13 14\n"
					      "intr 123 4 5\nctxt 9\n", &times, &count), 0);
	assert_int_equal(count, 2);
	check("cpu0", "guest_nice", times[0].ticks[TCPX_CPU_GUEST_NICE], 10);
	check("cpu5", "cpu", times[1].cpu, 5);
	check("cpu5", "idle", times[1].ticks[TCPX_CPU_IDLE], 14);
	check("cpu5", "steal", times[1].ticks[TCPX_CPU_STEAL], 0);
	check_text("name", tcpx_cpu_time_name(TCPX_CPU_SOFTIRQ), "softirq");
	free(times);
}

static void
bad_times_are_left_out(void **state)
{
	static const char *const texts[] = {
		"", "\n", "cpu", "cpu 1 2 3 4\n", "cpu0", "cpu0 1 2 3\n", "cpu9999 1 2 3 4\n",
		"cpux 1 2 3 4\n", "cpu-1 1 2 3 4\n", "cpu0 a b c d\n", "xcpu0 1 2 3 4\n",
		"cpu0 99999999999999999999999 2 3 4\n",
	};
	struct tcpx_cpu_times *times;
	unsigned count;

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		assert_int_equal(tcpx_cpu_times_parse(texts[i], &times, &count), 0);
		check(texts[i], "count", count, 0);
		free(times);
	}
	assert_int_equal(tcpx_cpu_times_parse("cpu1 1 2 3 4\ncpu0 1 2 3 4\ncpu1 1 2 3 4\n",
					      &times, &count), 0);
	check("order", "count", count, 1);
	free(times);
}

#define TAIL(tics, cpu)                                                                    \
	" S 1 2 3 4 -1 6 7 8 9 10 " tics " 16 17 20 0 1 0 555 23 24 25 26 27 28 29 30 31 32 33 " \
	"34 35 36 37 17 " cpu " 0 0\n"

static void
a_name_may_hold_anything(void **state)
{
	static const struct {
		const char *text, *name;
		int rc, cpu;
	} rows[] = {
		{ "12 (w) x(0)" TAIL("100 200", "3"), "w) x(0", 0, 3 },
		{ "12 ()" TAIL("100 200", "3"), "", 0, 3 },
		{ "12 (a b)" TAIL("100 200", "207"), "a b", 0, 207 },
		{ "12 (old) S 1 2 3 4 -1 6 7 8 9 10 100 200 16 17 20 0 1 0 555\n", "old", 0, -1 },
		{ "12 (cut) S 1 2 3 4 -1 6 7 8 9 10 100 200 16 17 20 0", "", -EINVAL, 0 },
		{ "12 cut", "", -EINVAL, 0 },
		{ "12 )(", "", -EINVAL, 0 },
		{ "12 (a)", "", -EINVAL, 0 },
		{ "12 (a) ", "", -EINVAL, 0 },
		{ "x (a)" TAIL("100 200", "3"), "", -EINVAL, 0 },
		{ "", "", -EINVAL, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_thread_stat s;

		check(rows[i].text, "rc", tcpx_thread_stat_parse(rows[i].text, &s), rows[i].rc);
		if (rows[i].rc < 0)
			continue;
		check_text(rows[i].text, s.name, rows[i].name);
		check(rows[i].text, "cpu", s.cpu, rows[i].cpu);
		check(rows[i].text, "system", s.system, 200);
		check(rows[i].text, "start", s.start, 555);
	}
}

static void
threads_are_listed(void **state)
{
	struct tcpx_thread_stat stat[4];
	struct fixture machine;
	int n;

	n = tcpx_threads_read(NULL, getpid(), stat, ARRAY_LEN(stat));
	assert_true(n >= 1);
	check("own", "tid", stat[0].tid, getpid());
	assert_true(stat[0].cpu >= 0);
	fixture_init(&machine);
	fixture_write(&machine, "proc/7/task/9/stat", "9 (b)" TAIL("1 200", "1"));
	fixture_write(&machine, "proc/7/task/10/stat", "10 (c)" TAIL("1 200", "2"));
	fixture_write(&machine, "proc/7/task/7/stat", "7 (a)" TAIL("1 200", "0"));
	fixture_write(&machine, "proc/7/task/8/comm", "has ended");
	fixture_write(&machine, "proc/7/task/11/stat", "junk");
	check("all", "count", tcpx_threads_read(machine.root, 7, stat, ARRAY_LEN(stat)), 3);
	check_text("first", stat[0].name, "a");
	check_text("last", stat[2].name, "c");
	check("two", "count", tcpx_threads_read(machine.root, 7, stat, 2) >= 3, 1);
	check("none", "rc", tcpx_threads_read(machine.root, 6, stat, ARRAY_LEN(stat)), -ESRCH);
	fixture_fini(&machine);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_of_single_cpus),
		cmocka_unit_test(bad_times_are_left_out),
		cmocka_unit_test(a_name_may_hold_anything),
		cmocka_unit_test(threads_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
