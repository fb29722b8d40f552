/* SPDX-License-Identifier: Apache-2.0 */
/* Machines of all shapes as trees: the facts read are those of the tree. */
#include "../tree_rig.h"

#include <errno.h>
#include <unistd.h>

#include "tune/record/snapshot.h"

TEST(every_spec_reads_back)
{
	static const char *const names[] = { "a3-high", "a3-mega", "slurm-smt-off", "epyc-nps4",
					     "mlx5", "ena", "virtio-2cpu", "nothing" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct rig rig;

		rig_load(&rig, names[i]);
		assert_true(rig.topo->fixture);
		rig_compare(&rig, names[i]);
		rig_free(&rig);
	}
}

TEST(cores_are_siblings_and_share_caches)
{
	struct rig rig;

	rig_load(&rig, "epyc-nps4");
	assert_int_equal(rig.topo->facts.core_count, 128);
	assert_int_equal(rig.topo->facts.cores[17].cpu[0], 17);
	assert_int_equal(rig.topo->facts.cores[17].cpu[1], 145);
	assert_int_equal(rig.topo->facts.cores[17].node, 1);
	assert_int_equal(rig.topo->facts.cores[17].l3, 2);
	assert_int_equal(rig.topo->facts.cores[24].l3, 3);
	assert_int_equal(rig.topo->smt.value, 1);
	assert_int_equal(rig.topo->facts.distance[0][4], 32);
	rig_free(&rig);
}

TEST(a_core_has_the_package_of_its_cpus)
{
	struct tcpx_topo *topo;
	struct fixture tree;
	char path[96], text[16];

	fixture_init(&tree);
	fixture_write(&tree, "sys/devices/system/cpu/online", "0-3");
	for (int cpu = 0; cpu < 4; cpu++) {
		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/topology/core_cpus_list", cpu);
		fixture_write(&tree, path, cpu < 2 ? "0-1" : "2-3");
		snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%d/topology/physical_package_id",
			 cpu);
		snprintf(text, sizeof(text), "%d", 4 + cpu / 2);
		fixture_write(&tree, path, text);
	}
	assert_int_equal(tcpx_topo_read(tree.root, &topo), 0);
	check("two", "cores", topo->facts.core_count, 2);
	check("0-1", "package", topo->facts.cores[0].package, 4);
	check("2-3", "package", topo->facts.cores[1].package, 5);
	tcpx_topo_free(topo);
	fixture_fini(&tree);
}

TEST(devices_are_as_far_apart_as_their_paths)
{
	static const struct {
		const char *nic;
		unsigned gpu;
		enum tcpx_distance distance;
	} rows[] = {
		{ "eth1", 0, TCPX_SAME_SWITCH }, { "eth1", 1, TCPX_SAME_SWITCH },
		{ "eth1", 2, TCPX_SAME_NODE },   { "eth1", 4, TCPX_CROSS_NODE },
		{ "eth2", 3, TCPX_SAME_SWITCH }, { "eth4", 7, TCPX_SAME_SWITCH },
		{ "eth4", 4, TCPX_SAME_NODE },   { "eth3", 0, TCPX_CROSS_NODE },
	};
	struct rig rig;

	rig_load(&rig, "a3-high");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(rows[i].nic, "distance",
		      tcpx_host_distance(tcpx_topo_nic_find(rig.topo, rows[i].nic)->nic,
					 &rig.topo->facts.gpus[rows[i].gpu]), rows[i].distance);
	rig_free(&rig);
	rig_write(&rig, "node 0\ncores 0 0\nnic e node 0 path pci0000:00/0000:00:01.0/0000:02:00.0\n"
			"gpu 0 path pci0000:00/0000:00:01.0/0000:03:00.0\n");
	rig_read(&rig);
	check("one port", "distance", tcpx_host_distance(rig.topo->nics[0].nic,
							 &rig.topo->facts.gpus[0]), TCPX_SAME_ROOT_PORT);
	rig_free(&rig);
}

