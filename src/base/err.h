/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reporting a failure once. The function that decides calls tcpx_fail(), which logs one
 * line and returns the code. All callers only pass the code on.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/log.h"
#include "tcpx/err.h"

#define TCPX_MUST_CHECK __attribute__((warn_unused_result))

/*
 * tcpx_fail - log one WARN line under @subsys and return @code
 * @code: negative; its name is appended to the line
 * @fmt:  what was attempted, on what, with the value and what is allowed
 */
int tcpx_fail(enum tcpx_subsys subsys, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A failure that is logged already, or that callers expect: its text alone, for
 * tcpx_err_last(). */
int tcpx_fail_known(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* tcpx_fail() for a system call that has just failed: code is -errno. */
int tcpx_fail_errno(enum tcpx_subsys subsys, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* "TCPX_ESTALLED", "EINVAL"; static string, never NULL. */
const char *tcpx_err_name(int code);
/* One sentence for people; static string, never NULL. */
const char *tcpx_err_text(int code);
/* The code has a name of its own here. */
bool tcpx_err_known(int code);
enum tcpx_err_group tcpx_err_group_of(int code);

/* Copies the text of the calling thread's last tcpx_fail(), at any log level; "" if it
 * never failed. Always ends in a NUL when cap > 0. */
void tcpx_err_last(char *buf, size_t cap);

#endif
