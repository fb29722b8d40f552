/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences are taken channel by channel, add up, and survive the way to the client.
 */
#include "cases.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measure/perf/usage.h"

enum { BEFORE, AFTER, SUM, COPY, USAGES };

static int
make(void **state)
{
	struct usage *u = calloc(USAGES, sizeof(*u));

	u[BEFORE] = (struct usage){ .now_ns = 100, .cpu_s = 1, .ctxt_switches = 5,
				    .count = { .chunks_tx = 7 }, .channels = 1, .nics = 1 };
	u[BEFORE].channel[0] = (struct tcpx_channel_info){
		.session = 8, .nic = "eth0", .peer_nic = "eth1", .index = 1, .sending = 1,
		.bytes = 1000, .chunks = 10, .retransmits = 3, .in_flight_max = 2 };
	u[BEFORE].nic[0] = (struct row_nic_counters){ .nic = "eth0", .rx_bytes = 50, .tx_bytes = 10 };
	u[AFTER] = u[BEFORE];
	u[AFTER].nic[0].tx_bytes = 1010;
	u[AFTER].now_ns = 350;
	u[AFTER].cpu_s = 1.5;
	u[AFTER].ctxt_switches = 9;
	u[AFTER].count.chunks_tx = 17;
	u[AFTER].channel[0].bytes = 1600;
	u[AFTER].channel[0].chunks = 12;
	u[AFTER].channel[0].up = 1;
	u[AFTER].channel[0].in_flight_max = 4;
	u[AFTER].channel[0].lent_bytes = 500;
	memcpy(u[AFTER].channel[0].tx_mode, "splice", 7);
	*state = u;
	return 0;
}

static int
drop(void **state)
{
	free(*state);
	return 0;
}

TEST_WITH(a_difference_counts_only_what_happened_between, make, drop)
{
	struct usage *u = *state;

	usage_add_difference(&u[SUM], &u[BEFORE], &u[AFTER]);
	assert_int_equal(u[SUM].now_ns, 250);
	assert_int_equal(u[SUM].ctxt_switches, 4);
	assert_int_equal(u[SUM].count.chunks_tx, 10);
	assert_int_equal(u[SUM].channels, 1);
	assert_int_equal(u[SUM].channel[0].bytes, 600);
	assert_int_equal(u[SUM].channel[0].chunks, 2);
	assert_int_equal(u[SUM].channel[0].retransmits, 0);
	assert_int_equal(u[SUM].channel[0].in_flight_max, 4);
	assert_int_equal(u[SUM].channel[0].lent_bytes, 500);
	assert_string_equal(u[SUM].channel[0].tx_mode, "splice");
	usage_add_difference(&u[SUM], &u[BEFORE], &u[AFTER]);
	assert_int_equal(u[SUM].now_ns, 500);
	assert_int_equal(u[SUM].channels, 1);
	assert_int_equal(u[SUM].channel[0].bytes, 1200);
}

TEST_WITH(a_nic_shows_what_it_carried_between, make, drop)
{
	struct usage *u = *state;

	u[AFTER].nic[1] = (struct row_nic_counters){ .nic = "eth1", .rx_bytes = 7 };
	u[AFTER].nics = 2;
	usage_add_difference(&u[SUM], &u[BEFORE], &u[AFTER]);
	usage_add_difference(&u[SUM], &u[BEFORE], &u[AFTER]);
	assert_int_equal(u[SUM].nics, 2);
	assert_string_equal(u[SUM].nic[0].nic, "eth0");
	assert_int_equal(u[SUM].nic[0].rx_bytes, 0);
	assert_int_equal(u[SUM].nic[0].tx_bytes, 2000);
	assert_int_equal(u[SUM].nic[1].rx_bytes, 14);
}

/* A driver that is loaded anew counts from zero: all of its count was moved between. */
TEST_WITH(a_counter_that_began_anew_counts_from_zero, make, drop)
{
	struct usage *u = *state;

	u[AFTER].nic[0].tx_bytes = 7; /* before: 10 */
	u[AFTER].channel[0].bytes = 999;
	u[AFTER].ctxt_switches = 5;   /* as before */
	usage_add_difference(&u[SUM], &u[BEFORE], &u[AFTER]);
	assert_int_equal(u[SUM].nic[0].tx_bytes, 7);
	assert_int_equal(u[SUM].channel[0].bytes, 999);
	assert_int_equal(u[SUM].ctxt_switches, 0);
}

/* CPU 0 would be what many a field says. */
TEST_WITH(a_thread_ran_on_the_cpu_that_it_was_held_to, make, drop)
{
	struct tcpx_engine_opts o = TCPX_ENGINE_OPTS_INIT;
	struct usage *u = *state;
	tcpx_engine *e = NULL;
	cpu_set_t before, one;
	int cpu = CPU_SETSIZE - 1;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	while (cpu > 0 && !CPU_ISSET(cpu, &before))
		cpu--;
	if (cpu == 0)
		skip();
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	o.name = "anna";
	o.settings = (const char *const[]){ "TCPX_NICS=127.0.1.1", "TCPX_PORT=0",
					    "TCPX_STATS=off", "TCPX_THREADS=1", NULL };
	assert_int_equal(tcpx_open(&o, &e), 0);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	usage_read(e, "", u);
	assert_int_equal(u->threads, 1);
	assert_int_equal(tcpx_cpuset_count(&u->thread[0].ran_on), 1);
	assert_true(tcpx_cpuset_has(&u->thread[0].ran_on, cpu));
	tcpx_close(e);
}

