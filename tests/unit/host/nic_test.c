/* SPDX-License-Identifier: Apache-2.0 */
/* NIC facts of whole machines, and the steps from a root to the chosen NICs. */
#include "../fixture.h"

#include <errno.h>

#include "host/host.h"
#include "host/links.h"

static struct tcpx_host_nic *nics;
static unsigned nic_count;
static const struct tcpx_link *kernels; /* the one that the kernel lists; NULL: ask it */

int __wrap_tcpx_links_read(const char *root, struct tcpx_links *links);
int __real_tcpx_links_read(const char *root, struct tcpx_links *links);

int
__wrap_tcpx_links_read(const char *root, struct tcpx_links *links)
{
	if (!kernels)
		return __real_tcpx_links_read(root, links);
	*links = (struct tcpx_links){ .link = malloc(sizeof(*kernels)), .count = 1 };
	assert_non_null(links->link);
	*links->link = *kernels;
	return 0;
}

static void
read_machine(const char *machine)
{
	struct fixture f;

	fixture_init(&f);
	fixture_add_machine(&f, machine);
	assert_int_equal(tcpx_host_nics_read(f.root, &nics, &nic_count), 0);
	fixture_fini(&f);
}

static const struct tcpx_host_nic *
find(const char *name)
{
	for (unsigned i = 0; i < nic_count; i++)
		if (strcmp(nics[i].name, name) == 0)
			return &nics[i];
	fail_msg("%s is missing", name);
	return NULL;
}

TEST(a3_high_data_nic_is_known_in_full)
{
	const struct tcpx_host_nic *nic;
	char list[64], addr[TCPX_HOST_ADDR_TEXT];

	read_machine("a3-high");
	assert_int_equal(nic_count, 7);
	nic = find("eth3");
	check_text("driver", nic->driver, "gve");
	check_text("pci", nic->place.pci, "0000:86:00.0");
	check_text("path", nic->place.path,
		   "pci0000:80/0000:80:01.0/0000:81:00.0/0000:82:02.0/0000:86:00.0");
	tcpx_cpuset_format(&nic->place.local_cpus, list, sizeof(list));
	check_text("local CPUs", list, "52-103,156-207");
	tcpx_host_addr_format(&nic->addr, addr, sizeof(addr));
	check_text("address", addr, "10.0.3.7/32");
	assert_int_equal(nic->place.numa, 1);
	assert_int_equal(nic->place.numa_source, TCPX_NUMA_FILE);
	assert_int_equal(nic->speed_mbps, 200000);
	assert_int_equal(nic->mtu, 8244);
	assert_int_equal(nic->queues_rx, 16);
	assert_int_equal(nic->queues_tx, 16);
	assert_true(nic->up && nic->hardware && !nic->loopback && !nic->bridge_port);
	free(nics);
}

TEST(nics_are_counted_by_their_place_on_the_bus)
{
	read_machine("a3-high");
	assert_int_equal(find("eth0")->pci_order, 1); /* 00:0c.0 */
	assert_int_equal(find("eth1")->pci_order, 2);
	assert_int_equal(find("eth4")->pci_order, 5);
	assert_int_equal(find("docker0")->pci_order, 0);
	assert_int_equal(find("lo")->pci_order, 0);
	free(nics);
}

TEST(virtio_nic_is_placed_by_its_pci_parent)
{
	const struct tcpx_host_nic *nic;

	read_machine("virtio-2cpu");
	nic = find("eth0");
	check_text("driver", nic->driver, "virtio_net");
	check_text("pci", nic->place.pci, "0000:00:03.0");
	check_text("path", nic->place.path, "pci0000:00/0000:00:03.0");
	assert_int_equal(nic->speed_mbps, 0);
	assert_int_equal(nic->place.numa, 0);
	assert_int_equal(nic->place.numa_source, TCPX_NUMA_ONLY);
	assert_false(find("ifb0")->up);
	assert_true(find("lo")->loopback);
	assert_false(find("lo")->hardware);
	assert_int_equal(find("lo")->place.numa, -1);
	free(nics);
}

TEST(files_that_make_no_sense_are_unknown_facts)
{
	const struct tcpx_host_nic *nic;

	read_machine("weird");
	nic = find("emptynode");
	assert_int_equal(nic->place.numa, -1);
	assert_int_equal(nic->speed_mbps, 0);
	assert_int_equal(nic->mtu, 0);
	assert_true(tcpx_cpuset_empty(&nic->place.local_cpus));
	assert_true(find("port0")->bridge_port);
	assert_int_equal(find("abcdefghijklmno")->place.numa, 8);
	free(nics);
}

/* Reads the only NIC of a machine, where the kernel lists it so. */
static struct tcpx_host_nic
listed_as(const char *machine, const struct tcpx_link *link)
{
	struct tcpx_host_nic nic;
	struct fixture f;

	fixture_init(&f);
	fixture_add(&f, machine);
	kernels = link;
	assert_int_equal(tcpx_host_nics_read(f.root, &nics, &nic_count), 0);
	kernels = NULL;
	fixture_fini(&f);
	assert_int_equal(nic_count, 1);
	nic = nics[0];
	free(nics);
	return nic;
}

