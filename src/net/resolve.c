/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of HOST:PORT, or of several. A name is looked up by the system's resolver: the only call in
 * net/ that may block. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/parse.h"
#include "net/resolve.h"

static int
from_sockaddr(const struct sockaddr *sa, struct tcpx_addr *out)
{
	const struct sockaddr_in *in4 = (const void *)sa;
	const struct sockaddr_in6 *in6 = (const void *)sa;

	memset(out, 0, sizeof(*out));
	if (sa->sa_family == AF_INET) {
		out->family = 4;
		out->port = ntohs(in4->sin_port);
		memcpy(out->ip, &in4->sin_addr, 4);
	} else if (sa->sa_family == AF_INET6) {
		out->family = 6;
		out->port = ntohs(in6->sin6_port);
		out->scope = in6->sin6_scope_id;
		memcpy(out->ip, &in6->sin6_addr, 16);
		(void)tcpx_addr_unmap(out);
	} else {
		return -EINVAL;
	}
	return 0;
}

static int
resolve_one(const char *host_port, struct tcpx_addr *out, uint32_t cap, uint32_t *count)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *all, *a;
	char host[256], *colon;
	uint64_t port;
	uint32_t n = 0;
	int rc;

	if (tcpx_addr_parse(host_port, &out[0]) == 0 && out[0].port) {
		*count = 1;
		return 0;
	}
	snprintf(host, sizeof(host), "%s", host_port);
	colon = strrchr(host, ':');
	if (!colon || strlen(host_port) >= sizeof(host) ||
	    tcpx_parse_count(colon + 1, &port) != 0 || port == 0 || port > 65535)
		return tcpx_fail(TCPX_SUB_BOOT, -EINVAL,
				 "\"%s\" is not HOST:PORT with a port of 1 to 65535", host_port);
	*colon = '\0';
	rc = getaddrinfo(host, colon + 1, &hints, &all);
	if (rc)
		return tcpx_fail(TCPX_SUB_BOOT, -EHOSTUNREACH, "look up %s: %s", host_port,
				 gai_strerror(rc));
	for (a = all; a && n < cap; a = a->ai_next)
		if (from_sockaddr(a->ai_addr, &out[n]) == 0)
			n++;
	freeaddrinfo(all);
	if (n == 0)
		return tcpx_fail(TCPX_SUB_BOOT, -EHOSTUNREACH, "%s has no IP address", host_port);
	*count = n;
	return 0;
}

int
tcpx_addr_resolve(const char *list, struct tcpx_addr *out, uint32_t cap, uint32_t *count)
{
	const char *at = list;
	uint32_t more = 0;
	char one[256];
	size_t len;
	int rc;

	for (*count = 0; *count < cap; at += len + 1) {
		len = strcspn(at, ",");
		snprintf(one, sizeof(one), "%.*s", (int)len, at);
		rc = resolve_one(len < sizeof(one) ? one : list, out + *count, cap - *count, &more);
		if (rc)
			return rc;
		*count += more;
		if (!at[len])
			break;
	}
	return 0;
}
