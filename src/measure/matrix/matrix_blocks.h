/* SPDX-License-Identifier: Apache-2.0 */
/* The middle of a study: set up, run the blocks, undo. */
#ifndef TOOL_MATRIX_BLOCKS_H
#define TOOL_MATRIX_BLOCKS_H

#include "measure/matrix/matrix_session.h"

/* Runs all missing runs, from the first incomplete block on. Exit codes of the tool. */
int matrix_blocks_run(struct matrix_session *s);
/* Undoes the set-up that state.json names, and ends processes that were left running. */
int matrix_blocks_undo(struct matrix_session *s, bool undone);

#endif
