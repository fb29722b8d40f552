/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of this machine or of a tree. Both use the same code: a root is a prefix that no
 * link leaves. Only the marker decides whether it may be written to.
 */
#include "tune/irq/files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "host/io.h"
#include "tune/facts/text.h"
#include "tune/irq/affinity.h"

/* The kernel's path for @path, without links. */
static int
outside(const struct tcpx_files *f, const char *path, char *buf)
{
	char inside[TCPX_IO_PATH];
	int rc = tcpx_io_realpath(f->root, path, inside);

	if (rc < 0)
		return rc;
	return tcpx_io_join(buf, TCPX_IO_PATH, "%s%s", tcpx_io_is_machine(f->root) ? "" : f->root,
			    inside) ? 0 : -ENAMETOOLONG;
}

static int
files_read(struct tcpx_files *f, const char *path, char *buf, size_t cap)
{
	return tcpx_io_read(f->root, path, buf, cap);
}

static int
files_write(struct tcpx_files *f, const char *path, const char *text)
{
	char real[TCPX_IO_PATH];
	size_t len = strlen(text);
	struct stat st;
	ssize_t n;
	int fd, rc;

	if (!f->writes)
		return -EPERM;
	rc = outside(f, path, real);
	if (rc < 0)
		return rc;
	/* Truncating changes nothing in /proc and replaces the text in a tree. */
	fd = open(real, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return -EINVAL;
	}
	do
		n = write(fd, text, len);
	while (n < 0 && errno == EINTR);
	rc = n < 0 ? -errno : (size_t)n == len ? 0 : -EIO;
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	return rc;
}

static int
files_list(struct tcpx_files *f, const char *dir, char *buf, size_t cap)
{
	return tcpx_host_names_read(f->root, dir, buf, cap);
}

static int
files_look(struct tcpx_files *f, const char *path, unsigned *mode, int *writing)
{
	char real[TCPX_IO_PATH];
	struct stat st;
	int rc;

	rc = outside(f, path, real);
	if (rc < 0)
		return rc;
	if (lstat(real, &st) < 0)
		return -errno;
	*mode = st.st_mode & 07777;
	*writing = faccessat(AT_FDCWD, real, W_OK, AT_EACCESS) < 0 ? -errno : 0;
	return 0;
}

static void
files_wait(struct tcpx_files *f, unsigned ms)
{
	struct timespec ts = { ms / 1000, (long)(ms % 1000) * 1000000 };

	(void)f;
	nanosleep(&ts, NULL); /* a signal ends it early, so that its handler is noticed */
}

static uint64_t
files_now(struct tcpx_files *f)
{
	(void)f;
	return tcpx_clock_now(&tcpx_clock_system) / TCPX_MS;
}

static const struct tcpx_files_ops rooted = {
	files_read, files_write, files_list, files_look, files_wait, files_now,
};

int
tcpx_files_open(const char *root, bool write, struct tcpx_files *f)
{
	bool machine = tcpx_io_is_machine(root);

	if (!machine && !tcpx_io_is_dir(root, "/"))
		return tcpx_fail(TCPX_SUB_HOST, -ENOTDIR, "root %s is not a directory", root);
	if (write && !machine && !tcpx_io_exists(root, TCPX_FILES_MARKER))
		return tcpx_fail(TCPX_SUB_HOST, -EPERM, "root %s is not written to: it has no file "
				 TCPX_FILES_MARKER " that marks it as a made-up machine", root);
	*f = (struct tcpx_files){ &rooted, root, NULL, write };
	return 0;
}

/* Resolves run/tcpx-irq by hand: the root's run may be a link, which must be read
 * inside the root. */
static int
find_directory(const struct tcpx_files *f, bool make, char *dir)
{
	const char *root = tcpx_io_is_machine(f->root) ? "" : f->root;
	char run[TCPX_IO_PATH];
	struct stat st;
	int rc = tcpx_io_realpath(f->root, "run", run);

	if (rc == -ENOENT)
		strcpy(run, "/run");
	else if (rc < 0)
		return rc;
	if (!tcpx_io_join(dir, TCPX_IO_PATH, "%s%s", root, run))
		return -ENAMETOOLONG;
	if (make && rc == -ENOENT && mkdir(dir, 0755) < 0 && errno != EEXIST)
		return -errno;
	if (!tcpx_io_join(dir, TCPX_IO_PATH, "%s%s/tcpx-irq", root, run))
		return -ENAMETOOLONG;
	if (make && mkdir(dir, 0755) < 0 && errno != EEXIST)
		return -errno;
	if (lstat(dir, &st) < 0)
		return make ? -errno : 0;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int
tcpx_aff_paths(const struct tcpx_files *f, bool make, char *journal, char *lock, size_t cap)
{
	char dir[TCPX_IO_PATH] = "run/tcpx-irq";
	int rc = find_directory(f, make, dir);

	if (rc == 0 && (!tcpx_io_join(journal, cap, "%s/journal", dir) ||
			!tcpx_io_join(lock, cap, "%s/lock", dir)))
		rc = -ENAMETOOLONG;
	return rc < 0 ? tcpx_fail(TCPX_SUB_HOST, rc, "no directory %s for the "
				    "journal, which root must be able to make", dir) : 0;
}
