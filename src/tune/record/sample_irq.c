/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interrupts of NICs' vectors: the file per_cpu_count of each, kept open, which is far
 * cheaper than the whole table; the table where the kernel has no such files.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/io.h"
#include "tune/record/irqdiff.h"
#include "tune/record/sample_part.h"

#define SYSFS_BYTES 65536 /* a file of sysfs has a page, and is read at once */

int
tcpx_sample_counts_parse(const char *text, uint32_t *out, unsigned cap)
{
	unsigned n = 0;

	for (const char *p = text;; p++) {
		const char *start = p;
		uint64_t v = 0;

		for (; *p >= '0' && *p <= '9' && p - start <= 10; p++)
			v = v * 10 + (uint64_t)(*p - '0');
		if (p == start || v > UINT32_MAX)
			return -EINVAL;
		if (n == cap)
			return -ERANGE;
		out[n++] = (uint32_t)v;
		if (*p == '\0' || (*p == '\n' && p[1] == '\0'))
			return (int)n;
		if (*p != ',')
			return -EINVAL;
	}
}

static const char *
nic_and_queue(const struct tcpx_topo_nic *nic, const struct tcpx_machine_vector *v, char *buf,
	      size_t cap)
{
	if (v->queue >= 0)
		snprintf(buf, cap, "%.15s-%s-%d", nic->nic->ifname, tcpx_vector_kind_name(v->kind),
			 v->queue);
	else
		snprintf(buf, cap, "%.15s-%s", nic->nic->ifname, tcpx_vector_kind_name(v->kind));
	return buf;
}

static void
name_vectors(struct tcpx_sampler *s, const struct tcpx_topo *topo)
{
	unsigned n = SAMPLE_OBJECT_FIRST;

	for (unsigned i = 0; topo && i < topo->nic_count; i++)
		for (unsigned k = 0; k < topo->nics[i].vector_count; k++) {
			const struct tcpx_machine_vector *v = &topo->nics[i].vectors[k].v;
			struct tcpx_sample_object *o = &s->object[n++];

			o->kind = TCPX_SAMPLE_IS_IRQ;
			o->id = (long)v->irq;
			nic_and_queue(&topo->nics[i], v, o->name, sizeof(o->name));
		}
	s->irqs.count = n - SAMPLE_OBJECT_FIRST;
}

/* The files have a column for each possible CPU; the table names its columns. */
static int
make_columns(struct sample_irqs *q, const struct tcpx_topo *topo)
{
	const struct tcpx_cpuset *cpus = topo->possible.why ? &topo->facts.cpus.online
							    : &topo->possible.cpus;
	unsigned n = 0;

	q->cpus = tcpx_cpuset_count(cpus);
	q->cpu = calloc(q->cpus + 1, sizeof(*q->cpu));
	if (!q->cpu)
		return -ENOMEM;
	tcpx_cpuset_for_each(cpu, cpus)
		q->cpu[n++] = cpu;
	return 0;
}

static void
close_all(struct sample_irqs *q)
{
	for (unsigned i = 0; q->fd && i < q->count; i++)
		if (q->fd[i] >= 0)
			close(q->fd[i]);
	free(q->fd);
	q->fd = NULL;
}

/* All or none: with two sources a sample would have two times. */
static int
open_all(struct tcpx_sampler *s)
{
	struct sample_irqs *q = &s->irqs;
	char path[80];

	q->fd = malloc(q->count * sizeof(*q->fd));
	if (!q->fd)
		return -ENOMEM;
	for (unsigned i = 0; i < q->count; i++)
		q->fd[i] = -1;
	for (unsigned i = 0; i < q->count; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/irq/%ld/per_cpu_count",
			 s->object[SAMPLE_OBJECT_FIRST + i].id);
		q->fd[i] = tcpx_io_open_file(s->root, path);
		if (q->fd[i] < 0) {
			close_all(q);
			return 0;
		}
	}
	return 0;
}

