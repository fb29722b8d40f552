/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line for a pipe, a terminal, a socket or a file. O_NONBLOCK would change the descriptor for
 * every process that shares it, so each write asks for itself: by RWF_NOWAIT; where the kernel
 * does not know that for the descriptor's kind, through an open file of our own; and with neither
 * only after poll(). A file on a disk is always ready.
 */
#include "base/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static bool
is_disk(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* A reader that has gone would cost a SIGPIPE. */
static bool
is_ready(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, 0) == 1 && (p.revents & (POLLOUT | POLLERR | POLLHUP)) == POLLOUT;
}

static bool
put_reopened(int fd, const char *line, size_t len)
{
	char path[32];
	ssize_t n;
	int own;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (own < 0)
		return write(fd, line, len) == (ssize_t)len;
	n = write(own, line, len);
	close(own);
	return n > 0;
}

bool
tcpx_log_file_put(int fd, const char *line, size_t len)
{
	struct iovec v = { .iov_base = (void *)line, .iov_len = len };
	ssize_t n;

	if (len > PIPE_BUF)
		return false;
	if (is_disk(fd)) {
		do
			n = write(fd, line, len);
		while (n < 0 && errno == EINTR);
		return n == (ssize_t)len;
	}
	if (!is_ready(fd))
		return false;
	n = pwritev2(fd, &v, 1, -1, RWF_NOWAIT);
	if (n < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL))
		return put_reopened(fd, line, len);
	return n > 0;
}
