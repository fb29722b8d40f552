/* SPDX-License-Identifier: Apache-2.0 */
/* Time of CPUs. */
#include "../fixture.h"

#include "tune/facts/irqtab.h"

TEST(times_are_of_single_cpus)
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

TEST(bad_times_are_left_out)
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
