/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets for questions about NICs. */
#include "tune/facts/asker.h"

#include <errno.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/io.h"

/* linux/ethtool_netlink.h: the header at the start of every request */
enum { HEADER = 1, HEADER_DEV_INDEX = 1 };

#define DUMP_TRIES 3 /* attempts at a dump that changes while it is read */

void
tcpx_asker_open(const char *root, struct tcpx_asker *a)
{
	int rc;

	*a = (struct tcpx_asker){ .genl.fd = -1, .ioctl_fd = -1, .ethtool = -ENOSYS,
				  .netdev = -ENOSYS };
	if (!tcpx_io_is_machine(root))
		return;
	a->ioctl_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	rc = tcpx_genl_open(&a->genl);
	if (rc < 0) {
		a->genl.fd = -1;
		a->ethtool = a->netdev = rc;
		return;
	}
	a->ethtool = tcpx_genl_family(&a->genl, "ethtool");
	a->netdev = tcpx_genl_family(&a->genl, "netdev");
}

void
tcpx_asker_close(struct tcpx_asker *a)
{
	tcpx_genl_close(&a->genl);
	if (a->ioctl_fd >= 0)
		close(a->ioctl_fd);
	a->ioctl_fd = -1;
}

int
tcpx_asker_ethtool(struct tcpx_asker *a, uint8_t command, unsigned ifindex, tcpx_genl_fn fn,
		   void *arg)
{
	struct tcpx_nl r;
	size_t mark;

	if (a->ethtool < 0)
		return a->ethtool;
	tcpx_genl_init(&r, (uint16_t)a->ethtool, command, false);
	mark = tcpx_nl_nest(&r, HEADER | NLA_F_NESTED);
	tcpx_nl_put_u32(&r, HEADER_DEV_INDEX, ifindex);
	tcpx_nl_nest_end(&r, mark);
	return tcpx_genl_ask(&a->genl, &r, fn, arg);
}

int
tcpx_asker_ioctl(const struct tcpx_asker *a, const char *ifname, void *request)
{
	struct ifreq ifr = { .ifr_data = request };

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", ifname);
	return ioctl(a->ioctl_fd, SIOCETHTOOL, &ifr) < 0 ? -errno : 0;
}

int
tcpx_asker_netdev(struct tcpx_asker *a, uint8_t command, unsigned ifindex, tcpx_genl_fn fn,
		  void *arg)
{
	struct tcpx_nl r;
	int rc = -EINTR;

	if (a->netdev < 0)
		return a->netdev;
	for (int i = 0; i < DUMP_TRIES && rc == -EINTR; i++) {
		tcpx_genl_init(&r, (uint16_t)a->netdev, command, true);
		tcpx_nl_put_u32(&r, command == TCPX_NETDEV_QUEUE_GET
				? TCPX_NETDEV_QUEUE_IFINDEX : TCPX_NETDEV_NAPI_IFINDEX, ifindex);
		rc = tcpx_genl_ask(&a->genl, &r, fn, arg);
	}
	return rc;
}
