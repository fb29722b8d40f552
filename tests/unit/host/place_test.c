/* SPDX-License-Identifier: Apache-2.0 */
/* Places: the source of the NUMA node, and the distance between a NIC and a GPU. */
#include "../fixture.h"

#include "host/cpu.h"
#include "host/place.h"

TEST(numa_node_is_believed_only_if_it_exists)
{
	static const struct {
		const char *name;
		const char *nodes, *node, *cpus;
		int numa;
		enum tcpx_numa_source source;
	} rows[] = {
		{ "told", "node id=0 cpus=0-3\nnode id=1 cpus=4-7\n", "1", "4-7", 1,
		  TCPX_NUMA_FILE },
		{ "told wins over CPUs", "node id=0 cpus=0-3\nnode id=1 cpus=4-7\n", "0", "4-7", 0,
		  TCPX_NUMA_FILE },
		{ "-1, all CPUs", "node id=0 cpus=0-3\nnode id=1 cpus=4-7\n", "-1", "0-7", -1,
		  TCPX_NUMA_UNKNOWN },
		{ "-1, some CPUs", "node id=0 cpus=0-3\nnode id=1 cpus=4-7\n", "-1", "4-5", 1,
		  TCPX_NUMA_CPULIST },
		{ "99", "node id=0 cpus=0-3\nnode id=1 cpus=4-7\n", "99", "0-7", -1,
		  TCPX_NUMA_UNKNOWN },
		{ "empty", "node id=0 cpus=0-3\nnode id=1 cpus=4-7\n", "", "", -1,
		  TCPX_NUMA_UNKNOWN },
		{ "one node", "node id=0 cpus=0-7\n", "-1", "0-7", 0, TCPX_NUMA_ONLY },
		{ "no nodes", "", "0", "0-7", -1, TCPX_NUMA_UNKNOWN },
	};
	static struct tcpx_host_cpus cpus;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_host_place place;
		struct fixture f;
		char text[256];

		snprintf(text, sizeof(text), "%spci at=pci0000:00/0000:00:01.0 node=%s cpus=%s",
			 rows[i].nodes, rows[i].node, rows[i].cpus);
		fixture_init(&f);
		fixture_add(&f, text);
		tcpx_cpu_nodes_read(f.root, &cpus);
		tcpx_place_read(f.root, "/sys/bus/pci/devices/0000:00:01.0", &cpus, &place);
		fixture_fini(&f);
		check(rows[i].name, "node", place.numa, rows[i].numa);
		check(rows[i].name, "source", place.numa_source, rows[i].source);
		check_text(rows[i].name, place.pci, "0000:00:01.0");
	}
}

TEST(a_device_off_the_bus_has_no_place)
{
	static struct tcpx_host_cpus cpus;
	struct tcpx_host_place place;
	struct fixture f;

	fixture_init(&f);
	fixture_write(&f, "sys/devices/platform/thing/uevent", "");
	tcpx_place_read(f.root, "/sys/devices/platform/thing", &cpus, &place);
	check_text("platform", place.path, "");
	tcpx_place_read(f.root, "/sys/devices/gone", &cpus, &place);
	assert_int_equal(place.numa, -1);
	fixture_fini(&f);
}

TEST(distance_is_the_length_of_the_common_path)
{
	static const struct {
		const char *nic;
		int nic_node;
		const char *gpu;
		int gpu_node;
		enum tcpx_distance distance;
	} rows[] = {
		{ "pci0:0/1/2/3/nic", 0, "pci0:0/1/2/4/gpu", 0, TCPX_SAME_SWITCH },
		{ "pci0:0/1/2/3/nic", 0, "pci0:0/1/9/4/gpu", 0, TCPX_SAME_ROOT_PORT },
		{ "pci0:0/1/2/3/nic", 0, "pci0:0/10/2/4/gpu", 0, TCPX_SAME_NODE },
		{ "pci0:0/1/nic", 0, "pci0:1/1/gpu", 0, TCPX_SAME_NODE },
		{ "pci0:0/1/nic", 0, "pci0:1/1/gpu", 1, TCPX_CROSS_NODE },
		{ "pci0:0/1/nic", -1, "pci0:1/1/gpu", 1, TCPX_DISTANCE_UNKNOWN },
		{ "pci0:0/1/2/nic", -1, "pci0:0/1/2/gpu", -1, TCPX_SAME_SWITCH },
		{ "", 0, "pci0:1/1/gpu", 0, TCPX_SAME_NODE },
		{ "", -1, "", -1, TCPX_DISTANCE_UNKNOWN },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_host_nic nic = { .place.numa = rows[i].nic_node };
		struct tcpx_host_gpu gpu = { .place.numa = rows[i].gpu_node };

		strcpy(nic.place.path, rows[i].nic);
		strcpy(gpu.place.path, rows[i].gpu);
		check(rows[i].nic, rows[i].gpu, tcpx_host_distance(&nic, &gpu), rows[i].distance);
	}
}

TEST(every_a3_high_gpu_has_one_nic_on_its_switch)
{
	static const char *const nearest[] = {
		"eth1", "eth1", "eth2", "eth2", "eth3", "eth3", "eth4", "eth4",
	};
	struct tcpx_host_gpu gpus[8];
	struct tcpx_host_nic nics[8], *all;
	struct fixture f;
	unsigned nic_count, gpu_count, all_count;

	fixture_init(&f);
	fixture_add_machine(&f, "a3-high");
	assert_int_equal(tcpx_host_nics_read(f.root, &all, &all_count), 0);
	assert_int_equal(tcpx_host_nics_select(all, all_count, "eth", nics, 8, &nic_count), 0);
	free(all);
	assert_int_equal(tcpx_host_gpus(f.root, gpus, 8, &gpu_count), 0);
	fixture_fini(&f);

	for (unsigned g = 0; g < gpu_count; g++) {
		for (unsigned n = 0; n < nic_count; n++) {
			enum tcpx_distance d = tcpx_host_distance(&nics[n], &gpus[g]);

			check(gpus[g].place.pci, nics[n].name, d == TCPX_SAME_SWITCH,
			      strcmp(nics[n].name, nearest[g]) == 0);
		}
	}
	assert_int_equal(tcpx_host_distance(&nics[0], &gpus[0]), TCPX_SAME_NODE);
	assert_int_equal(tcpx_host_distance(&nics[0], &gpus[7]), TCPX_CROSS_NODE);
}

TEST(every_value_has_a_name)
{
	for (unsigned i = 0; i < TCPX_DISTANCES; i++)
		assert_string_not_equal(tcpx_host_distance_name(i), "?");
	for (unsigned i = 0; i < TCPX_NUMA_SOURCES; i++)
		assert_string_not_equal(tcpx_host_numa_source_name(i), "?");
	check_text("beyond", tcpx_host_distance_name(TCPX_DISTANCES), "?");
	check_text("beyond", tcpx_host_numa_source_name(TCPX_NUMA_SOURCES), "?");
}
