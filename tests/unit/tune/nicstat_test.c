/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of NICs, of a tree and of this machine. */
#include "../tree_rig.h"

#include "tune/record/nicstat.h"

TEST(counters_of_nics)
{
	struct tcpx_nicstat *stats;
	struct tcpx_asker asker;
	const char *why;
	struct rig rig;
	unsigned n;

	rig_load(&rig, "virtio-2cpu");
	fixture_write(&rig.tree, "sys/class/net/eth0/statistics/rx_bytes", "123\n");
	tcpx_asker_open(rig.tree.root, &asker);
	assert_int_equal(tcpx_nicstat_read(rig.tree.root, &asker, "eth0", &stats, &n, &why), 0);
	check_text("why", why, "the tree does not tell");
	check("rx_bytes", "value", tcpx_nicstat_find(stats, n, "rx_bytes")->value, 123);
	free(stats);
	fixture_write(&rig.tree, "counters", "eth1 rx_devmem_pkts 1\nbad line\neth0 rx_devmem_pkts 9\n"
		      "eth0 bad -1\neth0 a-name-that-is-longer-than-the-kernel-has-them 2\n");
	assert_int_equal(tcpx_nicstat_read(rig.tree.root, &asker, "eth0", &stats, &n, &why), 0);
	assert_null(why);
	check("devmem", "value", tcpx_nicstat_find(stats, n, "rx_devmem_pkts")->value, 9);
	assert_null(tcpx_nicstat_find(stats, n, "bad"));
	free(stats);
	/* of this machine: whatever it has, and none of a NIC that is not there */
	tcpx_asker_close(&asker);
	tcpx_asker_open(NULL, &asker);
	assert_int_equal(tcpx_nicstat_read(NULL, &asker, "lo", &stats, &n, &why), 0);
	free(stats);
	assert_int_equal(tcpx_nicstat_read(NULL, &asker, "no-such-nic", &stats, &n, &why), 0);
	assert_int_equal(n, 0);
	assert_non_null(why);
	free(stats);
	tcpx_asker_close(&asker);
	rig_free(&rig);
}
