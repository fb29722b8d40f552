/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/interrupts and its like. A line is some thousand bytes on a machine with 208 CPUs,
 * nearly all of them blanks and zeros, so only labels and tails are copied. No length but
 * the text's is assumed.
 */
#include "tune/facts/irqtab.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpuset.h"

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static char *
skip_blanks(char *p)
{
	while (is_blank(*p))
		p++;
	return p;
}

static char *
word_end(char *p)
{
	while (*p && !is_blank(*p))
		p++;
	return p;
}

/* Reads digits up to a blank or the end. Returns the place behind them; NULL: no such
 * number, or above @max. */
static char *
take_number(char *p, uint64_t max, uint64_t *value)
{
	uint64_t v = 0;
	char *start = p;

	for (; *p >= '0' && *p <= '9'; p++) {
		v = v * 10 + (uint64_t)(*p - '0');
		if (v > max)
			return NULL;
	}
	if (p == start || (*p && !is_blank(*p)))
		return NULL;
	*value = v;
	return p;
}

/* The same for a count of 32 bits. There are tens of thousands, padded with blanks. A
 * newline stands at @end. */
static inline const char *
take_count(const char *p, const char *end, uint32_t *count)
{
	const char *start;
	uint64_t v = 0;

	while (end - p >= 8 && !memcmp(p, "        ", 8))
		p += 8;
	while (*p == ' ')
		p++;
	for (start = p; (unsigned char)(*p - '0') <= 9 && p - start <= 10; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	if (p == start || v > UINT32_MAX || (*p != ' ' && p != end && *p != '\t'))
		return NULL;
	*count = (uint32_t)v;
	return p;
}

/* ---- header ----------------------------------------------------------------------- */

static unsigned
count_words(char *p)
{
	unsigned n = 0;

	for (p = skip_blanks(p); *p; p = skip_blanks(word_end(p)))
		n++;
	return n;
}

/* "CPU0 CPU1 CPU4": rising numbers. */
static int
parse_header(char *line, struct tcpx_irqtab *tab)
{
	unsigned cap = count_words(line);
	uint64_t id;

	if (cap == 0)
		return -EINVAL;
	tab->cpu = malloc(cap * sizeof(*tab->cpu));
	if (!tab->cpu)
		return -ENOMEM;
	for (char *p = skip_blanks(line); *p; p = skip_blanks(p)) {
		if (strncmp(p, "CPU", 3) != 0)
			return -EINVAL;
		p = take_number(p + 3, TCPX_CPUS_MAX - 1, &id);
		if (!p || (tab->cpu_count && id <= tab->cpu[tab->cpu_count - 1]))
			return -EINVAL;
		tab->cpu[tab->cpu_count++] = (unsigned)id;
	}
	return 0;
}

/* ---- rows ------------------------------------------------------------------------- */

static char *
cut_word(char **p)
{
	char *start = skip_blanks(*p), *end = word_end(start);

	*p = *end ? end + 1 : end;
	*end = '\0';
	return start;
}

/* "1-edge", "524288", but not "8250-uart": a handler's number, perhaps with its trigger. */
static bool
is_hwirq(const char *p)
{
	size_t digits = strspn(p, "0123456789");
	const char *rest = p + digits;

	return digits > 0 && (!*rest || is_blank(*rest) ||
			      (*rest == '-' && isalpha((unsigned char)rest[1])));
}

/* The words behind the counts: chip, handler's number and trigger, names of the owners. ARM
 * has the trigger in a word of its own. */
static void
parse_tail(char *p, struct tcpx_irq_row *row)
{
	size_t len;

	p = skip_blanks(p);
	len = strlen(p);
	while (len > 0 && is_blank(p[len - 1]))
		p[--len] = '\0';
	if (row->irq < 0) {
		row->names = p;
		return;
	}
	row->chip = cut_word(&p);
	p = skip_blanks(p);
	if (is_hwirq(p))
		row->hwirq = cut_word(&p);
	p = skip_blanks(p);
	if (*row->hwirq && (!strncmp(p, "Level ", 6) || !strncmp(p, "Edge ", 5)))
		cut_word(&p);
	row->names = skip_blanks(p);
}

/* The digits of a label are an IRQ's number; any other label is a name, -1. -2: no label. */
static long
label_number(const char *label)
{
	char *end;
	long n;

	if (!*label)
		return -2;
	if (!isdigit((unsigned char)*label))
		return -1;
	errno = 0;
	n = strtol(label, &end, 10);
	return *end || errno || n > INT32_MAX ? -2 : n;
}

/* Copies a part of the text behind @*room. */
static char *
keep(const char *from, const char *end, char **room)
{
	char *text = *room;
	size_t len = (size_t)(end - from);

	memcpy(text, from, len);
	text[len] = '\0';
	*room += len + 1;
	return text;
}

/* Parses a row; its texts go to @*room, which needs no more than the line.
 * False: not a row. */
static bool
parse_row(const char *line, const char *end, const struct tcpx_irqtab *tab, char **room,
	  uint32_t *count, struct tcpx_irq_row *row)
{
	const char *start = line + strspn(line, " \t");
	const char *colon = memchr(line, ':', (size_t)(end - line));
	const char *at, *next;
	uint64_t v;
	char *p;

	if (!colon || colon <= start || memchr(start, '\0', (size_t)(colon - start)))
		return false;
	p = keep(start, colon, room);
	*row = (struct tcpx_irq_row){ .irq = label_number(p), .label = p, .chip = "", .hwirq = "",
				      .names = "", .count = count };
	if (row->irq == -2 || *word_end(p))
		return false;
	for (at = colon + 1; row->columns < tab->cpu_count; at = next) {
		next = take_count(at, end, &count[row->columns]);
		if (!next)
			break;
		row->columns++;
	}
	p = skip_blanks(keep(at, end, room));
	/* fewer: a CPU went; some rows of the architecture have one for all */
	if (row->columns < tab->cpu_count &&
	    (row->irq >= 0 || row->columns != 1 || isdigit((unsigned char)*p)))
		return false;
	/* more: a CPU came */
	if (row->columns == tab->cpu_count && take_number(p, UINT64_MAX / 16, &v))
		return false;
	parse_tail(p, row);
	return true;
}

static int
compare_rows(const void *a, const void *b)
{
	const struct tcpx_irq_row *x = a, *y = b;
	unsigned long i = (unsigned long)x->irq, j = (unsigned long)y->irq; /* -1 last */

	if (i != j)
		return i < j ? -1 : 1;
	return x->label < y->label ? -1 : x->label > y->label; /* keep the text's order */
}

/* Drops second rows of an IRQ or of a name. */
static void
drop_repeated(struct tcpx_irqtab *tab)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < tab->row_count; i++) {
		const struct tcpx_irq_row *row = &tab->row[i];
		bool again = kept && row->irq >= 0 && tab->row[kept - 1].irq == row->irq;

		/* names are few */
		for (unsigned j = kept; row->irq < 0 && j-- > 0 && tab->row[j].irq < 0;)
			again |= !strcmp(tab->row[j].label, row->label);
		if (again)
			tab->left_out++;
		else
			tab->row[kept++] = *row;
	}
	tab->row_count = kept;
}

