/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtnetlink requests as bytes, without a socket. The caller chooses every link's interface
 * index, so nothing has to be looked up.
 */
#ifndef MEASURE_LAB_NETLINK_H
#define MEASURE_LAB_NETLINK_H

#include <stdint.h>

#include "tune/facts/netlink.h"

struct lab_nl_end {
	const char *name; /* interface name, below IFNAMSIZ */
	int index;        /* > 1, free in its namespace     */
};

/* Make a veth pair: @here in the socket's namespace, @there in that of @there_ns_fd. */
void lab_nl_veth(struct tcpx_nl *m, struct lab_nl_end here, struct lab_nl_end there,
		 int there_ns_fd, uint32_t mtu);
void lab_nl_bridge(struct tcpx_nl *m, struct lab_nl_end here, uint32_t mtu);
/* Set a link up, below bridge @master if that is not 0. */
void lab_nl_link_up(struct tcpx_nl *m, int index, int master);
void lab_nl_link_delete(struct tcpx_nl *m, int index);
/* @addr in host byte order. */
void lab_nl_addr(struct tcpx_nl *m, int index, uint32_t addr, uint8_t prefix_len);

/* A token bucket at the egress of a link. */
struct lab_nl_tbf {
	uint64_t rate_Bps;
	uint32_t burst_bytes; /* at least two of the largest packets (64 KiB with GSO) */
	uint32_t limit_bytes; /* queue; beyond it packets are dropped                  */
};

/* Bucket and queue for @rate_bps bits a second: a burst of 4 ms and a queue of 10 ms, but
 * large enough not to cut GSO packets or starve TCP. */
struct lab_nl_tbf lab_nl_tbf_for(uint64_t rate_bps);
void lab_nl_tbf(struct tcpx_nl *m, int index, const struct lab_nl_tbf *tbf);

#endif
