/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening the target of a path inside a root. The kernel does that since 5.6. Before, and
 * where a filter forbids the call, io_path.c resolves links, and the opened path has none.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/io.h"

/* As in linux/openat2.h, which older systems lack. */
#define OPENAT2		   437
#define RESOLVE_MAGICLINKS 0x02u /* none of these are followed */
#define RESOLVE_ROOT	   0x10u /* a path that would is stopped there */

struct how {
	uint64_t flags, mode, resolve;
};

static int
open_at(int dir, const char *path, int flags)
{
	struct how how = { (uint64_t)flags, 0, RESOLVE_ROOT | RESOLVE_MAGICLINKS };
	long fd = syscall(OPENAT2, dir, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* Did the call fail, and not the file? */
static bool
is_no_call(int rc)
{
	return rc == -ENOSYS || rc == -EPERM || rc == -EAGAIN || rc == -EINVAL;
}

static int
open_walked(const char *root, const char *path, int flags)
{
	char inside[TCPX_IO_PATH], outside[TCPX_IO_PATH];
	int rc = tcpx_io_realpath(root, path, inside), fd;

	if (rc < 0)
		return rc;
	if (!tcpx_io_join(outside, sizeof(outside), "%s%s", root, inside))
		return -ENAMETOOLONG;
	fd = open(outside, flags | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

int
tcpx_io_open(const char *root, const char *path, int flags)
{
	int dir, fd;

	flags |= O_CLOEXEC | O_NOCTTY;
	if (tcpx_io_is_machine(root) && *path == '/') {
		fd = open(path, flags);
		return fd < 0 ? -errno : fd;
	}
	path += strspn(path, "/");
	if (!*path)
		path = ".";
	dir = open(tcpx_io_is_machine(root) ? "/" : root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	if (tcpx_io_is_machine(root)) {
		fd = openat(dir, path, flags);
		fd = fd < 0 ? -errno : fd;
	} else {
		fd = open_at(dir, path, flags);
		if (fd < 0 && is_no_call(fd))
			fd = open_walked(root, path, flags);
	}
	close(dir);
	return fd;
}

int
tcpx_io_open_file(const char *root, const char *path)
{
	/* Non-blocking: a FIFO in a fixture must not hang the reader. */
	int fd = tcpx_io_open(root, path, O_RDONLY | O_NONBLOCK), rc;
	struct stat st;

	if (fd < 0)
		return fd;
	rc = fstat(fd, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? fd : -EINVAL;
	if (rc < 0)
		close(fd);
	return rc;
}
