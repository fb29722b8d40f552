/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtnetlink requests as bytes: links, addresses, queues.
 */
#include "measure/lab/netlink.h"

#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>

static void
link_init(struct tcpx_nl *m, uint16_t type, uint16_t flags, const struct ifinfomsg *link)
{
	tcpx_nl_init(m, type, NLM_F_ACK | flags, link, sizeof(*link));
}

void
lab_nl_veth(struct tcpx_nl *m, struct lab_nl_end here, struct lab_nl_end there,
	    int there_ns_fd, uint32_t mtu)
{
	struct ifinfomsg link = { .ifi_index = here.index };
	struct ifinfomsg peer_link = { .ifi_index = there.index };
	size_t info, data, peer;

	link_init(m, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link);
	tcpx_nl_put_str(m, IFLA_IFNAME, here.name);
	tcpx_nl_put_u32(m, IFLA_MTU, mtu);
	info = tcpx_nl_nest(m, IFLA_LINKINFO);
	tcpx_nl_put_str(m, IFLA_INFO_KIND, "veth");
	data = tcpx_nl_nest(m, IFLA_INFO_DATA);
	peer = tcpx_nl_nest(m, VETH_INFO_PEER);
	tcpx_nl_append(m, &peer_link, sizeof(peer_link));
	tcpx_nl_put_str(m, IFLA_IFNAME, there.name);
	tcpx_nl_put_u32(m, IFLA_MTU, mtu);
	tcpx_nl_put_u32(m, IFLA_NET_NS_FD, (uint32_t)there_ns_fd);
	tcpx_nl_nest_end(m, peer);
	tcpx_nl_nest_end(m, data);
	tcpx_nl_nest_end(m, info);
}

void
lab_nl_bridge(struct tcpx_nl *m, struct lab_nl_end here, uint32_t mtu)
{
	struct ifinfomsg link = { .ifi_index = here.index };
	size_t info;

	link_init(m, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link);
	tcpx_nl_put_str(m, IFLA_IFNAME, here.name);
	tcpx_nl_put_u32(m, IFLA_MTU, mtu);
	info = tcpx_nl_nest(m, IFLA_LINKINFO);
	tcpx_nl_put_str(m, IFLA_INFO_KIND, "bridge");
	tcpx_nl_nest_end(m, info);
}

void
lab_nl_link_up(struct tcpx_nl *m, int index, int master)
{
	struct ifinfomsg link = { .ifi_index = index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP };

	link_init(m, RTM_NEWLINK, 0, &link);
	if (master)
		tcpx_nl_put_u32(m, IFLA_MASTER, (uint32_t)master);
}

void
lab_nl_link_delete(struct tcpx_nl *m, int index)
{
	struct ifinfomsg link = { .ifi_index = index };

	link_init(m, RTM_DELLINK, 0, &link);
}

void
lab_nl_addr(struct tcpx_nl *m, int index, uint32_t addr, uint8_t prefix_len)
{
	struct ifaddrmsg body = {
		.ifa_family = AF_INET,
		.ifa_prefixlen = prefix_len,
		.ifa_index = (uint32_t)index,
	};
	uint32_t local = htonl(addr);
	uint32_t broadcast = htonl(addr | (0xffffffffu >> prefix_len));

	tcpx_nl_init(m, RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
	tcpx_nl_put(m, IFA_LOCAL, &local, sizeof(local));
	tcpx_nl_put(m, IFA_ADDRESS, &local, sizeof(local));
	tcpx_nl_put(m, IFA_BROADCAST, &broadcast, sizeof(broadcast));
}

static uint32_t
clamp_u32(uint64_t v, uint32_t min, uint32_t max)
{
	return v < min ? min : v > max ? max : (uint32_t)v;
}

struct lab_nl_tbf
lab_nl_tbf_for(uint64_t rate_bps)
{
	uint64_t rate_Bps = rate_bps / 8;

	return (struct lab_nl_tbf){
		.rate_Bps = rate_Bps,
		.burst_bytes = clamp_u32(rate_Bps / 250, 2 * 65536, 1u << 30),
		.limit_bytes = clamp_u32(rate_Bps / 100, 512 * 1024, 1u << 30),
	};
}

void
lab_nl_tbf(struct tcpx_nl *m, int index, const struct lab_nl_tbf *tbf)
{
	struct tcmsg body = {
		.tcm_family = AF_UNSPEC,
		.tcm_ifindex = index,
		.tcm_parent = TC_H_ROOT,
		.tcm_handle = TC_H_MAKE(1u << 16, 0),
	};
	/* With the link layer named, the kernel computes times itself: no rate table. */
	struct tc_tbf_qopt parms = {
		.limit = tbf->limit_bytes,
		.rate = {
			.linklayer = TC_LINKLAYER_ETHERNET,
			.rate = clamp_u32(tbf->rate_Bps, 1, UINT32_MAX),
		},
	};
	size_t options;

	tcpx_nl_init(m, RTM_NEWQDISC, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
	tcpx_nl_put_str(m, TCA_KIND, "tbf");
	options = tcpx_nl_nest(m, TCA_OPTIONS);
	tcpx_nl_put(m, TCA_TBF_PARMS, &parms, sizeof(parms));
	tcpx_nl_put_u32(m, TCA_TBF_BURST, tbf->burst_bytes);
	if (tbf->rate_Bps > UINT32_MAX)
		tcpx_nl_put(m, TCA_TBF_RATE64, &tbf->rate_Bps, sizeof(tbf->rate_Bps));
	tcpx_nl_nest_end(m, options);
}
