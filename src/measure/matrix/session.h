/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A study from its first command to its last: requirements, set-up, shuffled blocks,
 * tear-down; or the rest of an interrupted one.
 */
#ifndef MEASURE_MATRIX_SESSION_H
#define MEASURE_MATRIX_SESSION_H

#include "measure/matrix/runner.h"

struct matrix_session {
	char name[128];               /* of the spec, for people                     */
	char share[MATRIX_PATH];      /* folder of the spec and its scripts          */
	char *text;                   /* the spec, owned                             */
	size_t len;
	struct matrix_spec spec;
	struct matrix_design design;
	struct matrix_store store;
	struct matrix_runner runner;
	json_t *study;                /* study.json; NULL until there is one         */
	bool present[MATRIX_CELLS_MAX];
	char why_not[MATRIX_CELLS_MAX][MATRIX_WHY]; /* why a cell is left out        */
	char study_why[MATRIX_WHY];   /* why the whole study cannot run here; ""     */
	bool study_up;                /* its own set-up has begun                    */
	char id[32];                  /* of the study: its processes carry it        */
	uint64_t begin_ns;            /* when this process began to run blocks       */
	size_t runs_done, runs_left;  /* of this process                             */
};

struct matrix_wish {
	const char *dir;              /* the folder                                  */
	unsigned blocks;              /* 0: as the spec or study says                */
	bool seeded;
	uint64_t seed;
	double load;                  /* share that others may take; 0: the spec's */
	const char *reference;        /* NAME=NUMBER over the spec's; NULL           */
	char *const *sets;            /* NAME=VALUE, over the spec's                 */
	size_t set_count;
	bool undone;                  /* resume: the set-up has been undone          */
};

/* Reads the spec at @path; runs no command. 0 or negative, logged. matrix_session_fini(). */
TCPX_MUST_CHECK int matrix_session_init(struct matrix_session *s, const char *path,
					const struct matrix_wish *wish);
void matrix_session_fini(struct matrix_session *s);
/* Both return an exit code of the tool, after a message. TOOL_OK: all blocks have run and
 * everything is as before. */
int matrix_session_run(struct matrix_session *s, const struct matrix_wish *wish);
int matrix_session_resume(const struct matrix_wish *wish);

#endif
