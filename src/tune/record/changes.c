/* SPDX-License-Identifier: Apache-2.0 */
/* Differences of tables of counts, row by row and CPU by CPU. */
#include "tune/record/changes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool
tcpx_irqdiff_rise(uint32_t before, uint32_t after, uint32_t *delta)
{
	*delta = after - before; /* modulo 2^32 */
	if (after >= before || *delta < UINT32_C(1) << 31)
		return true;
	*delta = after;
	return false;
}

const char *
tcpx_irqdiff_state_name(enum tcpx_irqdiff_state state)
{
	static const char *const names[TCPX_IRQ_STATES] = {
		[TCPX_IRQ_SAME] = "same", [TCPX_IRQ_ANEW] = "anew", [TCPX_IRQ_CAME] = "came",
		[TCPX_IRQ_GONE] = "gone",
	};

	return (unsigned)state < TCPX_IRQ_STATES ? names[state] : "?";
}

/* ---- CPUs ------------------------------------------------------------------------- */

/* Column of a CPU; -1: it was offline. */
static int
column_of(const struct tcpx_irqtab *tab, unsigned cpu)
{
	unsigned low = 0, high = tab->cpu_count;

	while (low < high) {
		unsigned mid = low + (high - low) / 2;

		if (tab->cpu[mid] == cpu)
			return (int)mid;
		if (tab->cpu[mid] < cpu)
			low = mid + 1;
		else
			high = mid;
	}
	return -1;
}

static int
match_cpus(const struct tcpx_irqtab *a, const struct tcpx_irqtab *b, struct tcpx_irqdiff *d)
{
	d->cpu = malloc((b->cpu_count + 1) * sizeof(*d->cpu));
	if (!d->cpu)
		return -ENOMEM;
	for (unsigned i = 0; i < b->cpu_count; i++)
		if (column_of(a, b->cpu[i]) >= 0)
			d->cpu[d->cpu_count++] = b->cpu[i];
	d->cpus_changed = a->cpu_count + b->cpu_count - 2 * d->cpu_count;
	return 0;
}

/* ---- rows ------------------------------------------------------------------------- */

/* A pair of tables, and the columns of the diff's CPUs in each; -1 for none. */
struct pair {
	const struct tcpx_irqtab *a, *b;
	int *in_a, *in_b;
};

static int
pair_init(const struct tcpx_irqdiff *d, const struct tcpx_irqtab *a, const struct tcpx_irqtab *b,
	  struct pair *p)
{
	*p = (struct pair){ a, b, malloc((d->cpu_count + 1) * sizeof(int)),
			    malloc((d->cpu_count + 1) * sizeof(int)) };
	if (!p->in_a || !p->in_b)
		return -ENOMEM;
	for (unsigned i = 0; i < d->cpu_count; i++) {
		p->in_a[i] = column_of(a, d->cpu[i]);
		p->in_b[i] = column_of(b, d->cpu[i]);
	}
	return 0;
}

static void
pair_fini(struct pair *p)
{
	free(p->in_a);
	free(p->in_b);
}

static uint32_t
count_at(const struct tcpx_irq_row *row, int column)
{
	return row && column >= 0 && (unsigned)column < row->columns ? row->count[column] : 0;
}

static bool
same_owner(const struct tcpx_irq_row *a, const struct tcpx_irq_row *b)
{
	return !strcmp(a->names, b->names) && !strcmp(a->chip, b->chip) &&
	       !strcmp(a->hwirq, b->hwirq);
}

static void
compare_row(const struct tcpx_irqdiff *d, const struct pair *p, const struct tcpx_irq_row *a,
	    const struct tcpx_irq_row *b, uint32_t *delta, struct tcpx_irqdiff_row *out)
{
	const struct tcpx_irq_row *known = b ? b : a;
	bool whole = true;

	*out = (struct tcpx_irqdiff_row){ .irq = known->irq, .label = known->label,
					  .names = known->names, .delta = delta };
	out->state = !b ? TCPX_IRQ_GONE : !a ? TCPX_IRQ_CAME : TCPX_IRQ_SAME;
	if (a && b && a->irq >= 0 && !same_owner(a, b))
		out->state = TCPX_IRQ_ANEW;
	for (unsigned i = 0; out->state == TCPX_IRQ_SAME && i < d->cpu_count; i++)
		whole &= tcpx_irqdiff_rise(count_at(a, p->in_a[i]), count_at(b, p->in_b[i]),
					   &delta[i]);
	if (!whole)
		out->state = TCPX_IRQ_ANEW;
	for (unsigned i = 0; i < d->cpu_count; i++) {
		if (out->state != TCPX_IRQ_SAME)
			delta[i] = count_at(b, p->in_b[i]);
		out->total += delta[i];
	}
}

/* The same row in the other table. */
static const struct tcpx_irq_row *
other_row(const struct tcpx_irqtab *tab, const struct tcpx_irq_row *row)
{
	return row->irq >= 0 ? tcpx_irqtab_find(tab, row->irq) : tcpx_irqtab_label(tab, row->label);
}

static uint32_t *
next_delta(struct tcpx_irqdiff *d)
{
	return d->delta + (size_t)d->row_count * d->cpu_count;
}

/* By number: both tables are sorted so. */
static void
compare_irqs(struct tcpx_irqdiff *d, const struct pair *p)
{
	unsigned i = 0, j = 0;

	for (;;) {
		const struct tcpx_irq_row *a = i < p->a->row_count ? &p->a->row[i] : NULL;
		const struct tcpx_irq_row *b = j < p->b->row_count ? &p->b->row[j] : NULL;

		a = a && a->irq >= 0 ? a : NULL;
		b = b && b->irq >= 0 ? b : NULL;
		if (!a && !b)
			break;
		if (a && b && a->irq != b->irq) {
			if (a->irq < b->irq)
				b = NULL;
			else
				a = NULL;
		}
		compare_row(d, p, a, b, next_delta(d), &d->row[d->row_count]);
		d->row_count++;
		i += a != NULL;
		j += b != NULL;
	}
}

