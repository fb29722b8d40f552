/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common parts of tcpx's commands: exit codes, messages, terminal output, JSON files.
 * Results go to stdout; diagnostics and progress go to stderr.
 */
#ifndef TOOL_TOOL_H
#define TOOL_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/clock.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

static inline uint64_t
tool_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t
tool_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* CLOCK_MONOTONIC. */
static inline uint64_t
tool_now_ns(void)
{
	return tcpx_clock_now(&tcpx_clock_system);
}

enum tool_exit {
	TOOL_OK = 0,
	TOOL_FINDING = 1,     /* a check failed, a difference was found        */
	TOOL_USAGE = 2,       /* bad command line or bad input                 */
	TOOL_DENIED = 3,      /* not permitted or not supported here           */
	TOOL_ROLLED_BACK = 4, /* failed; everything is as it was before        */
	TOOL_HALF = 5         /* failed; a part could not be undone            */
};

/* The commands: argv[0] is the command's name. Each returns an exit code. */
int cmd_perf(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_env(int argc, char **argv);
int cmd_lab(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_irq(int argc, char **argv);
int cmd_pin(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_topo(int argc, char **argv);
int cmd_matrix(int argc, char **argv);
int cmd_diag(int argc, char **argv);

/* "tcpx lab: <text>" on stderr; returns @code. */
int tool_fail(int code, const char *command, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* "tcpx perf: <what>: <the library's last error>". */
int tool_fail_last(int code, const char *command, const char *what);
/* The same with TOOL_USAGE and a pointer to --help. */
int tool_usage(const char *command, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The library's warnings go to stderr, in words for people; with TCPX_DEBUG=INFO and above its
 * lines as they are. A failure waits for tool_fail(), whose text mostly has it, or for the flush. */
void tool_log_start(void);
void tool_log_flush(void);
/* While @on, as strangers may cause them, failures and warnings have the limit of log lines
 * (base/log_limit.h), and wait for no reader. */
void tool_log_limit(bool on);

/* @memory that was just allocated; ends the program if it is NULL. */
void *tool_need(void *memory);

enum tool_colour { TOOL_PLAIN, TOOL_BOLD, TOOL_DIM, TOOL_RED, TOOL_GREEN, TOOL_YELLOW,
		   TOOL_REVERSED };

/* The sequence that switches to @colour: "" unless @f is a terminal and NO_COLOR unset. */
const char *tool_paint(FILE *f, enum tool_colour colour);

/* Replaces the one progress line on stderr; nothing unless stderr is a terminal. */
void tool_progress(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Removes it; call before printing anything else. */
void tool_progress_clear(void);

/* The name nearest to @word by spelling; NULL: none is near. names[] entries are @stride
 * bytes apart, each beginning with a const char *. */
const char *tool_nearest(const char *word, const void *names, size_t count, size_t stride);

#endif
