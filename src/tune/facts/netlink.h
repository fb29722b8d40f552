/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Netlink messages as bytes: requests are built and attributes walked without a socket. No
 * access leaves the bytes.
 */
#ifndef TUNE_FACTS_NETLINK_H
#define TUNE_FACTS_NETLINK_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tcpx_nl {
	union {
		struct nlmsghdr hdr; /* hdr.nlmsg_len is the request's length */
		uint8_t bytes[512];
	};
	bool full;                   /* something did not fit: do not send    */
};

/* A request with its fixed part; NLM_F_REQUEST is added to @flags. */
void tcpx_nl_init(struct tcpx_nl *m, uint16_t type, uint16_t flags, const void *body, size_t len);
/* Bytes of no attribute, padded to 4. */
void tcpx_nl_append(struct tcpx_nl *m, const void *data, size_t len);
void tcpx_nl_put(struct tcpx_nl *m, uint16_t type, const void *data, size_t len);
void tcpx_nl_put_u32(struct tcpx_nl *m, uint16_t type, uint32_t v);
void tcpx_nl_put_str(struct tcpx_nl *m, uint16_t type, const char *s);
/* Attributes put between nest and its end are inside attribute @type. */
size_t tcpx_nl_nest(struct tcpx_nl *m, uint16_t type);
void tcpx_nl_nest_end(struct tcpx_nl *m, size_t mark);

/* The attributes in some bytes; begin with { bytes, len }. */
struct tcpx_nlattrs {
	const uint8_t *at;
	size_t left;
	unsigned type;       /* of the present attribute */
	const uint8_t *data;
	size_t len;
};

/* Goes to the next attribute; false at the end, or at malformed bytes. */
bool tcpx_nlattr_next(struct tcpx_nlattrs *a);
/* The attribute's number of 1, 2, 4 or 8 bytes; false: another size. */
bool tcpx_nlattr_number(const struct tcpx_nlattrs *a, uint64_t *value);
/* The attributes inside it. */
struct tcpx_nlattrs tcpx_nlattr_inside(const struct tcpx_nlattrs *a);
/* Does it hold this text, with or without a NUL? */
bool tcpx_nlattr_is(const struct tcpx_nlattrs *a, const char *text);

#endif
