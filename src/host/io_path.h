/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths below a root directory, so that a directory tree can represent a machine. No path
 * or symbolic link leaves the root: ".." stops at it, and absolute links start from it. The
 * root is NULL, "" or "/" for the machine itself.
 */
#ifndef HOST_IO_PATH_H
#define HOST_IO_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define TCPX_IO_LINKS 40  /* most links in one look-up          */
#define TCPX_IO_PATH 4096 /* longest path, with the NUL         */

bool tcpx_io_is_machine(const char *root);

/* Resolves @path inside the root to a path without links, beginning with "/"; @out has
 * TCPX_IO_PATH bytes. -ENOENT, -ELOOP, -ENAMETOOLONG, -ENOTDIR, -EACCES. */
TCPX_MUST_CHECK int tcpx_io_realpath(const char *root, const char *path, char *out);

/* Like snprintf(); false if @text does not fit @cap. */
TCPX_MUST_CHECK bool tcpx_io_join(char *buf, size_t cap, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
