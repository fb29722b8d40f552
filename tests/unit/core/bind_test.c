/* SPDX-License-Identifier: Apache-2.0 */
/*
 * I/O threads and bindings: a thread asks for the CPUs of its channels' NICs, and the
 * engine reports what the kernel granted.
 */
#include "rig.h"

#include <stdlib.h>
#include <string.h>

#include "base/cpuset.h"
#include "host/host.h"

#define THREADS 8
#define CHANNELS 64

/* First and last CPU that this process may use; perhaps the same one. */
static void
two_cpus(int *a, int *b)
{
	struct tcpx_cpuset own;

	assert_ok(tcpx_host_own_cpus(&own));
	*a = tcpx_cpuset_first(&own);
	*b = tcpx_cpuset_last(&own);
}

static void
thread_lists(tcpx_engine *e, struct tcpx_thread_info *info, size_t *count)
{
	*count = THREADS;
	assert_ok(tcpx_query_threads(e, info, sizeof(info[0]), count));
}

TEST(threads_go_where_their_nics_are_bound)
{
	char tx[64], rx[64];
	const char *settings[] = { "TCPX_NICS=127.0.1.1,127.0.2.1", "TCPX_CHANNELS=4",
				   "TCPX_THREADS=2", tx, rx, NULL };
	struct tcpx_thread_info thread[THREADS];
	struct tcpx_channel_info channel[CHANNELS];
	size_t threads, channels = CHANNELS;
	int cpu[2];
	struct rig r;

	two_cpus(&cpu[0], &cpu[1]);
	snprintf(tx, sizeof(tx), "TCPX_TX_BINDINGS=127.0.1.1:%d-%d", cpu[0], cpu[0]);
	snprintf(rx, sizeof(rx), "TCPX_RX_BINDINGS=127.0.2.1:%d-%d", cpu[1], cpu[1]);
	rig_begin(&r, settings, settings);
	assert_ok(tcpx_query_channels(r.a, channel, sizeof(channel[0]), &channels));
	assert_true(channels > 0 && channels <= CHANNELS);
	thread_lists(r.a, thread, &threads);
	assert_int_equal(threads, 2);
	for (size_t i = 0; i < threads; i++) {
		struct tcpx_cpuset want;
		char list[64];

		tcpx_cpuset_init(&want);
		for (size_t k = 0; k < channels; k++)
			if (channel[k].loop == i)
				assert_ok(tcpx_cpuset_add(&want, cpu[!strcmp(channel[k].nic,
									     "127.0.2.1")]));
		tcpx_cpuset_format(&want, list, sizeof(list));
		assert_string_equal(thread[i].requested, list);
		assert_string_equal(thread[i].granted, list);
	}
	rig_end(&r);
}

static void
check_all(const char *const *settings, const char *requested)
{
	struct tcpx_thread_info thread[THREADS];
	size_t threads;
	struct rig r;

	rig_begin(&r, settings, settings);
	thread_lists(r.a, thread, &threads);
	for (size_t i = 0; i < threads; i++) {
		assert_string_equal(thread[i].requested, requested);
		if (*requested)
			assert_string_equal(thread[i].granted, requested);
		assert_true(thread[i].granted[0] != '\0');
	}
	rig_end(&r);
}

TEST(what_is_set_for_all_threads_beats_bindings)
{
	char cpus[32], tx[64], list[16];
	const char *settings[] = { "TCPX_NICS=127.0.1.1", cpus, tx, NULL };
	const char *off[] = { "TCPX_NICS=127.0.1.1", "TCPX_BIND=off", tx, NULL };
	const char *other[] = { "TCPX_NICS=127.0.1.1", "TCPX_TX_BINDINGS=eth77:0-0", NULL };
	int a, b;

	two_cpus(&a, &b);
	snprintf(list, sizeof(list), "%d", b);
	snprintf(cpus, sizeof(cpus), "TCPX_CPUS=%d", b);
	snprintf(tx, sizeof(tx), "TCPX_TX_BINDINGS=127.0.1.1:%d-%d", a, a);
	check_all(settings, list);
	check_all(off, "");
	check_all(other, "");
}

TEST(bindings_that_cannot_be_read_stop_an_engine)
{
	const char *const settings[] = { "TCPX_NICS=127.0.1.1", "TCPX_RX_BINDINGS=a:3-1", NULL };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	tcpx_engine *e;

	opts.settings = settings;
	assert_int_equal(tcpx_open(&opts, &e), TCPX_ECONFIG);
}

TEST(a_hint_that_cannot_be_read_does_not)
{
	static const char *const settings[] = { "TCPX_NICS=127.0.1.1", NULL };

	setenv("NCCL_GPUDIRECTTCPX_RX_BINDINGS", "127.0.1.1:3-1", 1);
	check_all(settings, "");
	unsetenv("NCCL_GPUDIRECTTCPX_RX_BINDINGS");
}

TEST(channels_say_where_their_packets_arrive)
{
	static const char *const settings[] = { "TCPX_NICS=127.0.1.1", "TCPX_CHANNELS=1", NULL };
	struct tcpx_channel_info channel[4];
	size_t count = 4;
	struct rig r;

	rig_begin(&r, settings, settings);
	assert_ok(tcpx_query_channels(r.a, channel, sizeof(channel[0]), &count));
	assert_int_equal(count, 2);
	for (size_t i = 0; i < count; i++)
		assert_in_range(channel[i].incoming_cpu + 1, 0, TCPX_CPUS_MAX);
	rig_end(&r);
}
