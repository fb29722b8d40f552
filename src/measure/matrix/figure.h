/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A figure from a command's output: "json:rows[-1].busbw_GBps" or "regex:([0-9.]+) GB/s"
 * (POSIX extended, first group, last match).
 */
#ifndef MEASURE_MATRIX_FIGURE_H
#define MEASURE_MATRIX_FIGURE_H

#include <stddef.h>

#include "base/err.h"

enum { MATRIX_WHY = 200 }; /* bytes of a reason */

/* The whole of a file, at most 8 MiB of it, with a NUL behind; NULL (errno set). */
char *matrix_file_read(const char *path, size_t *len);

/* 0 if @how is a valid form; else TCPX_ECONFIG, logged with @what. */
TCPX_MUST_CHECK int matrix_figure_check(const char *how, const char *what);

/*
 * matrix_figure_find - the figure in @text
 * Return: 0, @out finite; -ENOENT, @why names what is missing. true and false are 1 and 0.
 */
int matrix_figure_find(const char *how, const char *text, double *out, char why[MATRIX_WHY]);

/* What a figure must be: this number, or more than it. */
struct matrix_want {
	double number;
	bool above;
};

/* Splits an expectation, "FIGURE NUMBER" or "FIGURE >NUMBER"; -EINVAL: not of this form. */
int matrix_expect_cut(const char *value, char *how, size_t cap, struct matrix_want *want);

#endif
