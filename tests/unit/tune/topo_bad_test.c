/* SPDX-License-Identifier: Apache-2.0 */
/* Trees with a missing, broken or contradictory part: facts are left unknown, not invented. */
#include "../tree_rig.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEVICE "sys/devices/pci0000:06/0000:06:00.0/"

static const char spec[] =
	"machine small\nnode 0 distance 10,20\nnode 8 distance 20,10\n"
	"cores 0 0-3/8-11\ncores 8 4-7/12-15\n"
	"nic eth1 node 0 rx 2 tx 2 max 2 driver gve pci 0000:06:00.0\n"
	"irq eth1 tx 0-1 at 30 hwirq 0 name gve-ntfy-blk{0}@pci:0000:06:00.0\n"
	"irq eth1 rx 0-1 at 32 hwirq 2 name gve-ntfy-blk{2}@pci:0000:06:00.0\n"
	"irq eth1 mgmt at 34 hwirq 4 name gve-mgmnt@pci:0000:06:00.0\n"
	"gpu 0 node 8 pci 0000:84:00.0\n";

static struct rig rig;

static int
setup(void **state)
{
	rig_write(&rig, spec);
	return 0;
}

static int
teardown(void **state)
{
	rig_free(&rig);
	return 0;
}

static void
drop(const char *path)
{
	char outside[512];

	snprintf(outside, sizeof(outside), "%s/%s", rig.tree.root, path);
	assert_int_equal(unlink(outside), 0);
}

static const struct tcpx_topo_nic *
eth1(void)
{
	const struct tcpx_topo_nic *nic = tcpx_topo_nic_find(rig.topo, "eth1");

	assert_non_null(nic);
	return nic;
}

TEST_WITH(nodes_need_not_be_counted_from_0, setup, teardown)
{
	rig_read(&rig);
	rig_compare(&rig, "small");
	assert_int_equal(rig.topo->facts.cpus.node[1].id, 8);
	assert_int_equal(rig.topo->facts.cores[7].node, 8);
}

TEST_WITH(the_node_of_a_device_is_believed_if_it_exists, setup, teardown)
{
	static const struct {
		const char *text;
		int node;
		enum tcpx_numa_source source;
	} rows[] = {
		{ "8", 8, TCPX_NUMA_FILE }, { "-1", 0, TCPX_NUMA_CPULIST },
		{ "99", 0, TCPX_NUMA_CPULIST }, { "", 0, TCPX_NUMA_CPULIST },
		{ "x", 0, TCPX_NUMA_CPULIST },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		fixture_write(&rig.tree, DEVICE "numa_node", rows[i].text);
		rig_read(&rig);
		check(rows[i].text, "node", eth1()->nic->place.numa, rows[i].node);
		check(rows[i].text, "source", eth1()->nic->place.numa_source, rows[i].source);
	}
	fixture_write(&rig.tree, DEVICE "numa_node", "-1");
	fixture_write(&rig.tree, DEVICE "local_cpulist", "0-15");
	rig_read(&rig);
	check("all CPUs", "node", eth1()->nic->place.numa, -1);
}

TEST_WITH(a_vector_that_the_kernel_lacks_is_left_out, setup, teardown)
{
	fixture_write(&rig.tree, DEVICE "msi_irqs/35", "msix");
	fixture_write(&rig.tree, DEVICE "msi_irqs/x", "msix");
	fixture_write(&rig.tree, DEVICE "msi_irqs/99999999999", "msix");
	rig_read(&rig);
	check("five", "vectors", eth1()->vector_count, 5);
}

TEST_WITH(without_a_table_the_kernel_s_other_files_tell, setup, teardown)
{
	drop("proc/interrupts");
	rig_read(&rig);
	rig_compare(&rig, "no table");
	fixture_write(&rig.tree, "proc/interrupts", "");
	rig_read(&rig);
	rig_compare(&rig, "empty table");
	fixture_write(&rig.tree, "proc/interrupts", "           CPU0       CPU1");
	rig_read(&rig);
	rig_compare(&rig, "header only");
}

