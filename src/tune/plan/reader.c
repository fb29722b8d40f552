/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading a plan. Strict where it decides writes to the machine; a message
 * names the element.
 */
#include "tune/plan/reader.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tune/plan/json.h"
#include "tool/tool.h"

struct reading {
	const char *command, *path;
	struct planfile *plan;
};

static int
refuse(const struct reading *r, const char *list, size_t i, const char *what)
{
	return tool_fail(TOOL_USAGE, r->command, "%s: %s[%zu]: %s", r->path, list, i, what);
}

/* A missing member is an empty set. */
static bool
take_set(const json_t *from, const char *key, struct tcpx_cpuset *set)
{
	const json_t *value = json_object_get(from, key);
	const char *text = json_string_value(value);

	tcpx_cpuset_init(set);
	if (!value || json_is_null(value) || (text && !*text))
		return true;
	return text && tcpx_cpuset_parse(text, set) == 0;
}

static bool
plain_ifname(const char *name)
{
	return name && *name && *name != '.' && strlen(name) < 16 && !strchr(name, '/');
}

static int
read_group(const struct reading *r, size_t i, const json_t *from, struct planfile_group *g)
{
	const json_t *nics = json_object_get(from, "nics"), *nic;
	size_t k;

	if (!json_is_array(nics) || json_array_size(nics) > PLANFILE_NICS)
		return refuse(r, "groups", i, "no list of NICs");
	json_array_foreach(nics, k, nic) {
		const char *name = json_string_value(nic);

		if (!name) /* or an object with a name */
			name = json_string_value(json_object_get(nic, "name"));
		if (!plain_ifname(name))
			return refuse(r, "groups", i, "a NIC is not the name of an interface");
		memcpy(g->nics[g->nic_count++], name, strlen(name) + 1);
	}
	if (!take_set(from, "pool", &g->pool) || !take_set(from, "head", &g->head) ||
	    !take_set(from, "tx", &g->tx) || !take_set(from, "rx", &g->rx) ||
	    !take_set(from, "tail", &g->tail))
		return refuse(r, "groups", i, "pool, head, tx, rx and tail are lists of CPUs as "
			      "\"8-21,112-125\"");
	if (tcpx_cpuset_empty(&g->pool)) {
		tcpx_cpuset_or(&g->pool, &g->head);
		tcpx_cpuset_or(&g->pool, &g->tx);
		tcpx_cpuset_or(&g->pool, &g->rx);
		tcpx_cpuset_or(&g->pool, &g->tail);
	}
	return TOOL_OK;
}

/* -1: absent, null or -1; -2: not a number from 0 to @max. */
static long long
take_number(const json_t *from, const char *key, long long max)
{
	const json_t *value = json_object_get(from, key);
	long long v;

	if (!value || json_is_null(value))
		return -1;
	v = json_is_integer(value) ? json_integer_value(value) : -2;
	return v < -1 || v > max ? -2 : v;
}

static int
read_irq(const struct reading *r, size_t i, const json_t *from)
{
	struct tcpx_aff_item *item = &r->plan->items[r->plan->irq_count];
	const char *name = json_string_value(json_object_get(from, "name"));
	const char *nic = json_string_value(json_object_get(from, "nic"));
	const struct planfile_group *group = nic ? planfile_of_nic(r->plan, nic) : NULL;
	long long irq = take_number(from, "irq", INT32_MAX);
	long long cpu = take_number(from, "cpu", TCPX_CPUS_MAX - 1);
	long long hwirq = take_number(from, "hwirq", INT64_MAX);
	struct tcpx_cpuset cpus;

	if (irq == -1) {
		r->plan->left_out++;
		return TOOL_OK;
	}
	if (irq <= 0)
		return refuse(r, "irqs", i, "irq is not the number of one");
	if (!name || !*name || strlen(name) >= sizeof(item->name))
		return refuse(r, "irqs", i, "no name: without it, nobody can tell that the number "
			      "still means the same");
	if (hwirq == -2)
		return refuse(r, "irqs", i, "hwirq is not a number");
	item->number = (unsigned)irq;
	item->hwirq = hwirq;
	strcpy(item->name, name);
	if (cpu >= 0)
		tcpx_cpuset_add(&item->want, (int)cpu);
	else if (cpu == -1 && take_set(from, "cpus", &cpus) && !tcpx_cpuset_empty(&cpus))
		item->want = cpus;
	else if (cpu == -1 && group && !tcpx_cpuset_empty(&group->pool))
		item->want = group->pool;
	else
		return refuse(r, "irqs", i, "cpu is not one, and the NIC has no group");
	/* Only among the CPUs for interrupts; elsewhere it would disturb a worker. */
	if (cpu >= 0 && group && tcpx_cpuset_has(&group->tail, (int)cpu))
		item->pool = &group->tail;
	r->plan->irq_count++;
	return TOOL_OK;
}

static int
read_xps(const struct reading *r, size_t i, const json_t *from)
{
	struct tcpx_aff_item *item = &r->plan->items[r->plan->irq_count + r->plan->xps_count];
	const char *nic = json_string_value(json_object_get(from, "nic"));
	long long queue = take_number(from, "queue", 65535);

	if (!plain_ifname(nic) || queue < 0)
		return refuse(r, "xps", i, "no nic, or no queue");
	if (!take_set(from, "cpus", &item->want))
		return refuse(r, "xps", i, "cpus is not a list of CPUs");
	item->kind = TCPX_AFF_XPS;
	item->number = (unsigned)queue;
	item->hwirq = -1;
	strcpy(item->name, nic);
	r->plan->xps_count++;
	return TOOL_OK;
}

