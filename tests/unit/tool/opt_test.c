/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One small option table is parsed, refused and formatted.
 */
#include "cases.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/opt.h"
#include "tool/tool.h"

struct args {
	uint64_t bytes, count;
	const char *mode;
	bool flag;
	int taken, word;
	unsigned few;
};
#define S struct args

static const char *const words[] = { "one", "two", NULL };

static int
take(const struct opt_parser *p, int id, void *args)
{
	struct args *a = args;

	a->taken++;
	return strcmp(p->value, "bad") ? TOOL_OK : opt_refuse(p, id, "not bad");
}

static const struct opt opts[] = {
	{ 'b', "bytes", "SIZE", "how much; a text that is long enough to have to be broken into "
	  "several lines, between words", OPT_SIZE(bytes, 1, 8 << 20) },
	{ 0, "count", "N", "how often", OPT_NUMBER(count, 1, 64) },
	{ 0, "a-mode-with-a-very-long-name", "MODE", "how", OPT_TEXT(mode) },
	{ 'f', "flag", NULL, "whether", OPT_FLAG(flag) },
	{ 't', "take", "WORD", "by a function", OPT_TAKE(take) },
	{ 0, "word", "WORD", "one of two", OPT_CHOICE(word, words) },
	{ 0, "few", "N", "a small number", OPT_INT(few, 2, 9) },
};
static const struct opt_command cmd = {
	"tcpx test", "[OPTIONS] WORD", "About.", opts, ARRAY_LEN(opts), "  tcpx test x\n", false,
	(const char *const[]){ "-P", "--count", "--size", "--bytes", NULL },
};

/* Reads "test @word"; what was said on stderr goes to @said. */
static bool
read_one(struct opt_parser *p, char *word, struct args *a, char *said, size_t cap)
{
	static char name[] = "test";
	char *argv[] = { name, word, NULL };
	int old = dup(STDERR_FILENO);
	FILE *tmp = tmpfile();
	size_t len;
	bool ok;

	dup2(fileno(tmp), STDERR_FILENO);
	ok = opt_read(p, &cmd, 2, argv, a);
	fflush(stderr);
	dup2(old, STDERR_FILENO);
	close(old);
	rewind(tmp);
	len = fread(said, 1, cap - 1, tmp);
	said[len] = '\0';
	fclose(tmp);
	return ok;
}

static const struct {
	const char *word;
	struct args args;
	const char *said; /* part of a message: refused */
} cases[] = {
	{ "--bytes=8M", { .bytes = 8 << 20 }, NULL },
	{ "-b8M", { .bytes = 8 << 20 }, NULL },
	{ "--byt=8M", { .bytes = 0 }, "unknown option --byt; did you mean --bytes?" },
	{ "--byt", { .bytes = 0 }, "unknown option --byt; did you mean --bytes?" },
	{ "--fl", { .bytes = 0 }, "unknown option --fl; did you mean --flag?" },
	{ "--hel", { .bytes = 0 }, "unknown option --hel; did you mean --help?" },
	{ "--f", { .bytes = 0 }, "unknown option --f" },
	{ "--count=64", { .count = 64 }, NULL },
	{ "--flag", { .flag = true }, NULL },
	{ "-f", { .flag = true }, NULL },
	{ "-tgood", { .taken = 1 }, NULL },
	{ "--word=two", { .word = 1 }, NULL },
	{ "--few=9", { .few = 9 }, NULL },
	{ "word", { .bytes = 0 }, NULL },
	{ "-tbad", { .taken = 1 }, "--take bad: not bad" },
	{ "--word=three", { .bytes = 0 }, "--word three: allowed are one, two" },
	{ "--count=65", { .bytes = 0 }, "--count 65: allowed is a whole number from 1 to 64" },
	{ "--few=10", { .bytes = 0 }, "--few 10: allowed is a whole number from 2 to 9" },
	{ "--bytes=9M", { .bytes = 0 }, "--bytes 9M: allowed is a size (8K, 1.5M, 1G) from 1" },
	{ "--bytes", { .bytes = 0 }, "--bytes needs a value: SIZE" },
	{ "-b", { .bytes = 0 }, "--bytes needs a value: SIZE" },
	{ "--flag=1", { .bytes = 0 }, "--flag takes no value" },
	{ "--coutn=1", { .bytes = 0 }, "unknown option --coutn; did you mean --count?" },
	{ "--zzzzzzzz", { .bytes = 0 }, "unknown option --zzzzzzzz\nsee tcpx test --help" },
	{ "-x", { .bytes = 0 }, "unknown option -x" },
	{ "-P", { .bytes = 0 }, "unknown option -P; here it is --count" },
	{ "--size=1M", { .bytes = 0 }, "unknown option --size; here it is --bytes" },
};

TEST(options_and_refusals)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *word = strdup(cases[i].word), said[512];
		struct args a;
		struct opt_parser p;
		bool ok;

		memset(&a, 0, sizeof(a));
		ok = read_one(&p, word, &a, said, sizeof(said));
		if (ok != !cases[i].said || p.exit != (ok ? TOOL_OK : TOOL_USAGE))
			fail_msg("%s: %d, exit code %d", word, ok, p.exit);
		if (memcmp(&a, &cases[i].args, sizeof(a)))
			fail_msg("%s: another value", word);
		if (cases[i].said && !strstr(said, cases[i].said))
			fail_msg("%s: said '%s'", word, said);
		free(word);
	}
}

TEST(a_text_stays_where_it_was_typed)
{
	char word[] = "--a-mode-with-a-very-long-name=x", said[512];
	struct args a = { .mode = NULL };
	struct opt_parser p;

	assert_true(read_one(&p, word, &a, said, sizeof(said)));
	assert_string_equal(a.mode, "x");
}

TEST(help_fits_eighty_columns_and_has_every_option)
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

TEST(nearest_name_is_near)
{
	static const char *const commands[] = { "perf", "serve", "info", "report" };

	assert_string_equal(tool_nearest("pref", commands, 4, sizeof(commands[0])), "perf");
	assert_string_equal(tool_nearest("serv", commands, 4, sizeof(commands[0])), "serve");
	assert_null(tool_nearest("zzzz", commands, 4, sizeof(commands[0])));
	assert_null(tool_nearest("", commands, 4, sizeof(commands[0])));
}