TEST(each_vector_tells_how_it_is_known)
{
	const struct tcpx_topo_nic *nic;
	const struct tcpx_nic_vector *v;
	struct rig rig;

	rig_load(&rig, "slurm-smt-off");
	nic = tcpx_topo_nic_find(rig.topo, "eth3");
	assert_non_null(nic);
	assert_null(nic->vectors_why);
	v = &nic->vectors[20];
	check("RX 4", "source", v->v.source, TCPX_VECTOR_NETDEV);
	check("RX 4", "kind", v->v.kind, TCPX_VECTOR_RX);
	check("RX 4", "queue", v->v.queue, 4);
	assert_null(v->requested.why);
	assert_null(v->effective.why);
	check("RX 4", "CPUs", tcpx_cpuset_count(&v->effective.cpus), 1);
	assert_null(v->hint.why);
	assert_true(tcpx_cpuset_empty(&v->hint.cpus));
	assert_non_null(v->node.why);
	check("manager", "source", nic->vectors[32].v.source, TCPX_VECTOR_NAME);
	check("queue", "napi", nic->queues[4].napi.value, 8192 + v->v.irq);
	assert_non_null(nic->queues[4].pid.why);
	rig_free(&rig);
}

TEST(a_managed_vector_is_not_to_be_moved)
{
	struct rig rig;

	rig_load(&rig, "mlx5");
	assert_true(tcpx_topo_nic_find(rig.topo, "ens1f0np0")->vectors[0].v.movable);
	assert_false(tcpx_topo_nic_find(rig.topo, "ens1f1np1")->vectors[0].v.movable);
	check("from 1", "queue", tcpx_topo_nic_find(rig.topo, "ens1f1np1")->vectors[1].v.queue, 0);
	rig_free(&rig);
}

TEST(what_is_not_known_says_why)
{
	const struct tcpx_topo_nic *nic;
	struct rig rig;

	rig_load(&rig, "virtio-2cpu");
	nic = &rig.topo->nics[0];
	check_text("PCI driver", nic->pci_driver, "virtio-pci");
	check_text("driver", nic->nic->driver, "virtio_net");
	check("node", "source", nic->nic->place.numa_source, TCPX_NUMA_ONLY);
	check_text("XPS", nic->queues[1].steer.why, "none on a device with one queue");
	assert_null(nic->queues[0].steer.why);
	check_text("split", nic->set[TCPX_NICSET_DATA_SPLIT].why, "the tree does not tell");
	check("max", "value", nic->set[TCPX_NICSET_RX_MAX].value, 1);
	assert_null(nic->set[TCPX_NICSET_THREADED].why);
	check_text("nohz_full", rig.topo->nohz_full.why, "no such file");
	assert_non_null(rig.topo->irqbalance.why);
	check_text("cpuset", rig.topo->cgroup_file,
		   "/sys/fs/cgroup/job/cpuset.cpus.effective");
	rig_free(&rig);
	rig_load(&rig, "nothing");
	check("nothing", "CPUs", rig.topo->facts.cpus.count, 0);
	assert_non_null(rig.topo->possible.why);
	assert_non_null(rig.topo->cgroup.why);
	rig_free(&rig);
}

TEST(tasks_that_matter_are_found)
{
	struct rig rig;

	rig_load(&rig, "virtio-2cpu");
	fixture_write(&rig.tree, "proc/77/comm", "irqbalance");
	fixture_write(&rig.tree, "proc/90/comm", "napi/eth0-8193");
	fixture_write(&rig.tree, "proc/90/status", "Name:\tx\nCpus_allowed_list:\t1\n");
	fixture_write(&rig.tree, "proc/91/comm", "napi/eth0-8194");
	fixture_write(&rig.tree, "proc/9999999999/comm", "irqbalance");
	fixture_write(&rig.tree, "proc/92/status", "has ended");
	rig_read(&rig);
	check("irqbalance", "pid", rig.topo->irqbalance.value, 77);
	assert_int_equal(rig.topo->thread_count, 2);
	check_text("thread", rig.topo->threads[0].name, "napi/eth0-8193");
	assert_true(tcpx_cpuset_has(&rig.topo->threads[0].cpus.cpus, 1));
	assert_non_null(rig.topo->threads[1].cpus.why);
	rig_free(&rig);
}

