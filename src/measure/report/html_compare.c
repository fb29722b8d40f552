/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of the paired comparison are runs of their own: from them comes the interval.
 * Iterations inside one run are none (tool/stats.h), so without blocks there is no interval.
 */
#include "measure/report/html_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/report/out_verdict.h"
#include "tool/out_text.h"
#include "tool/stats.h"
#include "tool/template.h"
#include "tool/tool.h"

#define PAIRS_LEAST 6

/* ---- figures --------------------------------------------------------------------- */

static double *
logs_of(const struct row *row)
{
	double *logs = tool_need(calloc(row->pairs.n, sizeof(*logs)));

	for (size_t i = 0; i < row->pairs.n; i++)
		logs[i] = log(row->pairs.at[i].ours_us);
	return logs;
}

/* Welch's interval of the difference of two means, on logarithms. */
static struct change
compare_pairs(const struct row *a, const struct row *b, double sign)
{
	double *x = logs_of(a), *y = logs_of(b), na = (double)a->pairs.n, nb = (double)b->pairs.n;
	double va = pow(stats_stdev(x, a->pairs.n), 2) / na;
	double vb = pow(stats_stdev(y, b->pairs.n), 2) / nb;
	double mean = sign * (stats_mean(y, b->pairs.n) - stats_mean(x, a->pairs.n));
	double freedom = va + vb > 0 ? pow(va + vb, 2) / (va * va / (na - 1) + vb * vb / (nb - 1))
				     : na + nb - 2;
	double half = stats_t_quantile((size_t)fmax(freedom, 1), 0.975) * sqrt(va + vb);

	free(x);
	free(y);
	return (struct change){ expm1(mean), expm1(mean - half), expm1(mean + half) };
}

struct change
compare_rows(const struct row *a, const struct row *b)
{
	bool lat = row_is_latency(a);

	if (a->pairs.n >= PAIRS_LEAST && b->pairs.n >= PAIRS_LEAST)
		return compare_pairs(a, b, lat ? 1 : -1);
	return (struct change){ lat ? b->half_rtt_us.p50 / a->half_rtt_us.p50 - 1
				    : b->busbw_GBps / a->busbw_GBps - 1, NAN, NAN };
}

/* The row of @r to be compared with @row; NULL: it has measured no such thing. */
static const struct row *
row_like(const struct result *r, const struct row *row)
{
	for (size_t i = r->rows.n; i-- > 0;) {
		const struct row *other = &r->rows.at[i];

		if (other->size == row->size && !strcmp(other->op, row->op) &&
		    !strcmp(other->dir, row->dir) && row_is_latency(other) == row_is_latency(row))
			return other;
	}
	return NULL;
}

/* "+3.1 %", with a real minus sign and a space that does not break */
static const char *
percent(double part, char buf[OUT_QUANTITY])
{
	double v = 100 * fabs(part);

	snprintf(buf, OUT_QUANTITY, "%s%.*f\u00a0%%", part < 0 ? "\u2212" : "+", v < 9.95 ? 1 : 0, v);
	return buf;
}

/* ---- records --------------------------------------------------------------------- */

static const char *
figure(const struct row *row, char buf[OUT_QUANTITY])
{
	char digits[OUT_QUANTITY];

	if (row_is_latency(row))
		return out_time(row->half_rtt_us.p50, buf);
	snprintf(buf, OUT_QUANTITY, "%.20s GB/s", out_digits(row->busbw_GBps, digits));
	return buf;
}

