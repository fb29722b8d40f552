/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of NICs from this machine's kernel, by both ways of asking. */
#include "../base/base_test.h"

#include <errno.h>
#include <net/if.h>
#include <unistd.h>

#include "tune/facts/nicset.h"

TEST(every_setting_has_a_name_of_its_own)
{
	for (unsigned i = 0; i < TCPX_NICSETS; i++)
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(tcpx_nicset_name(i), tcpx_nicset_name(j));
	check_text("none", tcpx_nicset_name(TCPX_NICSETS), "?");
}

TEST(the_loopback_has_features_and_no_rings)
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
TEST(without_netlink_there_is_ioctl)
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

/* The attributes are those of linux/ethtool_netlink.h, by number: headers may be older than the kernel. */
TEST(each_number_of_an_answer_is_one_setting)
{
	enum { RINGS_GET = 15, CHANNELS_GET = 17, COALESCE_GET = 19, ATTRS = 24 };
	static const struct {
		enum tcpx_nicset set;
		uint8_t command;
		uint32_t attr;
	} rows[] = {
		{ TCPX_NICSET_RX, CHANNELS_GET, 6 },
		{ TCPX_NICSET_RX_MAX, CHANNELS_GET, 2 },
		{ TCPX_NICSET_TX, CHANNELS_GET, 7 },
		{ TCPX_NICSET_TX_MAX, CHANNELS_GET, 3 },
		{ TCPX_NICSET_COMBINED, CHANNELS_GET, 9 },
		{ TCPX_NICSET_COMBINED_MAX, CHANNELS_GET, 5 },
		{ TCPX_NICSET_RING_RX, RINGS_GET, 6 },
		{ TCPX_NICSET_RING_RX_MAX, RINGS_GET, 2 },
		{ TCPX_NICSET_RING_TX, RINGS_GET, 9 },
		{ TCPX_NICSET_RING_TX_MAX, RINGS_GET, 5 },
		{ TCPX_NICSET_DATA_SPLIT, RINGS_GET, 11 },
		{ TCPX_NICSET_RX_USECS, COALESCE_GET, 2 },
		{ TCPX_NICSET_RX_FRAMES, COALESCE_GET, 3 },
		{ TCPX_NICSET_TX_USECS, COALESCE_GET, 6 },
		{ TCPX_NICSET_TX_FRAMES, COALESCE_GET, 7 },
		{ TCPX_NICSET_ADAPTIVE_RX, COALESCE_GET, 11 },
		{ TCPX_NICSET_ADAPTIVE_TX, COALESCE_GET, 12 },
	};
	struct tcpx_maybe set[TCPX_NICSETS];
	struct tcpx_nl answer;

	for (unsigned i = 0; i < TCPX_NICSETS; i++)
		set[i] = tcpx_maybe_not("unknown");
	for (uint8_t command = RINGS_GET; command <= COALESCE_GET; command++) {
		tcpx_nl_init(&answer, 21, 0, NULL, 0);
		for (uint16_t attr = 1; attr < ATTRS; attr++)
			tcpx_nl_put_u32(&answer, attr, command * 100u + attr);
		assert_false(answer.full);
		tcpx_nicset_take(command, (struct tcpx_nlattrs){ .at = answer.bytes + NLMSG_HDRLEN,
				 .left = answer.hdr.nlmsg_len - NLMSG_HDRLEN }, set);
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_null(set[rows[i].set].why);
		check(tcpx_nicset_name(rows[i].set), "value", set[rows[i].set].value,
		      rows[i].command * 100u + rows[i].attr);
	}
	for (unsigned i = TCPX_NICSET_GRO; i < TCPX_NICSETS; i++)
		check_text(tcpx_nicset_name(i), set[i].why, "unknown");
}

TEST(who_cannot_ask_says_so)
{
	struct tcpx_asker a = { .genl.fd = -1, .ioctl_fd = -1, .ethtool = -ENOSYS,
				.netdev = -ENOSYS };
	struct tcpx_maybe set[TCPX_NICSETS];

	tcpx_nicset_read(NULL, &a, "lo", 1, set);
	check_text("GRO", set[TCPX_NICSET_GRO].why, "the kernel cannot be asked");
	assert_int_equal(tcpx_asker_netdev(&a, TCPX_NETDEV_QUEUE_GET, 1, NULL, NULL), -ENOSYS);
}
