/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the kernel for a list, and the parts of an entry. */
#include "host/dump.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

const struct rtattr *
tcpx_dump_find(const struct rtattr *at, size_t len, unsigned type, size_t size)
{
	int left = (int)len;

	for (; RTA_OK(at, left); at = RTA_NEXT(at, left))
		if ((at->rta_type & NLA_TYPE_MASK) == type)
			return RTA_PAYLOAD(at) >= size ? at : NULL;
	return NULL;
}

void
tcpx_dump_text(const struct rtattr *at, char *buf, size_t cap)
{
	size_t len = at ? strnlen(RTA_DATA(at), RTA_PAYLOAD(at)) : 0;

	if (len >= cap)
		len = cap - 1;
	if (at)
		memcpy(buf, RTA_DATA(at), len);
	buf[len] = '\0';
}

struct tcpx_link *
tcpx_dump_link(struct tcpx_links *links, unsigned index)
{
	for (unsigned i = 0; index && i < links->count; i++)
		if (links->link[i].index == index)
			return &links->link[i];
	return NULL;
}

/* 1: more parts follow; 0: it was the last; or -errno. */
static int
take_part(int fd, tcpx_dump_take_fn take, struct tcpx_links *links)
{
	_Alignas(struct nlmsghdr) char room[32768]; /* the kernel's largest part of a list */
	/* it lists while it is asked, so there is nothing to wait for */
	ssize_t n = recv(fd, room, sizeof(room), MSG_DONTWAIT);
	int left = (int)n;

	if (n <= 0)
		return n < 0 ? -errno : -EBADMSG;
	for (const struct nlmsghdr *m = (const void *)room; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
		if (m->nlmsg_type == NLMSG_DONE)
			return 0;
		if (m->nlmsg_type == NLMSG_ERROR)
			return -EIO;
		take(links, m);
	}
	return 1;
}

int
tcpx_dump(uint16_t type, tcpx_dump_take_fn take, struct tcpx_links *links)
{
	struct {
		struct nlmsghdr head;
		char body[sizeof(struct tcmsg)]; /* as long as the longest of the three, all zero */
	} ask = { .head = { .nlmsg_len = sizeof(ask), .nlmsg_type = type,
			    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP } };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), rc = 1;

	if (fd < 0)
		return -errno;
	if (send(fd, &ask, sizeof(ask), 0) != sizeof(ask))
		rc = -errno;
	while (rc > 0)
		rc = take_part(fd, take, links);
	close(fd);
	return rc;
}
