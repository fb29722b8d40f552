/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are appended and synced, other files replaced by renaming: the folder is consistent
 * whenever the process or the machine stops.
 */
#include "measure/matrix/store.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/output.h"
#include "tool/shape.h"

#define ROW_BYTES 1024

static const char head[] = "block,attempt,order,cell,start,seconds,exit,valid,figure,reason\n";

void
matrix_run_id(const struct matrix_run *run, char *buf, size_t cap)
{
	if (run->block > 0)
		snprintf(buf, cap, "b%02da%u-%s", run->block, run->attempt, run->cell);
	else
		snprintf(buf, cap, "w%02da%u-%s", 1 - run->block, run->attempt, run->cell);
}

void
matrix_store_path(const struct matrix_store *s, const char *name, char out[MATRIX_PATH])
{
	snprintf(out, MATRIX_PATH, "%s/%s", s->dir, name);
}

/* ---- rows ------------------------------------------------------------------------ */

/* The next field of a CSV line, unquoted in place; NULL: there is none. */
static char *
field_next(char **rest)
{
	char *begin = *rest, *to;

	if (!begin)
		return NULL;
	if (*begin != '"')
		return strsep(rest, ",");
	to = ++begin;
	for (char *c = begin; *c; c++) {
		if (*c == '"' && c[1] == '"') {
			c++;
		} else if (*c == '"') {
			*rest = c[1] == ',' ? c + 2 : NULL;
			*to = '\0';
			return c[1] == ',' || !c[1] ? begin : NULL;
		}
		*to++ = *c;
	}
	return NULL;
}

static bool
whole(const char *text, long min, long max, long *out)
{
	char *end;

	errno = 0;
	*out = strtol(text, &end, 10);
	return *text && !*end && !errno && *out >= min && *out <= max;
}

static bool
real(const char *text, double *out)
{
	char *end;

	*out = *text ? strtod(text, &end) : NAN;
	return !*text || (!*end && isfinite(*out));
}

static bool
keep_text(const char *text, char *out, size_t cap)
{
	if (strlen(text) >= cap)
		return false;
	snprintf(out, cap, "%s", text);
	return true;
}

int
matrix_row_parse(const char *line, struct matrix_run *run)
{
	char copy[ROW_BYTES], *rest = copy, *f[10];
	struct matrix_run r = { .block = 0 };
	long block, attempt, order, code, valid;

	if (strlen(line) >= sizeof(copy))
		return -EINVAL;
	snprintf(copy, sizeof(copy), "%s", line);
	for (size_t i = 0; i < 10; i++)
		if (!(f[i] = field_next(&rest)))
			return -EINVAL;
	if (rest || !whole(f[0], -100, MATRIX_BLOCKS_MAX, &block) ||
	    !whole(f[1], 1, 1000000, &attempt) || !whole(f[2], 1, MATRIX_CELLS_MAX, &order) ||
	    !keep_text(f[3], r.cell, sizeof(r.cell)) ||
	    !keep_text(f[4], r.start, sizeof(r.start)) || !real(f[5], &r.seconds) ||
	    !whole(f[6], 0, 255, &code) || !whole(f[7], 0, 1, &valid) || !real(f[8], &r.figure) ||
	    !keep_text(f[9], r.reason, sizeof(r.reason)))
		return -EINVAL;
	if (valid && !(r.figure > 0))
		return -EINVAL; /* a valid run has a figure above 0: its logarithm is used */
	r.block = (int)block;
	r.attempt = (unsigned)attempt;
	r.order = (unsigned)order;
	r.code = (int)code;
	r.valid = valid != 0;
	*run = r;
	return 0;
}

static void
quoted(const char *text, char *out, size_t cap)
{
	size_t at = 0;

	out[at++] = '"';
	for (; *text && at + 4 < cap; text++) {
		if (*text == '"')
			out[at++] = '"';
		out[at++] = (unsigned char)*text < ' ' ? ' ' : *text;
	}
	out[at++] = '"';
	out[at] = '\0';
}

int
matrix_row_format(const struct matrix_run *run, char *buf, size_t cap)
{
	char cell[256], reason[2 * MATRIX_WHY + 8], figure[32] = "";

	quoted(run->cell, cell, sizeof(cell));
	quoted(run->reason, reason, sizeof(reason));
	if (isfinite(run->figure))
		snprintf(figure, sizeof(figure), "%.9g", run->figure);
	return snprintf(buf, cap, "%d,%u,%u,%s,%s,%.3f,%d,%d,%s,%s\n", run->block, run->attempt,
			run->order, cell, run->start, run->seconds, run->code, run->valid, figure,
			reason);
}

/* ---- the folder ------------------------------------------------------------------ */

static int
lock_take(struct matrix_store *s)
{
	char path[MATRIX_PATH];

	matrix_store_path(s, "results.csv", path);
	s->lock = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (s->lock < 0)
		return tcpx_fail_errno(TCPX_SUB_TOOL, "open %s", path);
	if (!flock(s->lock, LOCK_EX | LOCK_NB))
		return 0;
	return tcpx_fail(TCPX_SUB_TOOL, -EBUSY, "%s: another process works on this study", s->dir);
}

static int
folder_make(const char *path)
{
	if (!mkdir(path, 0755) || errno == EEXIST)
		return 0;
	return tcpx_fail_errno(TCPX_SUB_TOOL, "make folder %s", path);
}

static int
dir_take(struct matrix_store *s, const char *dir)
{
	*s = (struct matrix_store){ .lock = -1 };
	if (!*dir || strlen(dir) >= sizeof(s->dir))
		return tcpx_fail(TCPX_SUB_TOOL, -EINVAL, "folder '%.60s': a path of 1 to %zu bytes "
				 "is allowed", dir, sizeof(s->dir) - 1);
	snprintf(s->dir, sizeof(s->dir), "%s", dir);
	return 0;
}

