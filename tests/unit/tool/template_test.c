/* SPDX-License-Identifier: Apache-2.0 */
/* The language of templates, tag by tag; and that no value becomes markup, whatever its tag. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/log.h"
#include "tool/template.h"
#include "tool/tool.h"

static char *
fill(const char *text, bool markdown, const char *json)
{
	const struct template t = { text, markdown };
	char path[] = "/tmp/tcpx-template-XXXXXX", *out = NULL;
	json_t *value = json_loads(json, 0, NULL);
	int fd = mkstemp(path);
	size_t room = 0;
	FILE *f;

	assert_non_null(value);
	assert_true(fd >= 0);
	assert_int_equal(template_write(&t, value, path), 0);
	close(fd);
	f = fopen(path, "r");
	assert_non_null(f);
	if (getdelim(&out, &room, '\0', f) < 0)
		out[0] = '\0';
	fclose(f);
	unlink(path);
	json_decref(value);
	return out;
}

struct example {
	const char *text, *json, *result;
};

static void
check(const struct example *e, size_t n, bool markdown)
{
	for (size_t i = 0; i < n; i++) {
		char *out = fill(e[i].text, markdown, e[i].json);

		assert_string_equal(out, e[i].result);
		free(out);
	}
}

static void
values_stand_where_their_names_stood(void **state)
{
	static const struct example examples[] = {
		{ "no tag", "{}", "no tag" },
		{ "a {{x}} b", "{\"x\": \"text\"}", "a text b" },
		{ "{{x}} {{y}}", "{\"x\": -7, \"y\": 0.25}", "-7 0.25" },
		{ "{{x.y.1}}", "{\"x\": {\"y\": [1, 2]}}", "2" },
		{ "[{{x}}{{x.y}}{{y.0}}{{z}}]", "{\"x\": null, \"y\": [], \"z\": true}", "[]" },
		{ "{{x|none}} {{y|none}}", "{\"x\": \"\", \"y\": \"there\"}", "none there" },
		{ "{{x|0 and no real}} {{y|none}}", "{\"x\": 0, \"y\": 0.0}", "0 and no real 0" },
	};

	check(examples, ARRAY_LEN(examples), false);
}

static void
formats_are_those_of_the_tool(void **state)
{
	static const struct example examples[] = {
		{ "{{size x}} {{amount x}}", "{\"x\": 67108864}", "64 MiB 67.1 MB" },
		{ "{{time x}} {{digits x}}", "{\"x\": 12.345}", "12.3 \u00b5s 12.3" },
		{ "{{%.3f x}} {{%.3g x}}", "{\"x\": 1234.5678}", "1234.568 1.23e+03" },
		{ "{{%.1f 100 x}} {{digits 100 x}}", "{\"x\": 0.256}", "25.6 25.6" },
		{ "{{count x}} {{count y}}", "{\"x\": [1, 2, 3]}", "3 0" },
		{ "{{%.3f x|-}} {{%.3f y|-}}", "{\"x\": null, \"y\": 0.0}", "- 0.000" },
	};

	check(examples, ARRAY_LEN(examples), false);
}

static void
sections_repeat_show_and_hide(void **state)
{
	static const struct example examples[] = {
		{ "{{#x}}<{{.}}>{{/x}}", "{\"x\": [1, 2]}", "<1><2>" },
		{ "{{#x}}{{^@first}}, {{/}}{{.}}{{/x}}", "{\"x\": [\"a\", \"b\", \"c\"]}", "a, b, c" },
		{ "{{#x}}in{{/}}{{^x}}out{{/}}", "{\"x\": []}", "out" },
		{ "{{#x}}in{{/}}{{^x}}out{{/}}", "{\"x\": \"\"}", "out" },
		{ "{{#x}}in{{/}}{{^x}}out{{/}}", "{\"x\": 0}", "out" },
		{ "{{#x}}in{{/}}{{^x}}out{{/}}", "{\"x\": 0.0}", "in" },
		{ "{{#x}}in{{/}}{{^x}}out{{/}}", "{}", "out" },
		{ "{{#x=b c}}is{{/}}{{^x=b c}}is not{{/}}", "{\"x\": \"b c\"}", "is" },
		{ "{{#x=-1}}is{{/}}{{^x=-1}}is not{{/}}", "{\"x\": -1}", "is" },
		{ "{{#x=a}}is{{/}}{{^x=a}}is not{{/}}", "{}", "is not" },
		/* what is not shown is skipped with all that is in it */
		{ "{{#x}}{{#y}}{{^z}}{{/z}}{{/y}}{{a}}{{/x}}end", "{\"y\": [1, 2]}", "end" },
		/* names: of the value at hand, then of those around it */
		{ "{{#x}}{{a}}{{b}}{{/x}}", "{\"a\": 1, \"b\": 2, \"x\": {\"a\": 3}}", "32" },
		{ "{{#x}}[{{a}}]{{/x}}", "{\"a\": 1, \"x\": {\"a\": null}}", "[]" },
		{ "{{#x.y}}{{.}}{{a}}{{/x.y}}", "{\"a\": 1, \"x\": {\"y\": 0.5}}", "0.51" },
	};

	check(examples, ARRAY_LEN(examples), false);
}

static void
no_value_becomes_markup(void **state)
{
	static const struct example html[] = {
		{ "{{x}}", "{\"x\": \"<b>&\\\"'{{y}}\"}", "&lt;b&gt;&amp;&quot;&#39;{{y}}" },
		{ "{{code x}}", "{\"x\": \"<b>\\n\"}", "&lt;b&gt;\n" },
		{ "{{#x}}{{.}}{{/x}}", "{\"x\": [\"<i>\"]}", "&lt;i&gt;" },
		{ "{{size x}}{{%.1f x}}{{x|no}}", "{\"x\": \"<i>\"}", "&lt;i&gt;&lt;i&gt;&lt;i&gt;" },
		{ "{{script x}}", "{\"x\": \"</script>\"}", "\\u003c/script>" },
	};
	static const struct example markdown[] = {
		{ "{{x}}", "{\"x\": \"a|b*`[\\\\]<i>\\n\\u0001\"}", "a\\|b\\*\\`\\[\\\\\\]&lt;i> ?" },
		{ "    {{code x}}", "{\"x\": \"a|b\\nc\"}", "    a|b\n    c" },
	};

	check(html, ARRAY_LEN(html), false);
	check(markdown, ARRAY_LEN(markdown), true);
}

static void
quiet(void *arg, int level, const char *line)
{
}

static void
nowhere_to_write_and_nothing_to_write_are_refused(void **state)
{
	const struct template t = { "text", false };
	json_t *value = json_object();

	tcpx_log_sink(quiet, NULL);
	assert_int_not_equal(template_write(&t, value, "/nonexistent/page"), 0);
	assert_int_not_equal(template_write(&t, value, "/dev/full"), 0);
	assert_int_not_equal(template_write(&t, NULL, "/dev/null"), 0);
	tcpx_log_sink(NULL, NULL);
	json_decref(value);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_stand_where_their_names_stood),
		cmocka_unit_test(formats_are_those_of_the_tool),
		cmocka_unit_test(sections_repeat_show_and_hide),
		cmocka_unit_test(no_value_becomes_markup),
		cmocka_unit_test(nowhere_to_write_and_nothing_to_write_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
