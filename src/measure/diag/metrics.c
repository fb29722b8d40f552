/* SPDX-License-Identifier: Apache-2.0 */
/* From lines to figures. The head of a table names its columns. */
#include "measure/diag/metrics.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

enum { TABLE_NONE, TABLE_OURS }; /* rows of nccl-tests are recognised without a head */

#define COUNT_MAX 1e12 /* of a figure that becomes a uint64_t */
#define WORDS 24

void
diag_metrics_init(struct diag_metrics *m)
{
	*m = (struct diag_metrics){ .avg_busbw_GBps = NAN, .time_us = NAN };
}

void
diag_metrics_fini(struct diag_metrics *m)
{
	free(m->at);
	m->at = NULL;
	m->n = m->room = 0;
}

const char *
diag_kind_name(enum diag_kind kind)
{
	return kind == DIAG_NCCL ? "nccl" : kind == DIAG_P2P ? "p2p" : NULL;
}

static void
add(struct diag_metrics *m, enum diag_kind kind, const struct diag_point *point)
{
	struct diag_point *larger;

	if (m->n == DIAG_POINTS_MAX)
		return;
	if (m->n == m->room) {
		m->room = m->room ? 2 * m->room : 32;
		larger = realloc(m->at, m->room * sizeof(*larger));
		if (!larger)
			return;
		m->at = larger;
	}
	m->at[m->n++] = *point;
	/* tcpx perf prints nccl-tests' table, too, below a line of its own */
	if (m->kind == DIAG_NOTHING)
		m->kind = kind;
}

/* ---- words ------------------------------------------------------------------------ */

static bool
to_count(const char *word, uint64_t *v)
{
	char *end;

	if (!isdigit((unsigned char)*word))
		return false;
	*v = strtoull(word, &end, 10);
	return *end == '\0' && *v < UINT64_MAX;
}

/* A number that is not negative; NAN: not such a number, as "N/A" and "-". */
static double
to_real(const char *word)
{
	char *end;
	double v;

	if (!isdigit((unsigned char)*word))
		return NAN;
	v = strtod(word, &end);
	return *end == '\0' && isfinite(v) ? v : NAN;
}

/* The number behind @key; NAN: none. */
static double
real_behind(const char *line, const char *key)
{
	const char *at = strstr(line, key);
	double v;
	char *end;

	if (!at)
		return NAN;
	at += strlen(key);
	at += strspn(at, " \t");
	if (!isdigit((unsigned char)*at))
		return NAN;
	v = strtod(at, &end);
	return isfinite(v) ? v : NAN;
}

static bool
count_behind(const char *line, const char *key, uint64_t *v)
{
	double real = real_behind(line, key);

	if (!(real >= 0) || real > 1e18)
		return false;
	*v = (uint64_t)real;
	return true;
}

static unsigned
split(char *line, char *words[WORDS])
{
	unsigned n = 0;
	char *rest;

	for (char *w = strtok_r(line, " \t\r", &rest); w && n < WORDS;
	     w = strtok_r(NULL, " \t\r", &rest))
		words[n++] = w;
	return n;
}

/* ---- rows ------------------------------------------------------------------------- */

/* size count type redop [root] time algbw busbw #wrong [time algbw busbw #wrong] */
static bool
take_nccl(struct diag_metrics *m, char *const *w, unsigned n)
{
	struct diag_point p = { .iters = m->iters };
	unsigned half = n >= 13 || n == 9 ? 5 : 4, end;
	uint64_t count;

	if (n < 8 || !to_count(w[0], &p.size) || !to_count(w[1], &count) ||
	    !isalpha((unsigned char)w[2][0]) || !isalpha((unsigned char)w[3][0]))
		return false;
	end = n >= half + 8 ? half + 8 : half + 4;
	for (unsigned i = half; i + 4 <= end && i + 4 <= n; i += 4) {
		p.time_us = to_real(w[i]);
		p.algbw_GBps = to_real(w[i + 1]);
		p.busbw_GBps = to_real(w[i + 2]);
		p.wrong = to_real(w[i + 3]);
		if (isnan(p.time_us) || isnan(p.busbw_GBps))
			return false;
		add(m, DIAG_NCCL, &p);
		if (m->kind != DIAG_NCCL)
			break; /* our own row repeats the first half */
		snprintf(p.label, sizeof(p.label), "in-place");
	}
	return true;
}

