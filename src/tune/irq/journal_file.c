/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal on disk. It appears under its name complete or not at all. It is trusted only
 * if nobody but its owner could have written it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/io.h"
#include "tune/irq/journal.h"

static int
refuse(int code, const char *path, const char *why)
{
	return tcpx_fail(TCPX_SUB_HOST, code, "journal %s is not used: %s", path, why);
}

static int
read_whole(int fd, size_t size, char **text)
{
	size_t len = 0;
	char *buf = malloc(size + 1);

	if (!buf)
		return -ENOMEM;
	while (len < size) {
		ssize_t n = read(fd, buf + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			free(buf);
			return -errno;
		}
		if (n == 0)
			break;
		len += (size_t)n;
	}
	buf[len] = '\0';
	*text = buf;
	return strlen(buf) == len ? 0 : -EINVAL;
}

static const char *
mistrust(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return "it is not a file";
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return "it belongs to another user";
	if (st->st_mode & 022)
		return "others may write to it";
	if (st->st_size > TCPX_JOURNAL_BYTES)
		return "it is too long";
	return NULL;
}

int
tcpx_journal_load(const char *path, struct tcpx_journal *j)
{
	char why[128] = "", *text = NULL;
	const char *doubt;
	struct stat st;
	int fd, rc;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && errno == ENOENT)
		return -ENOENT;
	if (fd < 0 && errno == ELOOP)
		return refuse(-EPERM, path, "it is a symbolic link");
	if (fd < 0 || fstat(fd, &st) < 0) {
		rc = tcpx_fail_errno(TCPX_SUB_HOST, "cannot read journal %s", path);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	doubt = mistrust(&st);
	if (doubt) {
		close(fd);
		return refuse(-EPERM, path, doubt);
	}
	rc = read_whole(fd, (size_t)st.st_size, &text);
	close(fd);
	if (rc < 0)
		snprintf(why, sizeof(why), "it cannot be read");
	else
		rc = tcpx_journal_parse(text, j, why, sizeof(why));
	free(text);
	return rc < 0 ? refuse(rc, path, *why ? why : "no memory") : 0;
}

static int
write_whole(int fd, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		ssize_t n = write(fd, text, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		left -= (size_t)n;
	}
	return fsync(fd) < 0 ? -errno : 0;
}

static int
sync_directory(const char *path)
{
	char dir[TCPX_IO_PATH], *slash;
	int fd, rc;

	if (!tcpx_io_join(dir, sizeof(dir), "%s", path))
		return -ENAMETOOLONG;
	slash = strrchr(dir, '/');
	if (slash)
		slash[slash == dir] = '\0';
	fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = fsync(fd) < 0 && errno != EINVAL ? -errno : 0; /* EINVAL: this file
							     * system cannot sync */
	close(fd);
	return rc;
}

int
tcpx_journal_store(const char *path, const struct tcpx_journal *j)
{
	char draft[TCPX_IO_PATH], *text;
	int fd, rc = 0;

	if (!tcpx_io_join(draft, sizeof(draft), "%s.new", path))
		return tcpx_fail(TCPX_SUB_HOST, -ENAMETOOLONG, "journal %s", path);
	text = tcpx_journal_format(j);
	if (!text)
		return -ENOMEM;
	unlink(draft); /* left by a process that was killed here */
	fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		rc = -errno;
	else
		rc = write_whole(fd, text);
	if (fd >= 0 && close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc == 0 && rename(draft, path) < 0)
		rc = -errno;
	if (rc == 0)
		rc = sync_directory(path);
	free(text);
	if (rc < 0) {
		unlink(draft);
		return tcpx_fail(TCPX_SUB_HOST, rc, "cannot write journal %s", path);
	}
	return 0;
}