TEST(cpusets_of_both_versions_are_read)
{
	static const struct {
		const char *name, *cgroup, *file, *list;
		unsigned count;
	} rows[] = {
		{ "v2", "0::/a/b", "sys/fs/cgroup/a/b/cpuset.cpus.effective", "1", 1 },
		{ "v2 above", "0::/a/b", "sys/fs/cgroup/a/cpuset.cpus.effective", "1", 1 },
		{ "v2 at the top", "0::/", "sys/fs/cgroup/cpuset.cpus.effective", "0-1", 2 },
		{ "v1", "9:cpuset:/x", "sys/fs/cgroup/cpuset/x/cpuset.effective_cpus", "0", 1 },
		{ "v1 old", "9:cpu,cpuset:/x", "sys/fs/cgroup/cpuset/x/cpuset.cpus", "0", 1 },
		{ "both", "9:cpuset:/x\n0::/", "sys/fs/cgroup/cpuset/cpuset.effective_cpus", "1", 1 },
		{ "hybrid", "0::/x", "sys/fs/cgroup/unified/x/cpuset.cpus.effective", "1", 1 },
		{ "other", "9:cpuset2:/x", "sys/fs/cgroup/cpuset/x/cpuset.cpus", "0", 0 },
		{ "bad list", "0::/a", "sys/fs/cgroup/a/cpuset.cpus.effective", "0-", 0 },
		{ "no lines", "", "sys/fs/cgroup/cpuset.cpus.effective", "0", 0 },
		{ "no colons", "junk\n9:cpuset", "sys/fs/cgroup/cpuset.cpus.effective", "0", 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_topo *topo;
		struct fixture tree;

		fixture_init(&tree);
		fixture_write(&tree, "proc/self/cgroup", rows[i].cgroup);
		fixture_write(&tree, rows[i].file, rows[i].list);
		assert_int_equal(tcpx_topo_read(tree.root, &topo), 0);
		check(rows[i].name, "known", topo->cgroup.why == NULL, rows[i].count > 0);
		check(rows[i].name, "CPUs", tcpx_cpuset_count(&topo->cgroup.cpus), rows[i].count);
		tcpx_topo_free(topo);
		fixture_fini(&tree);
	}
}

TEST(this_machine_can_be_read)
{
	struct tcpx_snapshot snap;
	struct tcpx_machine m;
	struct tcpx_topo *topo;

	assert_int_equal(tcpx_topo_read(NULL, &topo), 0);
	assert_true(topo->facts.cpus.count > 0);
	assert_true(topo->facts.core_count > 0);
	assert_int_equal(tcpx_topo_machine(topo, &m), 0);
	assert_int_equal(tcpx_cpuset_count(&m.online), topo->facts.cpus.count);
	tcpx_machine_fini(&m);
	if (access("/proc/interrupts", R_OK) == 0) {
		assert_int_equal(tcpx_snapshot_take(NULL, topo, NULL, &snap), 0);
		assert_true(snap.irqs.cpu_count > 0);
		tcpx_snapshot_fini(&snap);
	}
	tcpx_topo_free(topo);
}

TEST(a_tree_goes_where_nothing_is)
{
	struct fixture dir;
	struct rig rig;

	rig_write(&rig, "machine x\n");
	capture_start();
	check("again", "rc", tcpx_tree_write(&rig.spec, rig.tree.root), -ENOTEMPTY);
	check("below a file", "rc", tcpx_tree_write(&rig.spec, "/proc/self/comm/x"), -ENOTDIR);
	fixture_init(&dir);
	fixture_write(&dir, "precious", "x");
	check("not ours", "rc", tcpx_tree_remove(dir.root), -EPERM);
	check("not ours", "rc", tcpx_tree_write(&rig.spec, dir.root), -ENOTEMPTY);
	fixture_fini(&dir);
	rig_free(&rig);
	check("no root", "rc", tcpx_topo_read("/nowhere/at/all", &rig.topo), -ENOTDIR);
}
