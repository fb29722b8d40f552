/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing bindings. One scanner serves the strict reader and the lint. */
#include "host/bindings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define BLANKS " \t\r\n"

/* A part of the text. */
struct span {
	const char *at;
	size_t len;
};

static void
note(struct tcpx_binding_problems *p, enum tcpx_binding_problem_kind kind, const char *name,
     struct span text)
{
	struct tcpx_binding_problem *at;

	if (p->count == TCPX_BINDING_PROBLEMS_MAX)
		return;
	at = &p->at[p->count++];
	at->kind = kind;
	snprintf(at->name, sizeof(at->name), "%s", name);
	snprintf(at->text, sizeof(at->text), "%.*s",
		 (int)(text.len < sizeof(at->text) ? text.len : sizeof(at->text) - 1), text.at);
}

static struct span
trim(struct span s)
{
	while (s.len && strchr(BLANKS, *s.at)) {
		s.at++;
		s.len--;
	}
	while (s.len && strchr(BLANKS, s.at[s.len - 1]))
		s.len--;
	return s;
}

/* Cuts off and returns the part before the next @c, which is dropped; else the whole rest. */
static struct span
cut(struct span *rest, char c)
{
	const char *end = memchr(rest->at, c, rest->len);
	struct span first = { rest->at, end ? (size_t)(end - rest->at) : rest->len };
	size_t gone = first.len + (end != NULL);

	rest->at += gone;
	rest->len -= gone;
	return first;
}

/* Digits only; -1: not a CPU. */
static int
cpu_of(struct span s)
{
	int v = 0;

	if (!s.len)
		return -1;
	for (size_t i = 0; i < s.len; i++) {
		if (s.at[i] < '0' || s.at[i] > '9')
			return -1;
		v = v * 10 + (s.at[i] - '0');
		if (v >= TCPX_CPUS_MAX)
			return -1;
	}
	return v;
}

static void
scan_range(struct tcpx_binding *b, struct span item, struct tcpx_binding_problems *p)
{
	struct span rest = trim(item), low;
	bool pair = memchr(rest.at, '-', rest.len) != NULL, again = false;
	int first, last;

	if (rest.len != item.len)
		note(p, TCPX_BINDING_BLANK, b->name, item);
	low = cut(&rest, '-');
	first = cpu_of(low);
	last = pair ? cpu_of(rest) : first;
	if (first < 0 || last < 0) {
		note(p, TCPX_BINDING_MALFORMED, b->name, item);
		return;
	}
	if (last < first) {
		note(p, TCPX_BINDING_REVERSED, b->name, item);
		return;
	}
	if (!pair)
		note(p, TCPX_BINDING_SINGLE, b->name, item);
	for (int cpu = first; cpu <= last; cpu++) {
		again |= tcpx_cpuset_has(&b->cpus, cpu);
		tcpx_cpuset_add(&b->cpus, cpu);
	}
	if (again)
		note(p, TCPX_BINDING_REPEAT, b->name, item);
	b->ranges++;
}

static bool
name_fits(const char *name, size_t len)
{
	struct tcpx_binding *b;

	if (!len || len >= sizeof(b->name))
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] <= ' ' || strchr(";:,", name[i]))
			return false;
	return true;
}