/* What record @index is beside the first. */
static json_t *
compared(const struct row *a, const struct row *b, size_t index)
{
	char value[OUT_QUANTITY], mean[OUT_QUANTITY], lo[OUT_QUANTITY], hi[OUT_QUANTITY];
	char under[128] = "the others stand beside it";
	struct change c;
	bool worse;

	if (!b)
		return json_pack("{s:s, s:s}", "figure", "\u2013", "under", "has no such case");
	figure(b, value);
	if (!index)
		return json_pack("{s:s, s:s}", "figure", value, "under", under);
	c = compare_rows(a, b);
	if (!isfinite(c.mean))
		return json_pack("{s:s, s:s}", "figure", value, "under", "");
	worse = row_is_latency(a) ? c.mean > 0 : c.mean < 0;
	percent(c.mean, mean);
	if (isnan(c.lo))
		snprintf(under, sizeof(under), "no interval: one run each");
	else if (c.lo <= 0 && c.hi >= 0)
		snprintf(under, sizeof(under), "%s to %s: no difference shown", percent(c.lo, lo),
			 percent(c.hi, hi));
	else
		snprintf(under, sizeof(under), "%s to %s at 95 %%", percent(c.lo, lo),
			 percent(c.hi, hi));
	return json_pack("{s:s, s:s, s:s, s:s, s:b}", "figure", value, "change", mean, "under", under,
			 "mark", isnan(c.lo) || (c.lo <= 0 && c.hi >= 0) ? "" : worse ? "bad" : "good",
			 "sure", !isnan(c.lo) && (c.lo > 0 || c.hi < 0));
}

/* "64 MiB write: A 5.25 GB/s, B 3.46 GB/s, −34 % (−36 % to −31 % at 95 %)." */
static void
add_title(json_t *page, const struct row *subject)
{
	const json_t *records = json_object_get(page, "records");
	char title[768], size[OUT_QUANTITY];
	size_t len;

	snprintf(title, sizeof(title), "%s %s%s%s", out_size(subject->size, size),
		 strcmp(subject->dir, "bi") ? "" : "bidirectional ", subject->op,
		 row_is_latency(subject) ? ", half a round trip" : "");
	for (size_t i = 0; i < json_array_size(records); i++) {
		const json_t *c = json_object_get(json_array_get(records, i), "compared");
		const char *change = json_string_value(json_object_get(c, "change"));

		if (i && !change)
			continue;
		len = strlen(title);
		snprintf(title + len, sizeof(title) - len, "%s %c %s", i ? "," : ":",
			 (int)('A' + i), json_string_value(json_object_get(c, "figure")));
		len = strlen(title);
		if (change && (json_array_size(records) == 2 ||
			       json_is_true(json_object_get(c, "sure"))))
			snprintf(title + len, sizeof(title) - len, ", %s (%s)", change,
				 json_string_value(json_object_get(c, "under")));
	}
	json_object_set_new(page, "title", out_json(title));
}

/* ---- what differs ---------------------------------------------------------------- */

/* The value as text; NULL: none. */
static json_t *
value_text(const json_t *value)
{
	if (json_is_integer(value))
		return json_sprintf("%lld", (long long)json_integer_value(value));
	if (json_is_boolean(value))
		return json_string(json_is_true(value) ? "yes" : "no");
	return json_is_string(value) ? json_string(json_string_value(value)) : NULL;
}

/* Appends {name, values}, unless all of @values, whose reference it takes, are alike. */
static void
append_unless_alike(json_t *differs, const char *name, json_t *values)
{
	bool alike = true;

	for (size_t i = 1; i < json_array_size(values); i++)
		alike &= json_equal(json_array_get(values, i), json_array_get(values, 0));
	if (!alike)
		json_array_append_new(differs, json_pack("{s:s, s:O}", "name", name, "values",
							 values));
	json_decref(values);
}

/* Members of the object @part ("" the record itself) in each of the records. */
static void
compare_members(json_t *differs, const json_t *records, const char *part)
{
	/* of each run its own, or a figure */
	static const char skip[] = " schema started command json letter index wrong ctxt_switches "
				   "iters checked failed ";
	const json_t *first = json_array_get(records, 0), *value;
	const char *role = json_string_value(json_object_get(first, "role")), *name;
	bool self = role && !strcmp(role, "self"); /* its other end has another name each time */
	char word[80];

	if (*part)
		first = json_object_get(first, part);
	json_object_foreach((json_t *)first, name, value) {
		json_t *values = json_array();

		snprintf(word, sizeof(word), " %s ", name);
		for (size_t i = 0; i < json_array_size(records); i++) {
			const json_t *record = json_array_get(records, i);
			json_t *text = value_text(json_object_get(
				*part ? json_object_get(record, part) : record, name));

			json_array_append_new(values, text ? text : json_string(""));
		}
		if (strstr(skip, word) || json_is_real(value) || (self && !strcmp(name, "peer")))
			json_decref(values);
		else
			append_unless_alike(differs, name, values);
	}
}

