/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network interfaces of this process's network namespace and their addresses, for the other
 * files of host/. On the machine itself the kernel is asked: a mounted /sys may belong to another
 * namespace.
 */
#ifndef HOST_LINKS_H
#define HOST_LINKS_H

#include "host/host.h"

struct tcpx_link {
	char name[16];
	bool up, loopback;
	unsigned index; /* 0 unknown */
	uint64_t limit_bps; /* of its root qdisc; 0: none */
	bool invents_speed; /* the speed in its file is nobody's */
	struct tcpx_addr addrs[TCPX_HOST_ADDRESSES]; /* best first */
	unsigned addr_count;
};

struct tcpx_links {
	struct tcpx_link *link; /* heap; eth2 before eth10 */
	unsigned count;
};

/* Fills in limit_bps and invents_speed. No right is needed; what the kernel does not say stays as
 * it is. */
void tcpx_links_limits(struct tcpx_links *links);
/* root: "" is the machine; else a directory with copies of its files (a fixture). 0; -ENOMEM or the
 * system's error (logged), *links is unchanged then. */
TCPX_MUST_CHECK int tcpx_links_read(const char *root, struct tcpx_links *links);
void tcpx_links_free(struct tcpx_links *links);

#endif
