/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal's text, both ways. Strict: a text that the applier would not have written is
 * refused, since a wrong journal is worse than none.
 */
#include "tune/irq/journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"

enum { VERSION = 1, SET_TEXT = TCPX_FILES_LONGEST };

static const char head[] = "tcpx-irq-journal ";

static const char *const state_names[TCPX_JOURNAL_STATES] = {
	[TCPX_JOURNAL_OPEN] = "open",
	[TCPX_JOURNAL_APPLIED] = "applied",
	[TCPX_JOURNAL_HALF] = "half",
	[TCPX_JOURNAL_ROLLED_BACK] = "rolled-back",
	[TCPX_JOURNAL_RESTORED] = "restored",
};

bool
tcpx_journal_unfinished(const struct tcpx_journal *j)
{
	return j->state != TCPX_JOURNAL_ROLLED_BACK && j->state != TCPX_JOURNAL_RESTORED;
}

void
tcpx_journal_fini(struct tcpx_journal *j)
{
	free(j->items);
	memset(j, 0, sizeof(*j));
}

struct reader {
	char *at;         /* next line                   */
	unsigned line;
	unsigned room;    /* of items                    */
	char *why;
	size_t why_cap;
};

static int
refuse(struct reader *r, const char *what)
{
	snprintf(r->why, r->why_cap, "line %u: %s", r->line, what);
	return -EINVAL;
}

/* The next line, ended by a NUL; NULL: no whole line is left. */
static char *
next_line(struct reader *r)
{
	char *line = r->at, *end = strchr(line, '\n');

	r->line++;
	if (!end)
		return NULL;
	*end = '\0';
	r->at = end + 1;
	return line;
}

/* The text behind the word @key and a blank; NULL if the line begins otherwise. */
static char *
after_key(char *line, const char *key)
{
	size_t n = strlen(key);

	return line && !strncmp(line, key, n) && line[n] == ' ' ? line + n + 1 : NULL;
}

/* Cuts the first word off; NULL: there is none, or nothing behind it. */
static char *
take_word(char **at)
{
	char *word = *at, *blank = strchr(word, ' ');

	if (!blank || blank == word)
		return NULL;
	*blank = '\0';
	*at = blank + 1;
	return word;
}

static int
take_number(const char *text, uint64_t max, uint64_t *out)
{
	return text && tcpx_parse_count(text, out) == 0 && *out <= max ? 0 : -EINVAL;
}

static int
take_set(const char *text, bool hex, struct tcpx_cpuset *set)
{
	if (!text)
		return -EINVAL;
	if (!strcmp(text, "-")) {
		tcpx_cpuset_init(set);
		return 0;
	}
	return hex ? tcpx_cpuset_parse_mask(text, set) : tcpx_cpuset_parse(text, set);
}

/* An interface's name becomes part of a path that is written to. */
static bool
plain_name(const char *name, bool xps)
{
	if (strlen(name) >= TCPX_AFF_NAME || (xps && (!*name || *name == '.' ||
						      strlen(name) > 15 || strchr(name, '/'))))
		return false;
	for (; *name; name++)
		if ((unsigned char)*name < 0x20 || *name == 0x7f)
			return false;
	return true;
}

