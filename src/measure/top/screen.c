/* SPDX-License-Identifier: Apache-2.0 */
/* The screens of tcpx top: a line an engine, and one engine opened. */
#include "measure/top/screen.h"

#include <stdlib.h>
#include <string.h>

#include "measure/top/top.h"
#include "measure/top/detail.h"

#define GB       1e9
#define WIDE     100 /* columns from which bars are longer */
#define AROUND   3   /* lines of a screen that are no list: title, heading, keys */

static const char *const sort_names[TOP_SORTS] = { "rate", "pid", "command", "resent" };

enum top_key
top_key(const char *bytes, size_t len, size_t *used)
{
	static const struct {
		const char *bytes;
		enum top_key key;
	} keys[] = {
		{ "\033[A", TOP_KEY_UP }, { "\033OA", TOP_KEY_UP }, { "k", TOP_KEY_UP },
		{ "\033[B", TOP_KEY_DOWN }, { "\033OB", TOP_KEY_DOWN }, { "j", TOP_KEY_DOWN },
		{ "\033[C", TOP_KEY_OPEN }, { "\033OC", TOP_KEY_OPEN }, { "\r", TOP_KEY_OPEN },
		{ "\n", TOP_KEY_OPEN }, { "\033[D", TOP_KEY_BACK }, { "\033OD", TOP_KEY_BACK },
		{ "\177", TOP_KEY_BACK }, { "s", TOP_KEY_SORT }, { "i", TOP_KEY_IDLE },
		{ "\033[5~", TOP_KEY_PAGE_UP }, { "\033[6~", TOP_KEY_PAGE_DOWN },
		{ "q", TOP_KEY_QUIT }, { "Q", TOP_KEY_QUIT },
	};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t n = strlen(keys[i].bytes);

		if (len >= n && !memcmp(bytes, keys[i].bytes, n)) {
			*used = n;
			return keys[i].key;
		}
	}
	*used = bytes[0] == '\033' && len < 3 ? 0 : 1;
	/* an unknown sequence ends with a letter or ~ */
	if (bytes[0] == '\033' && len >= 3)
		for (*used = 2; *used < len && (bytes[*used - 1] < '@' || *used == 2); )
			++*used;
	return TOP_KEY_NONE;
}

static void
identity(const json_t *engine, char id[80])
{
	char name[40];

	snprintf(id, 80, "%.0f %s", top_number(engine, "pid"),
		 top_clean(top_string(engine, "incarnation"), name, sizeof(name)));
}

static double
total(const json_t *engine, const char *key)
{
	return top_per_s(json_object_get(engine, "totals"), key);
}

static double
resent(const json_t *engine)
{
	const json_t *nic;
	double sum = 0;
	size_t i;

	json_array_foreach(top_list(engine, "nics"), i, nic)
		sum += top_per_s(nic, "retransmits");
	return sum;
}

static int
compare(const void *a, const void *b, void *arg)
{
	const json_t *x = *(const json_t *const *)a, *y = *(const json_t *const *)b;
	enum top_sort sort = *(enum top_sort *)arg;
	double p = 0, q = 0;
	int words = 0;

	if (sort == TOP_BY_COMMAND)
		words = strcmp(top_string(x, "command"), top_string(y, "command"));
	if (sort == TOP_BY_RATE) {
		p = total(y, "bytes_tx") + total(y, "bytes_rx");
		q = total(x, "bytes_tx") + total(x, "bytes_rx");
	} else if (sort == TOP_BY_RESENT) {
		p = resent(y);
		q = resent(x);
	}
	if (words)
		return words;
	if (p == q) {
		p = top_number(x, "pid");
		q = top_number(y, "pid");
	}
	return p < q ? -1 : p > q;
}

/* The engines in the screen's order; free(). NULL: none, or no memory. */
static const json_t **
sorted(const struct top_screen *s, const json_t *doc, size_t *n)
{
	const json_t *list = top_list(doc, "engines");
	enum top_sort sort = s->sort;
	const json_t **at;
	size_t i;

	*n = json_array_size(list);
	at = *n ? malloc(*n * sizeof(*at)) : NULL;
	if (!at) {
		*n = 0;
		return NULL;
	}
	for (i = 0; i < *n; i++)
		at[i] = json_array_get(list, i);
	qsort_r(at, *n, sizeof(*at), compare, &sort);
	return at;
}

