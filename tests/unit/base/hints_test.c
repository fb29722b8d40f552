/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of NCCL and its files. /etc/nccl.conf is the test's own. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cfg.h"
#include "base/hints.h"
#include "base_test.h"

#define ENV(...) ((char *const *)(const char *[]){ __VA_ARGS__, NULL })

static char folder[] = "/tmp/tcpx-hints-XXXXXX";
static char etc_path[64], home_path[64], named_path[64], named[80], in_home[80];

int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);

int
__wrap_open64(const char *path, int flags, ...)
{
	if (strcmp(path, "/etc/nccl.conf") != 0)
		return __real_open64(path, flags);
	return __real_open64(etc_path, flags);
}

static void
put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static int
make(void **state)
{
	assert_non_null(mkdtemp(folder));
	snprintf(etc_path, sizeof(etc_path), "%s/etc", folder);
	snprintf(home_path, sizeof(home_path), "%s/.nccl.conf", folder);
	snprintf(named_path, sizeof(named_path), "%s/named", folder);
	snprintf(in_home, sizeof(in_home), "HOME=%s", folder);
	snprintf(named, sizeof(named), "NCCL_CONF_FILE=%s", named_path);
	return 0;
}

static int
drop(void **state)
{
	unlink(etc_path);
	unlink(home_path);
	unlink(named_path);
	return rmdir(folder);
}

static void
check_found(const char *what, char *const *env, const char *name, const char *value, const char *from)
{
	struct tcpx_hints h;
	const char *source, *found;
	char want[128];

	assert_int_equal(tcpx_hints_read(&h, env), 0);
	found = tcpx_hints_find(&h, env, name, &source);
	check_text(what, found ? found : "(none)", value);
	snprintf(want, sizeof(want), from ? "%s (%s)" : "%s", name, from);
	check_text(what, source, want);
	tcpx_hints_free(&h);
}

TEST(the_environment_beats_the_users_file_and_that_the_machines)
{
	char etc[80], home[80], by_name[80];

	put(etc_path, "NCCL_A=etc\nNCCL_B=etc\nNCCL_C=etc\nNCCL_D=etc\n");
	put(home_path, "\nNCCL_B=home\nNCCL_C=home\n");
	put(named_path, "NCCL_D=named\n");
	snprintf(etc, sizeof(etc), "/etc/nccl.conf line 1");
	snprintf(home, sizeof(home), "%s line 2", home_path);
	snprintf(by_name, sizeof(by_name), "%s line 1", named_path);
	check_found("etc", ENV(in_home, "NCCL_C=env"), "NCCL_A", "etc", etc);
	check_found("home", ENV(in_home, "NCCL_C=env"), "NCCL_B", "home", home);
	check_found("environment", ENV(in_home, "NCCL_C=env"), "NCCL_C", "env", NULL);
	check_found("set to nothing", ENV(in_home, "NCCL_B="), "NCCL_B", "", NULL);
	check_found("a named file is instead of home's", ENV(in_home, named), "NCCL_D", "named", by_name);
	check_found("of which nothing counts", ENV(in_home, named), "NCCL_B", "etc", "/etc/nccl.conf line 2");
	check_found("an empty name is none", ENV(in_home, "NCCL_CONF_FILE="), "NCCL_B", "home", home);
	check_found("no home", ENV("HOME="), "NCCL_B", "etc", "/etc/nccl.conf line 2");
	check_found("a named file that is missing", ENV(in_home, "NCCL_CONF_FILE=/nonexistent"), "NCCL_B", "etc",
		    "/etc/nccl.conf line 2");
	check_found("no such name", ENV("X=1"), "NCCL_Z", "(none)", NULL);
}

/* In a program with more rights than who has started it. */
TEST(without_an_environment_only_the_machines_file_counts)
{
	put(etc_path, "NCCL_A=etc\n");
	put(home_path, "NCCL_B=home\n");
	check_found("etc", NULL, "NCCL_A", "etc", "/etc/nccl.conf line 1");
	check_found("home", NULL, "NCCL_B", "(none)", NULL);
}

