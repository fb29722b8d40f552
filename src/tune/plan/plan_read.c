/* SPDX-License-Identifier: Apache-2.0 */
/* Reading plans from JSON. */
#include "tune/plan/plan_json.h"
#include "tune/texts/plan_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	const char *what;
	struct tcpx_plan p;
};

static int __attribute__((format(printf, 2, 3)))
bad(const struct reader *r, const char *fmt, ...)
{
	char text[200];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return tcpx_fail(TCPX_SUB_TOOL, -EINVAL, "%s: %s", r->what, text);
}

/* null, or a missing value, is @none where that is allowed (below @low). */
static int
read_number(const struct reader *r, const json_t *from, const char *key, int64_t none,
	    int64_t low, int64_t high, int64_t *out)
{
	const json_t *v = json_object_get(from, key);

	if (none < low && (!v || json_is_null(v))) {
		*out = none;
		return 0;
	}
	*out = json_integer_value(v);
	if (!json_is_integer(v) || *out < low || *out > high)
		return bad(r, "\"%s\" is not a number from %lld to %lld", key, (long long)low,
			   (long long)high);
	return 0;
}

static int
read_unsigned(const struct reader *r, const json_t *from, const char *key, unsigned high,
	      unsigned *out)
{
	int64_t v = 0;
	int rc = read_number(r, from, key, 0, 0, high, &v);

	*out = (unsigned)v;
	return rc;
}

static int
read_int(const struct reader *r, const json_t *from, const char *key, int high, int *out)
{
	int64_t v = -1;
	int rc = read_number(r, from, key, -1, 0, high, &v);

	*out = (int)v;
	return rc;
}

static int
read_text(const struct reader *r, const json_t *from, const char *key, char *out, size_t cap)
{
	const char *text = json_string_value(json_object_get(from, key));

	if (!text || strlen(text) >= cap)
		return bad(r, "\"%s\" is not a text of at most %zu bytes", key, cap - 1);
	memcpy(out, text, strlen(text) + 1);
	return 0;
}

static int
read_set(const struct reader *r, const json_t *from, const char *key, struct tcpx_cpuset *set)
{
	const char *text = json_string_value(json_object_get(from, key));

	tcpx_cpuset_init(set);
	if (!text || (*text && tcpx_cpuset_parse(text, set)))
		return bad(r, "\"%s\" is not a list of CPUs", key);
	return 0;
}

/* ---- parts ---- */

static int
read_options(struct reader *r, const json_t *json)
{
	const json_t *from = json_object_get(json, "options");
	struct tcpx_plan_options *o = &r->p.options;
	char word[32];
	int rc = read_text(r, from, "policy", word, sizeof(word));

	if (rc == 0 && tcpx_irq_policy_parse(word, &o->policy))
		rc = bad(r, "policy \"%s\" is not known", word);
	if (rc == 0)
		rc = read_int(r, from, "head", TCPX_CPUS_MAX, &o->head);
	if (rc == 0)
		rc = read_int(r, from, "tail", TCPX_CPUS_MAX, &o->tail);
	if (rc == 0)
		rc = read_text(r, from, "share", word, sizeof(word));
	if (rc)
		return rc;
	o->share_nic = !strcmp(word, "nic");
	rc = read_text(r, from, "threads", word, sizeof(word));
	o->first_threads = rc == 0 && !strcmp(word, "first");
	o->align_l3 = json_is_true(json_object_get(from, "align_l3"));
	o->use_isolated = json_is_true(json_object_get(from, "use_isolated"));
	if (rc == 0 && json_object_get(from, "spill")) {
		rc = read_text(r, from, "spill", word, sizeof(word));
		o->spill = rc == 0 && !strcmp(word, "nearest");
	}
	return rc;
}

