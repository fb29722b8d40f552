/* SPDX-License-Identifier: Apache-2.0 */
/* Generic netlink: requests, answers, and one socket. */
#include "tune/facts/genl.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_BYTES 32768 /* enough for the kernel's own dumps */
#define ANSWER_S 5

void
tcpx_genl_init(struct tcpx_nl *r, uint16_t family, uint8_t command, bool dump)
{
	struct genlmsghdr genl = { .cmd = command, .version = 1 };

	tcpx_nl_init(r, family, dump ? NLM_F_DUMP : NLM_F_ACK, &genl, sizeof(genl));
}

/* ---- answers ---------------------------------------------------------------------- */

/* The code of an error, or of the end of a dump. */
static int
code_of(const uint8_t *body, size_t len)
{
	int32_t code;

	if (len < sizeof(code))
		return -EBADMSG;
	memcpy(&code, body, sizeof(code));
	if (code > 0)
		return -EBADMSG;
	return code < 0 ? code : 1;
}

int
tcpx_genl_parse(const void *bytes, size_t len, uint32_t seq, tcpx_genl_fn fn, void *arg)
{
	const uint8_t *at = bytes;
	struct nlmsghdr h;

	while (len >= NLMSG_HDRLEN) {
		size_t step;

		memcpy(&h, at, sizeof(h));
		if (h.nlmsg_len < NLMSG_HDRLEN || h.nlmsg_len > len)
			return -EBADMSG;
		if (h.nlmsg_seq == seq) {
			const uint8_t *body = at + NLMSG_HDRLEN;
			size_t body_len = h.nlmsg_len - (size_t)NLMSG_HDRLEN;

			if (h.nlmsg_flags & NLM_F_DUMP_INTR)
				return -EINTR;
			if (h.nlmsg_type == NLMSG_ERROR || h.nlmsg_type == NLMSG_DONE)
				return code_of(body, body_len);
			if (h.nlmsg_type >= NLMSG_MIN_TYPE && body_len >= GENL_HDRLEN)
				fn(arg, (struct tcpx_nlattrs){ .at = body + GENL_HDRLEN,
							       .left = body_len - GENL_HDRLEN });
		}
		step = NLMSG_ALIGN((size_t)h.nlmsg_len);
		if (step > len)
			step = len;
		at += step;
		len -= step;
	}
	return len ? -EBADMSG : 0;
}

/* ---- the socket ------------------------------------------------------------------- */

int
tcpx_genl_open(struct tcpx_genl *g)
{
	struct timeval limit = { .tv_sec = ANSWER_S };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	*g = (struct tcpx_genl){ .fd = fd };
	return 0;
}

void
tcpx_genl_close(struct tcpx_genl *g)
{
	if (g->fd >= 0)
		close(g->fd);
	g->fd = -1;
}

static int
receive(struct tcpx_genl *g, tcpx_genl_fn fn, void *arg)
{
	union {
		uint32_t align;
		uint8_t bytes[ANSWER_BYTES];
	} answer;
	int rc = 0;

	while (rc == 0) {
		ssize_t n = recv(g->fd, answer.bytes, sizeof(answer.bytes), MSG_TRUNC);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? -ETIMEDOUT : -errno;
		if ((size_t)n > sizeof(answer.bytes))
			return -EMSGSIZE;
		rc = tcpx_genl_parse(answer.bytes, (size_t)n, g->seq, fn, arg);
	}
	return rc < 0 ? rc : 0;
}

int
tcpx_genl_ask(struct tcpx_genl *g, struct tcpx_nl *r, tcpx_genl_fn fn, void *arg)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	ssize_t n;

	if (r->full)
		return -EMSGSIZE;
	r->hdr.nlmsg_seq = ++g->seq;
	do
		n = sendto(g->fd, r->bytes, r->hdr.nlmsg_len, 0, (const struct sockaddr *)&kernel,
			   sizeof(kernel));
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : receive(g, fn, arg);
}

static void
take_family(void *arg, struct tcpx_nlattrs attrs)
{
	uint64_t id;

	while (tcpx_nlattr_next(&attrs))
		if (attrs.type == CTRL_ATTR_FAMILY_ID && tcpx_nlattr_number(&attrs, &id))
			*(int *)arg = (int)id;
}

int
tcpx_genl_family(struct tcpx_genl *g, const char *name)
{
	struct tcpx_nl r;
	int id = -ENOENT, rc;

	tcpx_genl_init(&r, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, false);
	tcpx_nl_put_str(&r, CTRL_ATTR_FAMILY_NAME, name);
	rc = tcpx_genl_ask(g, &r, take_family, &id);
	return rc < 0 ? rc : id;
}
