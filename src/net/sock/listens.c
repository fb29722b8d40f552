/* SPDX-License-Identifier: Apache-2.0 */
/* The listeners of this network namespace, as the kernel lists them (sock_diag(7)). */
#include "net/sock/listens.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* True: the listener that a message of the list describes is reached at @at. */
static bool
leads_there(const struct inet_diag_msg *m, const struct tcpx_addr *at)
{
	struct tcpx_addr bound = { .family = m->idiag_family == AF_INET ? 4 : 6 };

	memcpy(bound.ip, m->id.idiag_src, bound.family == 4 ? 4 : 16);
	(void)tcpx_addr_unmap(&bound);
	return tcpx_addr_is_wild(&bound) || tcpx_addr_same_host(&bound, at);
}

/* 1: one is in this part of the list, 0: none is, and the list goes on; -ENOENT: it has
 * ended; else a code. */
static int
take(const char *room, ssize_t n, const struct tcpx_addr *at)
{
	int left = (int)n;

	for (const struct nlmsghdr *m = (const void *)room; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
		if (m->nlmsg_type == NLMSG_DONE)
			return -ENOENT;
		if (m->nlmsg_type != SOCK_DIAG_BY_FAMILY || m->nlmsg_len < NLMSG_LENGTH(sizeof(struct inet_diag_msg)))
			return -ENOTSUP;
		if (leads_there(NLMSG_DATA(m), at))
			return 1;
	}
	return 0;
}

/* Asks for the listeners of a family at that port. */
static int
look(int fd, uint8_t family, const struct tcpx_addr *at)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 req;
	} ask = { .head = { .nlmsg_len = sizeof(ask), .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		  .req = { .sdiag_family = family, .sdiag_protocol = IPPROTO_TCP,
			   .idiag_states = 1u << TCP_LISTEN, .id.idiag_sport = htons(at->port) } };
	_Alignas(struct nlmsghdr) char room[32768]; /* the kernel's largest part of a list */
	int rc = send(fd, &ask, sizeof(ask), 0) == sizeof(ask) ? 0 : -errno;

	while (rc == 0) {
		/* it lists while it is asked, so there is nothing to wait for */
		ssize_t n = recv(fd, room, sizeof(room), MSG_DONTWAIT);

		rc = n > 0 ? take(room, n, at) : -EIO;
	}
	return rc == -ENOENT ? 0 : rc;
}

int
tcpx_sock_listens(const struct tcpx_addr *at)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	int rc = fd >= 0 ? look(fd, AF_INET, at) : -errno;

	if (rc == 0)
		rc = look(fd, AF_INET6, at);
	if (fd >= 0)
		close(fd);
	return rc;
}
