/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests are read back attribute by attribute, as the kernel would.
 */
#include "cases.h"

#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>

#include "measure/lab/netlink.h"

/* Attribute @type among @len bytes at @at: its payload, and its length in *got. */
static const void *
find(const void *at, size_t len, uint16_t type, size_t *got)
{
	const uint8_t *p = at;

	while (len >= NLA_HDRLEN) {
		const struct nlattr *a = (const struct nlattr *)p;

		assert_in_range(a->nla_len, NLA_HDRLEN, len);
		if (a->nla_type == type) {
			*got = a->nla_len - NLA_HDRLEN;
			return p + NLA_HDRLEN;
		}
		p += NLA_ALIGN(a->nla_len);
		len -= NLA_ALIGN(a->nla_len);
	}
	fail_msg("no attribute %u", type);
	return NULL;
}

static const void *
find_in_request(const struct tcpx_nl *m, size_t body, uint16_t type, size_t *got)
{
	size_t skip = NLMSG_HDRLEN + NLMSG_ALIGN(body);

	return find(m->bytes + skip, m->hdr.nlmsg_len - skip, type, got);
}

TEST(veth_names_both_ends_and_the_other_namespace)
{
	struct tcpx_nl m;
	const struct ifinfomsg *link;
	const uint8_t *peer;
	const void *at;
	size_t len;

	lab_nl_veth(&m, (struct lab_nl_end){ "eth3", 5 }, (struct lab_nl_end){ "h0n3", 9 }, 42,
		    9000);
	assert_false(m.full);
	assert_int_equal(m.hdr.nlmsg_type, RTM_NEWLINK);
	assert_int_equal(m.hdr.nlmsg_flags, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
	link = NLMSG_DATA(&m.hdr);
	assert_int_equal(link->ifi_index, 5);
	assert_string_equal(find_in_request(&m, sizeof(*link), IFLA_IFNAME, &len), "eth3");

	at = find_in_request(&m, sizeof(*link), IFLA_LINKINFO, &len);
	assert_string_equal(find(at, len, IFLA_INFO_KIND, &(size_t){ 0 }), "veth");
	at = find(at, len, IFLA_INFO_DATA, &len);
	peer = find(at, len, VETH_INFO_PEER, &len);
	assert_int_equal(((const struct ifinfomsg *)peer)->ifi_index, 9);
	peer += sizeof(struct ifinfomsg);
	len -= sizeof(struct ifinfomsg);
	assert_string_equal(find(peer, len, IFLA_IFNAME, &(size_t){ 0 }), "h0n3");
	assert_int_equal(*(const uint32_t *)find(peer, len, IFLA_NET_NS_FD, &(size_t){ 0 }), 42);
	assert_int_equal(*(const uint32_t *)find(peer, len, IFLA_MTU, &(size_t){ 0 }), 9000);
}

TEST(address_is_in_network_order_with_its_broadcast)
{
	struct tcpx_nl m;
	const void *at;
	size_t len;

	lab_nl_addr(&m, 7, 0x0a4d0102, 24);
	at = find_in_request(&m, sizeof(struct ifaddrmsg), IFA_LOCAL, &len);
	assert_int_equal(len, 4);
	assert_memory_equal(at, "\x0a\x4d\x01\x02", 4);
	at = find_in_request(&m, sizeof(struct ifaddrmsg), IFA_BROADCAST, &len);
	assert_memory_equal(at, "\x0a\x4d\x01\xff", 4);
}

TEST(link_up_changes_only_that_and_the_master)
{
	const struct ifinfomsg *link;
	struct tcpx_nl m;
	size_t len;

	lab_nl_link_up(&m, 3, 0);
	link = NLMSG_DATA(&m.hdr);
	assert_int_equal(link->ifi_flags, IFF_UP);
	assert_int_equal(link->ifi_change, IFF_UP);
	assert_int_equal(m.hdr.nlmsg_len, NLMSG_LENGTH(sizeof(*link)));

	lab_nl_link_up(&m, 3, 8);
	assert_int_equal(*(const uint32_t *)find_in_request(&m, sizeof(*link), IFLA_MASTER, &len),
			 8);
}

TEST(tbf_carries_wide_rates_only_when_needed)
{
	static const struct {
		uint64_t rate_bps;
		uint32_t rate;
		bool wide;
	} cases[] = {
		{ 250000000, 31250000, false },
		{ 34359738360, 4294967295, false },
		{ 100000000000, UINT32_MAX, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct lab_nl_tbf tbf = lab_nl_tbf_for(cases[i].rate_bps);
		struct tc_tbf_qopt parms;
		const void *options;
		size_t len, wide_bytes = cases[i].wide ? NLA_HDRLEN + 8 : 0, one;
		struct tcpx_nl m;

		lab_nl_tbf(&m, 2, &tbf);
		assert_string_equal(find_in_request(&m, sizeof(struct tcmsg), TCA_KIND, &len),
				    "tbf");
		options = find_in_request(&m, sizeof(struct tcmsg), TCA_OPTIONS, &len);
		memcpy(&parms, find(options, len, TCA_TBF_PARMS, &one), sizeof(parms));
		assert_int_equal(one, sizeof(parms));
		assert_int_equal(parms.rate.rate, cases[i].rate);
		assert_int_equal(len, NLA_HDRLEN + sizeof(parms) + NLA_HDRLEN + 4 + wide_bytes);
	}
}

TEST(tbf_always_passes_gso_packets)
{
	static const uint64_t rates_bps[] = { 1000000, 250000000, 1000000000, 400000000000 };

	for (size_t i = 0; i < sizeof(rates_bps) / sizeof(rates_bps[0]); i++) {
		struct lab_nl_tbf tbf = lab_nl_tbf_for(rates_bps[i]);

		assert_true(tbf.burst_bytes >= 2 * 65536);
		assert_true(tbf.burst_bytes >= tbf.rate_Bps / 250);
		assert_true(tbf.limit_bytes >= 512 * 1024);
	}
}

TEST(what_does_not_fit_marks_the_request_and_stays_inside)
{
	struct {
		struct tcpx_nl m;
		uint8_t guard[16];
	} box;
	static const uint8_t big[300];
	uint32_t len;
	size_t mark;

	memset(&box, 0x5a, sizeof(box));
	tcpx_nl_init(&box.m, RTM_NEWLINK, 0, big, 100);
	mark = tcpx_nl_nest(&box.m, 1);
	tcpx_nl_put(&box.m, 2, big, 300);
	assert_false(box.m.full);
	len = box.m.hdr.nlmsg_len;
	tcpx_nl_put(&box.m, 3, big, 300);
	assert_true(box.m.full);
	tcpx_nl_put_u32(&box.m, 4, 1); /* once full, always full */
	tcpx_nl_nest_end(&box.m, mark);
	assert_int_equal(box.m.hdr.nlmsg_len, len);
	for (size_t i = 0; i < sizeof(box.guard); i++)
		assert_int_equal(box.guard[i], 0x5a);
}

TEST(padding_is_zero_and_lengths_are_not_padded)
{
	struct tcpx_nl m;

	tcpx_nl_init(&m, RTM_NEWLINK, 0, NULL, 0);
	memset(m.bytes + NLMSG_HDRLEN, 0xff, sizeof(m.bytes) - NLMSG_HDRLEN);
	tcpx_nl_put(&m, 9, "abcde", 5);
	assert_int_equal(((struct nlattr *)(m.bytes + NLMSG_HDRLEN))->nla_len, NLA_HDRLEN + 5);
	assert_int_equal(m.hdr.nlmsg_len, NLMSG_HDRLEN + NLA_HDRLEN + 8);
	assert_memory_equal(m.bytes + NLMSG_HDRLEN + NLA_HDRLEN, "abcde\0\0\0", 8);
}
