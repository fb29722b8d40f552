/* SPDX-License-Identifier: Apache-2.0 */
/* Files of settings: blanks, comments, line ends, and what is not text. */
#include "base_test.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cfg_file.h"
#include "base/err.h"
#include "base/settings.h"

static char path[] = "/tmp/tcpx-file-XXXXXX";
static char seen[4096]; /* "name|value|line;" of each assignment */

static int
make(void **state)
{
	return close(mkstemp(path));
}

static int
take_away(void **state)
{
	return unlink(path);
}

static void
file_write(const void *bytes, size_t len)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static int
note(void *arg, const char *name, const char *value, const char *source)
{
	size_t len = strlen(seen);

	assert_int_equal(strncmp(source, path, strlen(path)), 0);
	snprintf(seen + len, sizeof(seen) - len, "%s|%s|%s;", name, value,
		 strrchr(source, ' ') + 1);
	return arg && !strcmp(name, arg) ? -ECANCELED : 0;
}

static int
read_bytes(const void *bytes, size_t len)
{
	file_write(bytes, len);
	seen[0] = '\0';
	capture_start();
	return tcpx_cfg_file_read(path, TCPX_CFG_NAMED, note, NULL);
}

static const struct {
	const char *name, *text, *seen;
	const char *said; /* NULL: accepted */
} rows[] = {
	{ "plain", "A=1\nB=2\n", "A|1|1;B|2|2;", NULL },
	{ "no newline at the end", "A=1", "A|1|1;", NULL },
	{ "blanks", " \tA  =\t 1 2 \n", "A|1 2|1;", NULL },
	{ "other line ends", "A=1\r\nB=2\r\n", "A|1|1;B|2|2;", NULL },
	{ "empty lines count", "\n  \n\nA=1\n", "A|1|4;", NULL },
	{ "comments", "# x=1\n  # y\nA=1 # z\nB=a#b\n", "A|1|3;B|a#b|4;", NULL },
	{ "comment instead of a value", "A= # none\n", "A||1;", NULL },
	{ "value with equals", "A=b=c\n", "A|b=c|1;", NULL },
	{ "empty value", "A=\n", "A||1;", NULL },
	{ "empty file", "", "", NULL },
	{ "no equals", "A=1\nB\nC=1\n", "A|1|1;",
	  "line 2: \"B\" is not of the form NAME=value" },
	{ "no name", "=1\n", "", "line 1: \"=1\" is not of the form NAME=value" },
};

TEST(line_table)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int rc = read_bytes(rows[i].text, strlen(rows[i].text));

		check(rows[i].name, "rc", rc, rows[i].said ? TCPX_ECONFIG : 0);
		check_text(rows[i].name, seen, rows[i].seen);
		check_has(captured, rows[i].said ? rows[i].said : "");
	}
}

TEST(too_long_a_line_is_refused)
{
	static char text[TCPX_SETTING_TEXT_MAX + 200];

	memset(text, 'A', sizeof(text));
	text[1] = '=';
	assert_int_equal(read_bytes(text, TCPX_SETTING_TEXT_MAX), 0);
	assert_int_equal(read_bytes(text, sizeof(text)), TCPX_ECONFIG);
	check_has(captured, "line 1: longer than");
	assert_string_equal(seen, "");
}

TEST(file_that_is_not_text_is_refused)
{
	static const char bytes[] = "A=1\n\0\0B=2\nC=3\n\0";

	assert_int_equal(read_bytes(bytes, sizeof(bytes)), TCPX_ECONFIG);
	check_has(captured, "line 2: ");
	assert_int_equal(tcpx_cfg_file_read("/dev/zero", TCPX_CFG_NAMED, note, NULL), TCPX_ECONFIG);
}

TEST(fifo_does_not_hang)
{
	char fifo[64];

	snprintf(fifo, sizeof(fifo), "%s.fifo", path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(tcpx_cfg_file_read(fifo, TCPX_CFG_NAMED, note, NULL), 0);
	unlink(fifo);
}

TEST(missing_file_is_an_error_only_when_needed)
{
	capture_start();
	assert_int_equal(tcpx_cfg_file_read("/nonexistent/x", TCPX_CFG_HOME, note, NULL), 0);
	assert_string_equal(captured, "");
	assert_int_equal(tcpx_cfg_file_read("/nonexistent/x", TCPX_CFG_NAMED, note, NULL),
			 TCPX_ECONFIG);
	check_has(captured, "open /nonexistent/x: no such file");
}

TEST(file_that_others_may_write_to_is_refused)
{
	static const enum tcpx_cfg_place places[] = { TCPX_CFG_ETC, TCPX_CFG_HOME, TCPX_CFG_NAMED };
	static const mode_t modes[] = { 0602, 0620, 0666 };

	file_write("A=1\n", 4);
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		for (size_t k = 0; k < ARRAY_LEN(modes); k++) {
			capture_start();
			seen[0] = '\0';
			assert_int_equal(chmod(path, modes[k]), 0);
			assert_int_equal(tcpx_cfg_file_read(path, places[i], note, NULL), TCPX_ECONFIG);
			check_has(captured, "others may write to it: chmod go-w");
			assert_string_equal(seen, "");
		}
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(tcpx_cfg_file_read(path, TCPX_CFG_HOME, note, NULL), 0);
	assert_int_equal(tcpx_cfg_file_read("/dev/null", TCPX_CFG_NAMED, note, NULL), 0);
}

TEST(file_of_another_user_is_refused)
{
	if (geteuid() != 0) {
		print_message("# skipped: not root\n");
		skip();
	}
	capture_start();
	file_write("A=1\n", 4);
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(tcpx_cfg_file_read(path, TCPX_CFG_HOME, note, NULL), TCPX_ECONFIG);
	assert_int_equal(tcpx_cfg_file_read(path, TCPX_CFG_NAMED, note, NULL), TCPX_ECONFIG);
	check_has(captured, " is of user 65534: allowed is a file of user 0");
	assert_int_equal(tcpx_cfg_file_read(path, TCPX_CFG_ETC, note, NULL), 0);
	assert_int_equal(seteuid(65534), 0); /* its own, and root's */
	assert_int_equal(tcpx_cfg_file_read(path, TCPX_CFG_HOME, note, NULL), 0);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(chown(path, 0, 0), 0);
	assert_int_equal(seteuid(65534), 0);
	assert_int_equal(tcpx_cfg_file_read(path, TCPX_CFG_HOME, note, NULL), 0);
	assert_int_equal(seteuid(0), 0);
}

TEST(reader_can_end_it)
{
	static char b[] = "B";

	file_write("A=1\nB=2\nC=3\n", 12);
	seen[0] = '\0';
	assert_int_equal(tcpx_cfg_file_read(path, TCPX_CFG_NAMED, note, b), -ECANCELED);
	assert_string_equal(seen, "A|1|1;B|2|2;");
}

TEST(random_bytes_are_read_or_refused)
{
	static const char letters[] = "AB=# \n\t\r\0\xff";
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int round = 0; round < 300; round++) {
		char bytes[40];
		size_t len = tcpx_rng_below(&rng, sizeof(bytes));
		int rc;

		for (size_t i = 0; i < len; i++)
			bytes[i] = letters[tcpx_rng_below(&rng, sizeof(letters) - 1)];
		rc = read_bytes(bytes, len);
		check_random(seed, rc == 0 || rc == TCPX_ECONFIG);
		check_random(seed, captured_count("\n") == (rc ? 1 : 0));
	}
}

int
main(void)
{
	return run_cases(make, take_away);
}