/* The index of the chosen engine; the first, where none is chosen or it has gone. */
static size_t
chosen_index(const struct top_screen *s, const json_t **at, size_t n)
{
	char id[80];
	size_t i;

	for (i = 0; i < n; i++) {
		identity(at[i], id);
		if (!strcmp(id, s->chosen))
			return i;
	}
	return 0;
}

static unsigned
page(const struct top_screen *s)
{
	return s->rows > AROUND + 1 ? s->rows - AROUND : 1;
}

static void
move(struct top_screen *s, const json_t *doc, long by)
{
	const json_t **at;
	size_t n, i;

	if (s->opened) { /* the drawing limits it */
		s->first = by < 0 && (unsigned long)-by > s->first ? 0 : (unsigned)(s->first + by);
		return;
	}
	at = sorted(s, doc, &n);
	if (!n)
		return;
	i = chosen_index(s, at, n);
	i = by < 0 ? (i > (size_t)-by ? i - (size_t)-by : 0) :
	    i + (size_t)by < n ? i + (size_t)by : n - 1;
	identity(at[i], s->chosen);
	free(at);
}

bool
top_press(struct top_screen *s, const json_t *doc, enum top_key key)
{
	switch (key) {
	case TOP_KEY_UP:
		move(s, doc, -1);
		break;
	case TOP_KEY_DOWN:
		move(s, doc, 1);
		break;
	case TOP_KEY_PAGE_UP:
		move(s, doc, -(long)page(s));
		break;
	case TOP_KEY_PAGE_DOWN:
		move(s, doc, (long)page(s));
		break;
	case TOP_KEY_OPEN:
		move(s, doc, 0);
		s->opened = true;
		s->first = 0;
		break;
	case TOP_KEY_BACK:
		s->opened = false;
		break;
	case TOP_KEY_SORT:
		s->sort = (enum top_sort)((s->sort + 1) % TOP_SORTS);
		break;
	case TOP_KEY_IDLE:
		s->idle = !s->idle;
		break;
	case TOP_KEY_QUIT:
		return false;
	case TOP_KEY_NONE:
		break;
	}
	return true;
}

/* ---- drawing ---- */

/* Adds one line that fits the screen; what is cut off leaves ".." */
static void
line(struct tcpx_text *t, const struct top_screen *s, char mark, const char *text)
{
	char fits[512];

	tcpx_text_add(t, "%c%s\n", mark,
		      top_fit(text, s->columns > 1 ? s->columns - 1 : 1, fits, sizeof(fits)));
}

/* Of all NICs in bytes a second; 0: not known. */
static double
link_rate(const json_t *engine)
{
	const json_t *nic;
	double sum = 0;
	size_t i;

	json_array_foreach(top_list(engine, "nics"), i, nic) {
		if (top_link_Bps(nic) <= 0)
			return 0;
		sum += top_link_Bps(nic);
	}
	return sum;
}

/* Columns of the list: without any known link there are no bars. */
struct layout {
	unsigned bar, direction, room;
};

static struct layout
layout_of(const struct top_screen *s, const json_t **at, size_t n)
{
	struct layout l = { 0, strlen("1234.678"), 8 };
	unsigned fixed;
	size_t i;

	for (i = 0; i < n; i++)
		if (link_rate(at[i]) > 0)
			l.bar = s->columns >= WIDE ? 10 : 5;
	if (l.bar)
		l.direction += 1 + l.bar + strlen(" 100%");
	fixed = strlen(" 1234567") + strlen(" peers") + 2 * (l.direction + 1) + strlen(" resent/s") + 1;
	if (s->columns > fixed + l.room)
		l.room = s->columns - fixed;
	return l;
}

/* "   1.250 |||||   45%" */
static void
direction(char *to, size_t cap, double rate, double of, const struct layout *l)
{
	unsigned full = of > 0 ? (unsigned)(rate / of * l->bar + 0.5) : 0, i;
	char drawn[32], share[16] = "-";
	int len = snprintf(to, cap, "%8.3f", rate / GB);

	for (i = 0; i < l->bar; i++)
		drawn[i] = i < full ? '|' : of > 0 ? '.' : ' ';
	drawn[i] = '\0';
	if (of > 0)
		snprintf(share, sizeof(share), "%.0f%%", rate / of * 100);
	if (l->bar)
		snprintf(to + len, cap - (size_t)len, " %s %4s", drawn, share);
}

