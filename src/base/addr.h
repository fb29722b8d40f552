/* SPDX-License-Identifier: Apache-2.0 */
/* Internet addresses and their text. */
#ifndef BASE_ADDR_H
#define BASE_ADDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* An address without the macros of a socket header: family 4 or 6, bytes in network order. */
struct tcpx_addr {
	uint8_t family; /* 4, 6, or 0 for none */
	uint8_t prefix; /* subnet bits; 0 unknown */
	uint16_t port;  /* host order */
	uint32_t scope; /* IPv6 scope id */
	uint8_t ip[16]; /* IPv4 in the first four */
};

/* "10.0.0.1:80" / "[::1]:80"; port left out when 0. Static size: 64 is enough. */
void tcpx_addr_format(const struct tcpx_addr *a, char *buf, size_t cap);
/* 127.0.0.0/8 or ::1. */
bool tcpx_addr_is_loopback(const struct tcpx_addr *a);
/* Reaches its own link only: 169.254.0.0/16, fe80::/10. */
bool tcpx_addr_is_link_local(const struct tcpx_addr *a);
/* 0.0.0.0 or ::. Of a NIC: it has no address of that family yet. */
bool tcpx_addr_is_wild(const struct tcpx_addr *a);
/* One of IPv4 that IPv6 holds, ::ffff:a.b.c.d, becomes itself; false: it is none. */
bool tcpx_addr_unmap(struct tcpx_addr *a);
/* Their family and address; ports and the rest may differ. */
static inline bool
tcpx_addr_same_host(const struct tcpx_addr *a, const struct tcpx_addr *b)
{
	return a->family == b->family && memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}
/* A literal address with optional ":port"; no names. -EINVAL, not logged: it may be a name. */
int tcpx_addr_parse(const char *text, struct tcpx_addr *a);

#endif