static int
append(struct tcpx_bindings *b, const struct tcpx_binding *one)
{
	struct tcpx_binding *bigger = b->entry;

	/* powers of two */
	if (!(b->count & (b->count - 1)))
		bigger = realloc(b->entry, (b->count ? 2 * b->count : 1) * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	b->entry = bigger;
	b->entry[b->count++] = *one;
	return 0;
}

static int
scan_entry(struct tcpx_bindings *b, struct span entry, struct tcpx_binding_problems *p)
{
	struct tcpx_binding one = { .ranges = 0 };
	bool colon = memchr(entry.at, ':', entry.len) != NULL;
	struct span rest = entry, written = cut(&rest, ':'), name = trim(written);

	if (!colon || !name_fits(name.at, name.len)) {
		note(p, TCPX_BINDING_MALFORMED, "", entry);
		return 0;
	}
	memcpy(one.name, name.at, name.len);
	if (name.len != written.len)
		note(p, TCPX_BINDING_BLANK, one.name, written);
	if (!trim(rest).len)
		note(p, TCPX_BINDING_EMPTY, one.name, entry);
	else
		for (bool more = true; more;) {
			more = memchr(rest.at, ',', rest.len) != NULL;
			scan_range(&one, cut(&rest, ','), p);
		}
	if (one.ranges > TCPX_BINDING_RANGES)
		note(p, TCPX_BINDING_MANY, one.name, entry);
	if (tcpx_bindings_of(b, one.name)) {
		note(p, TCPX_BINDING_TWICE, one.name, entry);
		return 0;
	}
	return tcpx_cpuset_empty(&one.cpus) ? 0 : append(b, &one);
}

int
tcpx_bindings_scan(const char *text, struct tcpx_bindings *out,
		   struct tcpx_binding_problems *problems)
{
	struct tcpx_bindings b = { 0 };
	struct span rest = { text, strlen(text) };
	int rc = 0;

	problems->count = 0;
	while (rc == 0 && rest.len) {
		struct span entry = cut(&rest, ';');

		/* a separator at the end is allowed */
		if (!rest.len && !trim(entry).len)
			break;
		rc = scan_entry(&b, entry, problems);
	}
	if (rc)
		tcpx_bindings_fini(&b);
	else
		*out = b;
	return rc;
}

int
tcpx_bindings_parse(const char *text, const char *what, struct tcpx_bindings *out)
{
	struct tcpx_binding_problems *p = malloc(sizeof(*p));
	struct tcpx_bindings b;
	int rc = p ? tcpx_bindings_scan(text, &b, p) : -ENOMEM;

	if (rc) {
		free(p);
		return rc;
	}
	for (unsigned i = 0; rc == 0 && i < p->count; i++)
		if (p->at[i].kind < TCPX_BINDING_ERRORS)
			rc = tcpx_fail(TCPX_SUB_HOST, -EINVAL, "%s%s%s: \"%s\": %s; wanted is as "
				       "eth1:8-21,112-125;eth2:8-21,112-125", what,
				       *p->at[i].name ? ", " : "", p->at[i].name, p->at[i].text,
				       tcpx_binding_problem_text(p->at[i].kind));
	if (rc == 0 && p->count == TCPX_BINDING_PROBLEMS_MAX)
		rc = tcpx_fail(TCPX_SUB_HOST, -EINVAL, "%s: too much of it is odd", what);
	free(p);
	if (rc)
		tcpx_bindings_fini(&b);
	else
		*out = b;
	return rc;
}

void
tcpx_bindings_fini(struct tcpx_bindings *b)
{
	free(b->entry);
	b->entry = NULL;
	b->count = 0;
}

const struct tcpx_cpuset *
tcpx_bindings_of(const struct tcpx_bindings *b, const char *name)
{
	for (unsigned i = 0; i < b->count; i++)
		if (!strcmp(b->entry[i].name, name))
			return &b->entry[i].cpus;
	return NULL;
}

static unsigned
ranges_of(const struct tcpx_cpuset *cpus)
{
	unsigned count = 0;

	tcpx_cpuset_for_each(cpu, cpus)
		count += !tcpx_cpuset_has(cpus, cpu - 1);
	return count;
}

int
tcpx_bindings_add(struct tcpx_bindings *b, const char *name, const struct tcpx_cpuset *cpus)
{
	struct tcpx_binding one = { .ranges = ranges_of(cpus), .cpus = *cpus };

	if (!name_fits(name, strlen(name)) || tcpx_cpuset_empty(cpus))
		return -EINVAL;
	if (tcpx_bindings_of(b, name))
		return -EEXIST;
	memcpy(one.name, name, strlen(name) + 1);
	return append(b, &one);
}

static void
put_entry(struct tcpx_text *t, const struct tcpx_binding *b)
{
	tcpx_text_add(t, "%s%s:", t->len ? ";" : "", b->name);
	for (int first = tcpx_cpuset_first(&b->cpus), last, n = 0; first >= 0;
	     first = tcpx_cpuset_next(&b->cpus, last), n++) {
		for (last = first; tcpx_cpuset_has(&b->cpus, last + 1); last++)
			;
		tcpx_text_add(t, "%s%d-%d", n ? "," : "", first, last);
	}
}

int
tcpx_bindings_format(const struct tcpx_bindings *b, char **text)
{
	struct tcpx_text t = { 0 };

	for (unsigned i = 0; i < b->count; i++) {
		unsigned ranges = ranges_of(&b->entry[i].cpus);

		if (ranges > TCPX_BINDING_RANGES) {
			tcpx_text_drop(&t);
			return tcpx_fail(TCPX_SUB_HOST, -ERANGE, "bindings of %s: %u ranges, and the "
					 "plugin has room for %d", b->entry[i].name, ranges,
					 TCPX_BINDING_RANGES);
		}
		put_entry(&t, &b->entry[i]);
	}
	return tcpx_text_detach(&t, text);
}

static const struct {
	const char *name, *text;
} problems[TCPX_BINDING_PROBLEMS] = {
	[TCPX_BINDING_MALFORMED] = { "malformed", "not of the form NIC:LO-HI,LO-HI" },
	[TCPX_BINDING_REVERSED] = { "reversed", "a range ends before it begins" },
	[TCPX_BINDING_EMPTY] = { "empty", "a NIC without CPUs" },
	[TCPX_BINDING_TWICE] = { "duplicate", "the NIC has an entry already" },
	[TCPX_BINDING_SINGLE] = { "single", "a lone number, which the plugin skips: write 5-5" },
	[TCPX_BINDING_BLANK] = { "blank", "a blank, which the plugin takes for part of the word" },
	[TCPX_BINDING_REPEAT] = { "repeat", "names CPUs that an earlier range has" },
	[TCPX_BINDING_MANY] = { "many", "more ranges than the 8 that the plugin has room for" },
};

const char *
tcpx_binding_problem_name(enum tcpx_binding_problem_kind kind)
{
	return (unsigned)kind < TCPX_BINDING_PROBLEMS ? problems[kind].name : "?";
}

const char *
tcpx_binding_problem_text(enum tcpx_binding_problem_kind kind)
{
	return (unsigned)kind < TCPX_BINDING_PROBLEMS ? problems[kind].text : "?";
}