int
tcpx_sample_irqs_init(struct tcpx_sampler *s, const struct tcpx_topo *topo)
{
	struct sample_irqs *q = &s->irqs;
	int rc;

	name_vectors(s, topo);
	if (q->count == 0) {
		s->cost.irq_why = "no NIC shows a vector";
		return 0;
	}
	rc = make_columns(q, topo);
	if (rc < 0)
		return rc;
	q->last = calloc((size_t)q->count * TCPX_CPUS_MAX, sizeof(*q->last));
	q->now = calloc(TCPX_CPUS_MAX, sizeof(*q->now));
	q->seen = calloc(q->count, sizeof(*q->seen));
	q->text = malloc(SYSFS_BYTES + 1);
	if (!q->last || !q->now || !q->seen || !q->text)
		return -ENOMEM;
	rc = open_all(s);
	s->cost.irq_source = q->fd ? "/sys/kernel/irq/N/per_cpu_count" : "/proc/interrupts";
	return rc;
}

void
tcpx_sample_irqs_fini(struct tcpx_sampler *s)
{
	close_all(&s->irqs);
	free(s->irqs.last);
	free(s->irqs.now);
	free(s->irqs.cpu);
	free(s->irqs.seen);
	free(s->irqs.text);
}

/* The counts of a vector on CPUs: cpu[i] has count[i]. */
static void
put(struct tcpx_sampler *s, unsigned vector, const uint32_t *count, const int *cpu, unsigned n)
{
	uint32_t *last = s->irqs.last + (size_t)vector * TCPX_CPUS_MAX, delta;
	bool seen = s->irqs.seen[vector], anew = false;

	for (unsigned i = 0; i < n; i++)
		anew |= count[i] != last[cpu[i]] &&
			!tcpx_irqdiff_rise(last[cpu[i]], count[i], &delta);
	for (unsigned i = 0; i < n; i++) {
		/* made anew: only its count since then is known */
		delta = anew ? count[i] : count[i] - last[cpu[i]];
		last[cpu[i]] = count[i];
		if (seen)
			tcpx_sampler_put(s, SAMPLE_OBJECT_FIRST + vector, cpu[i],
					 TCPX_SAMPLE_COUNT, delta);
	}
	s->irqs.seen[vector] = true;
}

static void
look_at_files(struct tcpx_sampler *s)
{
	struct sample_irqs *q = &s->irqs;

	for (unsigned i = 0; i < q->count; i++) {
		ssize_t len = pread(q->fd[i], q->text, SYSFS_BYTES, 0);
		int n = -1;

		/* a vector that is gone does not answer */
		if (len > 0) {
			q->text[len] = '\0';
			n = tcpx_sample_counts_parse(q->text, q->now, q->cpus);
		}
		if (n > 0)
			put(s, i, q->now, q->cpu, (unsigned)n);
	}
}

static void
look_at_table(struct tcpx_sampler *s)
{
	struct sample_irqs *q = &s->irqs;
	struct tcpx_irqtab tab;
	char *text;
	size_t len;
	int rc;

	rc = tcpx_io_slurp(s->root, "/proc/interrupts", TCPX_IRQTAB_BYTES, &text, &len);
	if (rc == 0) {
		rc = tcpx_irqtab_parse(text, len, &tab);
		free(text);
	}
	if (rc < 0) {
		s->cost.irq_why = tcpx_maybe_why(rc);
		return;
	}
	for (unsigned i = 0; i < q->count; i++) {
		const struct tcpx_irq_row *row =
			tcpx_irqtab_find(&tab, s->object[SAMPLE_OBJECT_FIRST + i].id);

		if (row)
			put(s, i, row->count, (const int *)tab.cpu, row->columns);
	}
	tcpx_irqtab_fini(&tab);
}

void
tcpx_sample_irqs_look(struct tcpx_sampler *s)
{
	if (s->irqs.count == 0)
		return;
	if (s->irqs.fd)
		look_at_files(s);
	else
		look_at_table(s);
}
