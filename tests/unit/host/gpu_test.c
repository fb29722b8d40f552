/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs by class and vendor, in the order of the bus. */
#include "../fixture.h"

#include "host/host.h"

static struct tcpx_host_gpu gpus[16];

static unsigned
count_gpus(const char *machine, unsigned cap)
{
	struct fixture f;
	unsigned count = 99;

	fixture_init(&f);
	fixture_add_machine(&f, machine);
	assert_int_equal(tcpx_host_gpus(f.root, gpus, cap, &count), 0);
	fixture_fini(&f);
	return count;
}

TEST(a3_high_has_8_gpus_on_2_nodes)
{
	assert_int_equal(count_gpus("a3-high", ARRAY_LEN(gpus)), 8);
	check_text("first", gpus[0].place.pci, "0000:04:00.0");
	check_text("last", gpus[7].place.pci, "0000:8b:00.0");
	assert_int_equal(gpus[3].place.numa, 0);
	assert_int_equal(gpus[4].place.numa, 1);
	assert_int_equal(gpus[0].device, 0x2330);
}

TEST(a_display_of_another_vendor_is_no_gpu)
{
	assert_int_equal(count_gpus("virtio-2cpu", ARRAY_LEN(gpus)), 0);
}

TEST(a_machine_without_pci_has_none)
{
	assert_int_equal(count_gpus("empty", ARRAY_LEN(gpus)), 0);
}

TEST(no_more_than_the_room_is_filled)
{
	assert_int_equal(count_gpus("a3-high", 3), 3);
}
