/* SPDX-License-Identifier: Apache-2.0 */
/* Writing plans as JSON. Sets are lists of CPUs in the kernel's form. */
#include "tune/plan/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tune/info/machine.h"
#include "tune/texts/forms.h"
#include "tool/json_file.h"
#include "tool/out_text.h"
#include "tool/tool.h"

static json_t *
number_json(int64_t value)
{
	return value < 0 ? json_null() : json_integer(value);
}

/* Cuts a text at its newlines. */
static json_t *
lines_json(const char *text)
{
	json_t *lines = json_array();

	while (*text) {
		size_t len = strcspn(text, "\n");

		json_array_append_new(lines, json_stringn(text, len));
		text += len + (text[len] == '\n');
	}
	return lines;
}

static json_t *
options_json(const struct tcpx_plan_options *o)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:s, s:b}", "policy",
			 tcpx_irq_policy_name(o->policy), "share", o->share_nic ? "nic" : "node",
			 "head", number_json(o->head), "tail", number_json(o->tail), "threads",
			 o->first_threads ? "first" : "all", "use_isolated",
			 o->use_isolated);
}

static json_t *
group_json(const struct tcpx_plan *p, unsigned at, bool why)
{
	const struct tcpx_plan_group *g = &p->groups[at];
	json_t *flags = json_array(), *nics = json_array(), *json;
	char *text = NULL;

	for (unsigned bit = 0; bit < TCPX_PLAN_FLAGS; bit++)
		if (g->flags & 1u << bit)
			json_array_append_new(flags, json_string(tcpx_plan_flag_name(bit)));
	for (unsigned i = 0; i < p->nic_count; i++)
		if (p->nics[i].group == at)
			json_array_append_new(nics, out_json(p->nics[i].name));
	json = json_pack("{s:o, s:i, s:i, s:i, s:{s:i, s:i, s:i, s:i}, s:o, s:o, s:o, s:o, "
			 "s:o, s:o, s:o}", "node", number_json(g->node), "gpus",
			 (int)g->gpus, "queues", (int)g->queues, "cores", (int)g->cores,
			 "core_counts", "head", (int)g->head_cores, "tx", (int)g->tx_cores, "rx",
			 (int)g->rx_cores, "tail", (int)g->tail_cores, "pool",
			 tool_json_cpus(&g->pool), "head", tool_json_cpus(&g->head), "tx",
			 tool_json_cpus(&g->tx), "rx", tool_json_cpus(&g->rx), "tail",
			 tool_json_cpus(&g->tail), "flags", flags,
			 "nics", nics);
	if (why)
		json_object_set_new(json, "why", lines_json(tool_need(
					    tcpx_plan_explain(p, at, &text) ? NULL : text)));
	free(text);
	return json;
}

static json_t *
nic_json(const struct tcpx_plan_nic *nic)
{
	return json_pack("{s:o, s:i, s:i, s:i, s:i, s:s*}", "name", out_json(nic->name), "group",
			 (int)nic->group, "index", (int)nic->index, "queues_rx",
			 (int)nic->queues_rx, "queues_tx", (int)nic->queues_tx, "irq_note",
			 nic->irq_note);
}

static json_t *
irq_json(const struct tcpx_plan *p, const struct tcpx_plan_irq *irq, bool why)
{
	char text[160];
	json_t *json;

	json = json_pack("{s:o, s:o, s:o, s:s, s:i, s:o, s:b, s:i}", "nic",
			 out_json(p->nics[irq->nic].name), "irq", number_json(irq->irq),
			 "hwirq", number_json(irq->hwirq), "kind", tcpx_vector_kind_name(irq->kind),
			 "queue", irq->queue, "name", out_json(irq->name), "movable",
			 irq->movable, "cpu", irq->cpu);
	tcpx_plan_explain_irq(p, irq, text, sizeof(text));
	if (why)
		json_object_set_new(json, "why", json_string(text));
	return json;
}

/* The CPUs of each queue. A NIC with one queue has no choice, and no file for it. */
static json_t *
xps_json(const struct tcpx_plan *p)
{
	json_t *list = json_array();
	struct tcpx_cpuset cpus;

	for (unsigned i = 0; i < p->nic_count; i++) {
		const struct tcpx_plan_nic *nic = &p->nics[i];

		for (unsigned q = 0; nic->queues_tx > 1 && q < nic->queues_tx; q++) {
			tcpx_plan_xps(p, nic, q, &cpus);
			if (!tcpx_cpuset_empty(&cpus))
				json_array_append_new(list, json_pack("{s:o, s:i, s:o}", "nic",
					out_json(nic->name), "queue", (int)q, "cpus",
					tool_json_cpus(&cpus)));
		}
	}
	return list;
}

/* Bindings that the plugin could not read are null. */
static json_t *
bindings_json(const struct tcpx_plan *p, bool rx)
{
	char *text = NULL;
	json_t *json = tcpx_plan_bindings(p, rx, &text) ? json_null() : out_json(text);

	free(text);
	return json;
}

static json_t *
hash_json(uint64_t hash)
{
	char text[24];

	snprintf(text, sizeof(text), "%016" PRIx64, hash);
	return json_string(text);
}

/* With it a refusal can name what has changed. */
static json_t *
parts_json(const struct tcpx_plan *p)
{
	json_t *json = json_object();

	for (int i = 0; i < TCPX_MACHINE_PARTS; i++)
		json_object_set_new(json, tcpx_machine_part_name((enum tcpx_machine_part)i),
				    hash_json(p->parts[i]));
	return json;
}

json_t *
plan_json(const struct tcpx_plan *p, bool why)
{
	json_t *groups = json_array(), *nics = json_array(), *irqs = json_array(), *json;
	char *application = NULL;

	tool_need(tcpx_plan_application(p, &application) ? NULL : application);
	for (unsigned i = 0; i < p->group_count; i++)
		json_array_append_new(groups, group_json(p, i, why));
	for (unsigned i = 0; i < p->nic_count; i++)
		json_array_append_new(nics, nic_json(&p->nics[i]));
	for (unsigned i = 0; i < p->irq_count; i++)
		json_array_append_new(irqs, irq_json(p, &p->irqs[i], why));
	json = json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:{s:o, s:o}, s:s}",
			 "schema", PLAN_SCHEMA, "machine", out_json(p->machine), "boot_id",
			 *p->boot_id ? out_json(p->boot_id) : json_null(), "topo_hash",
			 hash_json(p->hash), "topo_parts", parts_json(p), "options",
			 options_json(&p->options), "groups", groups, "nics", nics, "irqs", irqs,
			 "xps", xps_json(p), "bindings", "tx", bindings_json(p, false), "rx",
			 bindings_json(p, true), "application", application);
	free(application);
	return json;
}
