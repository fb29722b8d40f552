/* SPDX-License-Identifier: Apache-2.0 */
/* The pictures of a study, each one <svg>. */
#ifndef TOOL_MATRIX_PLOT_H
#define TOOL_MATRIX_PLOT_H

#include <stdio.h>

#include "measure/matrix/matrix_verdict.h"

/* A field of rows x columns, shaded from the least to the greatest of @values, which are
 * [row * columns + column], NAN for none. @digits: decimals of a shown value. */
void matrix_plot_heat(FILE *f, const char *label, const char *const *rows, size_t n,
		      const char *const *columns, size_t m, const double *values, int digits);
/* Effects with their intervals, and the margin as a band. */
void matrix_plot_effects(FILE *f, const struct matrix_design *d, const struct matrix_analysis *a);
/* Figures in the order they were measured: @values[i] of cell @cells[i], @bad ones hollow. */
void matrix_plot_points(FILE *f, const struct matrix_design *d, const double *values,
			const unsigned char *cells, size_t n);

#endif
