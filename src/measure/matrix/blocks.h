/* SPDX-License-Identifier: Apache-2.0 */
/* The middle of a study: set up, run the blocks, undo. */
#ifndef MEASURE_MATRIX_BLOCKS_H
#define MEASURE_MATRIX_BLOCKS_H

#include "measure/matrix/session.h"

/* Runs all missing runs, from the first incomplete block on. Exit codes of the tool. */
int matrix_blocks_run(struct matrix_session *s);
/* Undoes the set-up that state.json names, and ends processes that were left running. */
int matrix_blocks_undo(struct matrix_session *s, bool undone);

#endif
