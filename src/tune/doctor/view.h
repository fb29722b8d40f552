/* SPDX-License-Identifier: Apache-2.0 */
/* The results of tcpx doctor, for people: lines of at most 80 columns. */
#ifndef TUNE_DOCTOR_VIEW_H
#define TUNE_DOCTOR_VIEW_H

#include <stdbool.h>
#include <stdio.h>

#include "tune/doctor/checks.h"

struct doctor_tally {
	unsigned status[CHECK_STATUSES], severity[CHECK_SEVERITIES]; /* severity: findings only */
};

void doctor_count(struct doctor_tally *t, const struct check *check, const struct check_result *r);
/* One check with what was seen and, for a finding, its remedy. */
void doctor_print(FILE *f, const struct check *check, const struct check_result *r);
/* results[i] is of check_at(i), for all of them. The findings, the worst first, and one line for
 * each group of checks; with @all each check in its order instead. Then the tally. */
void doctor_print_all(FILE *f, const struct check_result *results, bool all);

#endif
