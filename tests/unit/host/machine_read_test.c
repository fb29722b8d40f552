/* SPDX-License-Identifier: Apache-2.0 */
/* Machines from directory trees: as complete as the readers are, and good
 * enough to plan for. */
#include "../tree_rig.h"

#include "host/plan.h"
#include "tune/texts/forms.h"

static void
siblings(struct fixture *f, unsigned cores)
{
	for (unsigned i = 0; i < 2 * cores; i++) {
		char path[96], list[32];

		snprintf(path, sizeof(path),
			 "sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", i);
		snprintf(list, sizeof(list), "%u,%u\n", i % cores, i % cores + cores);
		fixture_write(f, path, list);
	}
}

TEST(a_tree_of_a3_high_gives_its_plan)
{
	struct tcpx_plan_options o = TCPX_PLAN_DEFAULTS;
	struct tcpx_machine m;
	struct tcpx_plan p;
	struct fixture f;
	char *text;

	fixture_init(&f);
	fixture_add_machine(&f, "a3-high");
	siblings(&f, 104);
	assert_int_equal(tcpx_machine_read(f.root, &m), 0);
	assert_int_equal(m.core_count, 104);
	assert_int_equal(m.gpu_count, 8);
	assert_int_equal(m.nic_count, 5); /* the control NIC, too; no bridge, no loopback */
	o.nics = "eth1,eth2,eth3,eth4";
	assert_int_equal(tcpx_plan_cpus(&m, &o, &p), 0);
	assert_int_equal(tcpx_plan_bindings(&p, false, &text), 0);
	assert_string_equal(text, "eth1:8-21,112-125;eth2:8-21,112-125;"
			    "eth3:60-73,164-177;eth4:60-73,164-177");
	free(text);
	tcpx_plan_fini(&p);
	tcpx_machine_fini(&m);
	fixture_fini(&f);
}

TEST(without_siblings_each_cpu_is_a_core)
{
	struct tcpx_machine m;
	struct fixture f;

	fixture_init(&f);
	fixture_add_machine(&f, "virtio-2cpu");
	assert_int_equal(tcpx_machine_read(f.root, &m), 0);
	assert_int_equal(m.core_count, 2);
	assert_int_equal(m.cores[0].cpu_count, 1);
	assert_true(tcpx_cpuset_equal(&m.online, &m.allowed));
	tcpx_machine_fini(&m);
	fixture_fini(&f);
}

/* What threads are placed by is what interrupts are planned by. */
TEST(it_is_the_topology_without_vectors)
{
	static const char *const names[] = { "a3-high", "a3-mega", "slurm-smt-off", "epyc-nps4",
					     "mlx5", "ena", "virtio-2cpu" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct tcpx_machine few, all;
		struct rig rig;

		rig_load(&rig, names[i]);
		assert_int_equal(tcpx_topo_machine(rig.topo, &all), 0);
		assert_int_equal(tcpx_machine_read(rig.tree.root, &few), 0);
		check(names[i], "vectors", few.vector_count, 0);
		all.vector_count = 0;
		for (unsigned k = 0; k < all.nic_count; k++)
			all.nics[k].queues_max = 0;
		assert_true(tcpx_machine_hash(&few) == tcpx_machine_hash(&all));
		assert_true(tcpx_cpuset_equal(&few.allowed, &all.allowed));
		check_text(names[i], few.boot_id, all.boot_id);
		tcpx_machine_fini(&few);
		tcpx_machine_fini(&all);
		rig_free(&rig);
	}
}

TEST(nothing_is_no_machine)
{
	struct tcpx_machine m;
	struct fixture f;

	fixture_init(&f);
	capture_start();
	assert_true(tcpx_machine_read(f.root, &m) < 0);
	assert_int_equal(captured_count("\n"), 1);
	tcpx_log_sink(NULL, NULL);
	fixture_fini(&f);
}
