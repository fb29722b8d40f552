/* SPDX-License-Identifier: Apache-2.0 */
/* A machine with 4096 CPUs, read whole. Some 25,000 files are written for it. */
#include "../tree_rig.h"

#include "tune/record/snapshot.h"

TEST(thousands_of_cpus_are_read)
{
	struct tcpx_snapshot snap;
	struct rig rig;

	rig_load(&rig, "cpus-4096");
	rig_compare(&rig, "cpus-4096");
	assert_int_equal(rig.topo->facts.cpus.count, 4000);
	assert_int_equal(rig.topo->facts.core_count, 1024);
	assert_int_equal(rig.topo->facts.cores[1000].cpu_count, 3); /* its fourth is offline */
	assert_int_equal(tcpx_cpuset_count(&rig.topo->facts.isolated.cpus), 63);
	assert_int_equal(tcpx_cpuset_count(&rig.topo->offline.cpus), 96);
	check("order", "source", rig.topo->nics[0].vectors[0].v.source, TCPX_VECTOR_ORDER);
	assert_int_equal(tcpx_snapshot_take(rig.tree.root, rig.topo, "eth1,eth3", &snap), 0);
	assert_int_equal(snap.irqs.cpu_count, 4000);
	assert_int_equal(snap.nic_count, 2);
	assert_int_equal(snap.vector_count, 2 * 129);
	tcpx_snapshot_fini(&snap);
	rig_free(&rig);
}
