/* SPDX-License-Identifier: Apache-2.0 */
/* Bindings: what is read, what is refused, what is odd, and what is written. */
#include "../base/base_test.h"

#include <errno.h>

#include "host/bindings.h"

TEST(texts_read_and_write)
{
	static const struct {
		const char *text, *again;
	} rows[] = {
		{ "", "" },
		{ "eth1:8-21,112-125;eth2:8-21", "eth1:8-21,112-125;eth2:8-21" },
		{ "eth1:8-21;", "eth1:8-21" },
		{ "eth1:5", "eth1:5-5" },
		{ " eth1 : 5-6 , 9-9 ; eth2:1-1 ", "eth1:5-6,9-9;eth2:1-1" },
		{ "e:3-4,1-2", "e:1-4" },
		{ "e:0-8191", "e:0-8191" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_bindings b;
		char *text;

		check(rows[i].text, "code", tcpx_bindings_parse(rows[i].text, "X", &b), 0);
		assert_int_equal(tcpx_bindings_format(&b, &text), 0);
		check_text(rows[i].text, text, rows[i].again);
		free(text);
		tcpx_bindings_fini(&b);
	}
}

TEST(what_is_wrong_is_refused)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "eth1", "not of the form" },
		{ ":1-2", "not of the form" },
		{ "eth1:a-b", "\"a-b\": not of the form" },
		{ "eth1:1-", "not of the form" },
		{ "eth1:-1", "not of the form" },
		{ "eth1:1-2-3", "not of the form" },
		{ "eth1:+1-2", "not of the form" },
		{ "eth1:0x3-5", "not of the form" },
		{ "eth1:1.5-2", "not of the form" },
		{ "eth1:0-8192", "not of the form" },
		{ "eth1:0-99999999999999999999", "not of the form" },
		{ "eth1:1-2,,3-4", "not of the form" },
		{ "eth1:1-2,", "not of the form" },
		{ "eth1:1-2;;eth2:1-2", "not of the form" },
		{ "eth1:1 - 2", "not of the form" },
		{ "sixteen-bytes-16:1-2", "not of the form" },
		{ "e h:1-2", "not of the form" },
		{ "eth1:9-3", "ends before it begins" },
		{ "eth1:", "without CPUs" },
		{ "eth1: ;", "without CPUs" },
		{ "eth1:1-2;eth1:3-4", "has an entry already" },
		{ "eth1:1-2;eth1:", "without CPUs" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_bindings b;

		capture_start();
		check(rows[i].text, "code", tcpx_bindings_parse(rows[i].text, "TX", &b), -EINVAL);
		check(rows[i].text, "lines", captured_count("\n"), 1);
		check_has(captured, rows[i].says);
	}
	tcpx_log_sink(NULL, NULL);
}

TEST(what_is_odd_is_listed)
{
	static const struct {
		const char *text;
		enum tcpx_binding_problem_kind kind;
		const char *name, *place;
	} rows[] = {
		{ "eth1:5", TCPX_BINDING_SINGLE, "eth1", "5" },
		{ "eth1 :5-6", TCPX_BINDING_BLANK, "eth1", "eth1 " },
		{ "eth1:1-2, 5-6", TCPX_BINDING_BLANK, "eth1", " 5-6" },
		{ "eth1:1-5,3-8", TCPX_BINDING_REPEAT, "eth1", "3-8" },
		{ "e:0-0,2-2,4-4,6-6,8-8,10-10,12-12,14-14,16-16", TCPX_BINDING_MANY, "e",
		  "e:0-0,2-2,4-4,6-6,8-8,10-10,12-12,14-14,16-1" },
		{ "e:9-3", TCPX_BINDING_REVERSED, "e", "9-3" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_binding_problems p;
		struct tcpx_bindings b;

		assert_int_equal(tcpx_bindings_scan(rows[i].text, &b, &p), 0);
		check(rows[i].text, "problems", p.count, 1);
		check(rows[i].text, "kind", p.at[0].kind, rows[i].kind);
		check_text(rows[i].text, p.at[0].name, rows[i].name);
		if (strncmp(p.at[0].text, rows[i].place, sizeof(p.at[0].text) - 4))
			fail_msg("%s: place \"%s\"", rows[i].text, p.at[0].text);
		tcpx_bindings_fini(&b);
	}
}

TEST(more_ranges_than_the_plugin_has_room_for_are_not_written)
{
	struct tcpx_bindings b = { 0 };
	struct tcpx_cpuset set;
	char *text;

	assert_int_equal(tcpx_cpuset_parse("0,2,4,6,8,10,12,14", &set), 0);
	assert_int_equal(tcpx_bindings_add(&b, "e", &set), 0);
	assert_int_equal(tcpx_bindings_add(&b, "e", &set), -EEXIST);
	assert_int_equal(tcpx_bindings_add(&b, "a;b", &set), -EINVAL);
	assert_int_equal(tcpx_bindings_add(&b, "", &set), -EINVAL);
	assert_int_equal(tcpx_bindings_format(&b, &text), 0);
	free(text);
	tcpx_cpuset_add(&set, 16);
	assert_int_equal(tcpx_bindings_add(&b, "f", &set), 0);
	capture_start();
	assert_int_equal(tcpx_bindings_format(&b, &text), -ERANGE);
	check_has(captured, "9 ranges");
	tcpx_log_sink(NULL, NULL);
	tcpx_bindings_fini(&b);
}
