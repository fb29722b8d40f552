/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The printer of each format, and the two without a layout: CSV, one column for each scalar
 * of the record's tables, and JSON, complete at the end.
 */
#include "measure/report/out.h"

#include <math.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "base/err.h"
#include "measure/report/out_layout.h"
#include "tool/out_text.h"
#include "measure/report/out_verdict.h"
#include "measure/report/result.h"
#include "measure/report/result_fields.h"
#include "tool/tool.h"

const char *const out_format_names[] = {
	[OUT_TABLE] = "table", [OUT_NCCL] = "nccl", [OUT_CSV] = "csv", [OUT_JSON] = "json", NULL
};

/* ---- CSV ------------------------------------------------------------------------- */

/* The objects around a scalar, innermost first. */
struct path {
	const struct path *outer;
	const char *name;
};

static void
csv_path(FILE *f, const struct path *path)
{
	if (!path)
		return;
	csv_path(f, path->outer);
	fprintf(f, "%s.", path->name);
}

/* The names of all scalars, objects flattened: "time_us.p50". Lists have no column. */
static void
csv_names(FILE *f, const struct shape *shape, const struct path *path, const char *separator)
{
	for (const struct field *d = shape->fields; d < shape->fields + shape->count; d++) {
		if (d->type == FIELD_LIST)
			continue;
		if (d->type == FIELD_OBJECT) {
			csv_names(f, d->shape, &(struct path){ path, d->name }, separator);
		} else {
			fputs(separator, f);
			csv_path(f, path);
			fputs(d->name, f);
		}
		separator = ",";
	}
}

static void
csv_value(FILE *f, const struct field *field, const char *place)
{
	switch (field->type) {
	case FIELD_COUNT:
		fprintf(f, "%llu", (unsigned long long)*(const uint64_t *)place);
		break;
	case FIELD_NUMBER:
		if (isfinite(*(const double *)place))
			fprintf(f, "%.9g", *(const double *)place);
		break;
	case FIELD_BOOL:
		fputs(*(const bool *)place ? "true" : "false", f);
		break;
	case FIELD_STRING:
		out_csv_text(f, place);
		break;
	default: /* a row has no scalar of another type */
		break;
	}
}

static void
csv_values(FILE *f, const struct shape *shape, const char *object, const char *separator)
{
	for (const struct field *d = shape->fields; d < shape->fields + shape->count; d++) {
		if (d->type == FIELD_LIST)
			continue;
		if (d->type == FIELD_OBJECT) {
			csv_values(f, d->shape, object + d->offset, separator);
		} else {
			fputs(separator, f);
			csv_value(f, d, object + d->offset);
		}
		separator = ",";
	}
}

static void
csv_head(FILE *f, const struct result *r, const struct out_view *v)
{
	csv_names(f, &row_shape, NULL, "");
	fputc('\n', f);
}

static void
csv_row(FILE *f, const struct result *r, const struct row *row,
	const struct out_view *v)
{
	csv_values(f, &row_shape, (const char *)row, "");
	fputc('\n', f);
}

/* ---- all ------------------------------------------------------------------------- */

static void
json_foot(FILE *f, const struct result *r, const struct out_view *v)
{
	char *text = result_text(r);

	if (text)
		fprintf(f, "%s\n", text);
	free(text);
}

static const struct out_layout {
	void (*head)(FILE *f, const struct result *r, const struct out_view *v);
	void (*row)(FILE *f, const struct result *r, const struct row *row,
		    const struct out_view *v);
	void (*foot)(FILE *f, const struct result *r, const struct out_view *v);
} layouts[] = {
	[OUT_TABLE] = { out_table_head, out_table_row, out_table_foot },
	[OUT_NCCL] = { out_nccl_head, out_nccl_row, out_nccl_foot },
	[OUT_CSV] = { csv_head, csv_row, NULL },
	[OUT_JSON] = { NULL, NULL, json_foot },
};

void
out_head(FILE *f, enum out_format format, const struct result *r, const struct out_view *v)
{
	if (layouts[format].head)
		layouts[format].head(f, r, v);
	fflush(f);
}

void
out_row(FILE *f, enum out_format format, const struct result *r, const struct row *row,
	const struct out_view *v)
{
	if (layouts[format].row)
		layouts[format].row(f, r, row, v);
	fflush(f);
}

void
out_foot(FILE *f, enum out_format format, const struct result *r, const struct out_view *v)
{
	if (layouts[format].foot)
		layouts[format].foot(f, r, v);
	fflush(f);
}

void
out_all(FILE *f, enum out_format format, const struct result *r, const struct out_view *v)
{
	struct out_view view = *v;

	view.lat = r->rows.n && row_is_latency(&r->rows.at[0]);
	out_head(f, format, r, &view);
	for (size_t i = 0; i < r->rows.n; i++)
		out_row(f, format, r, &r->rows.at[i], &view);
	out_foot(f, format, r, &view);
}

unsigned
out_width(FILE *f)
{
	struct winsize size;

	return ioctl(fileno(f), TIOCGWINSZ, &size) || !size.ws_col ? OUT_COLUMNS : size.ws_col;
}
