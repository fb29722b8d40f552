/* SPDX-License-Identifier: Apache-2.0 */
/* Writing specs: neighbours that differ by one become a range; vectors with rising numbers
 * in their names become one line. */
#include "tune/texts/spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void
put_list(struct tcpx_text *t, const struct tcpx_machine *m, unsigned from, unsigned count, unsigned sibling)
{
	const struct tcpx_machine_core *c = m->cores + from;

	for (unsigned i = 0, n; i < count; i += n) {
		int step = i + 1 < count ? c[i + 1].cpu[sibling] - c[i].cpu[sibling] : 0;

		n = 1;
		while (step > 0 && i + n < count &&
		       c[i + n].cpu[sibling] - c[i + n - 1].cpu[sibling] == step)
			n++;
		if (n == 2 && step > 1)
			n = 1;
		tcpx_text_add(t, "%s%u", i ? "," : "", c[i].cpu[sibling]);
		if (n > 1)
			tcpx_text_add(t, "-%u", c[i + n - 1].cpu[sibling]);
		if (n > 1 && step > 1)
			tcpx_text_add(t, ":%d", step);
	}
}

static void
put_cores(struct tcpx_text *t, const struct tcpx_machine *m)
{
	for (unsigned i = 0, n; i < m->core_count; i += n) {
		const struct tcpx_machine_core *c = m->cores + i;

		for (n = 1; i + n < m->core_count && c[n].node == c->node && c[n].l3 == c->l3 &&
			    c[n].cpu_count == c->cpu_count; n++)
			;
		if (c->node < 0)
			tcpx_text_add(t, "cores - ");
		else
			tcpx_text_add(t, "cores %d ", c->node);
		for (unsigned k = 0; k < c->cpu_count; k++) {
			if (k)
				tcpx_text_add(t, "/");
			put_list(t, m, i, n, k);
		}
		if (c->l3 >= 0)
			tcpx_text_add(t, " l3 %d", c->l3);
		tcpx_text_add(t, "\n");
	}
}

static void
put_nodes(struct tcpx_text *t, const struct tcpx_machine *m)
{
	for (unsigned i = 0; i < m->node_count; i++) {
		bool known = true;

		tcpx_text_add(t, "node %d", m->nodes[i].id);
		for (unsigned k = 0; k < m->node_count; k++)
			known &= m->nodes[i].distance[k] > 0;
		for (unsigned k = 0; known && k < m->node_count; k++)
			tcpx_text_add(t, "%s%u", k ? "," : " distance ", m->nodes[i].distance[k]);
		tcpx_text_add(t, "\n");
	}
}

/* Foreign text as a word of a line. */
static void
put_word(struct tcpx_text *t, const char *key, const char *text)
{
	if (!*text)
		return;
	tcpx_text_add(t, "%s ", key);
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		tcpx_text_add(t, "%c", *p <= ' ' || *p == 0x7f || (*p == '#' && text == (const char *)p)
					       ? '_' : *p);
}

/* The path contains the address. */
static void
put_place(struct tcpx_text *t, const char *pci, const char *path)
{
	put_word(t, *path ? " path" : " pci", *path ? path : pci);
}

static void
put_nics(struct tcpx_text *t, const struct tcpx_machine *m)
{
	for (unsigned i = 0; i < m->nic_count; i++) {
		const struct tcpx_machine_nic *nic = &m->nics[i];

		put_word(t, "nic", nic->name);
		if (nic->place.numa >= 0)
			tcpx_text_add(t, " node %d", nic->place.numa);
		if (nic->place.numa >= 0 && nic->place.numa_source == TCPX_NUMA_CPULIST)
			tcpx_text_add(t, " from cpus");
		if (nic->place.numa >= 0 && nic->place.numa_source == TCPX_NUMA_ONLY)
			tcpx_text_add(t, " from only");
		tcpx_text_add(t, " rx %u tx %u", nic->queues_rx, nic->queues_tx);
		if (nic->queues_max)
			tcpx_text_add(t, " max %u", nic->queues_max);
		put_word(t, " driver", nic->driver);
		put_place(t, nic->place.pci, nic->place.path);
		tcpx_text_add(t, "\n");
	}
	for (unsigned i = 0; i < m->gpu_count; i++) {
		tcpx_text_add(t, "gpu %d", m->gpus[i].index);
		if (m->gpus[i].place.numa >= 0)
			tcpx_text_add(t, " node %d", m->gpus[i].place.numa);
		put_place(t, m->gpus[i].place.pci, m->gpus[i].place.path);
		tcpx_text_add(t, "\n");
	}
}

/* Is @b the @n-th after @a, if the digits at @at in @a's name rise? */
static bool
follows(const struct tcpx_machine_vector *a, const struct tcpx_machine_vector *b, unsigned n,
	size_t at, size_t digits)
{
	char name[sizeof(a->name) + 24];

	if (b->nic != a->nic || b->kind != a->kind || a->queue < 0 ||
	    b->queue != a->queue + (int)n || b->irq != a->irq + n || b->source != a->source ||
	    b->movable != a->movable || strcmp(a->chip, b->chip) ||
	    b->hwirq != (a->hwirq < 0 ? -1 : a->hwirq + n))
		return false;
	if (!digits)
		return !strcmp(a->name, b->name);
	snprintf(name, sizeof(name), "%.*s%llu%s", (int)at, a->name,
		 strtoull(a->name + at, NULL, 10) + n, a->name + at + digits);
	return !strcmp(name, b->name);
}

