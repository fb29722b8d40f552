/* SPDX-License-Identifier: Apache-2.0 */
/* Specs: the meaning of each line, and refusals. */
#include "../unit/base/base_test.h"

#include <errno.h>

#include "machine/spec.h"

static struct tcpx_machine
parse(const char *text)
{
	struct tcpx_machine m;

	assert_int_equal(tcpx_spec_parse(text, "text", &m), 0);
	return m;
}

TEST(a3_high_is_what_it_is)
{
	struct tcpx_machine m;
	struct tcpx_cpuset cpus;
	char list[64];

	assert_int_equal(tcpx_spec_load(TCPX_FIXTURES "/a3-high.spec", &m), 0);
	assert_int_equal(m.core_count, 104);
	assert_int_equal(m.nic_count, 4);
	assert_int_equal(m.gpu_count, 8);
	assert_int_equal(m.vector_count, 4 * 33);
	assert_int_equal(tcpx_cpuset_count(&m.allowed), 208);
	assert_int_equal(m.cores[1].cpu[0], 1);
	assert_int_equal(m.cores[1].cpu[1], 105);
	tcpx_machine_node_cpus(&m, 1, &cpus);
	tcpx_cpuset_format(&cpus, list, sizeof(list));
	assert_string_equal(list, "52-103,156-207");
	assert_string_equal(m.nics[2].name, "eth3");
	assert_int_equal(m.nics[2].place.numa, 1);
	assert_int_equal(m.nodes[0].distance[1], 20);
	assert_string_equal(m.vectors[17].name, "gve-ntfy-blk17@pci:0000:06:00.0");
	assert_int_equal(m.vectors[17].irq, 84);
	assert_int_equal(m.vectors[17].hwirq, 17);
	assert_int_equal(m.vectors[17].kind, TCPX_VECTOR_RX);
	assert_int_equal(m.vectors[17].queue, 1);
	tcpx_machine_fini(&m);
}

TEST(lines_may_come_in_any_order_but_irqs_after_their_nic)
{
	struct tcpx_machine a = parse("nic eth10 node 0\nnic eth2 node 8 rx 2\n"
				      "irq eth10 rx 0 at 9\nirq eth2 rx 0-1 at 3\n"
				      "cores 8 1-3:2\ncores 0 0-2:2\nisolated 3\noffline 2\n");
	struct tcpx_machine b = parse("offline 2\nisolated 3\ncores 0 0,2\ncores 8 1,3\n"
				      "nic eth2 rx 2 node 8\nirq eth2 rx 0-1 at 3\n"
				      "nic eth10 node 0\nirq eth10 rx 0 at 9");

	assert_int_equal(a.core_count, 4);
	assert_string_equal(a.nics[1].name, "eth10");
	assert_int_equal(a.vectors[2].irq, 9);
	assert_true(tcpx_machine_hash(&a) == tcpx_machine_hash(&b));
	tcpx_machine_fini(&a);
	tcpx_machine_fini(&b);
}

TEST(words_say_what_they_say)
{
	struct tcpx_machine m = parse(
		"# a comment\n\nmachine box\t# another\n"
		"cores - 0-3/4-7 l3 5/2\nallowed 0-5\n"
		"nic e\nnic f driver mlx5_core pci 0000:01:00.0 max 9 tx 3 rx 4\n"
		"irq f txrx 4-5 at 100 hwirq 7 source name chip IR-PCI fixed name a b{08}c\n"
		"irq f unknown at 5\n"
		"gpu 3 pci 0000:02:00.0\n");

	assert_string_equal(m.name, "box");
	assert_int_equal(m.node_count, 0);
	assert_int_equal(m.cores[1].l3, 5);
	assert_int_equal(m.cores[2].l3, 6);
	assert_int_equal(m.cores[2].node, -1);
	assert_int_equal(tcpx_cpuset_count(&m.allowed), 6);
	assert_int_equal(m.nics[0].place.numa, -1);
	assert_int_equal(m.nics[0].place.numa_source, TCPX_NUMA_UNKNOWN);
	assert_int_equal(m.nics[1].queues_max, 9);
	assert_int_equal(m.vectors[0].kind, TCPX_VECTOR_UNKNOWN);
	assert_int_equal(m.vectors[0].queue, -1);
	assert_true(m.vectors[0].movable);
	assert_int_equal(m.vectors[0].hwirq, -1);
	assert_int_equal(m.vectors[2].queue, 5);
	assert_int_equal(m.vectors[2].hwirq, 8);
	assert_int_equal(m.vectors[2].source, TCPX_VECTOR_NAME);
	assert_false(m.vectors[2].movable);
	assert_string_equal(m.vectors[2].name, "a b9c");
	assert_string_equal(m.vectors[2].chip, "IR-PCI");
	assert_int_equal(m.gpus[0].index, 3);
	assert_int_equal(m.gpus[0].place.numa, -1);
	tcpx_machine_fini(&m);
}

