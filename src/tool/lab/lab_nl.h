/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rtnetlink requests as bytes: what the lab asks the kernel for, without a socket. A
 * builder never leaves its buffer; a request that did not fit says so in @full. The
 * interface index of every link is chosen here, so nothing has to be looked up.
 */
#ifndef TOOL_LAB_NL_H
#define TOOL_LAB_NL_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lab_nl {
	union {
		struct nlmsghdr hdr; /* hdr.nlmsg_len is the request's length */
		uint8_t bytes[512];
	};
	bool full;                   /* something did not fit: do not send    */
};

/* A request with its fixed part; NLM_F_REQUEST | NLM_F_ACK are added to @flags. */
void lab_nl_init(struct lab_nl *m, uint16_t type, uint16_t flags, const void *body, size_t len);
void lab_nl_put(struct lab_nl *m, uint16_t type, const void *data, size_t len);
void lab_nl_put_u32(struct lab_nl *m, uint16_t type, uint32_t v);
void lab_nl_put_str(struct lab_nl *m, uint16_t type, const char *s);
/* Attributes put between the two are inside attribute @type. */
size_t lab_nl_open(struct lab_nl *m, uint16_t type);
void lab_nl_close(struct lab_nl *m, size_t mark);

struct lab_nl_end {
	const char *name; /* interface name, below IFNAMSIZ */
	int index;        /* > 1, free in its namespace     */
};

/* Make a veth pair: @here in the socket's namespace, @there in that of @there_ns_fd. */
void lab_nl_veth(struct lab_nl *m, struct lab_nl_end here, struct lab_nl_end there,
		 int there_ns_fd, uint32_t mtu);
void lab_nl_bridge(struct lab_nl *m, struct lab_nl_end here, uint32_t mtu);
/* Set a link up, below bridge @master if that is not 0. */
void lab_nl_link_up(struct lab_nl *m, int index, int master);
void lab_nl_link_delete(struct lab_nl *m, int index);
/* @addr in host byte order. */
void lab_nl_addr(struct lab_nl *m, int index, uint32_t addr, uint8_t prefix_len);

/* A token bucket at the egress of a link. */
struct lab_nl_tbf {
	uint64_t rate_Bps;
	uint32_t burst_bytes; /* at least two of the largest packets (64 KiB with GSO) */
	uint32_t limit_bytes; /* queue; beyond it packets are dropped                  */
};

/* Bucket and queue for @rate_bps bits a second: a burst of 4 ms and a queue of 10 ms,
 * but never so small that GSO packets would be cut up or TCP starved. */
struct lab_nl_tbf lab_nl_tbf_for(uint64_t rate_bps);
void lab_nl_tbf(struct lab_nl *m, int index, const struct lab_nl_tbf *tbf);

#endif