static unsigned
count_lines(const char *text, size_t len)
{
	unsigned n = 0;

	for (const char *p = text; (p = memchr(p, '\n', len - (size_t)(p - text))) != NULL; p++)
		n++;
	return n;
}

static int
parse_table(const char *text, size_t len, struct tcpx_irqtab *tab)
{
	unsigned lines = count_lines(text, len);
	const char *line, *end = memchr(text, '\n', len);
	char *room = tab->text, *before;
	int rc;

	if (!end)
		return -EINVAL; /* no whole line: no header */
	rc = parse_header(keep(text, end, &room), tab);
	if (rc < 0)
		return rc;
	/* calloc() leaves unused rows untouched */
	tab->counts = calloc((size_t)lines * tab->cpu_count, sizeof(*tab->counts));
	tab->row = calloc(lines, sizeof(*tab->row));
	if (!tab->counts || !tab->row)
		return -ENOMEM;
	for (;;) {
		line = end + 1;
		end = memchr(line, '\n', len - (size_t)(line - text));
		if (!end)
			break;
		before = room;
		if (parse_row(line, end, tab, &room, tab->counts + (size_t)tab->row_count * tab->cpu_count,
			      &tab->row[tab->row_count]))
			tab->row_count++;
		else {
			room = before;
			tab->left_out++;
		}
	}
	tab->left_out += line < text + len; /* a row cut in the middle */
	qsort(tab->row, tab->row_count, sizeof(*tab->row), compare_rows);
	drop_repeated(tab);
	return 0;
}

int
tcpx_irqtab_parse(const char *text, size_t len, struct tcpx_irqtab *out)
{
	struct tcpx_irqtab tab = { .text = malloc(len + 1) }; /* most of it stays untouched */
	int rc;

	if (!tab.text)
		return -ENOMEM;
	rc = parse_table(text, len, &tab);
	if (rc < 0)
		tcpx_irqtab_fini(&tab);
	else
		*out = tab;
	return rc;
}

void
tcpx_irqtab_fini(struct tcpx_irqtab *tab)
{
	free(tab->cpu);
	free(tab->row);
	free(tab->counts);
	free(tab->text);
	*tab = (struct tcpx_irqtab){ .cpu_count = 0 };
}

const struct tcpx_irq_row *
tcpx_irqtab_find(const struct tcpx_irqtab *tab, long irq)
{
	unsigned low = 0, high = tab->row_count;

	if (irq < 0)
		return NULL;
	while (low < high) {
		unsigned mid = low + (high - low) / 2;
		long at = tab->row[mid].irq;

		if (at == irq)
			return &tab->row[mid];
		if (at >= 0 && at < irq)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

const struct tcpx_irq_row *
tcpx_irqtab_label(const struct tcpx_irqtab *tab, const char *label)
{
	for (unsigned i = 0; i < tab->row_count; i++)
		if (!strcmp(tab->row[i].label, label))
			return &tab->row[i];
	return NULL;
}

uint64_t
tcpx_irq_row_total(const struct tcpx_irq_row *row)
{
	uint64_t total = 0;

	for (unsigned i = 0; i < row->columns; i++)
		total += row->count[i];
	return total;
}

int64_t
tcpx_irq_row_hwirq(const struct tcpx_irq_row *row)
{
	char *end;
	long long v;

	errno = 0;
	v = strtoll(row->hwirq, &end, 10);
	return end == row->hwirq || errno ? -1 : v;
}
