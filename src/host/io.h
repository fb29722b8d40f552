/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files below a root directory, so that a directory tree can stand for a machine. No
 * path or symbolic link leads out of the root: ".." stops at it and absolute links
 * start from it. The root is NULL, "" or "/" for the machine itself.
 */
#ifndef HOST_IO_H
#define HOST_IO_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

#define TCPX_IO_LINKS 40  /* most links followed by one look-up */
#define TCPX_IO_PATH 4096 /* longest path, with the NUL         */

struct tcpx_io_names {
	struct dirent **entry; /* heap; in the order of their bytes */
	unsigned count;
};

bool tcpx_io_is_machine(const char *root);

/* What a path leads to inside the root, opened with @flags of open(2): a descriptor, or -errno. */
TCPX_MUST_CHECK int tcpx_io_open(const char *root, const char *path, int flags);
/* The same for reading a regular file; -EINVAL if it is something else. */
TCPX_MUST_CHECK int tcpx_io_open_file(const char *root, const char *path);
/* @fd itself if it is that of a regular file; else it is closed: -EINVAL. */
TCPX_MUST_CHECK int tcpx_io_check_file(int fd);

/* Many files of one directory: @dir is its descriptor, @parent its path inside the root, from
 * where links that lead out of it are followed. */
TCPX_MUST_CHECK int tcpx_io_open_below(int dir, const char *root, const char *parent,
				       const char *path);
TCPX_MUST_CHECK int tcpx_io_read_below(int dir, const char *root, const char *parent,
				       const char *path, char *buf, size_t cap);
TCPX_MUST_CHECK int tcpx_io_list_open(int dir, struct tcpx_io_names *names);

/* The path of @path inside the root, without links, beginning with "/"; @out has
 * TCPX_IO_PATH bytes. -ENOENT, -ELOOP, -ENAMETOOLONG, -ENOTDIR, -EACCES. */
TCPX_MUST_CHECK int tcpx_io_realpath(const char *root, const char *path, char *out);

/* A whole small text file, NUL-terminated, without white space at its end. Returns its
 * length; -EFBIG if it does not fit; -EINVAL if it is not a file; or -errno. */
TCPX_MUST_CHECK int tcpx_io_read(const char *root, const char *path, char *buf, size_t cap);

/* The same of a file of any length up to @max bytes, with the white space at its end and
 * NULs inside: a table. @text: out: heap, the caller's; a NUL stands behind @len bytes. */
TCPX_MUST_CHECK int tcpx_io_slurp(const char *root, const char *path, size_t max, char **text,
				  size_t *len);

/* The reading part of it: @get is as read(), with @arg for the file. May be interrupted and
 * may give less than it was asked for. */
typedef ssize_t (*tcpx_io_get_fn)(void *arg, void *buf, size_t cap);
TCPX_MUST_CHECK int tcpx_io_slurp_from(tcpx_io_get_fn get, void *arg, size_t max, char **text,
				       size_t *len);

/* The permission bits, 0444 and the like, of what a path leads to. */
TCPX_MUST_CHECK int tcpx_io_mode(const char *root, const char *path, unsigned *mode);

/* The same of the end of a file of any length; the line that the beginning cuts is left out. */
TCPX_MUST_CHECK int tcpx_io_tail(const char *root, const char *path, char *buf, size_t cap);

/* A file that holds one number, decimal or 0x hexadecimal, and nothing else. -EINVAL. */
TCPX_MUST_CHECK int tcpx_io_read_number(const char *root, const char *path, long long *value);

/* Last component of where a link leads ("virtio_net"). */
TCPX_MUST_CHECK int tcpx_io_read_link(const char *root, const char *path, char *buf, size_t cap);

bool tcpx_io_exists(const char *root, const char *path);
bool tcpx_io_is_dir(const char *root, const char *path);

/* Names in a directory but "." and ".."; give back with tcpx_io_names_free(). */
TCPX_MUST_CHECK int tcpx_io_list(const char *root, const char *dir, struct tcpx_io_names *names);
void tcpx_io_names_free(struct tcpx_io_names *names);

/* Whether @text fits @cap; like snprintf, but truncation is an answer. */
TCPX_MUST_CHECK bool tcpx_io_join(char *buf, size_t cap, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
