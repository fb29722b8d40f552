/* SPDX-License-Identifier: Apache-2.0 */
/* What a command writes: whole or not at all, through links, with the mode that was there. */
#include "cases.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/output.h"

static char dir[64];

static const char *
at(const char *name)
{
	static char path[2][128];
	static unsigned turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", dir, name);
	return path[turn];
}

static int
put(const char *path, const char *text, bool failed)
{
	struct output out;
	int rc = output_open(&out, path);

	if (rc)
		return rc;
	fputs(text, out.f);
	return output_close(&out, failed);
}

static void
has(const char *path, const char *text)
{
	char buf[128] = "";
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	(void)!fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	assert_string_equal(buf, text);
}

static mode_t
mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_mode & 07777;
}

/* Nothing is left beside the files that a test made. */
static void
remove_all(const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(unlink(at(names[i])), 0);
	assert_int_equal(rmdir(dir), 0);
}

static int
make_dir(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/tcpx-output-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

TEST_WITH(a_new_file_has_the_mode_of_umask, make_dir, NULL)
{
	static const char *const names[] = { "new" };
	mode_t before = umask(027);

	assert_int_equal(put(at("new"), "text\n", false), 0);
	umask(before);
	assert_int_equal(mode_of(at("new")), 0640);
	has(at("new"), "text\n");
	remove_all(names, 1);
}

TEST_WITH(mode_and_links_stay, make_dir, NULL)
{
	static const char *const names[] = { "file", "link" };
	struct stat st;

	assert_int_equal(put(at("file"), "old", false), 0);
	assert_int_equal(chmod(at("file"), 0604), 0);
	assert_int_equal(symlink("file", at("link")), 0);
	assert_int_equal(put(at("link"), "new", false), 0);
	assert_int_equal(lstat(at("link"), &st), 0);
	assert_true(S_ISLNK(st.st_mode));
	assert_int_equal(mode_of(at("file")), 0604);
	has(at("file"), "new");
	remove_all(names, 2);
}

/* A link that leads nowhere makes the file that it names. */
TEST_WITH(a_link_to_nothing, make_dir, NULL)
{
	static const char *const names[] = { "later", "link" };

	assert_int_equal(symlink("later", at("link")), 0);
	assert_int_equal(put(at("link"), "text", false), 0);
	has(at("later"), "text");
	remove_all(names, 2);
}

/* Who reads meanwhile, and who comes after a failure, finds the old text. */
TEST_WITH(a_failure_leaves_the_old_file, make_dir, NULL)
{
	static const char *const names[] = { "file" };
	struct output out;

	assert_int_equal(put(at("file"), "old", false), 0);
	assert_int_equal(output_open(&out, at("file")), 0);
	fputs("half", out.f);
	fflush(out.f);
	has(at("file"), "old");
	assert_true(output_close(&out, true) < 0);
	has(at("file"), "old");
	remove_all(names, 1);
}

TEST_WITH(devices_and_pipes_are_written_directly, make_dir, NULL)
{
	static const char *const names[] = { "pipe" };
	struct stat st;
	char buf[8] = "";
	int fd;

	assert_int_equal(put("/dev/null", "text", false), 0);
	assert_int_equal(put("/dev/full", "text", false), -ENOSPC);
	assert_int_equal(mkfifo(at("pipe"), 0600), 0);
	fd = open(at("pipe"), O_RDONLY | O_NONBLOCK);
	assert_true(fd >= 0);
	assert_int_equal(put(at("pipe"), "text", false), 0);
	assert_int_equal(read(fd, buf, sizeof(buf)), 4);
	close(fd);
	assert_int_equal(stat(at("pipe"), &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
	remove_all(names, 1);
}

/* A folder, a missing one: an error at once, and nothing made. */
TEST_WITH(what_cannot_be_opened, make_dir, NULL)
{
	assert_int_equal(put(dir, "text", false), -EISDIR);
	assert_int_equal(put(at("missing/file"), "text", false), -ENOENT);
	remove_all(NULL, 0);
}

TEST_WITH(a_full_disk_leaves_the_old_file, make_dir, NULL)
{
	static const char fill[65536];
	struct output out;
	int rc = 0;

	if (mount("none", dir, "tmpfs", 0, "size=32k")) {
		rmdir(dir);
		print_message("# skipped: no file system may be mounted\n");
		skip();
	}
	assert_int_equal(put(at("file"), "old", false), 0);
	if (output_open(&out, at("file")) == 0) {
		fwrite(fill, 1, sizeof(fill), out.f);
		rc = output_close(&out, false);
	}
	has(at("file"), "old");
	assert_int_equal(unlink(at("file")), 0);
	assert_int_equal(umount(dir), 0);
	assert_int_equal(rc, -ENOSPC);
	remove_all(NULL, 0);
}
