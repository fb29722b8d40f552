/* SPDX-License-Identifier: Apache-2.0 */
/* Lint of bindings: each check is a function that adds its findings. */
#include "tune/texts/bindings_lint.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/bindings.h"

#define LIST 120 /* bytes of a list in a sentence */

static const int telemetry[] = { 171, 172 };

struct side {
	const char *where;
	bool set, rx;
	struct tcpx_bindings b;
};

struct look {
	const struct tcpx_machine *m;
	const struct tcpx_plan *plan;
	struct tcpx_lint lint;
	bool no_memory;
};

static void __attribute__((format(printf, 6, 7)))
found(struct look *l, enum tcpx_lint_level level, const char *id, const char *where,
      const char *nic, const char *fmt, ...)
{
	struct tcpx_lint_finding *bigger, *f;
	va_list args;

	/* powers of two */
	if (!(l->lint.count & (l->lint.count - 1))) {
		bigger = realloc(l->lint.at, (l->lint.count ? 2 * l->lint.count : 1) * sizeof(*f));
		if (!bigger) {
			l->no_memory = true;
			return;
		}
		l->lint.at = bigger;
	}
	f = &l->lint.at[l->lint.count++];
	l->lint.of[level]++;
	f->level = level;
	f->id = id;
	f->where = where;
	snprintf(f->nic, sizeof(f->nic), "%s", nic);
	va_start(args, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, args);
	va_end(args);
}

/* A list that fits a sentence. */
static const char *
list(const struct tcpx_cpuset *set, char buf[LIST])
{
	if (tcpx_cpuset_format(set, buf, LIST) >= LIST)
		memcpy(buf + LIST - 4, "...", 4);
	return *buf ? buf : "none";
}

static void
look_at_text(struct look *l, const struct side *s, const struct tcpx_binding_problems *p)
{
	for (unsigned i = 0; i < p->count; i++)
		found(l, p->at[i].kind < TCPX_BINDING_ERRORS ? TCPX_LINT_ERROR : TCPX_LINT_WARNING,
		      tcpx_binding_problem_name(p->at[i].kind), s->where, p->at[i].name,
		      "\"%s\": %s", p->at[i].text, tcpx_binding_problem_text(p->at[i].kind));
}

static void
look_at_machine(struct look *l, const struct side *s, const struct tcpx_binding *b)
{
	int at = tcpx_machine_nic_find(l->m, b->name), node;
	struct tcpx_cpuset here, bad;
	char cpus[LIST];

	if (at < 0) {
		found(l, TCPX_LINT_ERROR, "unknown-nic", s->where, b->name,
		      "the machine has no NIC %s", b->name);
		return;
	}
	bad = b->cpus;
	tcpx_cpuset_andnot(&bad, &l->m->online);
	if (!tcpx_cpuset_empty(&bad))
		found(l, TCPX_LINT_WARNING, "offline", s->where, b->name, "CPUs %s are not online",
		      list(&bad, cpus));
	bad = b->cpus;
	tcpx_cpuset_and(&bad, &l->m->online);
	tcpx_cpuset_andnot(&bad, &l->m->allowed);
	if (!tcpx_cpuset_empty(&bad))
		found(l, TCPX_LINT_WARNING, "not-allowed", s->where, b->name,
		      "CPUs %s are not allowed to this process", list(&bad, cpus));
	bad = b->cpus;
	tcpx_cpuset_and(&bad, &l->m->isolated);
	if (!tcpx_cpuset_empty(&bad))
		found(l, TCPX_LINT_WARNING, "isolated", s->where, b->name,
		      "CPUs %s are isolated", list(&bad, cpus));
	node = l->m->nics[at].place.numa;
	if (node < 0 || l->m->node_count < 2)
		return;
	tcpx_machine_node_cpus(l->m, node, &here);
	bad = b->cpus;
	tcpx_cpuset_and(&bad, &l->m->online);
	tcpx_cpuset_andnot(&bad, &here);
	if (!tcpx_cpuset_empty(&bad))
		found(l, TCPX_LINT_WARNING, "off-node", s->where, b->name,
		      "CPUs %s are not of node %d, where %s is", list(&bad, cpus), node, b->name);
}

static void
look_at_plan(struct look *l, const struct side *s)
{
	char is[LIST], should[LIST];

	for (unsigned i = 0; i < l->plan->nic_count; i++) {
		const char *name = l->plan->nics[i].name;
		const struct tcpx_plan_group *g = &l->plan->groups[l->plan->nics[i].group];
		const struct tcpx_cpuset *want = s->rx ? &g->rx : &g->tx;
		const struct tcpx_cpuset *got = tcpx_bindings_of(&s->b, name);

		if (!got)
			found(l, TCPX_LINT_NOTE, "missing", s->where, name,
			      "no entry for %s: the plugin takes its node's CPUs, and may mistake "
			      "the node", name);
		else if (!tcpx_cpuset_equal(got, want))
			found(l, TCPX_LINT_NOTE, "unlike-plan", s->where, name,
			      "CPUs %s; the plan has %s", list(got, is), list(want, should));
	}
}

