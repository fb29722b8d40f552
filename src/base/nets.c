/* SPDX-License-Identifier: Apache-2.0 */
/* Networks as text: literals only, names are never looked up. */
#include "base/nets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/parse.h"

#define MAPPED_BITS 96 /* of ::ffff:0:0/96, where IPv6 holds the addresses of IPv4 */

/* The address alone, with its prefix. */
static void
unmap(struct tcpx_addr *a)
{
	if (a->prefix >= MAPPED_BITS && tcpx_addr_unmap(a))
		a->prefix = (uint8_t)(a->prefix - MAPPED_BITS);
}

/* One network, between blanks. */
static bool
net_parse(const char *text, size_t len, struct tcpx_addr *net)
{
	char copy[64], *bits;
	uint64_t prefix;

	while (len && *text == ' ') {
		text++;
		len--;
	}
	while (len && text[len - 1] == ' ')
		len--;
	if (len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	bits = strchr(copy, '/');
	if (bits)
		*bits++ = '\0';
	memset(net, 0, sizeof(*net));
	net->family = strchr(copy, ':') ? 6 : 4;
	prefix = net->family == 4 ? 32 : 128;
	if (inet_pton(net->family == 4 ? AF_INET : AF_INET6, copy, net->ip) != 1)
		return false;
	net->prefix = (uint8_t)prefix;
	if (bits && (tcpx_parse_count(bits, &prefix) != 0 || prefix > net->prefix))
		return false;
	net->prefix = (uint8_t)prefix;
	unmap(net);
	return true;
}

static bool
net_has(const struct tcpx_addr *net, const struct tcpx_addr *a)
{
	unsigned whole = net->prefix / 8, rest = net->prefix % 8;

	if (a->family != net->family || memcmp(a->ip, net->ip, whole))
		return false;
	return !rest || (a->ip[whole] ^ net->ip[whole]) >> (8 - rest) == 0;
}

int
tcpx_nets_check(const char *list)
{
	struct tcpx_addr net;
	size_t len;

	if (!*list)
		return 0;
	for (;; list += len + 1) {
		len = strcspn(list, ",");
		if (!net_parse(list, len, &net))
			return -EINVAL;
		if (!list[len])
			return 0;
	}
}

bool
tcpx_nets_have(const char *list, const struct tcpx_addr *a)
{
	struct tcpx_addr net, from = *a;
	size_t len;

	from.prefix = 128;
	unmap(&from);
	for (; *list; list += len + (list[len] != '\0')) {
		len = strcspn(list, ",");
		if (net_parse(list, len, &net) && net_has(&net, &from))
			return true;
	}
	return false;
}
