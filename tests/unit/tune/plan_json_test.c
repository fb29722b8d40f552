/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as JSON: a written plan reads back the same, a changed one is refused. */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tune/plan/json.h"
#include "tune/plan/reader.h"
#include "tool/tool.h"
#include "tune/irq/assign.h"
#include "machine/spec.h"

static struct tcpx_plan
a3_high(enum tcpx_irq_policy policy)
{
	struct tcpx_plan_options o = TCPX_PLAN_DEFAULTS;
	struct tcpx_machine m;
	struct tcpx_plan p;
	char path[512];

	snprintf(path, sizeof(path), "%s/tests/fixtures/a3-high.spec", getenv("TCPX_SOURCE_ROOT"));
	assert_int_equal(tcpx_spec_load(path, &m), 0);
	o.policy = policy;
	o.nics = policy == 0 ? "eth1,eth2" : NULL;
	assert_int_equal(tcpx_plan_make(&m, &o, &p), 0);
	tcpx_machine_fini(&m);
	return p;
}

/* The exit code of reading @json from a file; takes it over. */
static int
load(json_t *json, struct planfile *out)
{
	char path[] = "/tmp/tcpx-plan-XXXXXX";
	int fd = mkstemp(path), rc;

	assert_true(fd >= 0 && json);
	assert_int_equal(json_dumpfd(json, fd, 0), 0);
	close(fd);
	json_decref(json);
	rc = planfile_load("plan_json_test", path, out);
	unlink(path);
	return rc;
}

static void
same_group(const struct tcpx_plan_group *a, const struct planfile_group *b)
{
	assert_int_equal(a->nic_count, b->nic_count);
	assert_memory_equal(&a->pool, &b->pool, sizeof(a->pool));
	assert_memory_equal(&a->head, &b->head, sizeof(a->head));
	assert_memory_equal(&a->tx, &b->tx, sizeof(a->tx));
	assert_memory_equal(&a->rx, &b->rx, sizeof(a->rx));
	assert_memory_equal(&a->tail, &b->tail, sizeof(a->tail));
}

TEST(plans_read_back)
{
	for (int policy = 0; policy < TCPX_IRQ_POLICIES; policy++) {
		struct tcpx_plan p = a3_high((enum tcpx_irq_policy)policy);
		struct planfile again;
		unsigned at = 0;

		assert_int_equal(load(plan_json(&p, policy == 0), &again), TOOL_OK);
		assert_int_equal(again.group_count, p.group_count);
		assert_true(again.has_hash && again.hash == p.hash && again.has_parts);
		assert_memory_equal(again.parts, p.parts, sizeof(p.parts));
		for (unsigned i = 0; i < p.group_count; i++)
			same_group(&p.groups[i], &again.groups[i]);
		for (unsigned i = 0; i < p.nic_count; i++)
			assert_ptr_equal(planfile_of_nic(&again, p.nics[i].name),
					 &again.groups[p.nics[i].group]);
		for (unsigned i = 0; i < p.irq_count; i++) {
			const struct tcpx_aff_item *item = &again.items[at];
			struct tcpx_cpuset cpus;

			if (p.irqs[i].irq < 0)
				continue;
			at++;
			tcpx_cpuset_init(&cpus);
			tcpx_cpuset_add(&cpus, p.irqs[i].cpu);
			assert_int_equal(item->number, p.irqs[i].irq);
			assert_int_equal(item->hwirq, p.irqs[i].hwirq);
			assert_string_equal(item->name, p.irqs[i].name);
			assert_memory_equal(&item->want, &cpus, sizeof(cpus));
		}
		assert_int_equal(at, again.irq_count);
		assert_int_equal(p.irq_count, at + again.left_out);
		planfile_fini(&again);
		tcpx_plan_fini(&p);
	}
}

/* The first element, or the object. */
static json_t *
first(json_t *json, const char *array)
{
	json_t *in = json_object_get(json, array);

	return json_is_object(in) ? in : json_array_get(in, 0);
}

TEST(what_was_tampered_with_is_refused)
{
	static const struct {
		const char *in, *key, *value; /* value: JSON; NULL: the key goes */
	} rows[] = {
		{ NULL, "schema", "2" },         { NULL, "schema", NULL },
		{ NULL, "topo_hash", "\"12\"" }, { NULL, "topo_hash", "\"123456789abcdefg\"" },
		{ NULL, "topo_hash", "\"+123456789abcdef\"" }, { NULL, "boot_id", "5" },
		{ NULL, "topo_parts", "7" },     { "topo_parts", "cpus", NULL },
		{ "topo_parts", "queues", "\"12\"" }, { NULL, "irqs", "null" },
		{ "groups", "nics", "7" },       { "groups", "nics", "[\"sixteen-bytes-16\"]" },
		{ "groups", "nics", "[\"../eth1\"]" }, { "groups", "pool", "5" },
		{ "groups", "tx", "\"9-3\"" },   { "groups", "rx", "5" },
		{ "irqs", "cpu", "8192" },       { "irqs", "irq", "-5" },
		{ "irqs", "irq", "0" },          { "irqs", "irq", "1.5" },
		{ "irqs", "name", NULL },        { "irqs", "name", "\"\"" },
		{ "irqs", "hwirq", "\"x\"" },    { "xps", "queue", "-1" },
		{ "xps", "queue", "65536" },     { "xps", "nic", NULL },
		{ "xps", "cpus", "\"z\"" },
	};
	struct tcpx_plan p = a3_high(TCPX_IRQ_TAIL);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *json = plan_json(&p, false);
		json_t *in = rows[i].in ? first(json, rows[i].in) : json;
		struct planfile again;

		assert_non_null(in);
		if (rows[i].value)
			json_object_set_new(in, rows[i].key,
					    json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
		else
			json_object_del(in, rows[i].key);
		if (load(json, &again) != TOOL_USAGE)
			fail_msg("%s %s %s is taken", rows[i].in ? rows[i].in : "", rows[i].key,
				 rows[i].value ? rows[i].value : "missing");
	}
	tcpx_plan_fini(&p);
}