TEST(a_line_is_read_as_nccl_reads_it)
{
	static const struct {
		const char *text, *name, *value;
	} rows[] = {
		{ "NCCL_A==eth0,eth1\n", "NCCL_A", "=eth0,eth1" },
		{ "NCCL_A=1\nNCCL_A=2\n", "NCCL_A", "1" },
		{ "#NCCL_A=1\n", "NCCL_A", "(none)" },
		{ " #NCCL_A=1\nNCCL_B=2", "NCCL_B", "2" },
		{ "NCCL_A = 1\n", "NCCL_A ", " 1" },
		{ "NCCL_A=1 # one\n", "NCCL_A", "1 # one" },
		{ "NCCL_A=\n", "NCCL_A", "" },
		{ "NCCL_A\n=1\n\nNCCL_B=2\n", "NCCL_B", "2" },
		{ "NCCL_A\n=1\n", "NCCL_A", "(none)" },
		{ "=1\n", "", "(none)" },
		{ "export NCCL_A=1\n", "NCCL_A", "(none)" },
		{ "NCCL_A=\"x\"\r\n", "NCCL_A", "\"x\"\r" },
	};

	put(etc_path, "");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_hints h = { 0 };
		const char *source, *found;

		put(named_path, rows[i].text);
		assert_int_equal(tcpx_hints_add(&h, named_path), 0);
		found = tcpx_hints_find(&h, NULL, rows[i].name, &source);
		check_text(rows[i].text, found ? found : "(none)", rows[i].value);
		tcpx_hints_free(&h);
	}
}

TEST(a_long_value_is_cut)
{
	struct tcpx_hints h = { 0 };
	char text[5000];

	memset(text, 'x', sizeof(text));
	memcpy(text, "NCCL_A=", 7);
	memcpy(text + sizeof(text) - 11, "\nNCCL_B=2\n", 11);
	put(named_path, text);
	assert_int_equal(tcpx_hints_add(&h, named_path), 0);
	assert_int_equal(h.count, 2);
	assert_int_equal(strlen(h.at[0].value), 1023);
	assert_string_equal(h.at[1].value, "2");
	assert_non_null(strstr(h.at[1].source, " line 2)"));
	tcpx_hints_free(&h);
}

TEST(what_is_no_file_is_none)
{
	static const char *const paths[] = { "/dev/zero", "/nonexistent/x", "/tmp" };
	struct tcpx_hints h = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		assert_int_equal(tcpx_hints_add(&h, paths[i]), 0);
	unlink(named_path);
	assert_int_equal(mkfifo(named_path, 0600), 0);
	assert_int_equal(tcpx_hints_add(&h, named_path), 0);
	assert_int_equal(h.count, 0);
	unlink(named_path);
}

TEST(what_is_in_the_environment_is_left)
{
	struct tcpx_hints h = { 0 };

	put(named_path, "NCCL_TEST_A=1\nNCCL_TEST_B=2\nNCCL_TEST_B=3\n");
	assert_int_equal(setenv("NCCL_TEST_A", "mine", 1), 0);
	assert_int_equal(tcpx_hints_add(&h, named_path), 0);
	assert_int_equal(tcpx_hints_export(&h), 0);
	assert_string_equal(getenv("NCCL_TEST_A"), "mine");
	assert_string_equal(getenv("NCCL_TEST_B"), "2");
	tcpx_hints_free(&h);
	unsetenv("NCCL_TEST_A");
	unsetenv("NCCL_TEST_B");
}

TEST(a_setting_comes_from_a_file)
{
	struct tcpx_hints h = { 0 };
	struct tcpx_cfg_sources src = { .env = ENV("NCCL_SOCKET_NTHREADS=2"), .hints = &h };
	struct tcpx_cfg *cfg = NULL;
	char source[128];

	capture_start();
	put(named_path, "NCCL_SOCKET_IFNAME=^=eth0,,lo:1,\nNCCL_NSOCKS_PERTHREAD=2\n");
	assert_int_equal(tcpx_hints_add(&h, named_path), 0);
	assert_int_equal(tcpx_cfg_load(&src, &cfg), 0);
	snprintf(source, sizeof(source), "NCCL_SOCKET_IFNAME (%s line 1)", named_path);
	check_text("NICs", tcpx_cfg_str(cfg, TCPX_SET_NICS), "^=eth0,lo");
	check_text("NICs", tcpx_cfg_source(cfg, TCPX_SET_NICS), source);
	check_text("channels", tcpx_cfg_str(cfg, TCPX_SET_CHANNELS), "4/nic");
	check_text("said", captured, "");
	assert_true(tcpx_cfg_is_hint(tcpx_cfg_source(cfg, TCPX_SET_NICS)));
	assert_false(tcpx_cfg_is_hint(tcpx_cfg_source(cfg, TCPX_SET_PORT)));
	tcpx_cfg_free(cfg);
	tcpx_hints_free(&h);
}

int
main(void)
{
	return run_cases(make, drop);
}
