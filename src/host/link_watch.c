/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of links, addresses and routes, as the kernel reports them by rtnetlink. */
#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/host.h"

int
tcpx_link_watch_open(int *fd)
{
	struct sockaddr_nl us = { .nl_family = AF_NETLINK,
				  .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR |
					       RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE };
	int s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (s < 0)
		return -errno;
	if (bind(s, (struct sockaddr *)&us, sizeof(us)) < 0) {
		int rc = -errno;

		close(s);
		return rc;
	}
	*fd = s;
	return 0;
}

bool
tcpx_link_watch_take(int fd)
{
	char room[8192];
	bool any = false;
	ssize_t n;

	/* ENOBUFS: more came than was kept, so something changed */
	while ((n = recv(fd, room, sizeof(room), 0)) > 0 || (n < 0 && errno == ENOBUFS))
		any = true;
	return any;
}

/* All of 127.0.0.0/8 is the loopback's. */
static bool
has(const struct ifaddrs *ifa, const struct tcpx_addr *addr)
{
	const struct sockaddr_in *in = (const void *)ifa->ifa_addr;
	const struct sockaddr_in6 *in6 = (const void *)ifa->ifa_addr;

	if (!in || in->sin_family != (addr->family == 4 ? AF_INET : AF_INET6))
		return false;
	if (addr->family == 4)
		return !memcmp(&in->sin_addr, addr->ip, 4) ||
		       ((ifa->ifa_flags & IFF_LOOPBACK) && addr->ip[0] == 127);
	return !memcmp(&in6->sin6_addr, addr->ip, 16);
}

/* Any that peers could reach. */
static bool
has_one(const struct ifaddrs *ifa, const char *name, uint8_t family)
{
	const struct sockaddr_in *in = (const void *)ifa->ifa_addr;
	const struct sockaddr_in6 *in6 = (const void *)ifa->ifa_addr;
	struct tcpx_addr addr = { .family = family };

	if (!in || in->sin_family != (family == 4 ? AF_INET : AF_INET6) || strcmp(ifa->ifa_name, name))
		return false;
	if (family == 4)
		memcpy(addr.ip, &in->sin_addr, 4);
	else
		memcpy(addr.ip, &in6->sin6_addr, 16);
	return !tcpx_addr_is_link_local(&addr);
}

bool
tcpx_link_up_with(const char *name, const struct tcpx_addr *addr)
{
	struct ifaddrs *all;
	bool up = false;

	if (getifaddrs(&all) < 0)
		return true;
	for (const struct ifaddrs *ifa = all; ifa && !up; ifa = ifa->ifa_next)
		up = (ifa->ifa_flags & IFF_UP) && (ifa->ifa_flags & IFF_RUNNING) &&
		     (tcpx_addr_is_wild(addr) ? has_one(ifa, name, addr->family) : has(ifa, addr));
	freeifaddrs(all);
	return up;
}
