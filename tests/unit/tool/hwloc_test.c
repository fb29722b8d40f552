/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hwloc's texts as machines, and hwloc as a second opinion: both see the same CPUs, cores,
 * nodes and caches of trees and of this machine. Skipped without the library.
 */
#include "../tree_rig.h"

#include <dlfcn.h>

#include "host/plan.h"
#include "tune/plan/hwloc.h"
#include "tune/plan/hwloc_api.h"

static void
an_xml_is_a_machine(void **state)
{
	struct tcpx_machine m;
	char *text;

	assert_int_equal(hwloc_machine("test", TCPX_FIXTURES "/two-nodes.xml", NULL, &m), 0);
	assert_int_equal(tcpx_spec_format(&m, &text), 0);
	assert_string_equal(text,
		"machine two-nodes.xml\n"
		"node 0 distance 10,21\n"
		"node 1 distance 21,10\n"
		"cores 0 0-1/4-5 l3 0\n"
		"cores 1 2-3/6-7 l3 1\n"
		"nic eth1 node 0 from cpus rx 0 tx 0 "
		"path pci0000:00/0000:00:01.0/0000:01:00.0/0000:05:00.0\n"
		"nic eth2 node 1 from cpus rx 0 tx 0 path pci0000:80/0000:80:01.0/0000:82:00.0\n"
		"nic hv0 rx 0 tx 0\n"
		"gpu 0 node 0 path pci0000:00/0000:00:01.0/0000:01:00.0/0000:04:00.0\n"
		"gpu 1 node 1 path pci0000:80/0000:80:01.0/0000:81:00.0\n"
		"allowed 0-6\n");
	free(text);
	tcpx_machine_fini(&m);
}

static void
a_description_is_a_machine(void **state)
{
	struct tcpx_machine m;

	/* the numbers of CPUs of A3-high */
	assert_int_equal(hwloc_machine("test", NULL, "pack:2 [numa] l3:1 core:52 "
				       "pu:2(indexes=2*104:1*2)", &m), 0);
	assert_int_equal(m.core_count, 104);
	assert_int_equal(m.node_count, 2);
	assert_int_equal(m.nic_count, 0);
	assert_int_equal(m.cores[52].cpu[1], 156);
	assert_int_equal(m.cores[52].node, 1);
	assert_int_equal(m.cores[51].l3, 0);
	assert_int_equal(m.cores[52].l3, 1);
	assert_true(tcpx_cpuset_equal(&m.online, &m.allowed));
	tcpx_machine_fini(&m);
}

static void
what_is_none_is_refused(void **state)
{
	struct tcpx_machine m;

	assert_int_equal(hwloc_machine("test", "/nowhere.xml", NULL, &m), 2);
	assert_int_equal(hwloc_machine("test", TCPX_FIXTURES "/ena.spec", NULL, &m), 2);
	assert_int_equal(hwloc_machine("test", NULL, "everything:2", &m), 2);
	assert_int_equal(hwloc_machine("test", NULL, "core:1 pu:2(indexes=0,9000)", &m),
			 2); /* more than we can say */
	assert_int_equal(hwloc_machine("test", NULL, "core:1 pu:9", &m), 2);
}

/* ---- the second opinion ---- */

/* L3 groups are the same if they part the cores alike, whatever their numbers. */
static void
compare_machines(const char *name, const struct tcpx_machine *ours,
		 const struct tcpx_machine *theirs)
{
	check(name, "CPUs", tcpx_cpuset_equal(&ours->online, &theirs->online), 1);
	check(name, "cores", ours->core_count, theirs->core_count);
	if (ours->node_count)
		check(name, "nodes", ours->node_count, theirs->node_count);
	for (unsigned i = 0; i < ours->core_count; i++) {
		const struct tcpx_machine_core *a = &ours->cores[i], *b = &theirs->cores[i];

		check(name, "CPUs of a core", a->cpu_count, b->cpu_count);
		check(name, "their numbers", memcmp(a->cpu, b->cpu, a->cpu_count * 2u), 0);
		if (ours->node_count)
			check(name, "node", a->node, b->node);
		check(name, "L3 known", a->l3 >= 0, b->l3 >= 0);
		if (i > 0)
			check(name, "L3 shared", a->l3 == a[-1].l3, b->l3 == b[-1].l3);
	}
	for (unsigned i = 0; i < ours->node_count; i++) {
		check(name, "node", ours->nodes[i].id, theirs->nodes[i].id);
		if (ours->node_count > 1)
			check(name, "distance", memcmp(ours->nodes[i].distance,
						       theirs->nodes[i].distance,
						       ours->node_count), 0);
	}
}

