/* SPDX-License-Identifier: Apache-2.0 */
/* A line written to a descriptor that may be a pipe nobody reads. */
#ifndef BASE_LOG_FILE_H
#define BASE_LOG_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Writes @line with its newline by one call, at most PIPE_BUF bytes, and never waits for a
 * reader. @fd belongs to others, too: its flags stay as they are. False: not written. */
bool tcpx_log_file_put(int fd, const char *line, size_t len);

#endif