TEST(what_is_wrong_is_refused_with_its_line)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "speed 5", "line 1: \"speed\" begins no line" },
		{ "\n\nnode x", "line 3: node \"x\" is not a number" },
		{ "node -1", "not a number" },
		{ "node 0\nnode 0", "line 2: node 0: it is there already" },
		{ "node 0 near", "not known of a node" },
		{ "node 0 distance", "distance" },
		{ "node 0 distance 10,20", "2 distances, and there are 1" },
		{ "node 0 distance 0", "not a number from 1" },
		{ "cores", "node of cores is missing" },
		{ "cores 0", "need lists" },
		{ "cores 0 0-3/4-6", "lists of 4 and 3 CPUs" },
		{ "cores 0 3-1", "from 3 to" },
		{ "cores 0 1,,2", "CPU \"\"" },
		{ "cores 0 8192", "from 0 to 8191" },
		{ "cores 0 0-4:0", "step \"0\"" },
		{ "cores 0 0/0", "of two cores" },
		{ "cores 0 0\ncores 1 0", "line 2: CPU 0" },
		{ "cores 0 0/1/2/3/4/5/6/7/8", "more than 8 CPUs a core" },
		{ "cores 0 0 l2 1", "not known of cores" },
		{ "cores 0 0 l3 1/0", "cores of an L3 group" },
		{ "cores 0 0 l3 1 2", "\"2\" is too much" },
		{ "nic", "name of a NIC is missing" },
		{ "nic sixteen-bytes-16", "more than 15 bytes" },
		{ "nic e node", "node is missing" },
		{ "nic e node 3", "NIC e is on node 3, which has no line" },
		{ "nic e from here", "from \"here\"" },
		{ "nic e colour red", "not known of a NIC" },
		{ "nic e\nnic e", "NIC e is there already" },
		{ "irq e rx 0 at 1", "NIC \"e\" has no line above" },
		{ "nic e\nirq e both 0 at 1", "kind \"both\"" },
		{ "nic e\nirq e rx 0", "at NUMBER" },
		{ "nic e\nirq e rx 3-1 at 1", "last queue" },
		{ "nic e\nirq e rx 0 at x", "IRQ \"x\"" },
		{ "nic e\nirq e rx 0 at 1 name a{x}", "number in the name" },
		{ "nic e\nirq e rx 0 at 1 name a{0}{1}", "braces" },
		{ "nic e\nirq e rx 0 at 1 name a}0{", "braces" },
		{ "nic e\nirq e rx 0-1 at 1\nirq e rx 2 at 2", "line 3: IRQ 2 is there" },
		{ "nic e\nirq e rx 0 at 1 source guess", "source: netdev" },
		{ "nic ../e", "../e: names, drivers and addresses" },
		{ "nic .", ".: names, drivers and addresses" },
		{ "nic e pci ../../x", "e: names" },
		{ "nic e driver ..", "e: names" },
		{ "nic e path", "path is missing" },
		{ "nic e path 0000:01:00.0", "from the host bridge to the device" },
		{ "nic e path pci0000:00/../0000:01:00.0", "e: names" },
		{ "nic e path pci0000:00//0000:01:00.0", "e: names" },
		{ "nic e path /0000:01:00.0", "e: names" },
		{ "nic e path pci0000:00/", "e: names" },
		{ "nic e path a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z/a/b/c/d/e/f/g",
		  "e: names" },
		{ "nic e path a/0000:01:00.0 pci 0000:02:00.0", "e: names" },
		{ "gpu 0 path a/sixteen-bytes-16", "more than 15 bytes" },
		{ "gpu 0 pci ../x", "GPU: names" },
		{ "gpu 0\ngpu 0", "GPU 0 is there already" },
		{ "gpu 0 node 1", "GPU 0 is on node 1" },
		{ "cores 0 0\nallowed 0-1", "allowed names CPU 1" },
		{ "cores 0 0\noffline 7", "offline names CPU 7" },
		{ "cores 0 0\nisolated 1-0", "not a list" },
		{ "machine a\x01", "control character 0x01" },
	};
	struct tcpx_machine m;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		capture_start();
		check(rows[i].text, "code", tcpx_spec_parse(rows[i].text, "text", &m), -EINVAL);
		check(rows[i].text, "lines logged", captured_count("\n"), 1);
		check_has(captured, rows[i].says);
	}
	tcpx_log_sink(NULL, NULL);
}

TEST(a_path_tells_the_device)
{
	struct tcpx_machine m = parse("nic e path pci0000:00/0000:00:01.0/0000:06:00.0\n"
				      "gpu 0 pci 0000:05:00.0 path pci0000:00/0000:05:00.0\n");

	assert_string_equal(m.nics[0].place.pci, "0000:06:00.0");
	assert_string_equal(m.nics[0].place.path, "pci0000:00/0000:00:01.0/0000:06:00.0");
	assert_string_equal(m.gpus[0].place.pci, "0000:05:00.0");
	tcpx_machine_fini(&m);
}

TEST(names_compare_by_their_numbers)
{
	assert_true(tcpx_machine_name_compare("eth2", "eth10") < 0);
	assert_true(tcpx_machine_name_compare("eth10", "eth2") > 0);
	assert_true(tcpx_machine_name_compare("enp6s0", "enp12s0") < 0);
	assert_true(tcpx_machine_name_compare("eth1", "eth1") == 0);
	assert_true(tcpx_machine_name_compare("eth", "eth1") < 0);
	assert_true(tcpx_machine_name_compare("a9", "b1") < 0);
}