/* The byte behind the first @chars characters. */
static const char *
behind(const char *line, size_t chars)
{
	for (; *line && chars; line++)
		chars -= (line[1] & 0xc0) != 0x80;
	return line;
}

/* The number of the cell that ends where @column ends in the heading; a time in us, a size in
 * bytes. NAN: no such column, an empty cell. */
static double
cell(const struct diag_metrics *m, const char *line, const char *column)
{
	static const struct { const char *name; double us; } units[] = {
		{ "ns", 1e-3 }, { "\u00b5s", 1 }, { "ms", 1e3 }, { "s", 1e6 },
	};
	const char *at = strstr(m->head, column), *end;
	double us = 0;
	char text[32];
	uint64_t size;

	if (!at)
		return NAN;
	end = behind(line, (size_t)(at - m->head) + strlen(column));
	if (end == line || end[-1] == ' ' || (*end && *end != ' '))
		return NAN;
	for (at = end; at > line && at[-1] != ' '; at--)
		;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (strlen(units[i].name) == (size_t)(end - at) &&
		    !strncmp(at, units[i].name, (size_t)(end - at)))
			us = units[i].us;
	if (us > 0) /* the number stands before its unit */
		for (end = at - 1, at = end; at > line && at[-1] != ' '; at--)
			;
	snprintf(text, sizeof(text), "%.*s", (int)(end - at), at);
	if (us > 0)
		return to_real(text) * us;
	return tcpx_parse_size(text, &size) ? to_real(text) : (double)size;
}

/* A row of our table, under its heading. */
static void
take_ours(struct diag_metrics *m, const char *line)
{
	bool bi = strstr(m->head, "both GB/s") != NULL, lat = !strstr(m->head, "GB/s");
	double size = cell(m, line, "  size"), iters = cell(m, line, " iters");
	struct diag_point p = {
		.time_us = cell(m, line, lat ? "  p50" : " time"),
		.algbw_GBps = cell(m, line, bi ? "each GB/s" : "  GB/s"),
		.busbw_GBps = cell(m, line, bi ? "both GB/s" : "  GB/s"),
		.wrong = cell(m, line, " wrong"),
	};

	if (!(size >= 0 && size < COUNT_MAX) || !(iters >= 1 && iters < COUNT_MAX) ||
	    !(p.time_us >= 0))
		return;
	p.size = (uint64_t)size;
	p.iters = (uint64_t)iters;
	add(m, DIAG_P2P, &p);
}

/* ---- heads ------------------------------------------------------------------------ */

static void
set_operation(struct diag_metrics *m, const char *word)
{
	const char *slash = strrchr(word, '/'), *end;
	int len;

	word = slash ? slash + 1 : word;
	end = strstr(word, "_perf");
	if (!end || end == word)
		return;
	len = (int)(end - word);
	snprintf(m->operation, sizeof(m->operation), "%.*s", len < 31 ? len : 31, word);
}

void
diag_metrics_command(struct diag_metrics *m, char *const *words)
{
	for (; *words; words++) {
		size_t len = strlen(*words);

		if (len > 5 && !strcmp(*words + len - 5, "_perf"))
			set_operation(m, *words);
	}
}

/* "warmup iters: 5 iters: 20 agg iters: 1": the number without a word before "iters". */
static void
find_iters(struct diag_metrics *m, const char *line)
{
	for (const char *at = line; (at = strstr(at, " iters: ")) != NULL; at++) {
		if ((at - line >= 6 && !strncmp(at - 6, "warmup", 6)) ||
		    (at - line >= 3 && !strncmp(at - 3, "agg", 3)))
			continue;
		count_behind(at, " iters: ", &m->iters);
		return;
	}
}

static void
take_head(struct diag_metrics *m, const char *line)
{
	const char *at;

	if (!strncmp(line, "# tcpx ", 7)) {
		m->kind = m->kind ? m->kind : DIAG_P2P;
		m->table = TABLE_NONE;
	} else if (!strncmp(line, "#    size", 9)) {
		m->table = TABLE_OURS;
		snprintf(m->head, sizeof(m->head), "%s", line);
	} else if ((at = strstr(line, "Collective test starting: ")) != NULL) {
		set_operation(m, at + strlen("Collective test starting: "));
	} else if (strstr(line, "Avg bus bandwidth")) {
		m->avg_busbw_GBps = real_behind(line, ": ");
	} else {
		find_iters(m, line);
	}
}

