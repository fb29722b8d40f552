/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One small option table is parsed, refused and formatted.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tool/opt.h"
#include "tool/tool.h"

enum { SIZE, COUNT, MODE, FLAG };
static const struct opt opts[] = {
	[SIZE] = { 'b', "bytes", "SIZE", "how much; a text that is long enough to have to be "
		   "broken into several lines, between words" },
	[COUNT] = { 0, "count", "N", "how often" },
	[MODE] = { 0, "a-mode-with-a-very-long-name", "MODE", "how" },
	[FLAG] = { 'f', "flag", NULL, "whether" },
};
static const struct opt_command cmd = {
	"tcpx test", "[OPTIONS] WORD", "About.", opts, ARRAY_LEN(opts), "  tcpx test x\n", false,
};

/* The first result of parsing "test @word"; what was said on stderr goes to @said. */
static int
parse_one(struct opt_parser *p, char *word, char *said, size_t cap)
{
	static char name[] = "test";
	char *argv[] = { name, word, NULL };
	int old = dup(STDERR_FILENO), id;
	FILE *tmp = tmpfile();
	size_t len;

	dup2(fileno(tmp), STDERR_FILENO);
	opt_init(p, &cmd, 2, argv);
	id = opt_next(p);
	fflush(stderr);
	dup2(old, STDERR_FILENO);
	close(old);
	rewind(tmp);
	len = fread(said, 1, cap - 1, tmp);
	said[len] = '\0';
	fclose(tmp);
	return id;
}

static const struct {
	const char *word;
	int id;
	const char *value; /* of a good option   */
	const char *said;  /* part of a message  */
} parse_cases[] = {
	{ "--bytes=8M", SIZE, "8M", NULL },
	{ "-b8M", SIZE, "8M", NULL },
	{ "--byt=8M", SIZE, "8M", NULL },
	{ "--flag", FLAG, NULL, NULL },
	{ "-f", FLAG, NULL, NULL },
	{ "word", OPT_END, NULL, NULL },
	{ "--bytes", OPT_BAD, NULL, "--bytes needs a value: SIZE" },
	{ "-b", OPT_BAD, NULL, "--bytes needs a value: SIZE" },
	{ "--flag=1", OPT_BAD, NULL, "--flag takes no value" },
	{ "--coutn=1", OPT_BAD, NULL, "unknown option --coutn; did you mean --count?" },
	{ "--zzzzzzzz", OPT_BAD, NULL, "unknown option --zzzzzzzz\nsee tcpx test --help" },
	{ "-x", OPT_BAD, NULL, "unknown option -x" },
};

static void
options_and_refusals(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(parse_cases); i++) {
		char *word = strdup(parse_cases[i].word), said[512];
		struct opt_parser p;
		int id = parse_one(&p, word, said, sizeof(said));

		if (id != parse_cases[i].id)
			fail_msg("%s: %d, want %d", word, id, parse_cases[i].id);
		if (parse_cases[i].value)
			assert_string_equal(p.value, parse_cases[i].value);
		if (parse_cases[i].said && !strstr(said, parse_cases[i].said))
			fail_msg("%s: said '%s'", word, said);
		free(word);
	}
}

static const struct {
	const char *text;
	unsigned base;
	int rc;
	uint64_t value;
} scale_cases[] = {
	{ "0", 1024, 0, 0 },
	{ "4096", 1024, 0, 4096 },
	{ "8K", 1024, 0, 8192 },
	{ "8k", 1000, 0, 8000 },
	{ "1.5M", 1024, 0, 1572864 },
	{ "2.25G", 1000, 0, 2250000000 },
	{ "16T", 1024, 0, 17592186044416 },
	{ "18446744073709551615", 1024, 0, UINT64_MAX },
	{ "18446744073709551616", 1024, -ERANGE, 0 },
	{ "18446744073709551615K", 1024, -ERANGE, 0 },
	{ "16777216T", 1024, -ERANGE, 0 },
	{ "", 1024, -EINVAL, 0 },
	{ "-1", 1024, -EINVAL, 0 },
	{ " 1", 1024, -EINVAL, 0 },
	{ "1.5", 1024, -EINVAL, 0 },
	{ "1.K", 1024, -EINVAL, 0 },
	{ "1.2345K", 1024, -EINVAL, 0 },
	{ "8MB", 1024, -EINVAL, 0 },
	{ "8X", 1024, -EINVAL, 0 },
	{ "M", 1024, -EINVAL, 0 },
};

static void
scaled_numbers(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(scale_cases); i++) {
		uint64_t v = 77, want = scale_cases[i].rc ? 77 : scale_cases[i].value;
		int rc = opt_parse_scaled(scale_cases[i].text, scale_cases[i].base, &v);

		if (rc != scale_cases[i].rc || v != want)
			fail_msg("'%s': rc %d value %llu", scale_cases[i].text, rc,
				 (unsigned long long)v);
	}
}

static void
sizes_read_back_as_they_were_printed(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 1000, 1024, 1536, 8388608, 1ull << 40, 1ull << 60,
					  UINT64_MAX };

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		char text[32];
		uint64_t again;

		opt_format_size(sizes[i], text, sizeof(text));
		assert_int_equal(opt_parse_scaled(text, 1024, &again), 0);
		assert_int_equal(again, sizes[i]);
	}
}

static void
values_out_of_range_name_the_range(void **state)
{
	struct opt_parser p = { .cmd = &cmd, .value = "65" };
	uint64_t v = 77;

	assert_int_equal(opt_number(&p, COUNT, 1, 64, &v), TOOL_USAGE);
	p.value = "1K";
	assert_int_equal(opt_number(&p, COUNT, 1, 4096, &v), TOOL_USAGE);
	assert_int_equal(v, 77);
	assert_int_equal(opt_size(&p, SIZE, 1, 4096, &v), TOOL_OK);
	assert_int_equal(v, 1024);
}

static void
help_fits_eighty_columns_and_has_every_option(void **state)
{
	char text[4096];
	FILE *f = fmemopen(text, sizeof(text), "w");

	opt_help(&cmd, f);
	fclose(f);
	for (size_t i = 0; i < ARRAY_LEN(opts); i++)
		assert_non_null(strstr(text, opts[i].long_name));
	assert_non_null(strstr(text, "--help"));
	assert_non_null(strstr(text, "tcpx test x"));
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= 80);
}

static void
nearest_name_is_near(void **state)
{
	static const char *const words[] = { "perf", "serve", "info", "report" };

	assert_string_equal(tool_nearest("pref", words, 4, sizeof(words[0])), "perf");
	assert_string_equal(tool_nearest("serv", words, 4, sizeof(words[0])), "serve");
	assert_null(tool_nearest("zzzz", words, 4, sizeof(words[0])));
	assert_null(tool_nearest("", words, 4, sizeof(words[0])));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_and_refusals),
		cmocka_unit_test(scaled_numbers),
		cmocka_unit_test(sizes_read_back_as_they_were_printed),
		cmocka_unit_test(values_out_of_range_name_the_range),
		cmocka_unit_test(help_fits_eighty_columns_and_has_every_option),
		cmocka_unit_test(nearest_name_is_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
