/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a link's file of its speed does not say: a root qdisc that lets less out (a token bucket,
 * tbf), and drivers that name a number without any such line.
 */
#include <linux/ethtool.h>
#include <linux/pkt_sched.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/dump.h"

/* Bytes a second of this qdisc; 0: not a tbf. */
static uint64_t
tbf_rate(const struct nlmsghdr *m)
{
	const struct rtattr *first = (const void *)((const char *)NLMSG_DATA(m) +
						    NLMSG_ALIGN(sizeof(struct tcmsg)));
	size_t len = NLMSG_PAYLOAD(m, sizeof(struct tcmsg));
	const struct rtattr *kind = tcpx_dump_find(first, len, TCA_KIND, sizeof("tbf"));
	const struct rtattr *options = tcpx_dump_find(first, len, TCA_OPTIONS, 0), *found;
	uint64_t rate;

	if (!kind || memcmp(RTA_DATA(kind), "tbf", sizeof("tbf")) != 0 || !options)
		return 0;
	first = RTA_DATA(options);
	len = RTA_PAYLOAD(options);
	found = tcpx_dump_find(first, len, TCA_TBF_RATE64, sizeof(rate));
	if (found) {
		memcpy(&rate, RTA_DATA(found), sizeof(rate));
		return rate;
	}
	found = tcpx_dump_find(first, len, TCA_TBF_PARMS, sizeof(struct tc_tbf_qopt));
	return found ? ((const struct tc_tbf_qopt *)RTA_DATA(found))->rate.rate : 0;
}

static void
take(struct tcpx_links *links, const struct nlmsghdr *m)
{
	const struct tcmsg *tc = NLMSG_DATA(m);
	struct tcpx_link *link;

	if (m->nlmsg_type != RTM_NEWQDISC || m->nlmsg_len < NLMSG_LENGTH(sizeof(*tc)) ||
	    tc->tcm_parent != TC_H_ROOT)
		return;
	link = tcpx_dump_link(links, (unsigned)tc->tcm_ifindex);
	if (link)
		link->limit_bps = 8 * tbf_rate(m);
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
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (unsigned i = 0; fd >= 0 && i < links->count; i++)
		links->link[i].invents_speed = invents_speed(fd, links->link[i].name);
	if (fd >= 0)
		close(fd);
	(void)tcpx_dump(RTM_GETQDISC, take, links);
}
