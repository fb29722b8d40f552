/* SPDX-License-Identifier: Apache-2.0 */
/* The place of a spec: a path, or the name of a shipped one. */
#ifndef MEASURE_MATRIX_FIND_H
#define MEASURE_MATRIX_FIND_H

#include "measure/matrix/store.h"

/* The path of spec @word in @out. 0; -ENOENT with a message that names the shipped ones. */
TCPX_MUST_CHECK int matrix_find(const char *word, char out[MATRIX_PATH]);
/* Names and titles of the shipped ones, on stdout. */
void matrix_find_print(void);
/* The path of this program, to start it again. */
void matrix_find_self(char out[MATRIX_PATH]);

#endif
