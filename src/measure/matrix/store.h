/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The folder of a study. A report needs study.spec, study.json, results.csv and runs/.
 * state.json names the present set-up, so that a later process can undo it; raw/ keeps the
 * commands' output. A row is on disk before the next run begins. Half a row, left by a
 * kill, is cut off when the folder is opened again.
 */
#ifndef MEASURE_MATRIX_STORE_H
#define MEASURE_MATRIX_STORE_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "measure/matrix/design.h"
#include "measure/matrix/figure.h"

enum { MATRIX_SCHEMA = 1, MATRIX_PATH = PATH_MAX };

struct matrix_run {
	int block;          /* 1 is the first that counts; up to 0: warm-up             */
	unsigned attempt;   /* of the block, from 1; an interrupted block begins again   */
	unsigned order;     /* place in the block, from 1                                */
	char cell[MATRIX_NAME_MAX];
	char start[32];     /* RFC 3339, UTC                                             */
	double seconds;
	int code;           /* of the workload                                           */
	bool valid;
	char reason[MATRIX_WHY]; /* why it is not valid; "" */
	double figure;      /* NAN none                                                  */
};

struct matrix_store {
	char dir[MATRIX_PATH - 256];
	int lock;                /* descriptor, -1: only reading */
	struct matrix_run *runs; /* in the order of the file     */
	size_t n;
};

/* "b03a1-T2": names the run's files. */
void matrix_run_id(const struct matrix_run *run, char *buf, size_t cap);
/* @name below the store's folder. */
void matrix_store_path(const struct matrix_store *s, const char *name, char out[MATRIX_PATH]);

/* Makes the folder, which must not have results yet, and locks it. 0; -EEXIST, -EBUSY and
 * others, logged. */
TCPX_MUST_CHECK int matrix_store_create(struct matrix_store *s, const char *dir);
/* Opens it: to go on (@lock: alone) or to read. 0; TCPX_ECONFIG for malformed rows, -EBUSY
 * for a folder in use; logged. */
TCPX_MUST_CHECK int matrix_store_open(struct matrix_store *s, const char *dir, bool lock);
void matrix_store_close(struct matrix_store *s);

/* Appends the row, and @detail (reference taken) as the run's JSON. 0 or -errno, logged. */
TCPX_MUST_CHECK int matrix_store_add(struct matrix_store *s, const struct matrix_run *run,
				     json_t *detail);
/* Writes a file of the folder, whole or not at all: beside it, then renamed. */
TCPX_MUST_CHECK int matrix_store_write(const struct matrix_store *s, const char *name,
				       const json_t *json);
/* NULL (logged): not there, or no JSON object. */
json_t *matrix_store_read(const struct matrix_store *s, const char *name);

/* The number of the last attempt of @block, whose rows count. 0: never begun. */
unsigned matrix_store_attempt(const struct matrix_store *s, int block);
/* Reads one row of results.csv, without the line end; -EINVAL. Pure. */
int matrix_row_parse(const char *line, struct matrix_run *run);
/* Formats a row with the line end; as snprintf(). */
int matrix_row_format(const struct matrix_run *run, char *buf, size_t cap);

#endif
