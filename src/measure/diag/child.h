/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command and calls hooks beside it: before it begins, and for its output.
 * Signals to this process go on to the command. This process must have one thread only.
 */
#ifndef MEASURE_DIAG_CHILD_H
#define MEASURE_DIAG_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

struct diag_child_hooks {
	void *arg;
	/* The process exists and has not begun with the command. */
	void (*begin)(void *arg, long pid);
	void (*output)(void *arg, bool is_error, const char *bytes, size_t len);
};

struct diag_child {
	int code;        /* as a shell has it: 128 and more for a signal, 126, 127 for a
	                  * command that cannot be run                            */
	int signal;      /* 0: it ended normally                                */
	int exec_error;  /* errno; 0: exec() worked                             */
	uint64_t begin_ns, end_ns;
	struct rusage usage;
};

/* CLOCK_MONOTONIC. */
uint64_t diag_now_ns(void);
/* 0; -errno: the command did not start. */
int diag_child_run(char *const *words, const struct diag_child_hooks *hooks,
		   struct diag_child *out);

/*
 * diag_capture - the output of a short command, both streams
 * @text: out: heap, the caller's, its last @cap bytes
 * Return: its exit code; -ETIMEDOUT (it was killed after @seconds), -errno.
 */
int diag_capture(char *const *words, unsigned seconds, size_t cap, char **text);

#endif
