/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths below a root. Links are resolved here, one component at a time, and not by the kernel: a
 * link in a fixture must be read as if the fixture were the machine.
 */
#include "host/io_path.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool
tcpx_io_is_machine(const char *root)
{
	return !root || !*root || strcmp(root, "/") == 0;
}

bool
tcpx_io_join(char *buf, size_t cap, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(buf, cap, fmt, ap);
	va_end(ap);
	return n >= 0 && (size_t)n < cap;
}

/* The kernel's path for @inside, which begins with "/". */
static bool
outside_path(const char *root, const char *inside, char *buf)
{
	return tcpx_io_join(buf, TCPX_IO_PATH, "%s%s", tcpx_io_is_machine(root) ? "" : root,
			    inside);
}

/* Puts a link's target before the rest of the path. */
static int
push_link(const char *target, char *rest)
{
	char joined[TCPX_IO_PATH];

	if (!tcpx_io_join(joined, sizeof(joined), "%s/%s", target, rest))
		return -ENAMETOOLONG;
	strcpy(rest, joined);
	return 0;
}

static void
drop_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		*slash = '\0';
}

/* Adds @name to the resolved path @done; if it is a link, adds its target to @rest. */
static int
step_into(const char *root, const char *name, char *done, char *rest, int *links)
{
	char outside[TCPX_IO_PATH], target[TCPX_IO_PATH];
	size_t len = strlen(done);
	ssize_t n;

	if (!tcpx_io_join(done + len, TCPX_IO_PATH - len, "/%s", name) ||
	    !outside_path(root, done, outside))
		return -ENAMETOOLONG;

	n = readlink(outside, target, sizeof(target) - 1);
	if (n < 0)
		return errno == EINVAL ? 0 : -errno; /* EINVAL: exists, and is not a link */
	if (++*links > TCPX_IO_LINKS)
		return -ELOOP;
	target[n] = '\0';
	done[target[0] == '/' ? 0 : len] = '\0';
	return push_link(target, rest);
}

int
tcpx_io_realpath(const char *root, const char *path, char *out)
{
	char done[TCPX_IO_PATH] = "", rest[TCPX_IO_PATH], name[NAME_MAX + 1];
	int links = 0;
	int rc;

	if (!tcpx_io_join(rest, sizeof(rest), "%s", path))
		return -ENAMETOOLONG;

	for (;;) {
		char *from = rest + strspn(rest, "/");
		size_t len = strcspn(from, "/");

		if (len == 0)
			break;
		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, from, len);
		name[len] = '\0';
		memmove(rest, from + len, strlen(from + len) + 1);

		if (strcmp(name, ".") == 0)
			continue;
		if (strcmp(name, "..") == 0) {
			drop_last(done);
			continue;
		}
		rc = step_into(root, name, done, rest, &links);
		if (rc < 0)
			return rc;
	}
	strcpy(out, *done ? done : "/");
	return 0;
}
