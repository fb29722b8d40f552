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
		cmocka_unit_test(values_out_of_range_name_the_range),
		cmocka_unit_test(help_fits_eighty_columns_and_has_every_option),
		cmocka_unit_test(nearest_name_is_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
