/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of HOST:PORT, or of several. A name is looked up by the system's resolver: the only call in
 * net/ that may block. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
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

static bool
port_parse(const char *text, uint16_t *port)
{
	uint64_t number;

	if (tcpx_parse_count(text, &number) != 0 || number == 0 || number > UINT16_MAX)
		return false;
	*port = (uint16_t)number;
	return true;
}

/* An address of a NIC's own network leads nowhere without that NIC. */
static bool
lacks_zone(const struct tcpx_addr *a)
{
	return a->family == 6 && !a->scope && a->ip[0] == 0xfe && (a->ip[1] & 0xc0) == 0x80;
}

static int
refuse_zoneless(const char *host_port, const char *host, uint16_t port)
{
	return tcpx_fail(TCPX_SUB_BOOT, -EINVAL, "\"%s\": a link-local address needs the NIC that leads to it: "
			 "write [%s%%NIC]:%u", host_port, host, port);
}

/* Refuses an IPv6 address without its brackets, or with one of them, and names the form to
 * write. */
static int
refuse_form(const char *host_port)
{
	char bare[256], form[300] = "[ADDRESS]:PORT", *colon;
	struct tcpx_addr a;
	uint16_t port;
	size_t n = 0;

	for (const char *at = host_port; *at && n < sizeof(bare) - 1; at++)
		if (*at != '[' && *at != ']')
			bare[n++] = *at;
	bare[n] = '\0';
	if (tcpx_addr_parse(bare, &a) == 0)
		snprintf(form, sizeof(form), "[%s]:PORT", bare);
	colon = strrchr(bare, ':');
	if (colon && port_parse(colon + 1, &port)) {
		*colon = '\0';
		if (tcpx_addr_parse(bare, &a) == 0 && a.family == 6)
			snprintf(form, sizeof(form), "[%s]:%u", bare, port);
	}
	return tcpx_fail(TCPX_SUB_BOOT, -EINVAL, "\"%s\" is not HOST:PORT with a port of 1 to 65535: write an "
			 "IPv6 address as %s", host_port, form);
}

/* An IPv6 literal, or what was meant as one: no name has two colons. -ENOENT: it is none. */
static int
literal(const char *host_port, struct tcpx_addr *out)
{
	const char *colon = strrchr(host_port, ':');
	char host[96];
	uint16_t port = 0;

	if (tcpx_addr_parse(host_port, out) == 0 && out->port) {
		if (!lacks_zone(out))
			return 0;
		snprintf(host, sizeof(host), "%.*s", (int)strcspn(host_port + 1, "]"), host_port + 1);
		return refuse_zoneless(host_port, host, out->port);
	}
	if (host_port[0] != '[' && (!colon || strchr(host_port, ':') == colon))
		return -ENOENT;
	/* behind a zone no colon is of the address */
	snprintf(host, sizeof(host), "%.*s", (int)(colon ? colon - host_port : 0), host_port);
	if (host[0] == '[' || !strchr(host, '%') || !port_parse(colon + 1, &port) || tcpx_addr_parse(host, out) != 0)
		return refuse_form(host_port);
	out->port = port;
	return 0;
}

/* Debian's own name of a host is 127.0.1.1, where an engine listens only if its settings
 * say so: 127.0.0.1 is tried as well. */
static uint32_t
add_loopback(struct tcpx_addr *out, uint32_t n, uint32_t cap)
{
	static const uint8_t first[4] = { 127, 0, 0, 1 };

	if (n == 0 || n >= cap || out[n - 1].family != 4 || !tcpx_addr_is_loopback(&out[n - 1]) ||
	    !memcmp(out[n - 1].ip, first, sizeof(first)))
		return n;
	out[n] = out[n - 1];
	memcpy(out[n].ip, first, sizeof(first));
	return n + 1;
}

static int
look_up(const char *host_port, struct tcpx_addr *out, uint32_t cap, uint32_t *count)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *all, *a;
	char host[256], text[64], *colon;
	struct tcpx_addr near = { 0 };
	uint32_t n = 0;
	uint16_t port;
	int rc;

	snprintf(host, sizeof(host), "%s", host_port);
	colon = strrchr(host, ':');
	if (!colon || strlen(host_port) >= sizeof(host) || !port_parse(colon + 1, &port))
		return tcpx_fail(TCPX_SUB_BOOT, -EINVAL,
				 "\"%s\" is not HOST:PORT with a port of 1 to 65535", host_port);
	*colon = '\0';
	rc = getaddrinfo(host, colon + 1, &hints, &all);
	if (rc)
		return tcpx_fail(TCPX_SUB_BOOT, -EHOSTUNREACH, "look up %s: %s", host_port,
				 gai_strerror(rc));
	for (a = all; a && n < cap; a = a->ai_next) {
		if (from_sockaddr(a->ai_addr, &out[n]) != 0)
			continue;
		if (lacks_zone(&out[n]))
			near = out[n];
		else
			n = add_loopback(out, n + 1, cap);
	}
	freeaddrinfo(all);
	*count = n;
	if (n)
		return 0;
	if (!near.family)
		return tcpx_fail(TCPX_SUB_BOOT, -EHOSTUNREACH, "%s has no IP address", host_port);
	near.port = 0;
	tcpx_addr_format(&near, text, sizeof(text));
	return refuse_zoneless(host_port, text, port);
}

static int
resolve_one(const char *host_port, struct tcpx_addr *out, uint32_t cap, uint32_t *count)
{
	int rc = literal(host_port, out);

	*count = 1;
	return rc == -ENOENT ? look_up(host_port, out, cap, count) : rc;
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
