/* SPDX-License-Identifier: Apache-2.0 */
/* Rooted files: links, the root as a wall, small texts and numbers, lists. */
#include "../fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/io.h"

static struct fixture machine;

static int
make_machine(void **state)
{
	fixture_init(&machine);
	fixture_write(&machine, "a/b/file", "text");
	fixture_write(&machine, "a/other", "other");
	fixture_link(&machine, "relative", "a/b/file");
	fixture_link(&machine, "absolute", "/a/b/file");
	fixture_link(&machine, "a/b/deep", "/a/other");
	fixture_link(&machine, "a/up", "../a/b/../b/file");
	fixture_link(&machine, "a/out", "../../../../../../a/other");
	fixture_link(&machine, "a/passwd", "/../../../../../../../etc/passwd");
	fixture_link(&machine, "dir", "a/b");
	fixture_link(&machine, "chain", "chain2");
	fixture_link(&machine, "chain2", "dir/../b/./file");
	fixture_link(&machine, "self", "self");
	fixture_link(&machine, "ping", "pong");
	fixture_link(&machine, "pong", "ping");
	fixture_link(&machine, "grow", "grow/x");
	fixture_link(&machine, "broken", "nowhere");
	return 0;
}

static int
remove_machine(void **state)
{
	fixture_fini(&machine);
	return 0;
}

TEST(paths_resolve_inside_the_root)
{
	static const struct {
		const char *path;
		int rc;
		const char *real;
	} rows[] = {
		{ "/a/b/file", 0, "/a/b/file" },
		{ "a//b/./file", 0, "/a/b/file" },
		{ "/", 0, "/" },
		{ "", 0, "/" },
		{ "/..", 0, "/" },
		{ "../../a/other", 0, "/a/other" },
		{ "relative", 0, "/a/b/file" },
		{ "absolute", 0, "/a/b/file" },
		{ "a/b/deep", 0, "/a/other" },
		{ "a/up", 0, "/a/b/file" },
		{ "a/out", 0, "/a/other" },
		{ "dir/file", 0, "/a/b/file" },
		{ "dir/..", 0, "/a" },
		{ "chain", 0, "/a/b/file" },
		{ "a/passwd", -ENOENT, NULL },
		{ "self", -ELOOP, NULL },
		{ "ping", -ELOOP, NULL },
		{ "grow", -ELOOP, NULL },
		{ "broken", -ENOENT, NULL },
		{ "a/none", -ENOENT, NULL },
		{ "a/other/below", -ENOTDIR, NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char real[TCPX_IO_PATH] = "untouched";

		check(rows[i].path, "rc", tcpx_io_realpath(machine.root, rows[i].path, real),
		      rows[i].rc);
		check_text(rows[i].path, real, rows[i].rc ? "untouched" : rows[i].real);
	}
}

TEST(too_long_paths_are_refused)
{
	char path[2 * TCPX_IO_PATH], real[TCPX_IO_PATH];

	memset(path, 'x', sizeof(path));
	path[300] = '\0';
	check("long name", "rc", tcpx_io_realpath(machine.root, path, real), -ENAMETOOLONG);
	memset(path, '/', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	check("long path", "rc", tcpx_io_realpath(machine.root, path, real), -ENAMETOOLONG);
}

TEST(small_files_are_read_whole_or_not_at_all)
{
	char buf[8], path[128];

	fixture_write(&machine, "six", "123456");
	check("fits", "rc", tcpx_io_read(machine.root, "six", buf, 8), 6);
	check_text("fits", buf, "123456");
	check("no room to see the end", "rc", tcpx_io_read(machine.root, "six", buf, 7), -EFBIG);
	fixture_write(&machine, "blanks", " 1\t \n\n");
	check("blanks", "rc", tcpx_io_read(machine.root, "blanks", buf, sizeof(buf)), 2);
	check_text("white space at the end is cut", buf, " 1");
	fixture_write(&machine, "empty", "");
	check("empty", "rc", tcpx_io_read(machine.root, "empty", buf, sizeof(buf)), 0);
	check("directory", "rc", tcpx_io_read(machine.root, "a", buf, sizeof(buf)), -EINVAL);
	check("nothing", "rc", tcpx_io_read(machine.root, "none", buf, sizeof(buf)), -ENOENT);

	snprintf(path, sizeof(path), "%s/fifo", machine.root);
	assert_int_equal(mkfifo(path, 0600), 0);
	check("fifo does not hang", "rc", tcpx_io_read(machine.root, "fifo", buf, 8), -EINVAL);
}

/* What each path reads, in whichever way. */
static bool
files_are_found_inside_the_root(void)
{
	static const struct {
		const char *path;
		int rc;
		const char *text;
	} rows[] = {
		{ "/a/b/file", 4, "text" }, { "relative", 4, "text" }, { "absolute", 4, "text" },
		{ "a/b/deep", 5, "other" }, { "a/out", 5, "other" },   { "chain", 4, "text" },
		{ "../../a/other", 5, "other" },
		{ "a/passwd", -ENOENT, "" }, { "self", -ELOOP, "" },   { "broken", -ENOENT, "" },
		{ "a/other/below", -ENOTDIR, "" }, { "a", -EINVAL, "" }, { "", -EINVAL, "" },
	};
	bool good = true;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[16] = "";

		good &= tcpx_io_read(machine.root, rows[i].path, text, sizeof(text)) == rows[i].rc &&
			!strcmp(rows[i].rc < 0 ? "" : text, rows[i].text);
		good &= tcpx_io_exists(machine.root, rows[i].path) ==
			(rows[i].rc >= 0 || rows[i].rc == -EINVAL);
	}
	return good && tcpx_io_is_dir(machine.root, "dir") && !tcpx_io_is_dir(machine.root, "chain");
}

TEST(files_are_found_by_the_kernel)
{
	assert_true(files_are_found_inside_the_root());
}

/* As before Linux 5.6, in a process of its own that has no openat2(). */
TEST(files_are_found_by_walking)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 437, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { ARRAY_LEN(filter), filter };
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
			_exit(77);
		_exit(!files_are_found_inside_the_root());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("# skipped: no seccomp filters here\n");
		skip();
	}
	assert_int_equal(status, 0);
}

