/* SPDX-License-Identifier: Apache-2.0 */
#include "tune/doctor/peer_route.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOST_BYTES 256

static int
resolve(const char *host, struct tcpx_addr *out)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;

	if (getaddrinfo(host, NULL, &hints, &found))
		return -EINVAL;
	*out = (struct tcpx_addr){ .family = found->ai_family == AF_INET6 ? 6 : 4 };
	if (out->family == 4)
		memcpy(out->ip, &((struct sockaddr_in *)found->ai_addr)->sin_addr, 4);
	else
		memcpy(out->ip, &((struct sockaddr_in6 *)found->ai_addr)->sin6_addr, 16);
	freeaddrinfo(found);
	return 0;
}

/* Parses one entry of the list in place. */
static int
parse_one(char *text, uint16_t port, bool names, struct peer_addr *out, char *why, size_t cap)
{
	char *colon, *host = text, *end;
	unsigned long n = port;

	if (*text == '[' && (end = strchr(text, ']')) != NULL) {
		host = text + 1;
		*end = '\0';
		colon = end[1] == ':' ? end + 1 : NULL;
	} else {
		colon = strchr(text, ':');
		if (colon && strchr(colon + 1, ':'))
			colon = NULL; /* IPv6 without a port */
	}
	if (colon) {
		*colon = '\0';
		n = strtoul(colon + 1, &end, 10);
		if (end == colon + 1 || *end || n == 0 || n > 65535) {
			snprintf(why, cap, "\"%.40s\" is no port of 1 to 65535", colon + 1);
			return -EINVAL;
		}
	}
	out->port = (uint16_t)n;
	if (tcpx_host_addr_parse(host, &out->addr) < 0 &&
	    (!names || !*host || resolve(host, &out->addr) < 0)) {
		snprintf(why, cap, "\"%.60s\" is no address%s", host, names ? ", and no host is known by "
			 "that name" : "");
		return -EINVAL;
	}
	out->addr.prefix = 0;
	tcpx_host_addr_format(&out->addr, out->text, sizeof(out->text));
	return 0;
}

int
peer_list_parse(const char *text, uint16_t port, bool names, struct peer_addr *out,
		unsigned *count, char *why, size_t cap)
{
	*count = 0;
	while (*text) {
		size_t len = strcspn(text, ",");
		char one[HOST_BYTES];
		int rc;

		if (*count == PEERS_MAX || len >= sizeof(one)) {
			snprintf(why, cap, "more than %d addresses, or one of more than %d bytes",
				 PEERS_MAX, HOST_BYTES - 1);
			return -EINVAL;
		}
		memcpy(one, text, len);
		one[len] = '\0';
		rc = parse_one(one, port, names, &out[*count], why, cap);
		if (rc)
			return rc;
		++*count;
		text += len + (text[len] == ',');
	}
	if (*count)
		return 0;
	snprintf(why, cap, "no address is given");
	return -EINVAL;
}

/* "Iface Destination Gateway Flags RefCnt Use Metric Mask": addresses are words in this
 * machine's byte order whose bytes are in network order. @only: NULL, or the one interface. */
static bool
find_route(const char *route, const struct tcpx_addr *to, const char *only, char *ifname, size_t cap)
{
	unsigned best_mask = 0, best_metric = 0, want;
	bool found = false;

	if (to->family != 4)
		return false;
	memcpy(&want, to->ip, 4);
	for (const char *at = route; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		unsigned dest, flags, metric, mask;
		char name[16];

		if (sscanf(at, "%15s %x %*x %x %*d %*d %u %x", name, &dest, &flags, &metric,
			   &mask) != 5 || !(flags & 1) || (want & mask) != dest ||
		    (only && strcmp(name, only) != 0))
			continue;
		if (found && (ntohl(mask) < ntohl(best_mask) ||
			      (mask == best_mask && metric >= best_metric)))
			continue;
		found = true;
		best_mask = mask;
		best_metric = metric;
		snprintf(ifname, cap, "%s", name);
	}
	return found;
}

bool
peer_route_find(const char *route, const struct tcpx_addr *to, char *ifname, size_t cap)
{
	return find_route(route, to, NULL, ifname, cap);
}

bool
peer_route_by(const char *route, const struct tcpx_addr *to, const char *ifname)
{
	char name[16];

	return find_route(route, to, ifname, name, sizeof(name));
}
