/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that a command writes. A regular one appears whole or stays as it was: the text goes
 * into a file beside it, which takes its name, mode and owner at the end; links are followed.
 * What cannot be replaced is written directly: "-" (stdout), devices, pipes, a file that
 * stdout goes to, and one in a folder where no other may be made.
 */
#ifndef TOOL_OUTPUT_H
#define TOOL_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct output {
	FILE *f;
	char *target, *draft; /* NULL: written directly */
};

/* 0, or -errno and nothing to close. */
int output_open(struct output *o, const char *path);

/* 0, or -errno: then a file that was to be replaced is as it was. @failed: the text is not
 * whole, though every write may have gone well. */
int output_close(struct output *o, bool failed);
/* Writes @len bytes as the whole of a file; 0, or -errno. */
int output_text(const char *path, const char *text, size_t len);

/* Can the file @path ("-": stdout) be written later? Leaves it as it is. TOOL_OK, or
 * TOOL_USAGE with a message that names @option; @path NULL is well. */
int output_writable(const char *command, const char *option, const char *path);

/* "tcpx irq: cannot write FILE: No space left on device", for -errno @rc of the above. 1 for
 * stdout, which is no mistake in the command line; else TOOL_USAGE. */
int output_refused(const char *command, const char *path, int rc);

/* Call first: a descriptor of 0 to 2 that is closed stays unusable, so that no socket gets
 * its number and with it what was meant for stdout. */
void output_guard(void);

/* @code, the exit code of a command that has ended; 1 with a message if that is 0 and stdout
 * did not take all that was written to it. */
int output_end(int code);

#endif
