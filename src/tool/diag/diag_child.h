/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command run with something done beside it: its output passes through, samples are taken
 * when they are due, and signals to us are signals to it. The process must have one thread.
 */
#ifndef TOOL_DIAG_CHILD_H
#define TOOL_DIAG_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

struct diag_child_hooks {
	void *arg;
	/* The process is there and has not begun with the command. */
	void (*begin)(void *arg, long pid);
	uint64_t (*due)(void *arg);               /* CLOCK_MONOTONIC, ns         */
	void (*take)(void *arg, uint64_t now_ns); /* a sample; the last at the end */
	void (*output)(void *arg, bool is_error, const char *bytes, size_t len);
};

struct diag_child {
	int code;        /* as a shell has it: 128 and more for a signal, 126, 127 for a
	                  * command that cannot be run                            */
	int signal;      /* 0: it ended by itself                               */
	int exec_error;  /* errno; 0: it was run                                */
	uint64_t begin_ns, end_ns;
	struct rusage usage;
};

uint64_t diag_now_ns(void);
/* 0 or -errno: it was not run. */
int diag_child_run(char *const *words, const struct diag_child_hooks *hooks,
		   struct diag_child *out);

/*
 * diag_capture - the output of a short command, both streams
 * @text: out: heap, the caller's, the last @cap bytes of it
 * Return: its exit code; -ETIMEDOUT (it was ended), -errno.
 */
int diag_capture(char *const *words, unsigned seconds, size_t cap, char **text);

#endif