/* One of the hashes that name a machine: 16 hex digits. */
static bool
take_hash(const json_t *json, uint64_t *out)
{
	const char *text = json_string_value(json);

	if (!text || strlen(text) != 16 || text[strspn(text, "0123456789abcdef")])
		return false;
	*out = strtoull(text, NULL, 16);
	return true;
}

/* The machine that the plan was made for. */
static int
read_machine(const struct reading *r, const json_t *root)
{
	const json_t *hash = json_object_get(root, "topo_hash");
	const json_t *parts = json_object_get(root, "topo_parts");
	const json_t *boot = json_object_get(root, "boot_id");
	const char *id = json_string_value(boot);
	struct planfile *plan = r->plan;

	if (boot && !json_is_null(boot) && (!id || strlen(id) >= sizeof(plan->boot_id)))
		return tool_fail(TOOL_USAGE, r->command, "%s: boot_id is not one", r->path);
	snprintf(plan->boot_id, sizeof(plan->boot_id), "%s", id ? id : "");
	plan->has_hash = take_hash(hash, &plan->hash);
	if (hash && !plan->has_hash)
		return tool_fail(TOOL_USAGE, r->command, "%s: topo_hash is not 16 hex digits",
				 r->path);
	plan->has_parts = parts != NULL;
	for (int i = 0; parts && i < TCPX_MACHINE_PARTS; i++) {
		const char *name = tcpx_machine_part_name((enum tcpx_machine_part)i);

		if (!take_hash(json_object_get(parts, name), &plan->parts[i]))
			return tool_fail(TOOL_USAGE, r->command, "%s: topo_parts.%s is not 16 hex "
					 "digits", r->path, name);
	}
	return TOOL_OK;
}

static int
read_plan(const struct reading *r, const json_t *root)
{
	const json_t *groups = json_object_get(root, "groups"), *irqs = json_object_get(root, "irqs");
	const json_t *xps = json_object_get(root, "xps"), *schema = json_object_get(root, "schema");
	const char *policy = json_string_value(json_object_get(json_object_get(root, "options"), "policy"));
	size_t group_count = json_array_size(groups), count = json_array_size(irqs) +
							      json_array_size(xps), i;
	struct planfile *plan = r->plan;
	const json_t *one;
	int rc;

	if (!json_is_integer(schema) || !json_is_array(irqs))
		return tool_fail(TOOL_USAGE, r->command, "%s: not a plan of tcpx irq plan --emit json",
				 r->path);
	if (json_integer_value(schema) != PLAN_SCHEMA)
		return tool_fail(TOOL_USAGE, r->command, "%s: schema %lld, and only %d is known here",
				 r->path, (long long)json_integer_value(schema), PLAN_SCHEMA);
	if (group_count > PLANFILE_GROUPS || count > TCPX_AFF_ITEMS)
		return tool_fail(TOOL_USAGE, r->command, "%s: too long", r->path);
	plan->groups = calloc(group_count + 1, sizeof(*plan->groups));
	plan->items = calloc(count + 1, sizeof(*plan->items));
	if (!plan->groups || !plan->items)
		return tool_fail(TOOL_DENIED, r->command, "no memory for the plan");
	plan->moves = policy && strcmp(policy, "keep") != 0;
	rc = read_machine(r, root);
	json_array_foreach(groups, i, one) {
		rc = rc ? rc : read_group(r, i, one, &plan->groups[i]);
		plan->group_count += !rc;
	}
	json_array_foreach(irqs, i, one)
		rc = rc ? rc : read_irq(r, i, one);
	json_array_foreach(xps, i, one)
		rc = rc ? rc : read_xps(r, i, one);
	return rc;
}

int
planfile_load(const char *command, const char *path, struct planfile *plan)
{
	struct reading r = { command, path, plan };
	bool in = !strcmp(path, "-");
	json_error_t error;
	json_t *root;
	int rc;

	memset(plan, 0, sizeof(*plan));
	root = in ? json_loadf(stdin, JSON_REJECT_DUPLICATES, &error) :
		    json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		return tool_fail(TOOL_USAGE, command, "%s: %s (line %d)", path, error.text,
				 error.line);
	rc = read_plan(&r, root);
	json_decref(root);
	if (rc)
		planfile_fini(plan);
	return rc;
}

void
planfile_fini(struct planfile *plan)
{
	free(plan->groups);
	free(plan->items);
	memset(plan, 0, sizeof(*plan));
}

int
planfile_open(const char *command, const char *path, struct planfile *plan)
{
	int rc = planfile_load(command, path, plan);

	if (rc == 0 && plan->moves && !plan->irq_count && !plan->left_out) {
		planfile_fini(plan);
		return tool_fail(TOOL_USAGE, command, "%s: no interrupt to move: no vector of its NICs is known "
				 "to serve a queue; tcpx topo --explain lists them", path);
	}
	if (rc || !plan->left_out)
		return rc;
	if (!plan->irq_count) {
		rc = tool_fail(TOOL_USAGE, command, "%s: none of its %u interrupts has a number; the "
			       "machine that it was made from does not tell them", path,
			       plan->left_out);
		planfile_fini(plan);
		return rc;
	}
	fprintf(stderr, "%s: %s: %u without a number left out\n", command, path,
		plan->left_out);
	return TOOL_OK;
}

const struct planfile_group *
planfile_of_nic(const struct planfile *plan, const char *nic)
{
	for (unsigned g = 0; g < plan->group_count; g++)
		for (unsigned i = 0; i < plan->groups[g].nic_count; i++)
			if (!strcmp(plan->groups[g].nics[i], nic))
				return &plan->groups[g];
	return NULL;
}
