/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generic netlink over a socket of our own: asks a family of the kernel and walks the
 * attributes of its answers. Answers are parsed without a socket, for tests. Threads: a
 * socket belongs to one. Blocks: for the kernel's answer, 5 s at most.
 */
#ifndef TUNE_FACTS_GENL_H
#define TUNE_FACTS_GENL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "tune/facts/netlink.h"

/* @dump: all objects, not one. */
void tcpx_genl_init(struct tcpx_nl *r, uint16_t family, uint8_t command, bool dump);

/* One message of the answer. */
typedef void (*tcpx_genl_fn)(void *arg, struct tcpx_nlattrs attrs);

/*
 * tcpx_genl_parse - parse the bytes of one read
 * @seq: of the question; other messages are skipped
 * Return: 1 (the answer ended well), 0 (more must come), -errno from the kernel,
 * -EINTR (a dump changed while it was read), or -EBADMSG.
 */
TCPX_MUST_CHECK int tcpx_genl_parse(const void *bytes, size_t len, uint32_t seq,
				    tcpx_genl_fn fn, void *arg);

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
TCPX_MUST_CHECK int tcpx_genl_ask(struct tcpx_genl *g, struct tcpx_nl *r,
				  tcpx_genl_fn fn, void *arg);

#endif
