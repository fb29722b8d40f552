/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a tree. A missing directory is made when opening fails, since
 * most exist by then. */
#include "machine/tree_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void
fail(struct tree *t, const char *path, int rc)
{
	if (t->rc)
		return;
	t->rc = rc;
	snprintf(t->failed, sizeof(t->failed), "%s", path);
}

static void
make_parents(struct tree *t, const char *path)
{
	char dir[512];

	snprintf(dir, sizeof(dir), "%s", path);
	for (char *p = dir; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		if (mkdirat(t->fd, dir, 0755) < 0 && errno != EEXIST)
			fail(t, dir, -errno);
		*p = '/';
	}
}

static void
write_file(struct tree *t, const char *path, const char *text, size_t len, bool newline)
{
	int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, fd;

	if (t->rc)
		return;
	fd = openat(t->fd, path, flags, 0644);
	if (fd < 0 && errno == ENOENT) {
		make_parents(t, path);
		fd = openat(t->fd, path, flags, 0644);
	}
	if (fd < 0) {
		fail(t, path, -errno);
		return;
	}
	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			fail(t, path, -errno);
			break;
		}
		text += n;
		len -= (size_t)n;
	}
	if (newline && write(fd, "\n", 1) != 1)
		fail(t, path, errno ? -errno : -EIO);
	close(fd);
}

/* Formats the path of a call; fails the tree if it is too long. */
#define FORMAT_PATH(t, buf, fmt)                                                           \
	do {                                                                               \
		va_list ap_;                                                               \
		int n_;                                                                    \
		va_start(ap_, fmt);                                                        \
		n_ = vsnprintf(buf, sizeof(buf), fmt, ap_);                                \
		va_end(ap_);                                                               \
		if (n_ < 0 || (size_t)n_ >= sizeof(buf))                                   \
			fail(t, fmt, -ENAMETOOLONG);                                       \
	} while (0)

void
tcpx_tree_put(struct tree *t, const char *text, const char *path, ...)
{
	char buf[512];

	FORMAT_PATH(t, buf, path);
	write_file(t, buf, text, strlen(text), true);
}

void
tcpx_tree_put_number(struct tree *t, long long v, const char *path, ...)
{
	char buf[512], text[32];

	FORMAT_PATH(t, buf, path);
	snprintf(text, sizeof(text), "%lld", v);
	write_file(t, buf, text, strlen(text), true);
}

void
tcpx_tree_put_list(struct tree *t, const struct tcpx_cpuset *set, const char *path, ...)
{
	char buf[512];

	FORMAT_PATH(t, buf, path);
	tcpx_cpuset_format(set, t->list, t->list_room);
	write_file(t, buf, t->list, strlen(t->list), true);
}

void
tcpx_tree_put_mask(struct tree *t, const struct tcpx_cpuset *set, const char *path, ...)
{
	unsigned groups = (t->cpu_bits + 31) / 32, top = t->cpu_bits - (groups - 1) * 32;
	char buf[512];
	size_t len = 0;

	FORMAT_PATH(t, buf, path);
	for (unsigned g = groups; g-- > 0;) {
		uint32_t bits = (uint32_t)(set->bits[g / 2] >> (g % 2 ? 32 : 0));

		len += (size_t)snprintf(t->list + len, t->list_room - len, "%0*x%s",
					g == groups - 1 ? (int)(top + 3) / 4 : 8, bits,
					g ? "," : "");
	}
	write_file(t, buf, t->list, len, true);
}

void
tcpx_tree_put_text(struct tree *t, struct tcpx_text *text, const char *path)
{
	if (text->bad)
		fail(t, path, -ENOMEM);
	else if (text->at)
		write_file(t, path, text->at, text->len, false);
	tcpx_text_drop(text);
}

void
tcpx_tree_mode(struct tree *t, unsigned mode, const char *path, ...)
{
	char buf[512];

	FORMAT_PATH(t, buf, path);
	if (t->rc == 0 && fchmodat(t->fd, buf, mode, 0) < 0)
		fail(t, buf, -errno);
}

void
tcpx_tree_link(struct tree *t, const char *path, const char *to)
{
	char target[512] = "";

	if (t->rc)
		return;
	for (const char *p = path; (p = strchr(p, '/')) != NULL; p++)
		strncat(target, "../", sizeof(target) - strlen(target) - 1);
	strncat(target, to, sizeof(target) - strlen(target) - 1);
	make_parents(t, path);
	if (symlinkat(target, t->fd, path) < 0 && errno != EEXIST)
		fail(t, path, -errno);
}
