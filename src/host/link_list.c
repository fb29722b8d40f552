/* SPDX-License-Identifier: Apache-2.0 */
/* The list of links and of the addresses of each, the best first. Pure. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/addr.h"
#include "host/links.h"

struct tcpx_link *
tcpx_links_add(struct tcpx_links *links, const char *name)
{
	struct tcpx_link *link = realloc(links->link, (links->count + 1) * sizeof(*link));

	if (!link) {
		links->no_memory = true;
		return NULL;
	}
	links->link = link;
	link += links->count++;
	*link = (struct tcpx_link){ .index = 0 };
	snprintf(link->name, sizeof(link->name), "%s", name);
	return link;
}

/* True: @a is better than @b, or as good and older. */
static bool
precedes(const struct tcpx_link_addr *a, const struct tcpx_link_addr *b)
{
	unsigned x = tcpx_host_addr_rank(&a->addr, a->flags), y = tcpx_host_addr_rank(&b->addr, b->flags);

	if (x != y || a->made == b->made)
		return x < y || (x == y && a->addr.family == 6 && a->made); /* the kernel lists new ones first */
	return (int32_t)(a->made - b->made) < 0;
}

void
tcpx_links_add_address(struct tcpx_link *link, const struct tcpx_link_addr *addr)
{
	unsigned at = link->addr_count;

	while (at > 0 && precedes(addr, &link->addrs[at - 1]))
		at--;
	if (at == TCPX_HOST_ADDRESSES)
		return;
	if (link->addr_count < TCPX_HOST_ADDRESSES)
		link->addr_count++;
	memmove(&link->addrs[at + 1], &link->addrs[at],
		(link->addr_count - at - 1) * sizeof(*addr));
	link->addrs[at] = *addr;
}

void
tcpx_links_free(struct tcpx_links *links)
{
	free(links->link);
	*links = (struct tcpx_links){ .count = 0 };
}
