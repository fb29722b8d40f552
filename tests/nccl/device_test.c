/* SPDX-License-Identifier: Apache-2.0 */
/* What NCCL plans by: how many devices there are, of which NIC each is, and what share of it. */
#include "cases.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nccl/device.h"

enum { NICS = 3, COUNT = 9 };

static const struct tcpx_nic_info nic[NICS] = {
	{ .name = "eth0", .mbps = 200000 }, { .name = "eth1", .mbps = 2 }, { .name = "eth2" },
};
static struct device device[COUNT];
static struct nccl_props_v12 props[COUNT];

static void
make_all(void)
{
	assert_int_equal(tcpx_nccl_device_count(NICS), COUNT);
	for (int i = 0; i < COUNT; i++) {
		tcpx_nccl_device_make(&device[i], nic, NICS, (size_t)i);
		tcpx_nccl_device_properties(&device[i], i, &props[i]);
	}
}

/* At least 8, and each NIC has as many as the others. */
TEST(each_nic_has_as_many_devices)
{
	static const size_t counts[] = { 0, 8, 8, 9, 8, 10, 12, 14, 8, 9 };

	for (size_t nics = 0; nics < sizeof(counts) / sizeof(counts[0]); nics++)
		assert_int_equal(tcpx_nccl_device_count(nics), counts[nics]);
	assert_int_equal(tcpx_nccl_device_count(64), 64);
}

/* Devices of one guid and port share a bandwidth in NCCL's search, and of one name a line in its log. */
TEST(devices_of_a_nic_are_distinct)
{
	make_all();
	for (int i = 0; i < COUNT; i++)
		for (int k = 0; k < i; k++) {
			assert_true(props[i].guid != props[k].guid);
			assert_string_not_equal(props[i].name, props[k].name);
		}
	assert_string_equal(props[0].name, "eth0.0");
	assert_string_equal(props[1].name, "eth1.0");
	assert_string_equal(props[8].name, "eth2.2");
}

/* NCCL takes 0 and less for 10 Gb/s. */
TEST(each_device_has_its_share_of_the_speed)
{
	make_all();
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(props[i].speed, i % NICS == 0 ? 200000 / 3 : i % NICS == 1 ? 1 : 100000 / 3);
}

static void
put_nic(const char *name, const char *target)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/net/%s", name);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "/sys/class/net/%s/device", name);
	if (target)
		assert_int_equal(symlink(target, path), 0);
}

/* Devices of a NIC have its function; that of a virtio device is the one it is a child of. */
TEST(each_device_has_the_pci_path_of_its_nic)
{
	static const char *const folders[] = { "pci", "pci/0000:00:04.0", "pci/0000:00:04.0/virtio1",
					       "pci/0000:00:05.0" };
	static const char *const paths[NICS] = { "/sys/class/net/pci/0000:00:05.0",
						 "/sys/class/net/pci/0000:00:04.0", NULL };

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/sys/class/net", "tmpfs", 0, NULL)) {
		print_message("# skipped: no file system may be mounted\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		char path[128];

		snprintf(path, sizeof(path), "/sys/class/net/%s", folders[i]);
		assert_int_equal(mkdir(path, 0755), 0);
	}
	put_nic("eth0", "../pci/0000:00:05.0");
	put_nic("eth1", "../pci/0000:00:04.0/virtio1");
	put_nic("eth2", NULL);
	make_all();
	for (int i = 0; i < COUNT; i++)
		if (paths[i % NICS])
			assert_string_equal(props[i].pci_path, paths[i % NICS]);
		else
			assert_null(props[i].pci_path);
}
