/* SPDX-License-Identifier: Apache-2.0 */
/* Interfaces and addresses: from the kernel, or from the files of a fixture. */
#include "host/links.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/addr.h"
#include "host/dump.h"
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

static int
compare_names(const void *a, const void *b)
{
	const struct tcpx_link *x = a, *y = b;

	return strverscmp(x->name, y->name);
}

/* ---- the machine ------------------------------------------------------------------ */

static int
read_machine(struct tcpx_links *links)
{
	int rc = tcpx_dump(RTM_GETLINK, tcpx_dump_take_link, links);

	if (rc == 0)
		rc = tcpx_dump(RTM_GETADDR, tcpx_dump_take_address, links);
	if (rc < 0)
		return tcpx_fail(TCPX_SUB_HOST, rc, "list interfaces");
	tcpx_dump_join(links);
	tcpx_links_limits(links);
	return 0;
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

/* Links "lower_NAME" lead to those that it stands on. */
static void
read_fixture_lower(const char *root, struct tcpx_link *link)
{
	struct tcpx_io_names names;
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/net/%s", link->name);
	if (tcpx_io_list(root, path, &names) < 0)
		return;
	for (unsigned i = 0; i < names.count; i++)
		if (!strncmp(names.entry[i]->d_name, "lower_", 6))
			snprintf(link->lower, sizeof(link->lower), "%.15s", names.entry[i]->d_name + 6);
	tcpx_io_names_free(&names);
}

/* Reads the type that a device names, and the mark of those without one. */
static void
read_fixture_kind(const char *root, struct tcpx_link *link)
{
	char path[64], text[512];
	const char *type;

	snprintf(path, sizeof(path), "/sys/class/net/%s/uevent", link->name);
	type = tcpx_io_read(root, path, text, sizeof(text)) > 0 ? strstr(text, "DEVTYPE=") : NULL;
	if (type)
		sscanf(type, "DEVTYPE=%15s", link->kind);
	snprintf(path, sizeof(path), "/sys/class/net/%s/tun_flags", link->name);
	if (tcpx_io_exists(root, path))
		strcpy(link->kind, "tun");
	snprintf(path, sizeof(path), "/sys/class/net/%s/master", link->name);
	if (tcpx_io_read_link(root, path, link->master, sizeof(link->master)) < 0)
		link->master[0] = '\0';
	read_fixture_lower(root, link);
}

static void
read_fixture_links(const char *root, struct tcpx_links *links)
{
	struct tcpx_io_names names;
	struct tcpx_link *link;

	if (tcpx_io_list(root, "/sys/class/net", &names) < 0)
		return; /* no such directory: a machine without interfaces */
	for (unsigned i = 0; i < names.count; i++) {
		const char *name = names.entry[i]->d_name;
		char path[512];

		snprintf(path, sizeof(path), "/sys/class/net/%s", name);
		/* A name too long, a file (bonding_masters), a dangling link. */
		if (strlen(name) >= sizeof(link->name) || !tcpx_io_is_dir(root, path))
			continue;
		link = tcpx_links_add(links, name);
		if (link) {
			read_fixture_flags(root, link);
			read_fixture_kind(root, link);
		}
	}
	tcpx_io_names_free(&names);
}

static uint8_t
flags_of(const char *words)
{
	return (uint8_t)((strstr(words, "deprecated") ? TCPX_LINK_DEPRECATED : 0) |
			 (strstr(words, "tentative") ? TCPX_LINK_TENTATIVE : 0) |
			 (strstr(words, "temporary") ? TCPX_LINK_TEMPORARY : 0));
}

static void
read_fixture_address(struct tcpx_links *links, const char *line)
{
	struct tcpx_link_addr addr = { 0 };
	struct tcpx_link *link;
	char name[16], text[64];
	int end = 0;

	if (*line == '#' || sscanf(line, "%15s %63s%n", name, text, &end) != 2)
		return;
	link = find_link(links, name);
	if (!link || tcpx_host_addr_parse(text, &addr.addr) < 0) {
		tcpx_warn(TCPX_SUB_HOST, "addresses: \"%s\" is not an interface that exists and "
			  "ADDRESS/PREFIX; left out", line);
		return;
	}
	addr.flags = flags_of(line + end);
	tcpx_links_add_address(link, &addr);
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
	struct tcpx_links found = { .count = 0 };
	int rc;

	if (tcpx_io_is_machine(root)) {
		rc = read_machine(&found);
	} else {
		read_fixture_links(root, &found);
		rc = read_fixture_addresses(root, &found);
	}
	if (rc == 0 && found.no_memory)
		rc = tcpx_fail(TCPX_SUB_HOST, -ENOMEM, "list more than %u interfaces", found.count);
	if (rc < 0) {
		tcpx_links_free(&found);
		return rc;
	}
	if (found.count)
		qsort(found.link, found.count, sizeof(*found.link), compare_names);
	*links = found;
	return 0;
}
