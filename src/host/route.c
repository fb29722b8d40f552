/* SPDX-License-Identifier: Apache-2.0 */
#include "host/route.h"

#include <linux/ipv6_route.h>
#include <linux/route.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/io.h"

#define TABLE_BYTES (1u << 20) /* of a machine that is no router */

/* "Iface Destination Gateway Flags RefCnt Use Metric Mask ...", numbers in hexadecimal
 * except the metric. */
static bool
take_ipv4(const char *line, char name[16], unsigned *metric)
{
	unsigned to, flags, mask;

	return sscanf(line, "%15s %x %*x %x %*d %*d %u %x", name, &to, &flags, metric, &mask) == 5 &&
	       to == 0 && mask == 0 && (flags & RTF_UP);
}

/* "Destination Length Source Length Gateway Metric RefCnt Use Flags Iface", all in
 * hexadecimal. */
static bool
take_ipv6(const char *line, char name[16], unsigned *metric)
{
	unsigned length, flags;

	return sscanf(line, "%*s %x %*s %*x %*s %x %*x %*x %x %15s", &length, metric, &flags, name) == 4 &&
	       length == 0 && (flags & RTF_UP) && !(flags & RTF_REJECT);
}

/* The one of the least metric. */
static void
search(const char *root, const char *path, bool (*take)(const char *, char[16], unsigned *),
       char *ifname, size_t cap)
{
	unsigned best = ~0u, metric;
	char *text, name[16];
	size_t len;

	*ifname = '\0';
	if (tcpx_io_slurp(root, path, TABLE_BYTES, &text, &len) < 0)
		return;
	for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n')
		if (take(at, name, &metric) && metric < best) {
			best = metric;
			snprintf(ifname, cap, "%s", name);
		}
	free(text);
}

void
tcpx_host_route(const char *root, char *ifname, size_t cap)
{
	search(root, "/proc/net/route", take_ipv4, ifname, cap);
	if (!*ifname)
		search(root, "/proc/net/ipv6_route", take_ipv6, ifname, cap);
}
