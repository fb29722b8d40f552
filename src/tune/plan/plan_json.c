/* SPDX-License-Identifier: Apache-2.0 */
/* Writing plans as JSON. Sets are lists of CPUs in the kernel's form. */
#include "tune/plan/plan_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tune/info/machine.h"
#include "tune/texts/plan_text.h"
#include "tool/tool.h"

/* Takes over @value; false without memory. */
static bool
put(json_t *object, const char *key, json_t *value)
{
	return value && json_object_set_new(object, key, value) == 0;
}

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

	while (lines && *text) {
		size_t len = strcspn(text, "\n");

		json_array_append_new(lines, json_stringn(text, len));
		text += len + (text[len] == '\n');
	}
	return lines;
}

static json_t *
options_json(const struct tcpx_plan_options *o)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:s, s:b, s:b, s:s}", "policy",
			 tcpx_irq_policy_name(o->policy), "share", o->share_nic ? "nic" : "node",
			 "head", number_json(o->head), "tail", number_json(o->tail), "threads",
			 o->first_threads ? "first" : "all", "align_l3", o->align_l3,
			 "use_isolated", o->use_isolated, "spill",
			 o->spill ? "nearest" : "none");
}

static bool
put_sets(json_t *json, const struct tcpx_plan_group *g)
{
	return put(json, "pool", tool_json_cpus(&g->pool)) && put(json, "head", tool_json_cpus(&g->head)) &&
	       put(json, "tx", tool_json_cpus(&g->tx)) && put(json, "rx", tool_json_cpus(&g->rx)) &&
	       put(json, "tail", tool_json_cpus(&g->tail)) && put(json, "far", tool_json_cpus(&g->far));
}

static json_t *
group_json(const struct tcpx_plan *p, unsigned at, bool why)
{
	const struct tcpx_plan_group *g = &p->groups[at];
	json_t *json = json_pack("{s:o, s:i, s:i, s:i, s:{s:i, s:i, s:i, s:i, s:i, s:i}}", "node",
				 number_json(g->node), "gpus", (int)g->gpus, "queues",
				 (int)g->queues, "cores", (int)g->cores, "core_counts", "head",
				 (int)g->head_cores, "tx", (int)g->tx_cores, "rx",
				 (int)g->rx_cores, "tail", (int)g->tail_cores, "far_tx",
				 (int)g->far_tx_cores, "far_rx", (int)g->far_rx_cores);
	json_t *flags = json_array(), *nics = json_array();
	char *text;

	for (unsigned bit = 0; flags && bit < TCPX_PLAN_FLAGS; bit++)
		if (g->flags & 1u << bit)
			json_array_append_new(flags, json_string(tcpx_plan_flag_name(bit)));
	for (unsigned i = 0; nics && i < p->nic_count; i++)
		if (p->nics[i].group == at)
			json_array_append_new(nics, machine_json_text(p->nics[i].name));
	if (!json || !put_sets(json, g) || !put(json, "flags", flags) || !put(json, "nics", nics))
		goto no_memory;
	if (why) {
		if (tcpx_plan_explain(p, at, &text))
			goto no_memory;
		if (!put(json, "why", lines_json(text))) {
			free(text);
			goto no_memory;
		}
		free(text);
	}
	return json;

no_memory:
	json_decref(json);
	return NULL;
}

static json_t *
nic_json(const struct tcpx_plan_nic *nic)
{
	return json_pack("{s:o, s:i, s:i, s:i, s:i}", "name", machine_json_text(nic->name), "group",
			 (int)nic->group, "index", (int)nic->index, "queues_rx",
			 (int)nic->queues_rx, "queues_tx", (int)nic->queues_tx);
}

static json_t *
irq_json(const struct tcpx_plan *p, const struct tcpx_plan_irq *irq, bool why)
{
	struct tcpx_cpuset cpus;
	char text[160];
	json_t *json;

	tcpx_plan_irq_cpus(p, irq, &cpus);
	json = json_pack("{s:o, s:o, s:o, s:s, s:i, s:o, s:b, s:o, s:o}", "nic",
			 machine_json_text(p->nics[irq->nic].name), "irq", number_json(irq->irq),
			 "hwirq", number_json(irq->hwirq), "kind", tcpx_vector_kind_name(irq->kind),
			 "queue", irq->queue, "name", machine_json_text(irq->name), "movable",
			 irq->movable, "cpu", number_json(irq->cpu), "cpus", tool_json_cpus(&cpus));
	tcpx_plan_explain_irq(p, irq, text, sizeof(text));
	if (json && why && !put(json, "why", json_string(text))) {
		json_decref(json);
		return NULL;
	}
	return json;
}

/* The CPUs of each queue. A NIC with one queue has no choice, and no file for it. */
static json_t *
xps_json(const struct tcpx_plan *p)
{
	json_t *list = json_array();
	struct tcpx_cpuset cpus;

	for (unsigned i = 0; list && i < p->nic_count; i++) {
		const struct tcpx_plan_nic *nic = &p->nics[i];

		for (unsigned q = 0; nic->queues_tx > 1 && q < nic->queues_tx; q++) {
			tcpx_plan_xps(p, nic, q, &cpus);
			if (!tcpx_cpuset_empty(&cpus))
				json_array_append_new(list, json_pack("{s:o, s:i, s:o}", "nic",
					machine_json_text(nic->name), "queue", (int)q, "cpus",
					tool_json_cpus(&cpus)));
		}
	}
	return list;
}

/* Bindings that the plugin could not read are null. */
static bool
put_bindings(json_t *json, const struct tcpx_plan *p)
{
	json_t *both = json_object();
	char *text;

	for (unsigned rx = 0; both && rx < 2; rx++) {
		json_t *value = json_null();

		if (tcpx_plan_bindings(p, rx, &text) == 0) {
			value = machine_json_text(text);
			free(text);
		}
		put(both, rx ? "rx" : "tx", value);
	}
	if (!put(json, "bindings", both) || tcpx_plan_application(p, &text))
		return false;
	both = json_string(text);
	free(text);
	return put(json, "application", both);
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

	for (int i = 0; json && i < TCPX_MACHINE_PARTS; i++)
		put(json, tcpx_machine_part_name((enum tcpx_machine_part)i),
		    hash_json(p->parts[i]));
	return json;
}

json_t *
plan_json(const struct tcpx_plan *p, bool why)
{
	json_t *json, *groups = json_array(), *nics = json_array(), *irqs = json_array();

	json = json_pack("{s:i, s:o, s:o, s:o, s:o, s:o}", "schema", PLAN_SCHEMA, "machine",
			 machine_json_text(p->machine), "boot_id",
			 *p->boot_id ? machine_json_text(p->boot_id) : json_null(), "topo_hash",
			 hash_json(p->hash), "topo_parts", parts_json(p), "options",
			 options_json(&p->options));
	for (unsigned i = 0; groups && i < p->group_count; i++)
		json_array_append_new(groups, group_json(p, i, why));
	for (unsigned i = 0; nics && i < p->nic_count; i++)
		json_array_append_new(nics, nic_json(&p->nics[i]));
	for (unsigned i = 0; irqs && i < p->irq_count; i++)
		json_array_append_new(irqs, irq_json(p, &p->irqs[i], why));
	if (json && put(json, "groups", groups) && put(json, "nics", nics) &&
	    put(json, "irqs", irqs) && put(json, "xps", xps_json(p)) && put_bindings(json, p) &&
	    json_array_size(groups) == p->group_count && json_array_size(nics) == p->nic_count &&
	    json_array_size(irqs) == p->irq_count)
		return json;
	json_decref(json);
	return NULL;
}
