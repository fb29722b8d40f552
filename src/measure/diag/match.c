/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether two runs can be compared: the same sizes and iterations of the same kind of
 * operation, both right and complete. The bus bandwidth of a collective is no bandwidth
 * between two points, so the two are never compared.
 */
#include <stdio.h>
#include <string.h>

#include "measure/diag/diag.h"
#include "measure/job/job.h"

static const json_t *
points_of(const json_t *diag)
{
	return json_object_get(json_object_get(diag, "metrics"), "points");
}

/* Equal whole numbers, or null in both. */
static bool
same(const json_t *a, const json_t *b, const char *key)
{
	const json_t *x = json_object_get(a, key), *y = json_object_get(b, key);

	if (json_is_null(x) && json_is_null(y))
		return true;
	return json_is_integer(x) && json_is_integer(y) &&
	       json_integer_value(x) == json_integer_value(y);
}

json_t *
diag_match_point(const json_t *b, const json_t *p)
{
	json_t *q;
	size_t i;

	json_array_foreach(points_of(b), i, q)
		if (same(p, q, "size") && same(p, q, "iters") &&
		    !strcmp(job_text(p, "label"), job_text(q, "label")))
			return q;
	return NULL;
}

/* Sends between pairs count as one operation, however they were measured. */
static const char *
operation_of(const json_t *diag)
{
	const char *op = job_text(json_object_get(diag, "metrics"), "operation");

	return !strcmp(op, "sendrecv") ? "p2p" : op;
}

static bool
is_unfit(const json_t *diag, const char *name, char *why, size_t cap)
{
	const json_t *p;
	size_t i;

	if (job_real(diag, "exit_code") != 0) {
		snprintf(why, cap, "the command of %s ended with exit code %.0f", name,
			 job_real(diag, "exit_code"));
		return true;
	}
	if (json_array_size(points_of(diag)) == 0) {
		snprintf(why, cap, "%s printed no figures that are known here", name);
		return true;
	}
	json_array_foreach(points_of(diag), i, p)
		if (job_real(p, "wrong") > 0) {
			snprintf(why, cap, "%s moved wrong data at %.0f B", name,
				 job_real(p, "size"));
			return true;
		}
	return false;
}

/* Why no point of @a has a partner in @b. */
static void
explain(const json_t *a, const json_t *b, char *why, size_t cap)
{
	const json_t *p, *q;
	size_t i, k;

	json_array_foreach(points_of(a), i, p)
		json_array_foreach(points_of(b), k, q)
			if (same(p, q, "size") && !same(p, q, "iters")) {
				snprintf(why, cap, "iterations differ: %.0f in A, %.0f in B at %.0f B "
					 "(0: not told)", job_real(p, "iters"),
					 job_real(q, "iters"), job_real(p, "size"));
				return;
			}
	snprintf(why, cap, "no size is in both: A has %.0f B, B %.0f B, and so on",
		 job_real(json_array_get(points_of(a), 0), "size"),
		 job_real(json_array_get(points_of(b), 0), "size"));
}

void
diag_match(const json_t *a, const json_t *b, char *why, size_t cap)
{
	const char *x = operation_of(a), *y = operation_of(b);
	json_t *p;
	size_t i;

	why[0] = '\0';
	if (is_unfit(a, "A", why, cap) || is_unfit(b, "B", why, cap))
		return;
	if (strcmp(x, y) != 0 && *x && *y) {
		snprintf(why, cap, "A measures %.40s, B %.40s: the bus bandwidth of a collective is "
			 "not that of a pair", x, y);
		return;
	}
	json_array_foreach(points_of(a), i, p)
		if (diag_match_point(b, p))
			return;
	explain(a, b, why, cap);
}