static void
put_mask(const struct rig *rig, const struct tcpx_cpuset *set, const char *path)
{
	char text[TCPX_CPUS_MAX / 32 * 9 + 2] = "";
	struct fixture tree = rig->tree;

	for (int group = TCPX_CPUS_MAX / 32; group-- > 0;)
		sprintf(text + strlen(text), "%08x%s",
			(unsigned)(set->bits[group / 2] >> (group % 2 ? 32 : 0)), group ? "," : "\n");
	fixture_write(&tree, path, text);
}

/* What hwloc reads beside lists, from the machine and not by our reader. */
static void
put_masks(const struct rig *rig)
{
	const struct tcpx_machine *m = &rig->spec;
	struct tcpx_cpuset set;
	struct fixture tree = rig->tree;
	char path[128], text[16];

	for (unsigned i = 0; i < m->node_count; i++) {
		tcpx_machine_node_cpus(m, m->nodes[i].id, &set);
		snprintf(path, sizeof(path), "sys/devices/system/node/node%d/cpumap",
			 m->nodes[i].id);
		put_mask(rig, &set, path);
	}
	for (unsigned i = 0; i < m->core_count; i++)
		for (unsigned k = 0; k < m->cores[i].cpu_count; k++) {
			unsigned cpu = m->cores[i].cpu[k];

			if (!tcpx_cpuset_has(&m->online, (int)cpu))
				continue;
			tcpx_cpuset_init(&set);
			for (unsigned j = 0; j < m->cores[i].cpu_count; j++)
				tcpx_cpuset_add(&set, m->cores[i].cpu[j]);
			snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/topology/core_cpus",
				 cpu);
			put_mask(rig, &set, path);
			snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%u/topology/core_id",
				 cpu);
			snprintf(text, sizeof(text), "%u\n", i);
			fixture_write(&tree, path, text);
			if (m->cores[i].l3 < 0)
				continue;
			tcpx_cpuset_init(&set);
			for (unsigned j = 0; j < m->core_count; j++)
				for (unsigned n = 0; m->cores[j].l3 == m->cores[i].l3 &&
						     n < m->cores[j].cpu_count; n++)
					tcpx_cpuset_add(&set, m->cores[j].cpu[n]);
			snprintf(path, sizeof(path),
				 "sys/devices/system/cpu/cpu%u/cache/index3/shared_cpu_map", cpu);
			put_mask(rig, &set, path);
			snprintf(path, sizeof(path),
				 "sys/devices/system/cpu/cpu%u/cache/index3/type", cpu);
			fixture_write(&tree, path, "Unified\n");
		}
}

static void
of_trees_both_see_the_same(void **state)
{
	static const char *const names[] = { "epyc-nps4", "mlx5", "slurm-smt-off" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct tcpx_machine ours, theirs;
		struct rig rig;

		rig_load(&rig, names[i]);
		put_masks(&rig);
		setenv("HWLOC_FSROOT", rig.tree.root, 1);
		assert_int_equal(hwloc_machine("test", NULL, NULL, &theirs), 0);
		unsetenv("HWLOC_FSROOT");
		assert_int_equal(tcpx_topo_machine(rig.topo, &ours), 0);
		compare_machines(names[i], &ours, &theirs);
		tcpx_machine_fini(&ours);
		tcpx_machine_fini(&theirs);
		rig_free(&rig);
	}
}

static void
of_this_machine_both_see_the_same(void **state)
{
	struct tcpx_machine ours, theirs;
	struct tcpx_topo *topo;

	assert_int_equal(tcpx_topo_read(NULL, &topo), 0);
	assert_int_equal(tcpx_topo_machine(topo, &ours), 0);
	assert_int_equal(hwloc_machine("test", NULL, NULL, &theirs), 0);
	compare_machines("this one", &ours, &theirs);
	tcpx_machine_fini(&ours);
	tcpx_machine_fini(&theirs);
	tcpx_topo_free(topo);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_xml_is_a_machine),
		cmocka_unit_test(a_description_is_a_machine),
		cmocka_unit_test(what_is_none_is_refused),
		cmocka_unit_test(of_trees_both_see_the_same),
		cmocka_unit_test(of_this_machine_both_see_the_same),
	};
	void *library = dlopen(HWLOC_LIBRARY, RTLD_NOW);

	if (!library) {
		printf("1..0 # SKIP no %s: the package %s has it\n", HWLOC_LIBRARY, HWLOC_PACKAGE);
		return 77;
	}
	dlclose(library);
	setenv("HWLOC_COMPONENTS", "-x86", 1); /* files alone, not what the CPU says of itself */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
