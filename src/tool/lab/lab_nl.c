/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtnetlink requests as bytes. Everything is padded to 4 bytes; a nested attribute's
 * length is written when it is closed.
 */
#include "tool/lab/lab_nl.h"

#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>

/* Room for @len bytes at the end, padding zeroed; NULL once the request is full. */
static void *
append(struct lab_nl *m, size_t len)
{
	uint8_t *at = m->bytes + m->hdr.nlmsg_len;

	if (m->full || NLMSG_ALIGN(len) > sizeof(m->bytes) - m->hdr.nlmsg_len) {
		m->full = true;
		return NULL;
	}
	memset(at, 0, NLMSG_ALIGN(len));
	m->hdr.nlmsg_len += NLMSG_ALIGN(len);
	return at;
}

static void
append_bytes(struct lab_nl *m, const void *data, size_t len)
{
	void *at = append(m, len);

	if (at && len)
		memcpy(at, data, len);
}

void
lab_nl_init(struct lab_nl *m, uint16_t type, uint16_t flags, const void *body, size_t len)
{
	*m = (struct lab_nl){ .hdr = {
		.nlmsg_len = NLMSG_HDRLEN,
		.nlmsg_type = type,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags,
	} };
	append_bytes(m, body, len);
}

void
lab_nl_put(struct lab_nl *m, uint16_t type, const void *data, size_t len)
{
	struct nlattr *a = append(m, NLA_HDRLEN + len);

	if (!a)
		return;
	a->nla_type = type;
	a->nla_len = (uint16_t)(NLA_HDRLEN + len);
	if (len)
		memcpy((uint8_t *)a + NLA_HDRLEN, data, len);
}

void
lab_nl_put_u32(struct lab_nl *m, uint16_t type, uint32_t v)
{
	lab_nl_put(m, type, &v, sizeof(v));
}

void
lab_nl_put_str(struct lab_nl *m, uint16_t type, const char *s)
{
	lab_nl_put(m, type, s, strlen(s) + 1);
}

size_t
lab_nl_open(struct lab_nl *m, uint16_t type)
{
	size_t mark = m->hdr.nlmsg_len;

	lab_nl_put(m, type, NULL, 0);
	return mark;
}

void
lab_nl_close(struct lab_nl *m, size_t mark)
{
	struct nlattr *a = (struct nlattr *)(m->bytes + mark);

	if (!m->full)
		a->nla_len = (uint16_t)(m->hdr.nlmsg_len - mark);
}

static void
link_init(struct lab_nl *m, uint16_t type, uint16_t flags, const struct ifinfomsg *link)
{
	lab_nl_init(m, type, flags, link, sizeof(*link));
}

void
lab_nl_veth(struct lab_nl *m, struct lab_nl_end here, struct lab_nl_end there,
	    int there_ns_fd, uint32_t mtu)
{
	struct ifinfomsg link = { .ifi_index = here.index };
	struct ifinfomsg peer_link = { .ifi_index = there.index };
	size_t info, data, peer;

	link_init(m, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link);
	lab_nl_put_str(m, IFLA_IFNAME, here.name);
	lab_nl_put_u32(m, IFLA_MTU, mtu);
	info = lab_nl_open(m, IFLA_LINKINFO);
	lab_nl_put_str(m, IFLA_INFO_KIND, "veth");
	data = lab_nl_open(m, IFLA_INFO_DATA);
	peer = lab_nl_open(m, VETH_INFO_PEER);
	append_bytes(m, &peer_link, sizeof(peer_link));
	lab_nl_put_str(m, IFLA_IFNAME, there.name);
	lab_nl_put_u32(m, IFLA_MTU, mtu);
	lab_nl_put_u32(m, IFLA_NET_NS_FD, (uint32_t)there_ns_fd);
	lab_nl_close(m, peer);
	lab_nl_close(m, data);
	lab_nl_close(m, info);
}

void
lab_nl_bridge(struct lab_nl *m, struct lab_nl_end here, uint32_t mtu)
{
	struct ifinfomsg link = { .ifi_index = here.index };
	size_t info;

	link_init(m, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link);
	lab_nl_put_str(m, IFLA_IFNAME, here.name);
	lab_nl_put_u32(m, IFLA_MTU, mtu);
	info = lab_nl_open(m, IFLA_LINKINFO);
	lab_nl_put_str(m, IFLA_INFO_KIND, "bridge");
	lab_nl_close(m, info);
}

void
lab_nl_link_up(struct lab_nl *m, int index, int master)
{
	struct ifinfomsg link = { .ifi_index = index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP };

	link_init(m, RTM_NEWLINK, 0, &link);
	if (master)
		lab_nl_put_u32(m, IFLA_MASTER, (uint32_t)master);
}

void
lab_nl_link_delete(struct lab_nl *m, int index)
{
	struct ifinfomsg link = { .ifi_index = index };

	link_init(m, RTM_DELLINK, 0, &link);
}

void
lab_nl_addr(struct lab_nl *m, int index, uint32_t addr, uint8_t prefix_len)
{
	struct ifaddrmsg body = {
		.ifa_family = AF_INET,
		.ifa_prefixlen = prefix_len,
		.ifa_index = (uint32_t)index,
	};
	uint32_t local = htonl(addr);
	uint32_t broadcast = htonl(addr | (0xffffffffu >> prefix_len));

	lab_nl_init(m, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
	lab_nl_put(m, IFA_LOCAL, &local, sizeof(local));
	lab_nl_put(m, IFA_ADDRESS, &local, sizeof(local));
	lab_nl_put(m, IFA_BROADCAST, &broadcast, sizeof(broadcast));
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
lab_nl_tbf(struct lab_nl *m, int index, const struct lab_nl_tbf *tbf)
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

	lab_nl_init(m, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, &body, sizeof(body));
	lab_nl_put_str(m, TCA_KIND, "tbf");
	options = lab_nl_open(m, TCA_OPTIONS);
	lab_nl_put(m, TCA_TBF_PARMS, &parms, sizeof(parms));
	lab_nl_put_u32(m, TCA_TBF_BURST, tbf->burst_bytes);
	if (tbf->rate_Bps > UINT32_MAX)
		lab_nl_put(m, TCA_TBF_RATE64, &tbf->rate_Bps, sizeof(tbf->rate_Bps));
	lab_nl_close(m, options);
}
