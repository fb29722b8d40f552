/* SPDX-License-Identifier: Apache-2.0 */
/* The log: which lines pass, what a line looks like, where it goes. */
#include "base_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"

static void
setup(const char *level, const char *subsys)
{
	assert_int_equal(tcpx_log_setup(level, subsys, NULL), 0);
}

static int
reset(void **state)
{
	setup("WARN", "ALL");
	capture_start();
	return 0;
}

static const struct {
	const char *level, *subsys;
	enum tcpx_level line;
	enum tcpx_subsys from;
	bool on;
} rows[] = {
	{ "warn", "ALL", TCPX_LOG_WARN, TCPX_SUB_NET, true },
	{ "WARN", "ALL", TCPX_LOG_INFO, TCPX_SUB_NET, false },
	{ "ERROR", "ALL", TCPX_LOG_WARN, TCPX_SUB_NET, false },
	{ "ERROR", "ALL", TCPX_LOG_ERROR, TCPX_SUB_NET, true },
	{ "NONE", "ALL", TCPX_LOG_ERROR, TCPX_SUB_NET, false },
	{ "Trace", "ALL", TCPX_LOG_TRACE, TCPX_SUB_TOOL, true },
	{ "INFO", "net,boot", TCPX_LOG_INFO, TCPX_SUB_BOOT, true },
	{ "INFO", "NET,BOOT", TCPX_LOG_INFO, TCPX_SUB_CHAN, false },
	{ "INFO", "NET,BOOT", TCPX_LOG_WARN, TCPX_SUB_CHAN, true },
	{ "INFO", "^NET,BOOT", TCPX_LOG_INFO, TCPX_SUB_BOOT, false },
	{ "INFO", "^NET,BOOT", TCPX_LOG_INFO, TCPX_SUB_CHAN, true },
	{ "INFO", "^ALL", TCPX_LOG_INFO, TCPX_SUB_INIT, false },
	{ "INFO", "^ALL", TCPX_LOG_ERROR, TCPX_SUB_INIT, true },
};

/* First of all tests: no level has been set yet. */
TEST(stderr_gets_nothing_unasked)
{
	tcpx_log_sink(NULL, NULL);
	assert_int_equal(tcpx_log_setup("auto", NULL, NULL), 0);
	assert_false(tcpx_log_on(TCPX_LOG_ERROR, TCPX_SUB_NET));
	capture_start(); /* a function is asking */
	assert_true(tcpx_log_on(TCPX_LOG_WARN, TCPX_SUB_NET));
	tcpx_log_sink(NULL, NULL);
	assert_false(tcpx_log_on(TCPX_LOG_ERROR, TCPX_SUB_NET));
}

TEST_WITH(level_and_subsystem_decide, reset, NULL)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char name[64];

		snprintf(name, sizeof(name), "row %zu %s %s", i, rows[i].level,
			 rows[i].subsys);
		setup(rows[i].level, rows[i].subsys);
		check(name, "on", tcpx_log_on(rows[i].line, rows[i].from), rows[i].on);
	}
}

TEST_WITH(bad_words_are_named_and_change_nothing, reset, NULL)
{
	static const struct {
		const char *level, *subsys, *file, *named;
	} bad[] = {
		{ "LOUD", NULL, NULL, "\"LOUD\"" },
		{ "INFO", "NET,NETT", NULL, "\"NETT\"" },
		{ "INFO", "NET,", NULL, "\"\"" },
		{ "INFO", "^", NULL, "\"\"" },
		{ "INFO", "NET,^BOOT", NULL, "\"^BOOT\"" },
		{ "INFO", "NET", "/nonexistent/dir/file", "/nonexistent/dir/file" },
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		int rc;

		capture_start();
		rc = tcpx_log_setup(bad[i].level, bad[i].subsys, bad[i].file);
		check(bad[i].named, "rc", rc, TCPX_ECONFIG);
		check_has(captured, bad[i].named);
		assert_false(tcpx_log_on(TCPX_LOG_INFO, TCPX_SUB_CHAN));
	}
}

TEST_WITH(each_sink_is_told_once, reset, NULL)
{
	assert_true(tcpx_log_once("this"));
	assert_true(tcpx_log_once("that"));
	assert_false(tcpx_log_once("this"));
	capture_start();
	assert_true(tcpx_log_once("this"));
}

