/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of "NAME = value" lines. Blanks around name and value do not count. # begins a
 * comment at the start of a line or behind a blank.
 */
#ifndef BASE_CFG_FILE_H
#define BASE_CFG_FILE_H

#include <stdbool.h>

/* One assignment; @source is "PATH line N". A result other than 0 ends the reading
 * with that code. */
typedef int (*tcpx_cfg_line_fn)(void *arg, const char *name, const char *value,
				const char *source);

/*
 * tcpx_cfg_file_read - call @fn for each assignment of the file
 * @needed: the file must exist; without it a missing file is an empty one
 * Return: 0, TCPX_ECONFIG (unreadable, or a line that is no assignment; logged), or
 * what @fn returned.
 */
int tcpx_cfg_file_read(const char *path, bool needed, tcpx_cfg_line_fn fn, void *arg);

#endif