int
matrix_store_create(struct matrix_store *s, const char *dir)
{
	char path[MATRIX_PATH];
	int rc = dir_take(s, dir);

	rc = rc ? rc : folder_make(dir);
	matrix_store_path(s, "runs", path);
	rc = rc ? rc : folder_make(path);
	matrix_store_path(s, "raw", path);
	rc = rc ? rc : folder_make(path);
	matrix_store_path(s, "results.csv", path);
	if (!rc && !access(path, F_OK))
		rc = tcpx_fail(TCPX_SUB_TOOL, -EEXIST, "%s holds a study; go on with it by `tcpx "
			       "matrix resume`, or choose another folder", dir);
	rc = rc ? rc : lock_take(s);
	if (!rc && write(s->lock, head, sizeof(head) - 1) != (ssize_t)sizeof(head) - 1)
		rc = tcpx_fail_errno(TCPX_SUB_TOOL, "write %s", path);
	if (rc)
		matrix_store_close(s);
	return rc;
}

static int
rows_load(struct matrix_store *s, char *text, const char *path)
{
	char *line, *rest = text;
	unsigned number = 0;

	while ((line = strsep(&rest, "\n")) != NULL && rest) {
		if (!number++) {
			if (strncmp(line, head, strlen(line)) || !*line)
				return tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG,
						 "%s: the first line is not %.*s", path,
						 (int)sizeof(head) - 2, head);
			continue;
		}
		if (matrix_row_parse(line, list_grow(&s->runs, &s->n, sizeof(*s->runs))))
			return tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "%s line %u is no row of "
					 "results: %.80s", path, number, line);
	}
	return 0;
}

/* Cuts what follows the last line end: a row cut short by a kill. */
static int
tail_cut(const struct matrix_store *s, const char *text, size_t len, const char *path)
{
	const char *end = len ? memrchr(text, '\n', len) : NULL;
	size_t good = end ? (size_t)(end - text) + 1 : 0;

	if (good == len)
		return 0;
	if (ftruncate(s->lock, (off_t)good))
		return tcpx_fail_errno(TCPX_SUB_TOOL, "cut half a row off %s", path);
	return good ? 0 : write(s->lock, head, sizeof(head) - 1) < 0 ? -errno : 0;
}

int
matrix_store_open(struct matrix_store *s, const char *dir, bool lock)
{
	char path[MATRIX_PATH], *text;
	size_t len = 0;
	int rc = dir_take(s, dir);

	if (rc)
		return rc;
	matrix_store_path(s, "results.csv", path);
	text = matrix_file_read(path, &len);
	if (!text)
		return tcpx_fail(TCPX_SUB_TOOL, errno ? -errno : -EIO, "%s holds no study: %s", dir,
				 strerror(errno));
	if (lock)
		rc = lock_take(s);
	if (!rc && lock)
		rc = tail_cut(s, text, len, path);
	rc = rc ? rc : rows_load(s, text, path);
	free(text);
	if (rc)
		matrix_store_close(s);
	return rc;
}

void
matrix_store_close(struct matrix_store *s)
{
	if (s->lock >= 0)
		close(s->lock);
	free(s->runs);
	s->lock = -1;
	s->runs = NULL;
	s->n = 0;
}

int
matrix_store_add(struct matrix_store *s, const struct matrix_run *run, json_t *detail)
{
	char id[200], name[240], row[ROW_BYTES];
	int len, rc;

	matrix_run_id(run, id, sizeof(id));
	snprintf(name, sizeof(name), "runs/%s.json", id);
	rc = matrix_store_write(s, name, detail);
	json_decref(detail);
	len = matrix_row_format(run, row, sizeof(row));
	if (!rc && (write(s->lock, row, (size_t)len) != len || fsync(s->lock)))
		rc = tcpx_fail_errno(TCPX_SUB_TOOL, "write results.csv of %s", s->dir);
	if (!rc)
		*(struct matrix_run *)list_grow(&s->runs, &s->n, sizeof(*run)) = *run;
	return rc;
}

int
matrix_store_write(const struct matrix_store *s, const char *name, const json_t *json)
{
	char path[MATRIX_PATH];
	struct output out;
	bool failed;
	int rc;

	matrix_store_path(s, name, path);
	rc = output_open(&out, path);
	if (!rc) {
		failed = json_dumpf(json, out.f, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) < 0;
		failed |= fputc('\n', out.f) == EOF || fflush(out.f) || fsync(fileno(out.f));
		rc = output_close(&out, failed);
	}
	return rc ? tcpx_fail(TCPX_SUB_TOOL, rc, "write %s", path) : 0;
}

json_t *
matrix_store_read(const struct matrix_store *s, const char *name)
{
	char path[MATRIX_PATH];
	json_error_t error;
	json_t *json;

	matrix_store_path(s, name, path);
	json = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (json && !json_is_object(json)) {
		json_decref(json);
		json = NULL;
		snprintf(error.text, sizeof(error.text), "no object");
	}
	if (!json)
		tcpx_fail(TCPX_SUB_TOOL, TCPX_ECONFIG, "%s: line %d: %.120s", path, error.line,
			  error.text);
	return json;
}

unsigned
matrix_store_attempt(const struct matrix_store *s, int block)
{
	unsigned attempt = 0;

	for (size_t i = 0; i < s->n; i++)
		if (s->runs[i].block == block && s->runs[i].attempt > attempt)
			attempt = s->runs[i].attempt;
	return attempt;
}
