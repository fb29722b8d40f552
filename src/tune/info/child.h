/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A question to a library that somebody else wrote. Loading it may do anything: start threads, make
 * GPU contexts, end the process. So a child process asks, and its end is an answer, too.
 */
#ifndef TUNE_INFO_CHILD_H
#define TUNE_INFO_CHILD_H

#include <stdbool.h>
#include <stddef.h>

#define MACHINE_CHILD_MS 30000 /* for load and init() */

/*
 * machine_child - runs ask(path, out) in a child, whose stdout is stderr
 * @out: len bytes, zero before; the child's are copied here
 * Return: false with @why: the child did not get to its end.
 */
bool machine_child(void (*ask)(const char *path, void *out), const char *path, void *out,
		   size_t len, char *why, size_t cap);

#endif
