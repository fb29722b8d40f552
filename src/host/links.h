/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network interfaces of this process's network namespace and their addresses, for the other
 * files of host/. On the machine itself the kernel is asked: a mounted /sys may belong to another
 * namespace.
 */
#ifndef HOST_LINKS_H
#define HOST_LINKS_H

#include "host/host.h"

/* Marks that make an address of an interface worse. */
enum {
	TCPX_LINK_TEMPORARY = 1, /* or secondary, of IPv4                  */
	TCPX_LINK_DEPRECATED = 2,
	TCPX_LINK_TENTATIVE = 4  /* duplicates are being looked for        */
};

struct tcpx_link_addr {
	struct tcpx_addr addr;
	uint8_t flags;
	uint32_t made; /* when, in hundredths of a second; 0 unknown */
};

struct tcpx_link {
	char name[16];
	char kind[16];                /* as the kernel calls it: "vlan", "bridge"; "" a device, or unknown */
	char master[16], lower[16];   /* what it belongs to, and stands on; "" nothing, or unknown         */
	char alts[TCPX_HOST_ALTS];    /* its other names, between blanks                                   */
	bool up, loopback;
	unsigned index, master_index, lower_index; /* 0 unknown */
	uint64_t limit_bps; /* of its root qdisc; 0: none */
	bool invents_speed; /* the speed in its file is nobody's */
	struct tcpx_link_addr addrs[TCPX_HOST_ADDRESSES]; /* best first */
	unsigned addr_count;
};

struct tcpx_links {
	struct tcpx_link *link; /* heap; eth2 before eth10 */
	unsigned count;
	bool no_memory;         /* one could not be added  */
};

/* Adds a link of this name, zeroed; NULL: no memory, which *links remembers. */
struct tcpx_link *tcpx_links_add(struct tcpx_links *links, const char *name);
/* Adds it where it belongs; the worst drops out when there is no room. */
void tcpx_links_add_address(struct tcpx_link *link, const struct tcpx_link_addr *addr);
/* Fills in limit_bps and invents_speed. No right is needed; what the kernel does not say stays as
 * it is. */
void tcpx_links_limits(struct tcpx_links *links);
/* root: "" is the machine; else a directory with copies of its files (a fixture). 0; -ENOMEM or the
 * system's error (logged), *links is unchanged then. */
TCPX_MUST_CHECK int tcpx_links_read(const char *root, struct tcpx_links *links);
void tcpx_links_free(struct tcpx_links *links);

#endif
