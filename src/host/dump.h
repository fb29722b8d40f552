/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's lists of links, addresses and qdiscs, by rtnetlink. No right is needed. */
#ifndef HOST_DUMP_H
#define HOST_DUMP_H

#include <linux/rtnetlink.h>
#include <stddef.h>

#include "host/links.h"

/* Takes one entry of the kernel's list into @links; an entry of another type, or too short,
 * is passed over. */
typedef void (*tcpx_dump_take_fn)(struct tcpx_links *links, const struct nlmsghdr *m);

/* Gives each entry of the list that @type asks for (RTM_GETLINK) to @take. 0, or -errno;
 * not logged. */
int tcpx_dump(uint16_t type, tcpx_dump_take_fn take, struct tcpx_links *links);
/* The attribute of this number in @len bytes of them; NULL: none, or with less than @size
 * bytes. */
const struct rtattr *tcpx_dump_find(const struct rtattr *at, size_t len, unsigned type, size_t size);
/* Copies an attribute's text, with or without a NUL there; "" for NULL. */
void tcpx_dump_text(const struct rtattr *at, char *buf, size_t cap);
/* The link of that index; NULL: none. */
struct tcpx_link *tcpx_dump_link(struct tcpx_links *links, unsigned index);

/* Entries of RTM_GETLINK and RTM_GETADDR. The kernel lists links first: an address of none
 * is left out. */
void tcpx_dump_take_link(struct tcpx_links *links, const struct nlmsghdr *m);
void tcpx_dump_take_address(struct tcpx_links *links, const struct nlmsghdr *m);
/* Gives links the names of those that they stand on and belong to. */
void tcpx_dump_join(struct tcpx_links *links);

#endif
