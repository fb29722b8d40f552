/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces and addresses: from getifaddrs(), or from the files of a fixture. */
#include "host/links.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/addr.h"
#include "host/io.h"

#define ADDRESSES_BYTES 65536 /* largest "addresses" file of a fixture */

static struct tcpx_link *
find_link(struct tcpx_links *links, const char *name)
{
	for (unsigned i = 0; i < links->count; i++)
		if (strcmp(links->link[i].name, name) == 0)
			return &links->link[i];
	return NULL;
}

/* The link of that name, made if new; NULL: no memory. */
static struct tcpx_link *
get_link(struct tcpx_links *links, const char *name)
{
	struct tcpx_link *link = find_link(links, name);

	if (link)
		return link;
	link = realloc(links->link, (links->count + 1) * sizeof(*link));
	if (!link)
		return NULL;
	links->link = link;
	link += links->count++;
	*link = (struct tcpx_link){ .index = 0 };
	snprintf(link->name, sizeof(link->name), "%s", name);
	return link;
}

/* Keeps the list sorted by rank; the worst drops out when it is full. */
static void
add_address(struct tcpx_link *link, const struct tcpx_addr *addr)
{
	unsigned at = link->addr_count;

	while (at > 0 && tcpx_host_addr_rank(&link->addrs[at - 1]) > tcpx_host_addr_rank(addr))
		at--;
	if (at == TCPX_HOST_ADDRESSES)
		return;
	if (link->addr_count < TCPX_HOST_ADDRESSES)
		link->addr_count++;
	memmove(&link->addrs[at + 1], &link->addrs[at],
		(link->addr_count - at - 1) * sizeof(*addr));
	link->addrs[at] = *addr;
}

static int
compare_names(const void *a, const void *b)
{
	const struct tcpx_link *x = a, *y = b;

	return strverscmp(x->name, y->name);
}

/* ---- the machine ------------------------------------------------------------------ */

static uint8_t
prefix_of(const uint8_t *mask, size_t len)
{
	uint8_t prefix = 0;

	for (size_t i = 0; i < len; i++)
		prefix += (uint8_t)__builtin_popcount(mask[i]);
	return prefix;
}

static bool
from_sockaddr(const struct ifaddrs *ifa, struct tcpx_addr *addr)
{
	*addr = (struct tcpx_addr){ 0 };
	if (!ifa->ifa_addr || !ifa->ifa_netmask)
		return false;
	if (ifa->ifa_addr->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const void *)ifa->ifa_addr;
		const struct sockaddr_in *mask = (const void *)ifa->ifa_netmask;

		addr->family = 4;
		memcpy(addr->ip, &in->sin_addr, 4);
		addr->prefix = prefix_of((const uint8_t *)&mask->sin_addr, 4);
		return true;
	}
	if (ifa->ifa_addr->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const void *)ifa->ifa_addr;
		const struct sockaddr_in6 *mask = (const void *)ifa->ifa_netmask;

		addr->family = 6;
		addr->scope = in6->sin6_scope_id;
		memcpy(addr->ip, &in6->sin6_addr, 16);
		addr->prefix = prefix_of((const uint8_t *)&mask->sin6_addr, 16);
		return true;
	}
	return false;
}

static int
read_machine(struct tcpx_links *links)
{
	struct tcpx_addr addr;
	struct ifaddrs *all;
	int rc = 0;

	if (getifaddrs(&all) < 0)
		return tcpx_fail_errno(TCPX_SUB_HOST, "list interfaces");
	for (const struct ifaddrs *ifa = all; ifa; ifa = ifa->ifa_next) {
		struct tcpx_link *link;
		char name[IFNAMSIZ];

		/* An alias, "eth0:1", is an address of eth0. */
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(ifa->ifa_name, ":"),
			 ifa->ifa_name);
		link = get_link(links, name);
		if (!link) {
			rc = tcpx_fail(TCPX_SUB_HOST, -ENOMEM, "list %u interfaces", links->count);
			break;
		}
		link->index = if_nametoindex(name);
		link->up = (ifa->ifa_flags & IFF_UP) && (ifa->ifa_flags & IFF_RUNNING);
		link->loopback = ifa->ifa_flags & IFF_LOOPBACK;
		if (from_sockaddr(ifa, &addr))
			add_address(link, &addr);
	}
	freeifaddrs(all);
	tcpx_links_limits(links);
	return rc;
}

