/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of NICs from this machine's kernel, by both ways of asking. */
#include "../base/base_test.h"

#include <errno.h>
#include <net/if.h>
#include <unistd.h>

#include "tune/facts/nicset.h"

static void
every_setting_has_a_name_of_its_own(void **state)
{
	for (unsigned i = 0; i < TCPX_NICSETS; i++)
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(tcpx_nicset_name(i), tcpx_nicset_name(j));
	check_text("none", tcpx_nicset_name(TCPX_NICSETS), "?");
}

static void
the_loopback_has_features_and_no_rings(void **state)
{
	struct tcpx_maybe set[TCPX_NICSETS];
	struct tcpx_asker a;

	tcpx_asker_open(NULL, &a);
	if (a.ethtool < 0) {
		print_message("no ethtool netlink: %s\n", strerror(-a.ethtool));
		tcpx_asker_close(&a);
		skip();
	}
	tcpx_nicset_read(NULL, &a, "lo", if_nametoindex("lo"), set);
	assert_null(set[TCPX_NICSET_GSO].why);
	assert_non_null(set[TCPX_NICSET_RING_RX].why);
	assert_int_equal(set[TCPX_NICSET_RING_RX].value, 0);
	tcpx_nicset_read(NULL, &a, "no-such-nic", 0x7ffffff0, set);
	for (unsigned i = 0; i < TCPX_NICSETS; i++)
		assert_non_null(set[i].why);
	tcpx_asker_close(&a);
}

/* Both ways agree where both have a value. */
static void
without_netlink_there_is_ioctl(void **state)
{
	struct tcpx_maybe by_netlink[TCPX_NICSETS], by_ioctl[TCPX_NICSETS];
	struct if_nameindex *nics = if_nameindex();
	struct tcpx_asker a;

	assert_non_null(nics);
	tcpx_asker_open(NULL, &a);
	if (a.ethtool < 0 || a.ioctl_fd < 0) {
		print_message("only one way of asking here\n");
		tcpx_asker_close(&a);
		if_freenameindex(nics);
		skip();
	}
	for (unsigned i = 0; nics[i].if_index; i++) {
		int family = a.ethtool;

		tcpx_nicset_read(NULL, &a, nics[i].if_name, nics[i].if_index, by_netlink);
		a.ethtool = -ENOENT;
		tcpx_nicset_read(NULL, &a, nics[i].if_name, nics[i].if_index, by_ioctl);
		a.ethtool = family;
		for (unsigned k = 0; k < TCPX_NICSETS; k++)
			if (!by_netlink[k].why && !by_ioctl[k].why)
				check(nics[i].if_name, tcpx_nicset_name(k), by_ioctl[k].value,
				      by_netlink[k].value);
	}
	tcpx_asker_close(&a);
	if_freenameindex(nics);
}

static void
who_cannot_ask_says_so(void **state)
{
	struct tcpx_asker a = { .genl.fd = -1, .ioctl_fd = -1, .ethtool = -ENOSYS,
				.netdev = -ENOSYS };
	struct tcpx_maybe set[TCPX_NICSETS];

	tcpx_nicset_read(NULL, &a, "lo", 1, set);
	check_text("GRO", set[TCPX_NICSET_GRO].why, "the kernel cannot be asked");
	assert_int_equal(tcpx_asker_netdev(&a, TCPX_NETDEV_QUEUE_GET, 1, NULL, NULL), -ENOSYS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_setting_has_a_name_of_its_own),
		cmocka_unit_test(the_loopback_has_features_and_no_rings),
		cmocka_unit_test(without_netlink_there_is_ioctl),
		cmocka_unit_test(who_cannot_ask_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