TEST_WITH(names_stand_once_in_a_list, make, drop)
{
	static const struct { const char *before, *name, *after; } cases[] = {
		{ "", "cubic", "cubic" },
		{ "", "", "" },
		{ "cubic", "", "cubic" },
		{ "cubic", "cubic", "cubic" },
		{ "cubic", "bbr", "cubic, bbr" },
		{ "cubic, bbr", "bbr", "cubic, bbr" },
		{ "bbr2, bbr3", "bbr", "bbr2, bbr3, bbr" },
		{ "mybbr", "bbr", "mybbr, bbr" },
		{ "aaaaaaaaaaaaaaa", "bbb", "aaaaaaaaaaaaaaa" }, /* no room */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char list[20];

		snprintf(list, sizeof(list), "%s", cases[i].before);
		usage_add_name(list, sizeof(list), cases[i].name);
		assert_string_equal(list, cases[i].after);
	}
}

static double
seconds_of(clockid_t clock)
{
	struct timespec t;

	assert_int_equal(clock_gettime(clock, &t), 0);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Reads the CPU time from the kernel's other account of this process; either may count by ticks. */
TEST_WITH(cpu_time_is_that_of_the_process, make, drop)
{
	double from, to, begin = seconds_of(CLOCK_MONOTONIC);
	struct usage *u = *state;

	while (seconds_of(CLOCK_PROCESS_CPUTIME_ID) < 0.3) /* a wrong unit is far out */
		;
	from = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	usage_read_process(&u[COPY]);
	to = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
	assert_true(u[COPY].cpu_s > from - 0.05 && u[COPY].cpu_s < to + 0.05);
	assert_true((double)u[COPY].now_ns / 1e9 > begin);
	assert_true((double)u[COPY].now_ns / 1e9 <= seconds_of(CLOCK_MONOTONIC));
}

TEST_WITH(more_nics_than_fit_are_left_out, make, drop)
{
	struct usage *u = *state;
	json_t *list = json_array();

	for (int i = 0; i < USAGE_NICS + 9; i++) {
		char name[16];

		snprintf(name, sizeof(name), "eth%d", i);
		json_array_append_new(list, json_pack("{s:s, s:i}", "nic", name, "rx_bytes", i));
	}
	list = json_pack("{s:o}", "nic", list);
	assert_int_equal(usage_parse(list, &u[COPY]), 0);
	json_decref(list);
	assert_int_equal(u[COPY].nics, USAGE_NICS);
}

TEST_WITH(a_new_generation_counts_from_zero, make, drop)
{
	struct usage *u = *state;

	u[AFTER].channel[0].generation++;
	usage_add_difference(&u[SUM], &u[BEFORE], &u[AFTER]);
	assert_int_equal(u[SUM].channel[0].bytes, 1600);
}

TEST_WITH(differences_travel, make, drop)
{
	struct usage *u = *state;
	json_t *msg;

	u[BEFORE].threads = u[AFTER].threads = 1;
	assert_int_equal(tcpx_cpuset_add(&u[BEFORE].thread[0].ran_on, 5), 0);
	strcpy(u[AFTER].thread[0].info.name, "io-0");
	strcpy(u[AFTER].thread[0].info.granted, "0-3");
	assert_int_equal(tcpx_cpuset_add(&u[AFTER].thread[0].ran_on, 2), 0);
	usage_add_difference(&u[SUM], &u[BEFORE], &u[AFTER]);
	assert_int_equal(tcpx_cpuset_count(&u[SUM].thread[0].ran_on), 2);
	msg = usage_format(&u[SUM]);
	assert_non_null(msg);
	assert_int_equal(usage_parse(msg, &u[COPY]), 0);
	json_decref(msg);
	assert_memory_equal(&u[COPY], &u[SUM], sizeof(u[SUM]));
}

TEST_WITH(what_is_missing_is_zero, make, drop)
{
	struct usage *u = *state;
	json_t *msg = json_loads("{\"channel\":[{}],\"thread\":[{}]}", 0, NULL);

	assert_int_equal(usage_parse(msg, &u[COPY]), 0);
	json_decref(msg);
	assert_int_equal(u[COPY].now_ns, 0);
	assert_int_equal(u[COPY].channels, 1);
	assert_int_equal(u[COPY].channel[0].bytes, 0);
	assert_true(tcpx_cpuset_empty(&u[COPY].thread[0].ran_on));
}

TEST_WITH(what_makes_no_sense_is_refused, make, drop)
{
	static const char *const bad[] = {
		"[]", "{\"now_ns\":-5}", "{\"channel\":5}", "{\"channel\":[{\"bytes\":\"x\"}]}",
		"{\"channel\":[{\"session\":\"xyz\"}]}", "{\"channel\":[{\"index\":4294967296}]}",
		"{\"thread\":[{\"ran_on\":\"x\"}]}", "{\"count\":[]}",
	};
	struct usage *u = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *msg = json_loads(bad[i], 0, NULL);

		assert_non_null(msg);
		if (usage_parse(msg, &u[COPY]) != TCPX_EBLOB)
			fail_msg("%s", bad[i]);
		json_decref(msg);
	}
}
