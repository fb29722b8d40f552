/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a link's file of its speed does not say: a root qdisc that lets less out (a token bucket,
 * tbf), and drivers that name a number without any such line.
 */
#include <linux/ethtool.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/links.h"

/* The attribute of this number in @len bytes of them; NULL: none, or with less than @size bytes. */
static const struct rtattr *
find(const struct rtattr *at, size_t len, unsigned type, size_t size)
{
	int left = (int)len;

	for (; RTA_OK(at, left); at = RTA_NEXT(at, left))
		if ((at->rta_type & NLA_TYPE_MASK) == type)
			return RTA_PAYLOAD(at) >= size ? at : NULL;
	return NULL;
}

/* Bytes a second of this qdisc; 0: not a tbf. */
static uint64_t
tbf_rate(const struct nlmsghdr *m)
{
	const struct rtattr *first = (const void *)((const char *)NLMSG_DATA(m) +
						    NLMSG_ALIGN(sizeof(struct tcmsg)));
	size_t len = NLMSG_PAYLOAD(m, sizeof(struct tcmsg));
	const struct rtattr *kind = find(first, len, TCA_KIND, sizeof("tbf"));
	const struct rtattr *options = find(first, len, TCA_OPTIONS, 0), *found;
	uint64_t rate;

	if (!kind || memcmp(RTA_DATA(kind), "tbf", sizeof("tbf")) != 0 || !options)
		return 0;
	first = RTA_DATA(options);
	len = RTA_PAYLOAD(options);
	found = find(first, len, TCA_TBF_RATE64, sizeof(rate));
	if (found) {
		memcpy(&rate, RTA_DATA(found), sizeof(rate));
		return rate;
	}
	found = find(first, len, TCA_TBF_PARMS, sizeof(struct tc_tbf_qopt));
	return found ? ((const struct tc_tbf_qopt *)RTA_DATA(found))->rate.rate : 0;
}

static void
take(struct tcpx_links *links, const struct nlmsghdr *m)
{
	const struct tcmsg *tc = NLMSG_DATA(m);

	if (m->nlmsg_type != RTM_NEWQDISC || m->nlmsg_len < NLMSG_LENGTH(sizeof(*tc)) ||
	    tc->tcm_parent != TC_H_ROOT)
		return;
	for (unsigned i = 0; i < links->count; i++)
		if ((int)links->link[i].index == tc->tcm_ifindex)
			links->link[i].limit_bps = 8 * tbf_rate(m);
}

/* veth always says 10 Gbit/s, tun 10 Mbit/s. */
static bool
invents_speed(int fd, const char *name)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ifreq ask = { .ifr_data = (void *)&info };

	snprintf(ask.ifr_name, sizeof(ask.ifr_name), "%s", name);
	return ioctl(fd, SIOCETHTOOL, &ask) == 0 &&
	       (!strcmp(info.driver, "veth") || !strcmp(info.driver, "tun"));
}

void
tcpx_links_limits(struct tcpx_links *links)
{
	struct {
		struct nlmsghdr head;
		struct tcmsg tc;
	} ask = { .head = { .nlmsg_len = sizeof(ask), .nlmsg_type = RTM_GETQDISC,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP } };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	_Alignas(struct nlmsghdr) char room[32768]; /* the kernel's largest part of a list */
	bool more = fd >= 0 && send(fd, &ask, sizeof(ask), 0) == sizeof(ask);

	for (unsigned i = 0; fd >= 0 && i < links->count; i++)
		links->link[i].invents_speed = invents_speed(fd, links->link[i].name);
	while (more) {
		/* it lists while it is asked, so there is nothing to wait for */
		ssize_t n = recv(fd, room, sizeof(room), MSG_DONTWAIT);
		int left = (int)n;

		more = left > 0;
		for (const struct nlmsghdr *m = (const void *)room; NLMSG_OK(m, left);
		     m = NLMSG_NEXT(m, left)) {
			more &= m->nlmsg_type != NLMSG_DONE && m->nlmsg_type != NLMSG_ERROR;
			take(links, m);
		}
	}
	if (fd >= 0)
		close(fd);
}