static void
engine_line(struct tcpx_text *t, const struct top_screen *s, const json_t *e, bool chosen,
	    const struct layout *l)
{
	char command[256], fits[256], out[64], in[64], text[512];
	double link = link_rate(e);

	top_clean(top_string(e, "command"), command, sizeof(command));
	direction(out, sizeof(out), total(e, "bytes_tx"), link, l);
	direction(in, sizeof(in), total(e, "bytes_rx"), link, l);
	snprintf(text, sizeof(text), "%7.0f %-*s %5zu %s %s %8.0f", top_number(e, "pid"),
		 (int)l->room, top_fit(command, l->room, fits, sizeof(fits)),
		 json_array_size(top_list(e, "sessions")), out, in, resent(e));
	line(t, s, chosen ? '>' : ' ', text);
}

static void
heading(struct tcpx_text *t, const struct top_screen *s, const struct layout *l)
{
	char text[512];

	snprintf(text, sizeof(text), "%7s %-*s %5s %-*s %-*s %8s", "pid", (int)l->room, "command",
		 "peers", (int)l->direction, l->bar ? "out GB/s of link" : "out GB/s",
		 (int)l->direction, l->bar ? " in GB/s of link" : " in GB/s", "resent/s");
	line(t, s, '#', text);
}

static void
title(struct tcpx_text *t, const struct top_screen *s, const json_t *doc, size_t n)
{
	size_t silent = json_array_size(top_list(doc, "silent")), i;
	char text[256];
	double out = 0, in = 0;
	const json_t *e;
	int len;

	json_array_foreach(top_list(doc, "engines"), i, e) {
		out += total(e, "bytes_tx");
		in += total(e, "bytes_rx");
	}
	len = snprintf(text, sizeof(text), "tcpx top  %zu engine%s  out %.3f GB/s  in %.3f GB/s", n,
		       n == 1 ? "" : "s", out / GB, in / GB);
	if (silent)
		snprintf(text + len, sizeof(text) - (size_t)len, "  %zu without an answer", silent);
	line(t, s, '#', text);
}

static void
draw_list(struct tcpx_text *t, struct top_screen *s, const json_t *doc)
{
	const json_t **at;
	size_t n, i, cursor, first, end;
	struct layout l;
	char keys[160];

	at = sorted(s, doc, &n);
	l = layout_of(s, at, n);
	cursor = chosen_index(s, at, n);
	first = cursor >= page(s) ? cursor - page(s) + 1 : 0;
	end = first + page(s) < n ? first + page(s) : n;
	title(t, s, doc, n);
	heading(t, s, &l);
	if (!n)
		line(t, s, ' ', " no engine is running");
	for (i = first; i < end; i++)
		engine_line(t, s, at[i], i == cursor, &l);
	for (i = end - first + !n; i < page(s); i++)
		line(t, s, ' ', "");
	if (end - first < n)
		snprintf(keys, sizeof(keys), "%zu-%zu of %zu  ", first + 1, end, n);
	else
		keys[0] = '\0';
	snprintf(keys + strlen(keys), sizeof(keys) - strlen(keys),
		 "arrows choose  Enter opens  s sorts (by %s)  q quits", sort_names[s->sort]);
	line(t, s, '#', keys);
	free(at);
}

static void
draw_engine(struct tcpx_text *t, struct top_screen *s, const json_t *engine)
{
	unsigned rows = s->rows > 2 ? s->rows - 1 : 1, count = 0, i = 0;
	struct tcpx_text all = { .at = NULL };
	char *text, *rest, *at, keys[160];

	top_detail(&all, engine, s->columns, s->idle);
	if (tcpx_text_detach(&all, &text) < 0)
		return;
	for (at = text; *at; at++)
		count += *at == '\n';
	if (s->first + rows > count)
		s->first = count > rows ? count - rows : 0;
	for (rest = text; i < s->first + rows && (at = strsep(&rest, "\n")) != NULL && rest; i++)
		if (i >= s->first)
			line(t, s, at[0] == '#' ? '#' : ' ', at[0] ? at + 1 : "");
	for (; i < s->first + rows; i++)
		line(t, s, ' ', "");
	snprintf(keys, sizeof(keys), "lines %u-%u of %u  arrows scroll  Left goes back  i %s  q quits",
		 s->first + 1, s->first + rows < count ? s->first + rows : count, count,
		 s->idle ? "hides idle" : "shows idle");
	line(t, s, '#', keys);
	free(text);
}

void
top_draw(struct tcpx_text *t, struct top_screen *s, const json_t *doc)
{
	const json_t **at;
	size_t n;

	at = sorted(s, doc, &n);
	if (!n)
		s->opened = false;
	if (s->opened)
		draw_engine(t, s, at[chosen_index(s, at, n)]);
	else
		draw_list(t, s, doc);
	free(at);
}
