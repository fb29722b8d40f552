/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a study that is between its records: set up, go through the blocks, undo. */
#ifndef TOOL_MATRIX_BLOCKS_H
#define TOOL_MATRIX_BLOCKS_H

#include "tool/matrix/matrix_session.h"

/* Runs what is missing, from the first incomplete block on. Exit codes of the tool. */
int matrix_blocks_run(struct matrix_session *s);
/* Undoes what state.json says is set up, and ends processes that were left running. */
int matrix_blocks_undo(struct matrix_session *s, bool undone);

#endif
