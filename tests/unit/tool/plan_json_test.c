/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as JSON: a written plan reads back the same, a changed one is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "tune/plan/plan_json.h"
#include "tool/tool.h"
#include "tune/irq/irqplan.h"
#include "tune/texts/spec.h"

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
	o.spill = policy == 0;
	o.nics = policy == 0 ? "eth1,eth2" : NULL;
	assert_int_equal(tcpx_plan_make(&m, &o, &p), 0);
	tcpx_machine_fini(&m);
	return p;
}

static void
plans_read_back(void **state)
{
	for (int policy = 0; policy < TCPX_IRQ_POLICIES; policy++) {
		struct tcpx_plan p = a3_high((enum tcpx_irq_policy)policy), again;
		json_t *json = plan_json(&p, policy == 0);

		assert_non_null(json);
		assert_int_equal(plan_json_read(json, "own", &again), 0);
		assert_int_equal(again.group_count, p.group_count);
		assert_int_equal(again.nic_count, p.nic_count);
		assert_int_equal(again.irq_count, p.irq_count);
		assert_true(again.hash == p.hash);
		assert_memory_equal(again.parts, p.parts, sizeof(p.parts));
		assert_string_equal(again.machine, "a3-high");
		assert_int_equal(again.options.policy, policy);
		assert_memory_equal(again.groups, p.groups, p.group_count * sizeof(*p.groups));
		assert_memory_equal(again.nics, p.nics, p.nic_count * sizeof(*p.nics));
		for (unsigned i = 0; i < p.irq_count; i++) {
			assert_int_equal(again.irqs[i].irq, p.irqs[i].irq);
			assert_int_equal(again.irqs[i].hwirq, p.irqs[i].hwirq);
			assert_int_equal(again.irqs[i].cpu, p.irqs[i].cpu);
			assert_int_equal(again.irqs[i].kind, p.irqs[i].kind);
			assert_int_equal(again.irqs[i].queue, p.irqs[i].queue);
			assert_int_equal(again.irqs[i].nic, p.irqs[i].nic);
			assert_string_equal(again.irqs[i].name, p.irqs[i].name);
		}
		json_decref(json);
		tcpx_plan_fini(&again);
		tcpx_plan_fini(&p);
	}
}

static void
silence(void *arg, int level, const char *line)
{
}

/* The first element, or the object. */
static json_t *
first(json_t *json, const char *array)
{
	json_t *in = json_object_get(json, array);

	return json_is_object(in) ? in : json_array_get(in, 0);
}

static void
what_was_tampered_with_is_refused(void **state)
{
	static const struct {
		const char *in, *key, *value; /* value: JSON; NULL: the key goes */
	} rows[] = {
		{ NULL, "schema", "2" },         { NULL, "schema", NULL },
		{ NULL, "topo_hash", "\"12\"" }, { NULL, "topo_hash", "\"123456789abcdefg\"" },
		{ NULL, "topo_hash", "\"+123456789abcdef\"" }, { NULL, "topo_hash", NULL },
		{ NULL, "topo_parts", "7" },     { "topo_parts", "cpus", NULL },
		{ "topo_parts", "queues", "\"12\"" },
		{ NULL, "options", "{}" },       { NULL, "groups", "[]" },
		{ NULL, "groups", "7" },         { NULL, "nics", "{}" },
		{ NULL, "irqs", "null" },        { NULL, "machine", "5" },
		{ "groups", "tx", "\"9-3\"" },   { "groups", "rx", "5" },
		{ "groups", "pool", "\"\"" },    { "groups", "cores", "-1" },
		{ "groups", "core_counts", "[]" }, { "groups", "node", "\"x\"" },
		{ "nics", "group", "2" },        { "nics", "name", "\"sixteen-bytes-16\"" },
		{ "irqs", "nic", "\"eth9\"" },   { "irqs", "cpu", "8192" },
		{ "irqs", "irq", "-5" },         { "irqs", "kind", "\"mgmt\"" },
		{ "irqs", "kind", NULL },        { "irqs", "queue", "1.5" },
	};
	struct tcpx_plan p = a3_high(TCPX_IRQ_TAIL);

	tcpx_log_sink(silence, NULL);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		json_t *json = plan_json(&p, false);
		json_t *in = rows[i].in ? first(json, rows[i].in) : json;
		struct tcpx_plan again;

		if (rows[i].value)
			json_object_set_new(in, rows[i].key,
					    json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
		else
			json_object_del(in, rows[i].key);
		if (plan_json_read(json, "text", &again) != -EINVAL)
			fail_msg("%s %s %s is taken", rows[i].in ? rows[i].in : "", rows[i].key,
				 rows[i].value ? rows[i].value : "missing");
		json_decref(json);
	}
	tcpx_log_sink(NULL, NULL);
	tcpx_plan_fini(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans_read_back),
		cmocka_unit_test(what_was_tampered_with_is_refused),
	};

	return cmocka_run_group_tests_name("tool/plan_json", tests, NULL, NULL);
}