/* The files may show the NICs of another network namespace, of which one has the same name. */
TEST(files_about_another_nic_of_that_name_are_not_read)
{
	static const char machine[] = "node id=0 cpus=0-3\nnode id=1 cpus=4-7\n"
				      "nic name=eth0 at=pci0000:00/0000:00:01.0 node=0 "
				      "mtu=9000 speed=100\n"
				      "file path=sys/class/net/eth0/ifindex text=7\n";
	static const struct { unsigned index; bool same; } rows[] = {
		{ 7, true }, { 6, false }, { 70, false }, { 0, true }, /* 0: not known */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct tcpx_link link = { .name = "eth0", .index = rows[i].index,
						.up = true };
		struct tcpx_host_nic nic = listed_as(machine, &link);

		check("eth0", "up", nic.up, true);
		check("eth0", "hardware", nic.hardware, rows[i].same);
		check("eth0", "MTU", nic.mtu, rows[i].same ? 9000 : 0);
		check("eth0", "speed", nic.speed_mbps, rows[i].same ? 100 : 0);
		check("eth0", "node", nic.place.numa, rows[i].same ? 0 : -1);
	}
}

TEST(a_nic_is_as_fast_as_the_lower_of_line_and_limit)
{
	static const struct {
		const char *line;   /* Mbit/s in its file; "-1": none */
		uint64_t limit_bps;
		bool invents;
		uint32_t mbps;
	} rows[] = {
		{ "1000", 0, false, 1000 },
		{ "1000", 200000000, false, 200 },
		{ "1000", 5000000000, false, 1000 },
		{ "1000", 1000000000, false, 1000 },
		{ "-1", 0, false, 0 },
		{ "-1", 200000000, false, 200 },
		{ "10000", 0, true, 0 },
		{ "10000", 200000000, true, 200 },
		{ "10000", 25000000000, true, 25000 },
		{ "-1", 499999, false, 0 },      /* less than half a Mbit/s is unknown */
		{ "-1", 1500000, false, 2 },
		{ "-1", UINT64_MAX / 2, false, UINT32_MAX },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct tcpx_link link = { .name = "eth0", .limit_bps = rows[i].limit_bps,
						.invents_speed = rows[i].invents };
		char machine[64];

		snprintf(machine, sizeof(machine), "nic name=eth0 speed=%s", rows[i].line);
		check(machine, "speed", listed_as(machine, &link).speed_mbps, rows[i].mbps);
	}
}

TEST(a_machine_of_nothing_has_no_nics)
{
	struct tcpx_host_nic out[4];
	unsigned count = 99;

	read_machine("empty");
	assert_int_equal(nic_count, 0);
	capture_start();
	assert_int_equal(tcpx_host_nics_select(nics, 0, NULL, out, 4, &count), -ENODEV);
	free(nics);
	assert_int_equal(count, 99);
	assert_int_equal(captured_count("there is: none"), 1);
}

static struct tcpx_host_nic
nic_with(const char *name, bool loopback, const char *first, const char *second)
{
	const char *text[] = { first, second };
	struct tcpx_host_nic nic = { .up = true, .loopback = loopback };

	snprintf(nic.name, sizeof(nic.name), "%s", name);
	for (; nic.addr_count < 2 && text[nic.addr_count]; nic.addr_count++)
		assert_int_equal(tcpx_host_addr_parse(text[nic.addr_count], &nic.addrs[nic.addr_count]), 0);
	nic.addr = nic.addrs[0];
	return nic;
}

TEST(a_family_leaves_addresses_of_its_own)
{
	const struct tcpx_host_nic all[] = { nic_with("lo", true, "127.0.0.1", "::1"),
					     nic_with("eth0", false, "10.0.0.1", "fd00::1"),
					     nic_with("eth1", false, "10.0.1.1", NULL) };
	struct tcpx_host_nic left[3];
	static const struct {
		uint64_t setting;
		unsigned count[3];
		uint8_t family[3];
	} rows[] = { { 0, { 2, 2, 1 }, { 4, 4, 4 } },
		     { 1, { 1, 1, 1 }, { 4, 4, 4 } },
		     { 2, { 1, 1, 0 }, { 6, 6, 0 } } };

	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		memcpy(left, all, sizeof(left));
		capture_start();
		tcpx_host_nics_family(left, 3, rows[r].setting);
		assert_int_equal(captured_count("TCPX_FAMILY"), 0);
		for (unsigned i = 0; i < 3; i++) {
			assert_int_equal(left[i].addr_count, rows[r].count[i]);
			assert_int_equal(left[i].addr.family, rows[r].family[i]);
		}
	}
	left[0] = all[0];
	left[1] = all[2];
	capture_start();
	tcpx_host_nics_family(left, 2, 2);
	assert_int_equal(captured_count("which TCPX_FAMILY=ipv6 asks for"), 1);
}

TEST(this_machine_has_a_usable_nic)
{
	struct tcpx_host_nic out[TCPX_HOST_NICS];
	unsigned count = 0;
	int rc;

	assert_int_equal(tcpx_host_nics_read("/", &nics, &nic_count), 0);
	rc = tcpx_host_nics_select(nics, nic_count, "", out, TCPX_HOST_NICS, &count);
	free(nics);
	if (rc == -ENODEV) {
		print_message("# skipped: no NIC is up, not even the loopback\n");
		skip();
	}
	assert_int_equal(rc, 0);
	assert_true(count >= 1 && out[0].up && out[0].addr.family);
}
