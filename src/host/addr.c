/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of NICs as values: text, equality, subnets. */
#include "host/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "host/links.h"

static unsigned
bits_of(const struct tcpx_addr *a)
{
	return a->family == 4 ? 32 : 128;
}

int
tcpx_host_addr_parse(const char *text, struct tcpx_addr *addr)
{
	struct tcpx_addr a = { 0 };
	char ip[INET6_ADDRSTRLEN];
	size_t len = strcspn(text, "/");
	uint64_t prefix = 0;

	if (len >= sizeof(ip))
		return -EINVAL;
	memcpy(ip, text, len);
	ip[len] = '\0';
	if (inet_pton(AF_INET, ip, a.ip) == 1)
		a.family = 4;
	else if (inet_pton(AF_INET6, ip, a.ip) == 1)
		a.family = 6;
	else
		return -EINVAL;

	if (text[len] == '/' &&
	    (tcpx_parse_count(text + len + 1, &prefix) < 0 || prefix > bits_of(&a)))
		return -EINVAL;
	a.prefix = (uint8_t)prefix;
	*addr = a;
	return 0;
}

void
tcpx_host_addr_format(const struct tcpx_addr *addr, char *buf, size_t cap)
{
	char ip[INET6_ADDRSTRLEN] = "none", scope[16] = "", prefix[8] = "";

	if (addr->family)
		inet_ntop(addr->family == 4 ? AF_INET : AF_INET6, addr->ip, ip, sizeof(ip));
	if (addr->scope)
		snprintf(scope, sizeof(scope), "%%%u", addr->scope);
	if (addr->prefix)
		snprintf(prefix, sizeof(prefix), "/%u", addr->prefix);
	snprintf(buf, cap, "%s%s%s", ip, scope, prefix);
}

bool
tcpx_host_addr_equal(const struct tcpx_addr *a, const struct tcpx_addr *b)
{
	return a->family == b->family && memcmp(a->ip, b->ip, bits_of(a) / 8) == 0;
}

bool
tcpx_host_addr_same_subnet(const struct tcpx_addr *a, const struct tcpx_addr *b)
{
	unsigned bits = a->prefix < b->prefix ? a->prefix : b->prefix;
	unsigned whole = bits / 8, rest = bits % 8;

	if (a->family != b->family || bits == 0 || memcmp(a->ip, b->ip, whole) != 0)
		return false;
	return rest == 0 || (a->ip[whole] ^ b->ip[whole]) >> (8 - rest) == 0;
}

unsigned
tcpx_host_addr_rank(const struct tcpx_addr *a, unsigned flags)
{
	return (tcpx_addr_is_link_local(a) ? 64u : 0) + (tcpx_addr_is_loopback(a) ? 32u : 0) +
	       (flags & TCPX_LINK_TENTATIVE ? 16u : 0) + (flags & TCPX_LINK_DEPRECATED ? 8u : 0) +
	       (a->family == 4 ? 0 : 4u) + (a->prefix == bits_of(a) ? 2u : 0) +
	       (flags & TCPX_LINK_TEMPORARY ? 1u : 0);
}
