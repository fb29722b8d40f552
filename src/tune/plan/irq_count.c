/* SPDX-License-Identifier: Apache-2.0 */
/* Sums over a difference of two snapshots, and the whole as JSON. */
#include "tune/plan/irq_count.h"

#include <stdlib.h>
#include <string.h>

#include "tcpx/tcpx.h"
#include "tune/info/machine.h"
#include "tool/json_file.h"
#include "tool/out_text.h"
#include "tool/tool.h"

static const struct tcpx_host_node *
find_node(const struct tcpx_snapshot *snap, int id)
{
	for (unsigned i = 0; id >= 0 && i < snap->node_count; i++)
		if (snap->nodes[i].id == id)
			return &snap->nodes[i];
	return NULL;
}

uint64_t
irq_on_node(const struct tcpx_irqdiff *diff, const struct tcpx_irqdiff_row *row)
{
	const struct tcpx_host_node *node = find_node(row->of, row->of->nics[row->vector->nic].node);
	uint64_t sum = 0;

	for (unsigned i = 0; i < diff->cpu_count; i++)
		if (!node || tcpx_cpuset_has(&node->cpus, (int)diff->cpu[i]))
			sum += row->delta[i];
	return sum;
}

static struct irq_sum *
find_sum(struct irq_sum *sums, unsigned count, const char *name)
{
	for (unsigned i = 0; i < count; i++)
		if (sums[i].name && !strcmp(sums[i].name, name))
			return &sums[i];
	return &sums[count];
}

struct irq_sum *
irq_sums(const struct tcpx_irqdiff *diff, const struct tcpx_snapshot *b, unsigned *count)
{
	struct irq_sum *sums = calloc(b->nic_count + 1, sizeof(*sums)), *sum;

	if (!sums)
		return NULL;
	for (unsigned i = 0; i < b->nic_count; i++)
		sums[i] = (struct irq_sum){ .name = b->nics[i].name, .node = b->nics[i].node };
	sums[b->nic_count].node = -1;
	for (unsigned i = 0; i < diff->irq_rows; i++) {
		const struct tcpx_irqdiff_row *row = &diff->row[i];

		if (row->irq < 0)
			continue;
		sum = &sums[b->nic_count];
		if (row->vector)
			sum = find_sum(sums, b->nic_count, row->of->nics[row->vector->nic].name);
		sum->vectors++;
		sum->total += row->total;
		sum->on_node += row->vector ? irq_on_node(diff, row) : row->total;
		sum->moved += row->moved;
	}
	*count = b->nic_count + 1;
	return sums;
}

uint64_t
irq_nic_count(const struct tcpx_irqdiff *diff, unsigned column)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < diff->irq_rows; i++)
		if (diff->row[i].vector)
			sum += diff->row[i].delta[column];
	return sum;
}

const struct tcpx_irqdiff_row *
irq_softirq(const struct tcpx_irqdiff *diff, const char *label)
{
	for (unsigned i = diff->irq_rows; i < diff->row_count; i++)
		if (!strcmp(diff->row[i].label, label))
			return &diff->row[i];
	return NULL;
}

bool
irq_changed(const struct tcpx_irqdiff *diff)
{
	for (unsigned i = 0; i < diff->irq_rows; i++)
		if (diff->row[i].irq >= 0 &&
		    (diff->row[i].state != TCPX_IRQ_SAME || diff->row[i].moved))
			return true;
	return diff->cpus_changed > 0;
}

/* ---- JSON ------------------------------------------------------------------------- */

/* Only the CPUs with counts. */
static json_t *
counts_json(const struct tcpx_irqdiff *diff, const struct tcpx_irqdiff_row *row)
{
	json_t *json = json_object();
	char cpu[16];

	for (unsigned i = 0; i < diff->cpu_count; i++) {
		if (!row->delta[i])
			continue;
		snprintf(cpu, sizeof(cpu), "%u", diff->cpu[i]);
		json_object_set_new(json, cpu, json_integer(row->delta[i]));
	}
	return json;
}

static json_t *
row_json(const struct tcpx_irqdiff *diff, const struct tcpx_irqdiff_row *row)
{
	const struct tcpx_snap_vector *v = row->vector;
	json_t *json = json_pack("{s:o, s:o, s:s, s:I, s:o}", "label",
				 out_json(row->label), "name",
				 out_json(row->names), "state",
				 tcpx_irqdiff_state_name(row->state), "total",
				 (json_int_t)row->total, "cpus", counts_json(diff, row));

	if (v)
		json_object_update_new(json, json_pack(
			"{s:o, s:s, s:o, s:s, s:I, s:b, s:o, s:o}", "nic",
			out_json(row->of->nics[v->nic].name), "kind",
			tcpx_vector_kind_name(v->kind), "queue",
			v->queue < 0 ? json_null() : json_integer(v->queue), "map_source",
			tcpx_vector_source_name(v->source), "on_node",
			(json_int_t)irq_on_node(diff, row), "moved", row->moved, "requested",
			v->requested_known ? tool_json_cpus(&v->requested) : json_null(),
			"effective",
			v->effective_known ? tool_json_cpus(&v->effective) : json_null()));
	return json;
}

static json_t *
times_json(const struct tcpx_irqdiff *diff)
{
	json_t *json = json_object();
	char cpu[16];

	for (unsigned i = 0; i < diff->time_count; i++) {
		json_t *one = json_object();

		for (unsigned k = 0; k < TCPX_CPU_TIMES; k++)
			json_object_set_new(one, tcpx_cpu_time_name(k),
					    json_integer((json_int_t)diff->times[i].ticks[k]));
		snprintf(cpu, sizeof(cpu), "%u", diff->times[i].cpu);
		json_object_set_new(json, cpu, one);
	}
	return json;
}

json_t *
irq_diff_json(const struct tcpx_irqdiff *diff, const struct tcpx_snapshot *b)
{
	json_t *irqs = json_array(), *softirqs = json_array();
	json_t *nics = json_object();
	unsigned count;
	struct irq_sum *sums = irq_sums(diff, b, &count);

	for (unsigned i = 0; sums && i + 1 < count; i++)
		json_object_set_new(nics, sums[i].name, json_pack(
			"{s:i, s:i, s:I, s:I}", "node", sums[i].node, "vectors",
			(int)sums[i].vectors, "total", (json_int_t)sums[i].total, "on_node",
			(json_int_t)sums[i].on_node));
	free(sums);
	for (unsigned i = 0; i < diff->row_count; i++)
		json_array_append_new(i < diff->irq_rows ? irqs : softirqs,
				      row_json(diff, &diff->row[i]));
	return json_pack("{s:i, s:s, s:f, s:i, s:b, s:o, s:o, s:o, s:o}", "schema", 1, "version",
			 tcpx_version(), "seconds", diff->seconds, "cpus_changed",
			 (int)diff->cpus_changed, "changed", irq_changed(diff), "nics", nics,
			 "irqs", irqs, "softirqs", softirqs, "ticks", times_json(diff));
}