static int
read_group(struct reader *r, const json_t *from, struct tcpx_plan_group *g)
{
	const json_t *counts = json_object_get(from, "core_counts"), *flag;
	size_t i;
	int rc = read_int(r, from, "node", INT16_MAX, &g->node);

	if (rc == 0)
		rc = read_unsigned(r, from, "gpus", 1000, &g->gpus);
	if (rc == 0)
		rc = read_unsigned(r, from, "queues", 65535, &g->queues);
	if (rc == 0)
		rc = read_unsigned(r, from, "cores", TCPX_CPUS_MAX, &g->cores);
	if (rc == 0)
		rc = read_unsigned(r, counts, "head", TCPX_CPUS_MAX, &g->head_cores);
	if (rc == 0)
		rc = read_unsigned(r, counts, "tx", TCPX_CPUS_MAX, &g->tx_cores);
	if (rc == 0)
		rc = read_unsigned(r, counts, "rx", TCPX_CPUS_MAX, &g->rx_cores);
	if (rc == 0)
		rc = read_unsigned(r, counts, "tail", TCPX_CPUS_MAX, &g->tail_cores);
	if (rc == 0)
		rc = read_set(r, from, "pool", &g->pool);
	if (rc == 0)
		rc = read_set(r, from, "head", &g->head);
	if (rc == 0)
		rc = read_set(r, from, "tx", &g->tx);
	if (rc == 0)
		rc = read_set(r, from, "rx", &g->rx);
	if (rc == 0)
		rc = read_set(r, from, "tail", &g->tail);
	if (rc == 0 && json_object_get(from, "far"))
		rc = read_set(r, from, "far", &g->far);
	if (rc == 0 && json_object_get(counts, "far_tx"))
		rc = read_unsigned(r, counts, "far_tx", g->tx_cores, &g->far_tx_cores);
	if (rc == 0 && json_object_get(counts, "far_rx"))
		rc = read_unsigned(r, counts, "far_rx", g->rx_cores, &g->far_rx_cores);
	json_array_foreach(json_object_get(from, "flags"), i, flag)
		for (unsigned bit = 0; json_is_string(flag) && bit < TCPX_PLAN_FLAGS; bit++)
			if (!strcmp(json_string_value(flag), tcpx_plan_flag_name(bit)))
				g->flags |= 1u << bit;
	if (rc == 0 && tcpx_cpuset_empty(&g->pool))
		rc = bad(r, "a group has no CPUs");
	return rc;
}

static int
read_nic(struct reader *r, const json_t *from, struct tcpx_plan_nic *nic)
{
	int rc = read_text(r, from, "name", nic->name, sizeof(nic->name));

	if (rc == 0)
		rc = read_unsigned(r, from, "group", r->p.group_count - 1, &nic->group);
	if (rc == 0)
		rc = read_unsigned(r, from, "index", TCPX_MACHINE_NICS, &nic->index);
	if (rc == 0)
		rc = read_unsigned(r, from, "queues_rx", 65535, &nic->queues_rx);
	if (rc == 0)
		rc = read_unsigned(r, from, "queues_tx", 65535, &nic->queues_tx);
	if (rc == 0)
		r->p.groups[nic->group].nic_count++;
	return rc;
}

static int
nic_named(const struct reader *r, const char *name)
{
	for (unsigned i = 0; i < r->p.nic_count; i++)
		if (!strcmp(r->p.nics[i].name, name))
			return (int)i;
	return bad(r, "an interrupt is of NIC \"%s\", which the plan does not have", name);
}

static int
read_irq(struct reader *r, const json_t *from, struct tcpx_plan_irq *irq)
{
	char word[32];
	int rc = read_text(r, from, "nic", word, sizeof(word)), nic;

	if (rc)
		return rc;
	nic = nic_named(r, word);
	if (nic < 0)
		return nic;
	irq->nic = (unsigned)nic;
	rc = read_number(r, from, "irq", -1, 0, INT32_MAX, &irq->irq);
	if (rc == 0)
		rc = read_number(r, from, "hwirq", -1, 0, INT64_MAX, &irq->hwirq);
	if (rc == 0)
		rc = read_int(r, from, "queue", 65535, &irq->queue);
	if (rc == 0)
		rc = read_int(r, from, "cpu", TCPX_CPUS_MAX - 1, &irq->cpu);
	if (rc == 0)
		rc = read_text(r, from, "name", irq->name, sizeof(irq->name));
	if (rc == 0)
		rc = read_text(r, from, "kind", word, sizeof(word));
	if (rc)
		return rc;
	irq->movable = !json_is_false(json_object_get(from, "movable"));
	for (int kind = TCPX_VECTOR_TX; kind <= TCPX_VECTOR_TXRX; kind++)
		if (!strcmp(word, tcpx_vector_kind_name((enum tcpx_vector_kind)kind))) {
			irq->kind = (enum tcpx_vector_kind)kind;
			return 0;
		}
	return bad(r, "kind \"%s\" of an interrupt: tx, rx or txrx", word);
}

