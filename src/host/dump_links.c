/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of the kernel's lists of links and of addresses. Pure. */
#include "host/dump.h"

#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "host/addr.h"

static unsigned
number(const struct rtattr *at)
{
	uint32_t v = 0;

	if (at)
		memcpy(&v, RTA_DATA(at), sizeof(v));
	return v;
}

/* Takes a link's other names, between blanks; a name that does not fit is left out. */
static void
take_alts(struct tcpx_link *link, const struct rtattr *list)
{
	const struct rtattr *at = list ? RTA_DATA(list) : NULL;
	int left = list ? (int)RTA_PAYLOAD(list) : 0;
	size_t len = 0;

	for (; left > 0 && RTA_OK(at, left); at = RTA_NEXT(at, left)) {
		char name[128];
		size_t room = sizeof(link->alts) - len, n;

		if (at->rta_type != IFLA_ALT_IFNAME)
			continue;
		tcpx_dump_text(at, name, sizeof(name));
		n = strlen(name) + (len != 0);
		if (n < room)
			len += (size_t)snprintf(link->alts + len, room, "%s%s", len ? " " : "", name);
	}
}

void
tcpx_dump_take_link(struct tcpx_links *links, const struct nlmsghdr *m)
{
	const struct ifinfomsg *info = NLMSG_DATA(m);
	const struct rtattr *first = IFLA_RTA(info), *inside;
	size_t len;
	struct tcpx_link *link;
	char name[sizeof(link->name)];

	if (m->nlmsg_type != RTM_NEWLINK || m->nlmsg_len < NLMSG_LENGTH(sizeof(*info)))
		return;
	len = IFLA_PAYLOAD(m);
	tcpx_dump_text(tcpx_dump_find(first, len, IFLA_IFNAME, 1), name, sizeof(name));
	link = *name ? tcpx_links_add(links, name) : NULL;
	if (!link)
		return;
	link->index = (unsigned)info->ifi_index;
	link->up = (info->ifi_flags & IFF_UP) && (info->ifi_flags & IFF_RUNNING);
	link->loopback = info->ifi_flags & IFF_LOOPBACK;
	inside = tcpx_dump_find(first, len, IFLA_LINKINFO, 0);
	if (inside)
		tcpx_dump_text(tcpx_dump_find(RTA_DATA(inside), RTA_PAYLOAD(inside), IFLA_INFO_KIND, 1),
			       link->kind, sizeof(link->kind));
	link->master_index = number(tcpx_dump_find(first, len, IFLA_MASTER, 4));
	/* with it the index counts in another network namespace */
	if (!tcpx_dump_find(first, len, IFLA_LINK_NETNSID, 4))
		link->lower_index = number(tcpx_dump_find(first, len, IFLA_LINK, 4));
	take_alts(link, tcpx_dump_find(first, len, IFLA_PROP_LIST, 0));
}

/* IFA_F_SECONDARY of IPv4 and IFA_F_TEMPORARY of IPv6 are one number, and mean one thing
 * here: the kernel prefers another as a source. */
static uint8_t
judge(uint32_t flags)
{
	return (uint8_t)((flags & IFA_F_TEMPORARY ? TCPX_LINK_TEMPORARY : 0) |
			 (flags & IFA_F_DEPRECATED ? TCPX_LINK_DEPRECATED : 0) |
			 ((flags & IFA_F_TENTATIVE) && !(flags & IFA_F_OPTIMISTIC)
			  ? TCPX_LINK_TENTATIVE : 0));
}

void
tcpx_dump_take_address(struct tcpx_links *links, const struct nlmsghdr *m)
{
	const struct ifaddrmsg *info = NLMSG_DATA(m);
	const struct rtattr *first = IFA_RTA(info), *at, *more;
	struct tcpx_link_addr a = { 0 };
	struct tcpx_link *link;
	struct ifa_cacheinfo times;
	uint32_t flags;
	size_t len, size;

	if (m->nlmsg_type != RTM_NEWADDR || m->nlmsg_len < NLMSG_LENGTH(sizeof(*info)) ||
	    (info->ifa_family != AF_INET && info->ifa_family != AF_INET6))
		return;
	len = IFA_PAYLOAD(m);
	size = info->ifa_family == AF_INET ? 4 : 16;
	link = tcpx_dump_link(links, info->ifa_index);
	at = tcpx_dump_find(first, len, IFA_LOCAL, size);
	if (!at) /* of a link with two ends IFA_ADDRESS is the other one */
		at = tcpx_dump_find(first, len, IFA_ADDRESS, size);
	more = tcpx_dump_find(first, len, IFA_FLAGS, sizeof(flags));
	flags = more ? number(more) : info->ifa_flags;
	if (!link || !at || (flags & IFA_F_DADFAILED))
		return;
	a.addr.family = size == 4 ? 4 : 6;
	a.addr.prefix = info->ifa_prefixlen;
	memcpy(a.addr.ip, RTA_DATA(at), size);
	if (size == 16 && tcpx_addr_is_link_local(&a.addr))
		a.addr.scope = info->ifa_index;
	a.flags = judge(flags);
	more = tcpx_dump_find(first, len, IFA_CACHEINFO, sizeof(times));
	if (more) {
		memcpy(&times, RTA_DATA(more), sizeof(times));
		a.made = times.cstamp;
	}
	tcpx_links_add_address(link, &a);
}

static void
name_of(struct tcpx_links *links, unsigned index, char *name, size_t cap)
{
	const struct tcpx_link *link = tcpx_dump_link(links, index);

	snprintf(name, cap, "%s", link ? link->name : "");
}

void
tcpx_dump_join(struct tcpx_links *links)
{
	for (unsigned i = 0; i < links->count; i++) {
		struct tcpx_link *l = &links->link[i];

		name_of(links, l->master_index, l->master, sizeof(l->master));
		/* an end of a cable names the other end, and stands on nothing */
		if (l->lower_index != l->index && strcmp(l->kind, "veth") != 0)
			name_of(links, l->lower_index, l->lower, sizeof(l->lower));
	}
}