/* By label; rows that are gone are dropped. */
static void
compare_named(struct tcpx_irqdiff *d, const struct pair *p)
{
	for (unsigned j = 0; j < p->b->row_count; j++) {
		const struct tcpx_irq_row *b = &p->b->row[j], *a = other_row(p->a, b);

		if (b->irq >= 0 || (p->b->cpu_count > 1 && b->columns < p->b->cpu_count))
			continue; /* one count for all CPUs: an error counter */
		compare_row(d, p, a, b, next_delta(d), &d->row[d->row_count]);
		d->row_count++;
	}
}

/* Finds each row's vector, and whether its affinity has changed. */
static void
find_vectors(const struct tcpx_snapshot *a, const struct tcpx_snapshot *b,
	     struct tcpx_irqdiff *d)
{
	for (unsigned i = 0; i < d->irq_rows; i++) {
		struct tcpx_irqdiff_row *row = &d->row[i];
		const struct tcpx_snap_vector *in_a = tcpx_snapshot_vector(a, row->irq);
		const struct tcpx_snap_vector *in_b = tcpx_snapshot_vector(b, row->irq);

		row->vector = in_b ? in_b : in_a;
		row->of = in_b ? b : a;
		row->moved = in_a && in_b && in_a->requested_known && in_b->requested_known &&
			     !tcpx_cpuset_equal(&in_a->requested, &in_b->requested);
	}
}

/* ---- times ------------------------------------------------------------------------ */

static int
compare_times(const struct tcpx_snapshot *a, const struct tcpx_snapshot *b,
	      struct tcpx_irqdiff *d)
{
	d->times = calloc(b->time_count + 1, sizeof(*d->times));
	if (!d->times)
		return -ENOMEM;
	for (unsigned i = 0, j = 0; i < a->time_count && j < b->time_count;) {
		const struct tcpx_cpu_times *x = &a->times[i], *y = &b->times[j];

		if (x->cpu == y->cpu) {
			struct tcpx_cpu_times *to = &d->times[d->time_count++];

			to->cpu = y->cpu;
			/* idle and iowait may run back a little */
			for (unsigned k = 0; k < TCPX_CPU_TIMES; k++)
				to->ticks[k] = y->ticks[k] > x->ticks[k]
					       ? y->ticks[k] - x->ticks[k] : 0;
		}
		i += x->cpu <= y->cpu;
		j += y->cpu <= x->cpu;
	}
	return 0;
}

static int
compare_tables(const struct tcpx_irqtab *a, const struct tcpx_irqtab *b, struct tcpx_irqdiff *d,
	       bool irqs)
{
	struct pair p;
	int rc = pair_init(d, a, b, &p);

	if (rc == 0 && irqs)
		compare_irqs(d, &p);
	if (rc == 0)
		compare_named(d, &p);
	pair_fini(&p);
	return rc;
}

/* A plain copy of proc/interrupts has none. */
static bool
has_times(const struct tcpx_snapshot *snap)
{
	return snap->mono_ns[1] > 0;
}

int
tcpx_irqdiff_make(const struct tcpx_snapshot *a, const struct tcpx_snapshot *b,
		  struct tcpx_irqdiff *out)
{
	struct tcpx_irqdiff d = { .seconds = 0 };
	size_t rows = (size_t)a->irqs.row_count + b->irqs.row_count + b->softirqs.row_count;
	int rc;

	if (*a->boot_id && *b->boot_id && strcmp(a->boot_id, b->boot_id))
		return tcpx_fail(TCPX_SUB_HOST, -EINVAL, "compare snapshots of two boots, %s and "
				 "%s: counts begin anew with each", a->boot_id, b->boot_id);
	if (has_times(a) && has_times(b) && b->mono_ns[1] < a->mono_ns[1])
		return tcpx_fail(TCPX_SUB_HOST, -EINVAL, "compare snapshots: the second is "
				 "older than the first");
	if (has_times(a) && has_times(b))
		d.seconds = (double)(b->mono_ns[1] - a->mono_ns[1]) / 1e9;
	rc = match_cpus(&a->irqs, &b->irqs, &d);
	if (rc == 0) {
		d.row = calloc(rows + 1, sizeof(*d.row));
		d.delta = calloc(rows * d.cpu_count + 1, sizeof(*d.delta));
		rc = d.row && d.delta ? 0 : -ENOMEM;
	}
	if (rc == 0)
		rc = compare_tables(&a->irqs, &b->irqs, &d, true);
	d.irq_rows = d.row_count;
	if (rc == 0)
		rc = compare_tables(&a->softirqs, &b->softirqs, &d, false);
	if (rc == 0)
		rc = compare_times(a, b, &d);
	if (rc < 0) {
		tcpx_irqdiff_fini(&d);
		return tcpx_fail(TCPX_SUB_HOST, rc, "compare snapshots of %zu rows", rows);
	}
	find_vectors(a, b, &d);
	*out = d;
	return 0;
}

void
tcpx_irqdiff_fini(struct tcpx_irqdiff *diff)
{
	free(diff->cpu);
	free(diff->row);
	free(diff->delta);
	free(diff->times);
	*diff = (struct tcpx_irqdiff){ .seconds = 0 };
}