static int
take_item(struct reader *r, struct tcpx_journal *j, char *at, enum tcpx_aff_kind kind)
{
	bool hex = kind == TCPX_AFF_XPS;
	struct tcpx_aff_item *item;
	uint64_t number, hwirq;
	char *word;

	if (j->count == r->room) {
		unsigned room = r->room ? r->room * 2 : 16;
		struct tcpx_aff_item *more;

		if (j->count >= TCPX_AFF_ITEMS)
			return refuse(r, "too many lines");
		more = realloc(j->items, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		j->items = more;
		r->room = room;
	}
	item = &j->items[j->count];
	memset(item, 0, sizeof(*item));
	item->kind = kind;
	if (take_number(take_word(&at), UINT32_MAX / 2, &number))
		return refuse(r, "bad number");
	item->number = (unsigned)number;
	if (take_set(take_word(&at), hex, &item->old) || (!hex && tcpx_cpuset_empty(&item->old)))
		return refuse(r, "bad old CPUs");
	if (take_set(take_word(&at), hex, &item->old_eff))
		return refuse(r, "bad effective CPUs");
	if (take_set(take_word(&at), hex, &item->want))
		return refuse(r, "bad new CPUs");
	word = take_word(&at);
	item->hwirq = -1;
	if (word && strcmp(word, "-")) {
		if (take_number(word, INT64_MAX, &hwirq))
			return refuse(r, "bad hwirq");
		item->hwirq = (int64_t)hwirq;
	} else if (!word) {
		return refuse(r, "a word is missing");
	}
	if (strcmp(at, "-") && !plain_name(at, hex))
		return refuse(r, "bad name");
	if (hex && !strcmp(at, "-"))
		return refuse(r, "no interface");
	snprintf(item->name, sizeof(item->name), "%s", strcmp(at, "-") ? at : "");
	j->count++;
	return 0;
}

static int
take_balancer(struct reader *r, struct tcpx_journal *j, char *at)
{
	uint64_t pid;
	char *rest = strchr(at, ' ');

	if (rest)
		*rest++ = '\0';
	if (take_number(at, INT32_MAX, &pid) || pid == 0 ||
	    (rest && (strlen(rest) >= sizeof(j->bans) ||
		      rest[strspn(rest, "0123456789 ")] != '\0')))
		return refuse(r, "bad balancer");
	j->balancer = (unsigned)pid;
	snprintf(j->bans, sizeof(j->bans), "%s", rest ? rest : "");
	return 0;
}

/* Reads "state" lines until the text ends; a truncated last one does not count. */
static int
take_states(struct reader *r, struct tcpx_journal *j)
{
	char *line, *word;
	int state;

	while (*r->at) {
		line = next_line(r);
		if (!line)
			return 0;
		word = after_key(line, "state");
		for (state = 0; word && state < TCPX_JOURNAL_STATES; state++)
			if (!strcmp(word, state_names[state]))
				break;
		if (!word || state == TCPX_JOURNAL_STATES)
			return refuse(r, "not a state");
		j->state = (enum tcpx_journal_state)state;
	}
	return 0;
}

static int
take_lines(struct reader *r, struct tcpx_journal *j)
{
	char *line = next_line(r), *at;
	unsigned lines = 0;
	uint64_t n;
	int rc;

	if (!line || strncmp(line, head, strlen(head)))
		return refuse(r, "not a journal of tcpx irq");
	if (take_number(line + strlen(head), UINT32_MAX, &n))
		return refuse(r, "no version");
	if (n != VERSION)
		return refuse(r, n > VERSION ? "written by a newer tcpx" : "no such version");
	at = after_key(next_line(r), "boot");
	if (!at || !*at || strlen(at) >= sizeof(j->boot_id) ||
	    at[strspn(at, "0123456789abcdefABCDEF-")])
		return refuse(r, "no boot id");
	snprintf(j->boot_id, sizeof(j->boot_id), "%s", at);
	if (take_number(after_key(next_line(r), "time"), INT64_MAX, &n))
		return refuse(r, "no time");
	j->time = (int64_t)n;
	for (;; lines++) {
		line = next_line(r);
		if (!line)
			return refuse(r, "cut off");
		if ((at = after_key(line, "irq")) != NULL)
			rc = take_item(r, j, at, TCPX_AFF_IRQ);
		else if ((at = after_key(line, "xps")) != NULL)
			rc = take_item(r, j, at, TCPX_AFF_XPS);
		else if ((at = after_key(line, "balancer")) != NULL && !j->balancer)
			rc = take_balancer(r, j, at);
		else
			break;
		if (rc < 0)
			return rc;
	}
	if (take_number(after_key(line, "end"), UINT32_MAX, &n) || n != lines)
		return refuse(r, "cut off, or not the end that was written");
	return take_states(r, j);
}

int
tcpx_journal_parse(const char *text, struct tcpx_journal *j, char *why, size_t why_cap)
{
	struct tcpx_journal got = { .state = TCPX_JOURNAL_OPEN };
	struct reader r = { .why = why, .why_cap = why_cap };
	char *copy = strdup(text);
	int rc;

	if (!copy)
		return -ENOMEM;
	r.at = copy;
	rc = take_lines(&r, &got);
	free(copy);
	if (rc < 0)
		tcpx_journal_fini(&got);
	else
		*j = got;
	return rc;
}

struct writer {
	char *text;
	size_t len, room;
	bool failed;
};

static void __attribute__((format(printf, 2, 3)))
put(struct writer *w, const char *fmt, ...)
{
	va_list ap;
	int n;

	for (;;) {
		va_start(ap, fmt);
		n = vsnprintf(w->text + w->len, w->room - w->len, fmt, ap);
		va_end(ap);
		if (n < 0)
			w->failed = true;
		if (w->failed)
			return;
		if ((size_t)n < w->room - w->len)
			break;

		char *more = realloc(w->text, w->room * 2 + (size_t)n);

		if (!more) {
			w->failed = true;
			return;
		}
		w->text = more;
		w->room = w->room * 2 + (size_t)n;
	}
	w->len += (size_t)n;
}

static void
put_set(struct writer *w, const struct tcpx_cpuset *set, bool hex, char *room)
{
	if (hex)
		tcpx_cpuset_format_mask(set, room, SET_TEXT);
	else
		tcpx_cpuset_format(set, room, SET_TEXT);
	put(w, " %s", *room ? room : "-");
}

static void
put_item(struct writer *w, const struct tcpx_aff_item *item, char *room)
{
	bool hex = item->kind == TCPX_AFF_XPS;

	put(w, "%s %u", hex ? "xps" : "irq", item->number);
	put_set(w, &item->old, hex, room);
	put_set(w, &item->old_eff, hex, room);
	put_set(w, &item->want, hex, room);
	if (item->hwirq < 0)
		put(w, " -");
	else
		put(w, " %" PRId64, item->hwirq);
	put(w, " %s\n", *item->name ? item->name : "-");
}

char *
tcpx_journal_format(const struct tcpx_journal *j)
{
	struct writer w = { .text = malloc(4096), .room = 4096 };
	char *room = malloc(SET_TEXT);

	if (!w.text || !room) {
		free(w.text);
		free(room);
		return NULL;
	}
	put(&w, "%s%d\nboot %s\ntime %" PRId64 "\n", head, VERSION, j->boot_id, j->time);
	if (j->balancer)
		put(&w, "balancer %u%s%s\n", j->balancer, *j->bans ? " " : "", j->bans);
	for (unsigned i = 0; i < j->count; i++)
		put_item(&w, &j->items[i], room);
	put(&w, "end %u\n", j->count + (j->balancer ? 1 : 0));
	if (j->state != TCPX_JOURNAL_OPEN)
		put(&w, "state %s\n", state_names[j->state]);
	free(room);
	if (w.failed) {
		free(w.text);
		return NULL;
	}
	return w.text;
}
