/* SPDX-License-Identifier: Apache-2.0 */
#include "base_test.h"

#include "base/text.h"

static void
text_grows_and_is_given_away(void **state)
{
	struct tcpx_text t = { 0 };
	char *text;

	for (unsigned i = 0; i < 2000; i++)
		tcpx_text_add(&t, "%u,", i % 10);
	assert_int_equal(t.len, 4000);
	assert_int_equal(tcpx_text_detach(&t, &text), 0);
	assert_int_equal(strlen(text), 4000);
	assert_memory_equal(text + 3996, "8,9,", 5);
	assert_null(t.at);
	free(text);
}

static void
what_fits_exactly_has_its_nul(void **state)
{
	for (unsigned n = 250; n < 260; n++) {
		struct tcpx_text t = { 0 };
		char *text;

		tcpx_text_add(&t, "%*s", (int)n, "x");
		tcpx_text_add(&t, "%s", "");
		assert_int_equal(tcpx_text_detach(&t, &text), 0);
		assert_int_equal(strlen(text), n);
		free(text);
	}
}

static void
nothing_is_an_empty_text(void **state)
{
	struct tcpx_text t = { 0 };
	char *text;

	assert_int_equal(tcpx_text_detach(&t, &text), 0);
	assert_string_equal(text, "");
	free(text);
	tcpx_text_add(&t, "gone");
	tcpx_text_drop(&t);
	assert_null(t.at);
}

static void
quoted_text_is_json(void **state)
{
	static const struct {
		const char *raw, *quoted;
	} table[] = {
		{ "", "\"\"" },
		{ "eth0", "\"eth0\"" },
		{ "a\"b\\c\nd\x7f", "\"a\\u0022b\\u005cc\\u000ad\\u007f\"" },
		{ "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"" },
		{ "\xc3", "\"\\u00c3\"" }, /* ends in the middle */
		{ "\xff\x80", "\"\\u00ff\\u0080\"" },
		{ "\xc0\xaf", "\"\\u00c0\\u00af\"" }, /* longer than need be */
		{ "\xed\xa0\x80", "\"\\u00ed\\u00a0\\u0080\"" }, /* half of a pair */
		{ "\xf4\x90\x80\x80", "\"\\u00f4\\u0090\\u0080\\u0080\"" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct tcpx_text t = { 0 };
		char *text;

		tcpx_text_quote(&t, table[i].raw);
		assert_int_equal(tcpx_text_detach(&t, &text), 0);
		assert_string_equal(text, table[i].quoted);
		free(text);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_grows_and_is_given_away),
		cmocka_unit_test(what_fits_exactly_has_its_nul),
		cmocka_unit_test(nothing_is_an_empty_text),
		cmocka_unit_test(quoted_text_is_json),
	};

	return cmocka_run_group_tests_name("base/text", tests, NULL, NULL);
}
