/* SPDX-License-Identifier: Apache-2.0 */
/* Rooted files: their text, numbers, links, modes. */
#include "host/io.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIELDS_BYTES (1u << 20) /* of a file of lines "KEY: VALUE" */

/* Reads all bytes up to the end of the file; one byte of room stays, to detect more. */
static int
read_all(int fd, char *buf, size_t cap)
{
	size_t len = 0;

	while (len < cap) {
		ssize_t n = read(fd, buf + len, cap - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) {
			while (len > 0 && isspace((unsigned char)buf[len - 1]))
				len--;
			buf[len] = '\0';
			return (int)strlen(buf);
		}
		len += (size_t)n;
	}
	return -EFBIG;
}

int
tcpx_io_read(const char *root, const char *path, char *buf, size_t cap)
{
	int fd = tcpx_io_open_file(root, path), rc;

	if (fd < 0)
		return fd;
	rc = read_all(fd, buf, cap);
	close(fd);
	return rc;
}

int
tcpx_io_tail(const char *root, const char *path, char *buf, size_t cap)
{
	int fd = tcpx_io_open_file(root, path), rc;
	bool cut = false;
	off_t size;

	if (fd < 0)
		return fd;
	size = lseek(fd, 0, SEEK_END);
	/* half of the room: leaves space for bytes written meanwhile */
	cut = size > (off_t)(cap / 2);
	rc = lseek(fd, cut ? size - (off_t)(cap / 2) : 0, SEEK_SET) < 0 ? -errno : 0;
	if (rc == 0)
		rc = read_all(fd, buf, cap);
	close(fd);
	if (rc > 0 && cut) {
		char *line = strchr(buf, '\n');

		line = line ? line + 1 : buf + rc;
		rc -= (int)(line - buf);
		memmove(buf, line, (size_t)rc + 1);
	}
	return rc;
}

int
tcpx_io_slurp_from(tcpx_io_get_fn get, void *arg, size_t max, char **text, size_t *len)
{
	size_t cap = 65536, used = 0; /* untouched pages cost nothing */
	char *buf = malloc(cap), *larger;
	int rc = -ENOMEM;

	while (buf) {
		ssize_t n = get(arg, buf + used, cap - used - 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			rc = n < 0 ? -errno : 0;
			break;
		}
		used += (size_t)n;
		if (used > max) {
			rc = -EFBIG;
			break;
		}
		if (used + 1 < cap)
			continue;
		larger = realloc(buf, cap * 4);
		if (!larger)
			break;
		buf = larger;
		cap *= 4;
	}
	if (rc < 0) {
		free(buf);
		return rc;
	}
	buf[used] = '\0';
	*text = buf;
	*len = used;
	return 0;
}

static ssize_t
get_from_fd(void *arg, void *buf, size_t cap)
{
	return read(*(int *)arg, buf, cap);
}

int
tcpx_io_slurp(const char *root, const char *path, size_t max, char **text, size_t *len)
{
	int fd = tcpx_io_open_file(root, path), rc;

	if (fd < 0)
		return fd;
	rc = tcpx_io_slurp_from(get_from_fd, &fd, max, text, len);
	close(fd);
	return rc;
}

int
tcpx_io_field(const char *root, const char *path, const char *key, char *buf, size_t cap)
{
	size_t len;
	char *text, *at;
	int rc = tcpx_io_slurp(root, path, FIELDS_BYTES, &text, &len);

	if (rc < 0)
		return rc;
	for (at = text; *at && strncmp(at, key, strlen(key)); at += *at == '\n')
		at += strcspn(at, "\n");
	rc = -EINVAL;
	if (*at) {
		at += strlen(key);
		at += strspn(at, " \t");
		at[strcspn(at, "\n")] = '\0';
		rc = tcpx_io_join(buf, cap, "%s", at) ? 0 : -EFBIG;
	}
	free(text);
	return rc;
}

int
tcpx_io_slurp_file(const char *path, size_t max, char **text, size_t *len)
{
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return tcpx_fail_errno(TCPX_SUB_HOST, "open %s", path);
	rc = tcpx_io_slurp_from(get_from_fd, &fd, max, text, len);
	if (!is_stdin)
		close(fd);
	if (rc == -EFBIG)
		return tcpx_fail(TCPX_SUB_HOST, rc, "%s: longer than %zu bytes", path, max);
	return rc < 0 ? tcpx_fail(TCPX_SUB_HOST, rc, "read %s", path) : 0;
}

/* Stats the target of a path. */
static int
look(const char *root, const char *path, struct stat *st)
{
	int fd = tcpx_io_open(root, path, O_PATH), rc;

	if (fd < 0)
		return fd;
	rc = fstat(fd, st) < 0 ? -errno : 0;
	close(fd);
	return rc;
}

int
tcpx_io_mode(const char *root, const char *path, unsigned *mode)
{
	struct stat st;
	int rc = look(root, path, &st);

	if (rc == 0)
		*mode = st.st_mode & 07777;
	return rc;
}

int
tcpx_io_read_number(const char *root, const char *path, long long *value)
{
	char text[64], *end;
	long long v;
	int rc;

	rc = tcpx_io_read(root, path, text, sizeof(text));
	if (rc < 0)
		return rc;
	errno = 0;
	v = strtoll(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
	if (end == text || *end || errno)
		return -EINVAL;
	*value = v;
	return 0;
}

int
tcpx_io_read_link(const char *root, const char *path, char *buf, size_t cap)
{
	char inside[TCPX_IO_PATH];
	int rc;

	rc = tcpx_io_realpath(root, path, inside);
	if (rc < 0)
		return rc;
	return tcpx_io_join(buf, cap, "%s", strrchr(inside, '/') + 1) ? 0 : -ENAMETOOLONG;
}

bool
tcpx_io_exists(const char *root, const char *path)
{
	struct stat st;

	return look(root, path, &st) == 0;
}

bool
tcpx_io_is_dir(const char *root, const char *path)
{
	struct stat st;

	return look(root, path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int
not_dots(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

/* Not alphasort(), which depends on the locale. */
static int
by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

int
tcpx_io_list(const char *root, const char *dir, struct tcpx_io_names *names)
{
	int fd = tcpx_io_open(root, dir, O_RDONLY | O_DIRECTORY), n;
	struct dirent **entry;

	if (fd < 0)
		return fd;
	n = scandirat(fd, ".", &entry, not_dots, by_bytes);
	n = n < 0 ? -errno : n;
	close(fd);
	if (n < 0)
		return n;
	*names = (struct tcpx_io_names){ entry, (unsigned)n };
	return 0;
}

void
tcpx_io_names_free(struct tcpx_io_names *names)
{
	for (unsigned i = 0; i < names->count; i++)
		free(names->entry[i]);
	free(names->entry);
	*names = (struct tcpx_io_names){ NULL, 0 };
}