/* ---- a fixture -------------------------------------------------------------------- */

static void
read_fixture_flags(const char *root, struct tcpx_link *link)
{
	char path[128], state[32] = "unknown";
	long long flags = 0;

	snprintf(path, sizeof(path), "/sys/class/net/%s/flags", link->name);
	if (tcpx_io_read_number(root, path, &flags) < 0)
		return;
	snprintf(path, sizeof(path), "/sys/class/net/%s/operstate", link->name);
	if (tcpx_io_read(root, path, state, sizeof(state)) < 0)
		strcpy(state, "unknown");
	link->up = (flags & IFF_UP) && (!strcmp(state, "up") || !strcmp(state, "unknown"));
	link->loopback = flags & IFF_LOOPBACK;
}

static int
read_fixture_links(const char *root, struct tcpx_links *links)
{
	struct tcpx_io_names names;
	struct tcpx_link *link;
	int rc = 0;

	if (tcpx_io_list(root, "/sys/class/net", &names) < 0)
		return 0; /* no such directory: a machine without interfaces */
	for (unsigned i = 0; i < names.count && rc == 0; i++) {
		const char *name = names.entry[i]->d_name;
		char path[512];

		snprintf(path, sizeof(path), "/sys/class/net/%s", name);
		/* A name too long, a file (bonding_masters), a dangling link. */
		if (strlen(name) >= sizeof(link->name) || !tcpx_io_is_dir(root, path))
			continue;
		link = get_link(links, name);
		if (link)
			read_fixture_flags(root, link);
		else
			rc = tcpx_fail(TCPX_SUB_HOST, -ENOMEM, "list %u interfaces", names.count);
	}
	tcpx_io_names_free(&names);
	return rc;
}

static void
read_fixture_address(struct tcpx_links *links, const char *line)
{
	struct tcpx_addr addr;
	struct tcpx_link *link;
	char name[16], text[64];

	if (*line == '#' || sscanf(line, "%15s %63s", name, text) != 2)
		return;
	link = find_link(links, name);
	if (!link || tcpx_host_addr_parse(text, &addr) < 0) {
		tcpx_warn(TCPX_SUB_HOST, "addresses: \"%s\" is not an interface that exists and "
			  "ADDRESS/PREFIX; left out", line);
		return;
	}
	add_address(link, &addr);
}

static int
read_fixture_addresses(const char *root, struct tcpx_links *links)
{
	char *text, *rest, *line;
	int rc = 0;

	text = malloc(ADDRESSES_BYTES);
	if (!text)
		return tcpx_fail(TCPX_SUB_HOST, -ENOMEM, "read %s/addresses", root);
	rc = tcpx_io_read(root, "/addresses", text, ADDRESSES_BYTES);
	if (rc >= 0)
		for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
			read_fixture_address(links, line);
	free(text);
	if (rc == -ENOENT || rc >= 0)
		return 0;
	return tcpx_fail(TCPX_SUB_HOST, rc, "read %s/addresses, at most %d bytes", root,
			 ADDRESSES_BYTES);
}

int
tcpx_links_read(const char *root, struct tcpx_links *links)
{
	struct tcpx_links found = { NULL, 0 };
	int rc;

	if (tcpx_io_is_machine(root)) {
		rc = read_machine(&found);
	} else {
		rc = read_fixture_links(root, &found);
		if (rc == 0)
			rc = read_fixture_addresses(root, &found);
	}
	if (rc < 0) {
		tcpx_links_free(&found);
		return rc;
	}
	if (found.count)
		qsort(found.link, found.count, sizeof(*found.link), compare_names);
	*links = found;
	return 0;
}

void
tcpx_links_free(struct tcpx_links *links)
{
	free(links->link);
	*links = (struct tcpx_links){ NULL, 0 };
}
