/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences are taken channel by channel, add up, and survive the way to the client.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "measure/perf/perf_usage.h"

enum { BEFORE, AFTER, SUM, COPY, USAGES };

static int
make(void **state)
{
	struct usage *u = calloc(USAGES, sizeof(*u));

	u[BEFORE] = (struct usage){ .now_ns = 100, .cpu_s = 1, .ctxt_switches = 5, .chunks_tx = 7,
				    .channels = 1 };
	u[BEFORE].channel[0] = (struct usage_channel){
		.session = 8, .nic = "eth0", .peer_nic = "eth1", .index = 1, .sending = 1,
		.bytes = 1000, .chunks = 10, .retransmits = 3, .in_flight_max = 2 };
	u[BEFORE].nics = (struct usage_nics){ 1, { { "eth0", { 50, 5, 0, 0, 10 } } } };
	u[AFTER] = u[BEFORE];
	u[AFTER].nics.at[0].count[4] = 1010;
	u[AFTER].now_ns = 350;
	u[AFTER].cpu_s = 1.5;
	u[AFTER].ctxt_switches = 9;
	u[AFTER].chunks_tx = 17;
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

static void
a_difference_counts_only_what_happened_between(void **state)
{
	struct usage *u = *state;

	usage_add_difference(&u[SUM], &u[BEFORE], &u[AFTER]);
	assert_int_equal(u[SUM].now_ns, 250);
	assert_int_equal(u[SUM].ctxt_switches, 4);
	assert_int_equal(u[SUM].chunks_tx, 10);
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

static void
a_nic_shows_what_it_carried_between(void **state)
{
	struct usage *u = *state;

	u[AFTER].nics.at[1] = (struct usage_nic){ "eth1", { 7 } };
	u[AFTER].nics.n = 2;
	usage_add_difference(&u[SUM], &u[BEFORE], &u[AFTER]);
	usage_add_difference(&u[SUM], &u[BEFORE], &u[AFTER]);
	assert_int_equal(u[SUM].nics.n, 2);
	assert_string_equal(u[SUM].nics.at[0].nic, "eth0");
	assert_int_equal(u[SUM].nics.at[0].count[0], 0);
	assert_string_equal(nic_counter_names[4], "tx_bytes");
	assert_int_equal(u[SUM].nics.at[0].count[4], 2000);
	assert_int_equal(u[SUM].nics.at[1].count[0], 14);
}

static void
more_nics_than_fit_are_left_out(void **state)
{
	struct usage *u = *state;
	json_t *list = json_array();

	for (int i = 0; i < USAGE_NICS + 9; i++) {
		char name[16];

		snprintf(name, sizeof(name), "eth%d", i);
		json_array_append_new(list, json_pack("{s:s, s:i}", "nic", name, "rx_bytes", i));
	}
	usage_nics_parse(list, &u[COPY].nics);
	json_decref(list);
	assert_int_equal(u[COPY].nics.n, USAGE_NICS);
}

static void
a_new_generation_counts_from_zero(void **state)
{
	struct usage *u = *state;

	u[AFTER].channel[0].generation++;
	usage_add_difference(&u[SUM], &u[BEFORE], &u[AFTER]);
	assert_int_equal(u[SUM].channel[0].bytes, 1600);
}

static void
differences_travel(void **state)
{
	struct usage *u = *state;
	json_t *msg;

	u[AFTER].threads = 1;
	strcpy(u[AFTER].thread[0].name, "io-0");
	strcpy(u[AFTER].thread[0].granted, "0-3");
	assert_int_equal(tcpx_cpuset_add(&u[AFTER].thread[0].ran_on, 2), 0);
	usage_add_difference(&u[SUM], &u[BEFORE], &u[AFTER]);
	msg = usage_format(&u[SUM]);
	assert_non_null(msg);
	usage_parse(msg, &u[COPY]);
	json_decref(msg);
	u[SUM].channel[0].session = u[COPY].channel[0].session; /* only identifies the channel */
	assert_memory_equal(&u[COPY], &u[SUM], sizeof(u[SUM]));
}

static void
what_is_missing_is_zero(void **state)
{
	struct usage *u = *state;
	json_t *msg = json_loads("{\"channels\":[{}],\"threads\":[{\"ran_on\":\"x\"}],\"ns\":-5}", 0,
				 NULL);

	usage_parse(msg, &u[COPY]);
	json_decref(msg);
	assert_int_equal(u[COPY].now_ns, 0);
	assert_int_equal(u[COPY].channels, 1);
	assert_int_equal(u[COPY].channel[0].bytes, 0);
	assert_true(tcpx_cpuset_empty(&u[COPY].thread[0].ran_on));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_difference_counts_only_what_happened_between,
						make, drop),
		cmocka_unit_test_setup_teardown(a_nic_shows_what_it_carried_between, make, drop),
		cmocka_unit_test_setup_teardown(more_nics_than_fit_are_left_out, make, drop),
		cmocka_unit_test_setup_teardown(a_new_generation_counts_from_zero, make, drop),
		cmocka_unit_test_setup_teardown(differences_travel, make, drop),
		cmocka_unit_test_setup_teardown(what_is_missing_is_zero, make, drop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
