/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A study as its folder holds it, and what follows from that. No fact of this machine
 * enters: the same files give the same report everywhere.
 */
#ifndef MEASURE_MATRIX_DATA_H
#define MEASURE_MATRIX_DATA_H

#include "measure/matrix/store.h"
#include "measure/matrix/verdict.h"

struct matrix_data {
	struct matrix_store store;
	char *text;                      /* the spec                                    */
	struct matrix_spec spec;
	struct matrix_design design;
	json_t *study;
	json_t **details;                /* of each of store.runs; NULL where lost      */
	bool present[MATRIX_CELLS_MAX];
	char reference_name[MATRIX_NAME_MAX]; /* of spec.reference; ""                  */
	double *figures;                 /* [block * design.n + cell], NAN: none        */
	struct matrix_analysis analysis;
};

/* @reference: "NAME=NUMBER" in place of the study's; NULL. 0 or negative, logged.
 * matrix_data_fini(). */
TCPX_MUST_CHECK int matrix_data_load(struct matrix_data *m, const char *dir,
				     const char *reference);
void matrix_data_fini(struct matrix_data *m);

/* Takes blocks, warm-up, seed, load and cells of study.json into @spec and @present, as they were
 * fixed before the first run. 0 or TCPX_ECONFIG (logged). */
TCPX_MUST_CHECK int matrix_study_restore(const json_t *study, const char *dir,
					 struct matrix_spec *spec, const struct matrix_design *d,
					 bool present[]);
/* Is the run of its block's last attempt, and not of a warm-up? */
bool matrix_data_counts(const struct matrix_data *m, const struct matrix_run *run);
/* The cell of a run that is valid and counts; -1: it does not. */
int matrix_data_cell(const struct matrix_data *m, size_t run);
/* Valid figures of @cell, into @out[spec.blocks]; their number. */
size_t matrix_data_column(const struct matrix_data *m, size_t cell, double *out);
/* A number in a run's details: "load", "steal" or "also", "CPU s/GB"; NAN. */
double matrix_data_number(const struct matrix_data *m, size_t run, const char *group,
			  const char *name);
/* All of it as JSON; NULL: no memory. */
json_t *matrix_data_json(const struct matrix_data *m);

#endif
