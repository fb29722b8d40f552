/* SPDX-License-Identifier: Apache-2.0 */
/* The pictures of a study, each one <svg>. A picture of nothing is not drawn. */
#ifndef TOOL_MATRIX_PLOT_H
#define TOOL_MATRIX_PLOT_H

#include <stdio.h>

/* Draws "points", "blocks" or "effects" of the study @data, a matrix_data. */
void matrix_plot(FILE *f, const char *name, const void *data);

#endif
