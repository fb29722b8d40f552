/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of links, addresses and routes, as the kernel reports them by rtnetlink. */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
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
