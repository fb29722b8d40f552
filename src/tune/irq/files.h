/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine's small text files behind a table of functions, so that changes can be tried
 * elsewhere: on the machine itself, on a directory tree that is marked as one (it holds the
 * file TCPX_FILES_MARKER), or on a kernel in software (tests/fake/simkernel.h). Paths begin
 * without "/". No function logs.
 *
 * Threads: one at a time. Blocks: for local files, and in wait_ms().
 */
#ifndef TUNE_IRQ_FILES_H
#define TUNE_IRQ_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define TCPX_FILES_MARKER "tcpx-fixture"
#define TCPX_FILES_LONGEST 32768 /* bytes of the longest text read: a CPU list of any set */

struct tcpx_files;

struct tcpx_files_ops {
	/* The whole text without white space at its end; its length, -EFBIG or -errno. */
	int (*read)(struct tcpx_files *f, const char *path, char *buf, size_t cap);
	/* One write() of @text to an existing file. 0 or the kernel's -errno. */
	int (*write)(struct tcpx_files *f, const char *path, const char *text);
	/* Names in a directory, each ended by a NUL and the last by two. */
	int (*list)(struct tcpx_files *f, const char *dir, char *buf, size_t cap);
	/* Permission bits; and 0, -EACCES or -EROFS for writing to it. */
	int (*look)(struct tcpx_files *f, const char *path, unsigned *mode, int *writing);
	/* Waits for this long. */
	void (*wait_ms)(struct tcpx_files *f, unsigned ms);
	/* Milliseconds of a clock that only rises. */
	uint64_t (*now_ms)(struct tcpx_files *f);
};

struct tcpx_files {
	const struct tcpx_files_ops *ops;
	const char *root; /* borrowed; NULL, "" or "/": the machine */
	void *kernel;     /* of a kernel in software                */
	bool writes;      /* false: write() is -EPERM               */
};

/*
 * tcpx_files_open - the machine below @root
 * @root:  borrowed as long as @f is used
 * @write: whether write() may be called; a root that is not this machine must then hold
 *         TCPX_FILES_MARKER, so that a mistyped root is never written to
 * There is no close. Return: 0; -EPERM (no marker), -ENOTDIR; both logged.
 */
TCPX_MUST_CHECK int tcpx_files_open(const char *root, bool write, struct tcpx_files *f);

#endif
