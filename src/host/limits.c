/* SPDX-License-Identifier: Apache-2.0 */
/* The rates of root qdiscs: a token bucket (tbf) lets no more out than its own. */
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <string.h>
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