/* ---- the whole ---- */

/* An array of at most @most, with zeroed room for all of it. */
static int
room(const struct reader *r, const json_t *json, const char *key, size_t most, size_t size,
     const json_t **from, void **to)
{
	*from = json_object_get(json, key);
	if (!json_is_array(*from) || json_array_size(*from) > most)
		return bad(r, "\"%s\" is not an array of at most %zu", key, most);
	*to = calloc(json_array_size(*from) + 1, size);
	return *to ? 0 : -ENOMEM;
}

static int
read_arrays(struct reader *r, const json_t *json)
{
	const json_t *groups, *nics, *irqs;
	struct tcpx_plan *p = &r->p;
	int rc = room(r, json, "groups", TCPX_MACHINE_NICS, sizeof(*p->groups), &groups,
		      (void **)&p->groups);

	if (rc == 0 && !json_array_size(groups))
		rc = bad(r, "a plan without groups");
	for (size_t i = 0; rc == 0 && i < json_array_size(groups); i++)
		rc = read_group(r, json_array_get(groups, i), &p->groups[p->group_count++]);
	if (rc == 0)
		rc = room(r, json, "nics", TCPX_MACHINE_NICS, sizeof(*p->nics), &nics,
			  (void **)&p->nics);
	for (size_t i = 0; rc == 0 && i < json_array_size(nics); i++)
		rc = read_nic(r, json_array_get(nics, i), &p->nics[p->nic_count++]);
	if (rc == 0)
		rc = room(r, json, "irqs", 1u << 17, sizeof(*p->irqs), &irqs, (void **)&p->irqs);
	for (size_t i = 0; rc == 0 && i < json_array_size(irqs); i++)
		rc = read_irq(r, json_array_get(irqs, i), &p->irqs[p->irq_count++]);
	return rc;
}

bool
plan_json_hash(const json_t *json, uint64_t *out)
{
	const char *text = json_string_value(json);

	if (!text || strlen(text) != 16 || text[strspn(text, "0123456789abcdef")])
		return false;
	*out = strtoull(text, NULL, 16);
	return true;
}

static int
read_hashes(struct reader *r, const json_t *json)
{
	const json_t *parts = json_object_get(json, "topo_parts");

	if (!plan_json_hash(json_object_get(json, "topo_hash"), &r->p.hash))
		return bad(r, "topo_hash is not 16 hex digits");
	for (int i = 0; parts && i < TCPX_MACHINE_PARTS; i++) {
		const char *name = tcpx_machine_part_name((enum tcpx_machine_part)i);

		if (!plan_json_hash(json_object_get(parts, name), &r->p.parts[i]))
			return bad(r, "topo_parts.%s is not 16 hex digits", name);
	}
	return 0;
}

static int
read_head(struct reader *r, const json_t *json)
{
	int64_t schema;
	int rc;

	if (!json_is_object(json))
		return bad(r, "not a plan");
	rc = read_number(r, json, "schema", 1, 1, PLAN_SCHEMA, &schema);
	if (rc == 0)
		rc = read_text(r, json, "machine", r->p.machine, sizeof(r->p.machine));
	if (rc == 0 && json_is_string(json_object_get(json, "boot_id")))
		rc = read_text(r, json, "boot_id", r->p.boot_id, sizeof(r->p.boot_id));
	return rc ? rc : read_hashes(r, json);
}

int
plan_json_read(const json_t *json, const char *what, struct tcpx_plan *out)
{
	struct reader r = { .what = what };
	int rc = read_head(&r, json);

	if (rc == 0)
		rc = read_options(&r, json);
	if (rc == 0)
		rc = read_arrays(&r, json);
	if (rc)
		tcpx_plan_fini(&r.p);
	else
		*out = r.p;
	return rc;
}
