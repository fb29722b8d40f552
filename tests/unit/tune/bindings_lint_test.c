/* SPDX-License-Identifier: Apache-2.0 */
/* Lint: the famous slip, every kind of finding, and silence without one. */
#include "../base/base_test.h"

#include "tune/texts/bindings_lint.h"
#include "machine/spec.h"

#define TX "eth1:8-21,112-125;eth2:8-21,112-125;eth3:60-73,164-177;eth4:60-73,164-177"
#define RX "eth1:22-35,126-139;eth2:22-35,126-139;eth3:74-87,178-191;eth4:74-87,178-191"

static struct tcpx_machine machine;
static struct tcpx_plan plan;

static int
load(void **state)
{
	if (tcpx_spec_load(TCPX_FIXTURES "/a3-high.spec", &machine))
		return -1;
	return tcpx_plan_cpus(&machine, &TCPX_PLAN_DEFAULTS, &plan);
}

static int
unload(void **state)
{
	tcpx_plan_fini(&plan);
	tcpx_machine_fini(&machine);
	return 0;
}

TEST(what_is_published_has_notes_alone)
{
	struct tcpx_lint lint;

	assert_int_equal(tcpx_lint_bindings(&machine, &plan, TX, RX, &lint), 0);
	assert_int_equal(lint.of[TCPX_LINT_ERROR], 0);
	assert_int_equal(lint.of[TCPX_LINT_WARNING], 0);
	assert_int_equal(lint.count, 2);
	assert_string_equal(lint.at[0].id, "telemetry");
	assert_string_equal(lint.at[0].nic, "eth3");
	assert_string_equal(lint.at[1].nic, "eth4");
	tcpx_lint_fini(&lint);
}

static bool
has(const struct tcpx_lint *lint, const char *id, const char *nic, const char *says)
{
	for (unsigned i = 0; i < lint->count; i++)
		if (!strcmp(lint->at[i].id, id) && !strcmp(lint->at[i].nic, nic) &&
		    strstr(lint->at[i].text, says))
			return true;
	return false;
}

TEST(each_finding_is_found)
{
	static const struct {
		const char *tx, *rx, *id, *nic, *says;
		unsigned errors, warnings;
	} rows[] = {
		{ "eth1:8-21,112-125", "eth1:22-35,124-139", "overlap", "eth1", "124-125", 1, 0 },
		{ "eth1:8-21", "eth2:20-30", "overlap", "", "20-21", 1, 0 },
		{ "eth3:60-73,171-171", NULL, "telemetry", "eth3", "171", 0, 0 },
		{ "eth1:9-3", NULL, "reversed", "eth1", "9-3", 1, 0 },
		{ "eth1:5", NULL, "single", "eth1", "\"5\"", 0, 1 },
		{ "eth1 :5-6", NULL, "blank", "eth1", "blank", 0, 1 },
		{ "eth1:5-8,6-9", NULL, "repeat", "eth1", "6-9", 0, 1 },
		{ "eth1:0-0,2-2,4-4,6-6,8-8,10-10,12-12,14-14,16-16", NULL, "many", "eth1", "8", 0,
		  1 },
		{ "eth9:5-6", NULL, "unknown-nic", "eth9", "no NIC eth9", 1, 0 },
		{ NULL, "eth1:60-61", "off-node", "eth1", "60-61 are not of node 0", 0, 1 },
		{ NULL, "eth1:", "empty", "eth1", "without CPUs", 1, 0 },
		{ "eth1:1-2;eth1:3-4", NULL, "duplicate", "eth1", "already", 1, 0 },
		{ "eth1;", NULL, "malformed", "", "eth1", 1, 0 },
		{ "eth1:8-20,112-125", NULL, "unlike-plan", "eth1", "the plan has 8-21,112-125", 0,
		  0 },
		{ "eth1:8-21,112-125", NULL, "missing", "eth2", "no entry", 0, 0 },
		{ "eth1:300-301", NULL, "offline", "eth1", "300-301 are not online", 0, 1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_lint lint;
		char name[80];

		snprintf(name, sizeof(name), "row %zu, %s", i, rows[i].id);
		assert_int_equal(tcpx_lint_bindings(&machine, &plan, rows[i].tx, rows[i].rx, &lint),
				 0);
		if (!has(&lint, rows[i].id, rows[i].nic, rows[i].says))
			fail_msg("%s: not found", name);
		check(name, "errors", lint.of[TCPX_LINT_ERROR], rows[i].errors);
		check(name, "warnings", lint.of[TCPX_LINT_WARNING], rows[i].warnings);
		for (unsigned k = 1; k < lint.count; k++)
			assert_true(lint.at[k - 1].level <= lint.at[k].level);
		tcpx_lint_fini(&lint);
	}
}

TEST(narrowed_machines_are_seen)
{
	static const char spec[] = "cores 0 0-7\nnic e node 0\nallowed 0-5\nisolated 5\n";
	struct tcpx_machine m;
	struct tcpx_lint lint;

	assert_int_equal(tcpx_spec_parse(spec, "spec", &m), 0);
	assert_int_equal(tcpx_lint_bindings(&m, NULL, "e:4-6", NULL, &lint), 0);
	assert_true(has(&lint, "not-allowed", "e", "CPUs 6 "));
	assert_true(has(&lint, "isolated", "e", "CPUs 5 "));
	assert_int_equal(lint.count, 2);
	tcpx_lint_fini(&lint);
	tcpx_machine_fini(&m);
}

TEST(an_unknown_machine_is_no_reason_to_complain)
{
	struct tcpx_lint lint;

	assert_int_equal(tcpx_lint_bindings(NULL, NULL, "x:0-1", "x:2-3", &lint), 0);
	assert_int_equal(lint.count, 0);
	tcpx_lint_fini(&lint);
}

int
main(void)
{
	return run_cases(load, unload);
}
