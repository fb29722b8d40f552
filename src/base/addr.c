/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses as text. Literals only: "10.0.0.1:80", "[fe80::1%2]:80"; no port when it is 0.
 * Names are never looked up here.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"

void
tcpx_addr_format(const struct tcpx_addr *a, char *buf, size_t cap)
{
	char ip[INET6_ADDRSTRLEN] = "none";
	char scope[12] = "", port[8] = "";
	bool bracket = a->family == 6 && a->port;

	if (a->family)
		inet_ntop(a->family == 4 ? AF_INET : AF_INET6, a->ip, ip, sizeof(ip));
	if (a->scope)
		snprintf(scope, sizeof(scope), "%%%u", a->scope);
	if (a->port)
		snprintf(port, sizeof(port), ":%u", a->port);
	snprintf(buf, cap, "%s%s%s%s%s", bracket ? "[" : "", ip, scope, bracket ? "]" : "", port);
}

bool
tcpx_addr_is_wild(const struct tcpx_addr *a)
{
	static const uint8_t wild[16];

	return a->family && !memcmp(a->ip, wild, a->family == 4 ? 4 : 16);
}

bool
tcpx_addr_is_loopback(const struct tcpx_addr *a)
{
	static const uint8_t one[16] = { [15] = 1 };

	return a->family == 4 ? a->ip[0] == 127 : !memcmp(a->ip, one, sizeof(one));
}

bool
tcpx_addr_is_link_local(const struct tcpx_addr *a)
{
	if (a->family == 4)
		return a->ip[0] == 169 && a->ip[1] == 254;
	return a->ip[0] == 0xfe && (a->ip[1] & 0xc0) == 0x80;
}

/* Decimal digits only, 0 to max. */
static bool
number_parse(const char *text, uint32_t max, uint32_t *out)
{
	uint64_t v = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		v = v * 10 + (uint64_t)(*text - '0');
		if (v > max)
			return false;
	}
	*out = (uint32_t)v;
	return true;
}

/* "%2" or "%eth0" */
static bool
scope_parse(const char *text, uint32_t *scope)
{
	if (number_parse(text, UINT32_MAX, scope))
		return *scope != 0;
	*scope = if_nametoindex(text);
	return *scope != 0;
}

/* Cuts text, which may be written to, into address, scope and port. */
static bool
addr_read(char *text, struct tcpx_addr *a)
{
	char *port = NULL, *scope, *end;
	uint32_t number = 0;

	if (*text == '[') {
		end = strchr(++text, ']');
		if (!end || (end[1] && end[1] != ':'))
			return false;
		*end = '\0';
		port = end[1] ? end + 2 : NULL;
		a->family = 6;
	} else {
		end = strchr(text, ':');
		a->family = end && strchr(end + 1, ':') ? 6 : 4; /* two colons: no port */
		if (end && a->family == 4) {
			*end = '\0';
			port = end + 1;
		}
	}
	if (port && !number_parse(port, UINT16_MAX, &number))
		return false;
	a->port = (uint16_t)number;
	if (a->family == 4)
		return inet_pton(AF_INET, text, a->ip) == 1;
	scope = strchr(text, '%');
	if (scope) {
		*scope++ = '\0';
		if (!scope_parse(scope, &a->scope))
			return false;
	}
	if (inet_pton(AF_INET6, text, a->ip) != 1)
		return false;
	(void)tcpx_addr_unmap(a);
	return true;
}

bool
tcpx_addr_unmap(struct tcpx_addr *a)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (a->family != 6 || memcmp(a->ip, mapped, sizeof(mapped)))
		return false;
	a->family = 4;
	a->scope = 0;
	memmove(a->ip, a->ip + 12, 4);
	memset(a->ip + 4, 0, 12);
	return true;
}

int
tcpx_addr_parse(const char *text, struct tcpx_addr *out)
{
	struct tcpx_addr a = { 0 };
	char copy[96];

	if (strlen(text) < sizeof(copy) && addr_read(strcpy(copy, text), &a)) {
		*out = a;
		return 0;
	}
	return -EINVAL;
}