TEST(numbers_are_strict)
{
	static const struct {
		const char *text;
		int rc;
		long long value;
	} rows[] = {
		{ "0", 0, 0 },		 { "-1", 0, -1 },	 { "0x10de", 0, 0x10de },
		{ "65536", 0, 65536 },	 { "", -EINVAL, 0 },	 { "x", -EINVAL, 0 },
		{ "12x", -EINVAL, 0 },	 { "1 2", -EINVAL, 0 },	 { "0x", -EINVAL, 0 },
		{ "99999999999999999999", -EINVAL, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		long long v = 77;

		fixture_write(&machine, "number", rows[i].text);
		check(rows[i].text, "rc", tcpx_io_read_number(machine.root, "number", &v),
		      rows[i].rc);
		check(rows[i].text, "value", v, rows[i].rc ? 77 : rows[i].value);
	}
}

TEST(fields_are_whole_lines_of_their_key)
{
	const char *root = machine.root;
	char buf[8];

	fixture_write(&machine, "fields", "not Key: no\nKeyed: no\nKey: \t1 kB\nKey: 2\n"
		      "Long: 12345678\nEmpty:");
	check("key", "rc", tcpx_io_field(root, "fields", "Key:", buf, sizeof(buf)), 0);
	check_text("key", buf, "1 kB");
	check("last", "rc", tcpx_io_field(root, "fields", "Empty:", buf, sizeof(buf)), 0);
	check_text("last", buf, "");
	check("long", "rc", tcpx_io_field(root, "fields", "Long:", buf, sizeof(buf)), -EFBIG);
	check("no key", "rc", tcpx_io_field(root, "fields", "key:", buf, sizeof(buf)), -EINVAL);
	check("no file", "rc", tcpx_io_field(root, "none", "Key:", buf, sizeof(buf)), -ENOENT);
}

TEST(lists_are_in_the_order_of_their_bytes)
{
	struct tcpx_io_names names;

	fixture_write(&machine, "list/0000:0a", "");
	fixture_write(&machine, "list/0000:9b", "");
	fixture_write(&machine, "list/0000:10", "");
	assert_int_equal(tcpx_io_list(machine.root, "list", &names), 0);
	assert_int_equal(names.count, 3);
	check_text("first", names.entry[0]->d_name, "0000:0a");
	check_text("second", names.entry[1]->d_name, "0000:10");
	check_text("third", names.entry[2]->d_name, "0000:9b");
	tcpx_io_names_free(&names);
	check("nothing", "rc", tcpx_io_list(machine.root, "none", &names), -ENOENT);
	check("file", "rc", tcpx_io_list(machine.root, "a/other", &names), -ENOTDIR);
}

TEST(links_are_read_by_their_last_word)
{
	char word[8];

	assert_int_equal(tcpx_io_read_link(machine.root, "relative", word, sizeof(word)), 0);
	check_text("relative", word, "file");
	check("too long", "rc", tcpx_io_read_link(machine.root, "relative", word, 4),
	      -ENAMETOOLONG);
	assert_true(tcpx_io_exists(machine.root, "dir"));
	assert_false(tcpx_io_exists(machine.root, "broken"));
	assert_true(tcpx_io_is_dir(machine.root, "dir"));
	assert_false(tcpx_io_is_dir(machine.root, "relative"));
}

TEST(the_machine_itself_has_many_names)
{
	char real[TCPX_IO_PATH];

	assert_true(tcpx_io_is_machine(NULL));
	assert_true(tcpx_io_is_machine(""));
	assert_true(tcpx_io_is_machine("/"));
	assert_false(tcpx_io_is_machine(machine.root));
	assert_int_equal(tcpx_io_realpath("/", "/proc/./../proc", real), 0);
	check_text("proc", real, "/proc");
}

/* A file that gives as little as it likes. */
struct drip {
	const char *text;
	size_t at, step, interrupted;
	int end; /* 0, or what it fails with */
};

static ssize_t
drip(void *arg, void *buf, size_t cap)
{
	struct drip *d = arg;
	size_t n = strlen(d->text) - d->at;

	if (d->interrupted > 0) {
		d->interrupted--;
		errno = EINTR;
		return -1;
	}
	if (n == 0 && d->end) {
		errno = d->end;
		return -1;
	}
	n = n < d->step ? n : d->step;
	n = n < cap ? n : cap;
	memcpy(buf, d->text + d->at, n);
	d->at += n;
	return (ssize_t)n;
}

TEST(tables_are_read_whole_however_they_come)
{
	enum { LEN = 200000 };
	char *text = malloc(LEN + 1), *got;
	size_t len;

	assert_non_null(text);
	memset(text, 'x', LEN);
	text[LEN] = '\0';
	for (size_t step = 1; step <= 100000; step = step * 7 + 1) {
		struct drip d = { .text = text, .step = step, .interrupted = 3 };

		assert_int_equal(tcpx_io_slurp_from(drip, &d, LEN, &got, &len), 0);
		assert_int_equal(len, LEN);
		check_text("text", got, text);
		free(got);
	}
	struct drip long_one = { .text = text, .step = 4096 };
	check("too long", "rc", tcpx_io_slurp_from(drip, &long_one, LEN - 1, &got, &len), -EFBIG);
	struct drip broken = { .text = "abc", .step = 1, .end = EIO };
	check("broken", "rc", tcpx_io_slurp_from(drip, &broken, LEN, &got, &len), -EIO);
	struct drip empty = { .text = "", .step = 1 };
	check("empty", "rc", tcpx_io_slurp_from(drip, &empty, LEN, &got, &len), 0);
	check("empty", "length", len, 0);
	free(got);
	free(text);
}

TEST(rights_are_told)
{
	char path[256];
	unsigned mode;

	fixture_write(&machine, "fixed", "");
	snprintf(path, sizeof(path), "%s/fixed", machine.root);
	assert_int_equal(chmod(path, 0444), 0);
	assert_int_equal(tcpx_io_mode(machine.root, "fixed", &mode), 0);
	check("mode", "bits", mode, 0444);
	check("nothing", "rc", tcpx_io_mode(machine.root, "none", &mode), -ENOENT);
}

int
main(void)
{
	return run_cases(make_machine, remove_machine);
}
