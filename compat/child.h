/* SPDX-License-Identifier: Apache-2.0 */
/* Runs `tcpx` and reads what it says. */
#ifndef COMPAT_CHILD_H
#define COMPAT_CHILD_H

#include <limits.h>
#include <sys/types.h>

/* Beside this program, one folder above as in a build, else "tcpx", for PATH. */
const char *find_tool(char path[PATH_MAX]);
/* Runs a command, whose output, also that for errors, is read from *fd. -1, and errno. */
pid_t child_start(char *const *argv, int *fd);
/* Waits for it: its exit code, or 128 and the signal. */
int child_end(pid_t pid);

#endif