TEST_WITH(affinity_that_cannot_be_read_says_why, setup, teardown)
{
	const struct tcpx_nic_vector *v;

	drop("proc/irq/30/effective_affinity_list");
	fixture_write(&rig.tree, "proc/irq/30/smp_affinity_list", "0-3:1/2");
	fixture_write(&rig.tree, "proc/irq/30/affinity_hint", "ffff,xyz");
	fixture_write(&rig.tree, "proc/irq/31/smp_affinity_list", "");
	fixture_write(&rig.tree, "proc/irq/31/affinity_hint", "00000002");
	rig_read(&rig);
	v = eth1()->vectors;
	check_text("gone", v[0].effective.why, "no such file");
	check_text("malformed", v[0].requested.why, "malformed, or not given now");
	assert_true(tcpx_cpuset_empty(&v[0].requested.cpus));
	assert_non_null(v[0].hint.why);
	assert_null(v[1].requested.why);
	assert_true(tcpx_cpuset_empty(&v[1].requested.cpus));
	check("hint", "CPU", tcpx_cpuset_first(&v[1].hint.cpus), 1);
}

TEST_WITH(an_old_device_has_one_wire, setup, teardown)
{
	fixture_write(&rig.tree, "sys/devices/pci0000:07/0000:07:00.0/irq", "31");
	fixture_link(&rig.tree, "sys/devices/pci0000:07/0000:07:00.0/subsystem",
		     "../../../bus/pci");
	fixture_link(&rig.tree, "sys/bus/pci/devices/0000:07:00.0",
		     "../../../devices/pci0000:07/0000:07:00.0");
	fixture_write(&rig.tree, "sys/devices/pci0000:07/0000:07:00.0/net/old0/queues/rx-0/x", "");
	fixture_link(&rig.tree, "sys/devices/pci0000:07/0000:07:00.0/net/old0/device",
		     "../../../0000:07:00.0");
	fixture_link(&rig.tree, "sys/class/net/old0",
		     "../../devices/pci0000:07/0000:07:00.0/net/old0");
	rig_read(&rig);
	assert_non_null(tcpx_topo_nic_find(rig.topo, "old0"));
	check("old0", "vectors", tcpx_topo_nic_find(rig.topo, "old0")->vector_count, 1);
	fixture_write(&rig.tree, "sys/devices/pci0000:07/0000:07:00.0/irq", "0");
	rig_read(&rig);
	check_text("none", tcpx_topo_nic_find(rig.topo, "old0")->vectors_why,
		   "its device lists no interrupts");
}

/* Of two interfaces on one device each has the vectors with its name, and both those with
 * none. */
TEST_WITH(ports_of_one_device_are_told_apart, setup, teardown)
{
	const struct tcpx_topo_nic *nic;

	rig_free(&rig);
	rig_write(&rig, "machine two\ncores - 0-3\n"
			"nic p0 rx 2 tx 2 driver bnxt_en pci 0000:06:00.0\n"
			"nic p1 rx 2 tx 2 driver bnxt_en pci 0000:06:00.0\n"
			"irq p0 txrx 0-1 at 30 name p0-TxRx-{0}\n"
			"irq p1 txrx 0-1 at 32 name p1-TxRx-{0}\n");
	rig_read(&rig);
	nic = tcpx_topo_nic_find(rig.topo, "p1");
	assert_non_null(nic);
	check("p1", "vectors", nic->vector_count, 2);
	check_text("p1", nic->vectors[0].v.name, "p1-TxRx-0");
	rig_compare(&rig, "two");
}

