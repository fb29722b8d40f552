/* SPDX-License-Identifier: Apache-2.0 */
/* Files below a root directory, by paths of io_path.h. */
#ifndef HOST_IO_H
#define HOST_IO_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "host/io_path.h"

struct tcpx_io_names {
	struct dirent **entry; /* heap; in the order of their bytes */
	unsigned count;
};

/* Opens the target of a path inside the root with @flags of open(2). A
 * descriptor, or -errno. */
TCPX_MUST_CHECK int tcpx_io_open(const char *root, const char *path, int flags);
/* The same for reading a regular file; -EINVAL for anything else. */
TCPX_MUST_CHECK int tcpx_io_open_file(const char *root, const char *path);

/* Reads a whole small text file, NUL-terminated, without white space at its end. Returns
 * its length; -EFBIG if it does not fit; -EINVAL if it is not a file; or -errno. */
TCPX_MUST_CHECK int tcpx_io_read(const char *root, const char *path, char *buf, size_t cap);

/* Reads a file of any length up to @max bytes, with white space at its end and NULs inside:
 * a table. @text: out: heap, the caller's; a NUL stands behind @len bytes. */
TCPX_MUST_CHECK int tcpx_io_slurp(const char *root, const char *path, size_t max, char **text,
				  size_t *len);

/* The rest of the first line that begins with @key ("MemTotal:"), without the blanks before
 * it. 0; -EINVAL without such a line, -EFBIG, -errno. */
TCPX_MUST_CHECK int tcpx_io_field(const char *root, const char *path, const char *key, char *buf,
				  size_t cap);

/* The reading function of tcpx_io_slurp_from(): like read(), with @arg for the file. It may
 * be interrupted and may return fewer bytes. */
typedef ssize_t (*tcpx_io_get_fn)(void *arg, void *buf, size_t cap);
TCPX_MUST_CHECK int tcpx_io_slurp_from(tcpx_io_get_fn get, void *arg, size_t max, char **text,
				       size_t *len);

/* A file of this machine by its path, "-": standard input. Failures are logged. */
TCPX_MUST_CHECK int tcpx_io_slurp_file(const char *path, size_t max, char **text, size_t *len);

/* The permission bits, 0444 and the like, of a path's target. */
TCPX_MUST_CHECK int tcpx_io_mode(const char *root, const char *path, unsigned *mode);

/* Reads the end of a file of any length, without the line that the beginning cuts. */
TCPX_MUST_CHECK int tcpx_io_tail(const char *root, const char *path, char *buf, size_t cap);

/* Reads a file with one number, decimal or 0x hexadecimal, and nothing else. -EINVAL. */
TCPX_MUST_CHECK int tcpx_io_read_number(const char *root, const char *path, long long *value);

/* Last component of a link's target ("virtio_net"). */
TCPX_MUST_CHECK int tcpx_io_read_link(const char *root, const char *path, char *buf, size_t cap);

bool tcpx_io_exists(const char *root, const char *path);
bool tcpx_io_is_dir(const char *root, const char *path);

/* Names in a directory except "." and ".."; give back with tcpx_io_names_free(). */
TCPX_MUST_CHECK int tcpx_io_list(const char *root, const char *dir, struct tcpx_io_names *names);
void tcpx_io_names_free(struct tcpx_io_names *names);

#endif