/* The longest run from @v on, and which digits of its name rise: none at first. */
static unsigned
run_of(const struct tcpx_machine_vector *v, unsigned left, size_t *at, size_t *digits)
{
	unsigned best = 1, n;

	*at = *digits = 0;
	for (n = 1; n < left && follows(v, v + n, n, 0, 0); n++)
		;
	best = n;
	for (size_t i = 0, len; v->name[i]; i += len ? len : 1) {
		len = strspn(v->name + i, "0123456789");
		if (!len || len > 9 || (len > 1 && v->name[i] == '0'))
			continue;
		for (n = 1; n < left && follows(v, v + n, n, i, len); n++)
			;
		if (n > best) {
			best = n;
			*at = i;
			*digits = len;
		}
	}
	return best;
}

/* Makes a vector's name read back; the kernel's names stay as they are. */
static void
clean(char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++) {
		bool edge = i == 0 || name[i - 1] == ' ';

		if ((unsigned char)name[i] < ' ' || name[i] == 0x7f || strchr("{}", name[i]) ||
		    (name[i] == ' ' && (i == 0 || i + 1 == len)) || (name[i] == '#' && edge))
			name[i] = '_';
	}
}

static void
put_vector(struct tcpx_text *t, const struct tcpx_machine *m,
	   const struct tcpx_machine_vector *v, unsigned n, size_t at, size_t digits)
{
	put_word(t, "irq", m->nics[v->nic].name);
	tcpx_text_add(t, " %s", tcpx_vector_kind_name(v->kind));
	if (v->queue >= 0)
		tcpx_text_add(t, " %d", v->queue);
	if (n > 1)
		tcpx_text_add(t, "-%d", v->queue + (int)n - 1);
	tcpx_text_add(t, " at %u", v->irq);
	if (v->hwirq >= 0)
		tcpx_text_add(t, " hwirq %lld", (long long)v->hwirq);
	if (v->source != TCPX_VECTOR_SPEC)
		tcpx_text_add(t, " source %s", tcpx_vector_source_name(v->source));
	put_word(t, " chip", v->chip);
	if (!v->movable)
		tcpx_text_add(t, " fixed");
	if (*v->name && digits)
		tcpx_text_add(t, " name %.*s{%.*s}%s", (int)at, v->name, (int)digits,
			      v->name + at, v->name + at + digits);
	else if (*v->name)
		tcpx_text_add(t, " name %s", v->name);
	tcpx_text_add(t, "\n");
}

static int
put_vectors(struct tcpx_text *t, const struct tcpx_machine *m)
{
	size_t at, digits, bytes = m->vector_count * sizeof(*m->vectors);
	struct tcpx_machine_vector *v;

	if (!m->vector_count)
		return 0;
	v = malloc(bytes);
	if (!v)
		return -ENOMEM;
	memcpy(v, m->vectors, bytes);
	for (unsigned i = 0; i < m->vector_count; i++)
		clean(v[i].name);
	for (unsigned i = 0, n; i < m->vector_count; i += n) {
		n = run_of(v + i, m->vector_count - i, &at, &digits);
		put_vector(t, m, v + i, n, at, digits);
	}
	free(v);
	return 0;
}

static int
put_set(struct tcpx_text *t, const char *what, const struct tcpx_cpuset *set)
{
	size_t len = tcpx_cpuset_format(set, NULL, 0) + 1;
	char *list = malloc(len);

	if (!list)
		return -ENOMEM;
	tcpx_cpuset_format(set, list, len);
	tcpx_text_add(t, "%s %s\n", what, *list ? list : "none");
	free(list);
	return 0;
}

static int
put_sets(struct tcpx_text *t, const struct tcpx_machine *m)
{
	struct tcpx_cpuset all, offline, isolated = m->isolated;
	int rc = 0;

	tcpx_cpuset_init(&all);
	for (unsigned i = 0; i < m->core_count; i++)
		for (unsigned k = 0; k < m->cores[i].cpu_count; k++)
			tcpx_cpuset_add(&all, m->cores[i].cpu[k]);
	offline = all;
	tcpx_cpuset_andnot(&offline, &m->online);
	tcpx_cpuset_and(&isolated, &all);
	if (!tcpx_cpuset_empty(&offline))
		rc = put_set(t, "offline", &offline);
	if (rc == 0 && !tcpx_cpuset_equal(&m->allowed, &m->online))
		rc = put_set(t, "allowed", &m->allowed);
	if (rc == 0 && !tcpx_cpuset_empty(&isolated))
		rc = put_set(t, "isolated", &isolated);
	return rc;
}

int
tcpx_spec_format(const struct tcpx_machine *m, char **text)
{
	struct tcpx_text t = { 0 };
	int rc;

	put_word(&t, "machine", m->name);
	if (*m->name)
		tcpx_text_add(&t, "\n");
	put_nodes(&t, m);
	put_cores(&t, m);
	put_nics(&t, m);
	rc = put_vectors(&t, m);
	if (rc == 0)
		rc = put_sets(&t, m);
	if (rc) {
		tcpx_text_drop(&t);
		return rc;
	}
	return tcpx_text_detach(&t, text);
}
