/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generic netlink over a socket of our own: ask a family of the kernel, walk the attributes
 * of its answers. Messages are built and taken apart without a socket, so that both can be
 * tested; nothing leaves its bytes.
 * Threads: a socket belongs to one. Blocks: for the kernel's answer, 5 s at most.
 */
#ifndef HOST_GENL_H
#define HOST_GENL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define TCPX_GENL_REQUEST 256

/* ---- messages --------------------------------------------------------------------- */

struct tcpx_genl_request {
	union {
		uint32_t align;
		uint8_t bytes[TCPX_GENL_REQUEST];
	};
	size_t len;
	bool full; /* something did not fit: do not send */
};

/* @dump: all there is, not one. */
void tcpx_genl_request_init(struct tcpx_genl_request *r, uint16_t family, uint8_t command,
			    bool dump);
void tcpx_genl_put(struct tcpx_genl_request *r, uint16_t type, const void *data, size_t len);
void tcpx_genl_put_u32(struct tcpx_genl_request *r, uint16_t type, uint32_t v);
/* Attributes put between the two are inside attribute @type. */
size_t tcpx_genl_nest(struct tcpx_genl_request *r, uint16_t type);
void tcpx_genl_nest_end(struct tcpx_genl_request *r, size_t mark);

/* The attributes in some bytes; begin with { bytes, len }. */
struct tcpx_nlattrs {
	const uint8_t *at;
	size_t left;
	unsigned type;       /* of the attribute that next() went to */
	const uint8_t *data;
	size_t len;
};

/* Goes to the next attribute; false at the end, or where the bytes make no sense. */
bool tcpx_nlattr_next(struct tcpx_nlattrs *a);
/* The number that the attribute holds, of 1, 2, 4 or 8 bytes; false: another size. */
bool tcpx_nlattr_number(const struct tcpx_nlattrs *a, uint64_t *value);
/* Those inside of it. */
struct tcpx_nlattrs tcpx_nlattr_inside(const struct tcpx_nlattrs *a);
/* Whether it holds this text, with or without a NUL. */
bool tcpx_nlattr_is(const struct tcpx_nlattrs *a, const char *text);

/* One message of the answer. */
typedef void (*tcpx_genl_fn)(void *arg, struct tcpx_nlattrs attrs);

/*
 * tcpx_genl_parse - what came in one read
 * @seq: of the question; other messages are passed over
 * Return: 1 (the answer ended well), 0 (more must come), -errno as the kernel said,
 * -EINTR (a dump changed while it was read), or -EBADMSG.
 */
TCPX_MUST_CHECK int tcpx_genl_parse(const void *bytes, size_t len, uint32_t seq,
				    tcpx_genl_fn fn, void *arg);

/* ---- the socket ------------------------------------------------------------------- */

struct tcpx_genl {
	int fd;
	uint32_t seq;
};

/* None of these logs. */
TCPX_MUST_CHECK int tcpx_genl_open(struct tcpx_genl *g);
void tcpx_genl_close(struct tcpx_genl *g);
/* The number of a family; -ENOENT: the kernel has none of that name. */
TCPX_MUST_CHECK int tcpx_genl_family(struct tcpx_genl *g, const char *name);
/* Asks and calls @fn for each message of the answer. 0 or -errno. */
TCPX_MUST_CHECK int tcpx_genl_ask(struct tcpx_genl *g, struct tcpx_genl_request *r,
				  tcpx_genl_fn fn, void *arg);

#endif