TEST_WITH(null_and_empty_leave_things_as_they_are, reset, NULL)
{
	setup("INFO", "NET");
	setup(NULL, NULL);
	setup("", "");
	assert_true(tcpx_log_on(TCPX_LOG_INFO, TCPX_SUB_NET));
	assert_false(tcpx_log_on(TCPX_LOG_INFO, TCPX_SUB_BOOT));
}

TEST_WITH(line_has_host_pid_tid_level_and_subsystem, reset, NULL)
{
	char want[128];
	char host[65];

	gethostname(host, sizeof(host));
	host[strcspn(host, ".")] = '\0';
	tcpx_warn(TCPX_SUB_CHAN, "eth%d down", 3);
	snprintf(want, sizeof(want), "%s:%d:%ld TCPX WARN CHAN eth3 down\n", host,
		 (int)getpid(), syscall(SYS_gettid));
	assert_string_equal(captured, want);
}

static int
count_up(int *n)
{
	return ++*n;
}

TEST_WITH(arguments_of_unwanted_lines_are_not_evaluated, reset, NULL)
{
	int n = 0;

	tcpx_trace(TCPX_SUB_XFER, "%d", count_up(&n));
	assert_int_equal(n, 0);
	assert_string_equal(captured, "");
}

TEST_WITH(one_call_is_one_line, reset, NULL)
{
	tcpx_warn(TCPX_SUB_INIT, "name \"a\nb\033[31m\"");
	assert_int_equal(captured_count("\n"), 1);
	check_has(captured, "a\\x0ab\\x1b[31m");
}

TEST_WITH(long_line_is_cut, reset, NULL)
{
	tcpx_warn(TCPX_SUB_INIT, "%05000d", 1);
	assert_int_equal(captured_count("\n"), 1);
	assert_in_range(strlen(captured), 1000, 1024);
}

/* A terminal obeys U+009B as it does ESC [, and may do anything with what is no UTF-8. */
TEST_WITH(bytes_beyond_printable_ascii_are_escaped, reset, NULL)
{
	tcpx_warn(TCPX_SUB_CHAN, "<\xc2\x9b" "2J|\xff|\x1b|gr\xc3\xbc\xc3\x9f|\x7f>");
	check_has(captured, "<\\xc2\\x9b2J|\\xff|\\x1b|gr\\xc3\\xbc\\xc3\\x9f|\\x7f>\n");
}

TEST_WITH(version_is_one_line_and_no_other, reset, NULL)
{
	setup("VERSION", NULL);
	tcpx_warn(TCPX_SUB_INIT, "not this");
	assert_int_equal(captured_count("\n"), 1);
	check_has(captured, "version " TCPX_VERSION);
}

TEST_WITH(file_name_takes_host_and_pid, reset, NULL)
{
	char dir[] = "/tmp/tcpx-log-XXXXXX";
	char text[64], path[256], host[65], line[256] = "";
	FILE *file;

	assert_non_null(mkdtemp(dir));
	gethostname(host, sizeof(host));
	host[strcspn(host, ".")] = '\0';
	snprintf(text, sizeof(text), "%s/%%h.%%p.%%%%x", dir);
	snprintf(path, sizeof(path), "%s/%s.%d.%%x", dir, host, (int)getpid());

	assert_int_equal(tcpx_log_setup(NULL, NULL, text), 0);
	tcpx_warn(TCPX_SUB_INIT, "into the file");
	capture_start();
	tcpx_warn(TCPX_SUB_INIT, "not into the file");

	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	check_has(line, "into the file\n");
	assert_null(fgets(line, sizeof(line), file));
	fclose(file);
	unlink(path);
	rmdir(dir);
}

static struct {
	atomic_bool entered, left;
} slow;

/* A sink that is long in returning. */
static void
slow_sink(void *arg, int level, const char *line)
{
	slow.entered = true;
	for (int i = 0; i < 2000; i++)
		sched_yield();
	slow.left = true;
}

static void *
write_line(void *arg)
{
	tcpx_warn(TCPX_SUB_INIT, "line");
	return NULL;
}

TEST_WITH(replaced_sink_is_not_running_any_more, reset, NULL)
{
	pthread_t thread;

	tcpx_log_sink(slow_sink, NULL);
	assert_int_equal(pthread_create(&thread, NULL, write_line, NULL), 0);
	while (!slow.entered)
		sched_yield();
	capture_start();
	assert_true(slow.left);
	pthread_join(thread, NULL);
	assert_string_equal(captured, "");
}