static void
look_at_telemetry(struct look *l, const struct side *s, const struct tcpx_binding *b)
{
	for (size_t i = 0; i < sizeof(telemetry) / sizeof(telemetry[0]); i++)
		if (tcpx_cpuset_has(&b->cpus, telemetry[i])) {
			found(l, TCPX_LINT_NOTE, "telemetry", s->where, b->name,
			      "CPUs %d and %d are those of the plugin's telemetry threads, unless "
			      "told otherwise", telemetry[0], telemetry[1]);
			return;
		}
}

static void
look_at_side(struct look *l, const struct side *s)
{
	for (unsigned i = 0; i < s->b.count; i++) {
		if (l->m)
			look_at_machine(l, s, &s->b.entry[i]);
		look_at_telemetry(l, s, &s->b.entry[i]);
	}
	if (l->plan && s->set)
		look_at_plan(l, s);
}

/* True: the machine has no second core for receivers. */
static bool
has_one_core(const struct tcpx_machine *m)
{
	unsigned count = 0;

	for (unsigned i = 0; m && i < m->core_count; i++)
		for (unsigned k = 0; k < m->cores[i].cpu_count; k++) {
			int cpu = m->cores[i].cpu[k];

			if (!tcpx_cpuset_has(&m->allowed, cpu) || !tcpx_cpuset_has(&m->online, cpu) ||
			    tcpx_cpuset_has(&m->isolated, cpu))
				continue;
			count++;
			break;
		}
	return count == 1;
}

/* Checks a NIC's own overlap, then CPUs that any sender shares with any receiver. */
static void
look_at_overlap(struct look *l, const struct side *tx, const struct side *rx)
{
	enum tcpx_lint_level level = has_one_core(l->m) ? TCPX_LINT_NOTE : TCPX_LINT_ERROR;
	struct tcpx_cpuset all_tx, all_rx, said, both;
	char cpus[LIST];

	tcpx_cpuset_init(&all_tx);
	tcpx_cpuset_init(&all_rx);
	tcpx_cpuset_init(&said);
	for (unsigned i = 0; i < rx->b.count; i++)
		tcpx_cpuset_or(&all_rx, &rx->b.entry[i].cpus);
	for (unsigned i = 0; i < tx->b.count; i++) {
		const struct tcpx_binding *b = &tx->b.entry[i];
		const struct tcpx_cpuset *other = tcpx_bindings_of(&rx->b, b->name);

		tcpx_cpuset_or(&all_tx, &b->cpus);
		if (!other || !tcpx_cpuset_overlap(&b->cpus, other))
			continue;
		both = b->cpus;
		tcpx_cpuset_and(&both, other);
		tcpx_cpuset_or(&said, &both);
		found(l, level, "overlap", "tx+rx", b->name,
		      "TX and RX of %s share CPUs %s", b->name, list(&both, cpus));
	}
	tcpx_cpuset_and(&all_tx, &all_rx);
	tcpx_cpuset_andnot(&all_tx, &said);
	if (!tcpx_cpuset_empty(&all_tx))
		found(l, level, "overlap", "tx+rx", "",
		      "one NIC's TX and another's RX share CPUs %s", list(&all_tx, cpus));
}

static int
read_side(struct look *l, const char *text, struct side *s)
{
	struct tcpx_binding_problems *p;
	int rc;

	s->set = text != NULL;
	if (!text)
		return 0;
	p = malloc(sizeof(*p));
	if (!p)
		return -ENOMEM;
	rc = tcpx_bindings_scan(text, &s->b, p);
	if (rc == 0)
		look_at_text(l, s, p);
	free(p);
	return rc;
}

/* Sorts worst first; stable. */
static void
order(struct tcpx_lint *lint)
{
	struct tcpx_lint_finding *at = lint->at;

	for (unsigned i = 1; i < lint->count; i++)
		for (unsigned k = i; k && at[k].level < at[k - 1].level; k--) {
			struct tcpx_lint_finding swap = at[k];

			at[k] = at[k - 1];
			at[k - 1] = swap;
		}
}

int
tcpx_lint_bindings(const struct tcpx_machine *m, const struct tcpx_plan *plan, const char *tx,
		   const char *rx, struct tcpx_lint *out)
{
	struct look l = { .m = m, .plan = plan };
	struct side sides[] = { { .where = "tx" }, { .where = "rx", .rx = true } };
	int rc = read_side(&l, tx, &sides[0]);

	if (rc == 0)
		rc = read_side(&l, rx, &sides[1]);
	if (rc == 0) {
		look_at_overlap(&l, &sides[0], &sides[1]);
		look_at_side(&l, &sides[0]);
		look_at_side(&l, &sides[1]);
		order(&l.lint);
	}
	tcpx_bindings_fini(&sides[0].b);
	tcpx_bindings_fini(&sides[1].b);
	if (rc == 0 && l.no_memory)
		rc = -ENOMEM;
	if (rc)
		tcpx_lint_fini(&l.lint);
	else
		*out = l.lint;
	return rc;
}

void
tcpx_lint_fini(struct tcpx_lint *lint)
{
	free(lint->at);
	memset(lint, 0, sizeof(*lint));
}

const char *
tcpx_lint_level_name(enum tcpx_lint_level level)
{
	static const char *const names[] = { "error", "warning", "note" };

	return (unsigned)level < TCPX_LINT_LEVELS ? names[level] : "?";
}