TEST_WITH(siblings_that_lie_are_not_believed, setup, teardown)
{
	fixture_write(&rig.tree, "sys/devices/system/cpu/cpu1/topology/core_cpus_list", "0-1,9");
	fixture_write(&rig.tree, "sys/devices/system/cpu/cpu2/topology/core_cpus_list", "7");
	fixture_write(&rig.tree, "sys/devices/system/cpu/cpu3/topology/core_cpus_list", "junk");
	rig_read(&rig);
	check("cpu1", "CPUs", rig.topo->facts.cores[1].cpu_count, 2);
	check("cpu2", "CPUs", rig.topo->facts.cores[2].cpu_count, 1);
	check("cpu3", "CPUs", rig.topo->facts.cores[3].cpu_count, 2); /* the older file has it */
	check("all", "CPUs", rig.topo->facts.cpus.count, 16);
}

TEST_WITH(distances_are_whole_or_none, setup, teardown)
{
	static const char *const texts[] = { "", "10", "10 x", "junk", "10 20x" };

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		fixture_write(&rig.tree, "sys/devices/system/node/node0/distance", texts[i]);
		rig_read(&rig);
		check(texts[i], "distance", rig.topo->facts.distance[0][0],
		      i == ARRAY_LEN(texts) - 1 ? 10 : 0);
	}
	fixture_write(&rig.tree, "sys/devices/system/node/node0/distance", "10 999999");
	rig_read(&rig);
	check("too far", "distance", rig.topo->facts.distance[0][1], 0);
}

TEST_WITH(odd_interfaces_do_no_harm, setup, teardown)
{
	fixture_link(&rig.tree, "sys/class/net/loop", "loop");
	fixture_link(&rig.tree, "sys/class/net/gone", "../../devices/gone");
	fixture_write(&rig.tree, "sys/class/net/bonding_masters", "bond0");
	fixture_write(&rig.tree, "sys/class/net/a;b:c/queues/rx-0/rps_cpus", "zz");
	fixture_write(&rig.tree, "sys/class/net/a;b:c/queues/rx-x/rps_cpus", "1");
	fixture_write(&rig.tree, "sys/class/net/a;b:c/queues/junk/x", "1");
	fixture_write(&rig.tree, "sys/class/net/abcdefghijklmno/ifindex", "x");
	fixture_write(&rig.tree, "queues", "eth1 rx 0 1 30\neth1 rx 9 1 30 -\nnone rx 0 1 2 3\n"
					   "eth1 tx 1 77 31 -5\n\n");
	fixture_write(&rig.tree, "settings", "eth1 channels.rx 4 5\neth1 nonsense 4\n"
					     "eth1 rings.rx x\neth1 rings.tx 512\n");
	rig_read(&rig);
	check("all", "NICs", rig.topo->nic_count, 3);
	check("a;b:c", "queues", tcpx_topo_nic_find(rig.topo, "a;b:c")->queue_count, 1);
	assert_non_null(tcpx_topo_nic_find(rig.topo, "a;b:c")->queues[0].steer.why);
	check("abcdefghijklmno", "index", tcpx_topo_nic_find(rig.topo, "abcdefghijklmno")->ifindex,
	      0);
	assert_non_null(eth1()->set[TCPX_NICSET_RX].why);
	check("ring", "value", eth1()->set[TCPX_NICSET_RING_TX].value, 512);
	check("31", "source", eth1()->vectors[1].v.source, TCPX_VECTOR_NETDEV);
	check("30", "source", eth1()->vectors[0].v.source, TCPX_VECTOR_NAME);
}

TEST_WITH(many_nics_are_all_read, setup, teardown)
{
	char text[8192] = "machine many\ncores - 0-3\n";

	rig_free(&rig);
	for (int i = 0; i < 17; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "nic eth%d rx 1 tx 1 driver ena pci 0000:%02x:00.0\n"
			 "irq eth%d txrx 0 at %d name eth%d-Tx-Rx-0\n", i, i, i, 50 + i, i);
	rig_write(&rig, text);
	rig_read(&rig);
	rig_compare(&rig, "many");
	check_text("order", rig.topo->nics[2].nic->ifname, "eth2");
}