/* ---- lines of the p2p benchmark --------------------------------------------------- */

/* "GPU 3: [PERF] Avg ..." */
static void
label_of(const struct diag_metrics *m, const char *line, struct diag_point *p)
{
	uint64_t gpu;
	const char *colon = strstr(line, ": [PERF]");

	snprintf(p->label, sizeof(p->label), "%s", m->label);
	if (colon && !strncmp(line, "GPU ", 4) && count_behind(line, "GPU ", &gpu))
		snprintf(p->label, sizeof(p->label), "GPU %u", (unsigned)gpu);
}

static void
take_perf(struct diag_metrics *m, const char *line)
{
	struct diag_point p = { .size = m->size, .wrong = NAN };
	double v;

	if (!(v = real_behind(line, "[PERF] GPU:"), isnan(v)))
		snprintf(m->label, sizeof(m->label), "GPU %u", (unsigned)(v < 1e6 ? v : 0));
	if (!(v = real_behind(line, "[PERF] Size:"), isnan(v)) && v < 1e9)
		m->size = (uint64_t)(v * (1 << 20)); /* its MB are powers of 1024 */
	count_behind(line, "[PERF] Iterations:", &m->iters);
	count_behind(line, "[PERF] Window:", &m->window);
	if (!strstr(line, "[PERF] Avg (") || !count_behind(line, "[PERF] Avg (", &p.iters))
		return;
	p.time_us = real_behind(line, "iter):") * 1e3;
	p.algbw_GBps = p.busbw_GBps = real_behind(line, "BW:");
	label_of(m, line, &p);
	if (!isnan(p.time_us) && !isnan(p.algbw_GBps))
		add(m, DIAG_P2P, &p);
}

/* The other form: two lines. */
static void
take_total(struct diag_metrics *m, const char *line)
{
	struct diag_point p = { .size = m->size, .iters = m->iters, .wrong = NAN };
	double v = real_behind(line, "Total time:");

	if (!isnan(v))
		m->time_us = v * 1e3;
	v = real_behind(line, "Bandwidth:");
	if (isnan(v) || isnan(m->time_us))
		return;
	p.time_us = m->time_us;
	p.algbw_GBps = p.busbw_GBps = v;
	snprintf(p.label, sizeof(p.label), "%s", m->label);
	add(m, DIAG_P2P, &p);
	m->time_us = NAN;
}

/* ---- lines ------------------------------------------------------------------------ */

/* "[1,0]<stdout>: text", as mpirun marks lines. */
static char *
behind_tag(char *line)
{
	size_t n = strspn(line, "[0123456789,]");
	char *end;

	if (*line != '[' || n < 3 || strncmp(line + n, "<std", 4) != 0)
		return line;
	end = strchr(line + n, '>');
	if (!end)
		return line;
	end++;
	return end + strspn(end, ": ");
}

static void
take_line(struct diag_metrics *m, char *line)
{
	char *words[WORDS], row[sizeof(m->line) + 1];

	line = behind_tag(line);
	snprintf(row, sizeof(row), "%s", line); /* with its blanks: columns have places */
	line += strspn(line, " \t");
	if (*line == '#') {
		take_head(m, line);
		return;
	}
	if (strstr(line, "[PERF]")) {
		take_perf(m, line);
		return;
	}
	if (strstr(line, "Total time:") || strstr(line, "Bandwidth:")) {
		take_total(m, line);
		return;
	}
	if (!isdigit((unsigned char)*line))
		return;
	if (!take_nccl(m, words, split(line, words)) && m->table == TABLE_OURS)
		take_ours(m, row);
}

void
diag_metrics_feed(struct diag_metrics *m, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '\n')
			diag_metrics_end(m);
		else if (m->line_len < DIAG_LINE - 1 && bytes[i])
			m->line[m->line_len++] = bytes[i];
	}
}

void
diag_metrics_end(struct diag_metrics *m)
{
	m->line[m->line_len] = '\0';
	m->line_len = 0;
	take_line(m, m->line);
}
