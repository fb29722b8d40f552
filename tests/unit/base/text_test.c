/* SPDX-License-Identifier: Apache-2.0 */
#include "base_test.h"

#include "base/text.h"

TEST(text_grows_and_is_given_away)
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

TEST(what_fits_exactly_has_its_nul)
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

TEST(nothing_is_an_empty_text)
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

TEST(quoted_text_is_json)
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

TEST(utf8_is_what_the_standard_allows)
{
	static const struct {
		const char *text;
		size_t len;
	} table[] = {
		{ "a", 1 }, { "", 0 }, { "\xc2\xb5", 2 }, { "\xe2\x82\xac", 3 },
		{ "\xf0\x9f\x98\x80", 4 }, { "\x80", 0 }, { "\xc0\x80", 0 }, { "\xe2\x82", 0 },
		{ "\xe0\x80\x80", 0 }, { "\xed\xa0\x80", 0 }, { "\xf4\x90\x80\x80", 0 },
		{ "\xff", 0 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_int_equal(tcpx_utf8_len(table[i].text), table[i].len);
}

TEST(controls_and_what_turns_text_around_do_not_show)
{
	static const struct {
		const char *raw, *shown;
	} table[] = {
		{ "eth0 \xc2\xb5s \xe2\x82\xac \xf0\x9f\x98\x80", "eth0 \xc2\xb5s \xe2\x82\xac \xf0\x9f\x98\x80" },
		{ "\033[2J\a\r\n\t\x7f", "?[2J?????" },
		{ "\xc2\x9b" "31m\xc2\x80\xc2\x9f\xc2\xa0", "?31m??\xc2\xa0" }, /* C1, and a space behind it */
		{ "\xe2\x80\xaa|\xe2\x80\xae|\xe2\x81\xa6|\xe2\x81\xa9|\xd8\x9c|\xe2\x80\x8f", "?|?|?|?|?|?" },
		{ "a\xe2\x80\x8b" "b\xef\xbb\xbf" "c\xe2\x80\xa8" "d\xf3\xa0\x81\x81", "a?b?c?d?" },
		{ "\xe2\x80\xaf|\xe2\x81\x9f|\xe2\x81\xb0", "\xe2\x80\xaf|\xe2\x81\x9f|\xe2\x81\xb0" }, /* beside them */
		{ "\xff\xfe|\xe2\x80|\xed\xa0\x80", "??|??|???" },
	};
	char shown[64];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		tcpx_text_show(shown, sizeof(shown), table[i].raw);
		assert_string_equal(shown, table[i].shown);
		strcpy(shown, table[i].raw);
		tcpx_text_show(shown, sizeof(shown), shown); /* in its place */
		assert_string_equal(shown, table[i].shown);
	}
	tcpx_text_show(shown, 6, "abc\xe2\x82\xac"); /* no character is cut */
	assert_string_equal(shown, "abc");
	tcpx_text_show(shown, 7, "abc\xe2\x82\xac");
	assert_string_equal(shown, "abc\xe2\x82\xac");
}
