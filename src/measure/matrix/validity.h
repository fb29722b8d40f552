/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a run counts, by the facts about it. Pure; the first reason wins. */
#ifndef MEASURE_MATRIX_VALIDITY_H
#define MEASURE_MATRIX_VALIDITY_H

#include "measure/matrix/exec.h"
#include "measure/matrix/figure.h"
#include "measure/matrix/load.h"

struct matrix_facts {
	struct matrix_ended ended;    /* of the workload                              */
	const char *setup;            /* what failed before it, "" nothing            */
	const char *said;             /* the last line of its errors, ""              */
	double figure;                /* NAN: not found, reason in figure_why         */
	const char *figure_why;
	const char *failed;           /* a check, an expectation or a limit, "" none  */
	const struct matrix_load *load; /* NULL: it never began                       */
	double load_max, steal_max;
};

/* True: it counts. Else @reason has the reason. */
bool matrix_valid(const struct matrix_facts *f, char reason[MATRIX_WHY]);

#endif