/* @name's value in the list of {name, value}; "" where it has none. */
static const char *
value_of(const json_t *list, const char *name)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		if (!strcmp(json_string_value(json_object_get(one, "name")), name))
			return json_string_value(json_object_get(one, "value"));
	return "";
}

/* Settings, or variables, of any of the records. */
static void
compare_lists(json_t *differs, const json_t *records, const char *list)
{
	json_t *seen = json_object();
	const json_t *one;
	size_t k;

	for (size_t i = 0; i < json_array_size(records); i++)
		json_array_foreach(json_object_get(json_array_get(records, i), list), k, one) {
			const char *name = json_string_value(json_object_get(one, "name"));
			json_t *values = json_array();

			for (size_t r = 0; r < json_array_size(records); r++)
				json_array_append_new(values, json_string(value_of(
					json_object_get(json_array_get(records, r), list), name)));
			if (json_object_get(seen, name))
				json_decref(values);
			else
				append_unless_alike(differs, name, values);
			json_object_set_new(seen, name, json_true());
		}
	json_decref(seen);
}

/* What ended a run before its time comes first, as in the report of one record. */
static void
add_stops(json_t *page, const struct result *results, size_t n)
{
	char stop[512];
	bool failed = false;

	for (size_t i = n; i-- > 0;) {
		out_verdict_stop(&results[i], stop, sizeof(stop));
		failed |= results[i].failed.code[0] != '\0';
		if (stop[0])
			json_object_set_new(page, "title", json_sprintf("%c: %s %s", (int)('A' + i), stop,
				json_string_value(json_object_get(page, "title"))));
	}
	json_object_set_new(page, "failed", json_boolean(failed));
}

/* Right is what is right in all of them. */
static void
add_check(json_t *page, const struct result *results, size_t n)
{
	char check[256], text[300];
	bool right = true, all = true, in_part = false;

	snprintf(text, sizeof(text), "Verified: every byte of all records arrived as sent.");
	for (size_t i = n; i-- > 0;) {
		const struct result *r = &results[i];
		bool good = result_is_right(r) && !result_copied_nothing(r) && !r->failed.code[0];
		bool checked = r->rows.n > 0 && result_is_whole(r);

		for (size_t k = 0; k < r->rows.n; k++)
			checked &= r->rows.at[k].checked;
		for (size_t k = 0; k < r->rows.n; k++)
			in_part |= r->rows.at[k].checked || r->rows.at[k].compared > 0;
		if (!good || (right && !checked)) {
			out_verdict_check(r, check, sizeof(check));
			snprintf(text, sizeof(text), "%c: %s", (int)('A' + i), check);
		}
		right &= good;
		all &= checked;
	}
	template_add(page, json_pack("{s:o, s:b, s:b, s:b, s:s, s:s}", "check", out_json(text), "right",
				     right, "checked_all", all, "in_part", in_part, "limit", "", "congestion_told", ""));
}

void
compare_add(json_t *page, const struct result *results, size_t n)
{
	const struct row *subject = result_subject(&results[0]);
	json_t *records = json_object_get(page, "records"), *differs = json_array();

	for (size_t i = 0; i < n; i++)
		json_object_set_new(json_array_get(records, i), "compared",
				    compared(subject, row_like(&results[i], subject), i));
	add_title(page, subject);
	add_stops(page, results, n);
	add_check(page, results, n);
	compare_members(differs, records, "");
	compare_members(differs, records, "machine");
	compare_members(differs, records, "subject");
	compare_lists(differs, records, "settings");
	compare_lists(differs, records, "env");
	json_object_set_new(page, "differs", differs);
}
