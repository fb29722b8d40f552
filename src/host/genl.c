/* SPDX-License-Identifier: Apache-2.0 */
/* Generic netlink: requests, attributes, and one socket. */
#include "host/genl.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define ANSWER_BYTES 32768 /* what the kernel's own dumps need at most */
#define ANSWER_S 5

/* ---- requests --------------------------------------------------------------------- */

static struct nlmsghdr *
header_of(struct tcpx_genl_request *r)
{
	return (struct nlmsghdr *)(void *)r->bytes;
}

void
tcpx_genl_request_init(struct tcpx_genl_request *r, uint16_t family, uint8_t command, bool dump)
{
	struct genlmsghdr genl = { .cmd = command, .version = 1 };

	memset(r, 0, sizeof(*r));
	header_of(r)->nlmsg_type = family;
	header_of(r)->nlmsg_flags = NLM_F_REQUEST | (dump ? NLM_F_DUMP : NLM_F_ACK);
	memcpy(r->bytes + NLMSG_HDRLEN, &genl, sizeof(genl));
	r->len = NLMSG_HDRLEN + GENL_HDRLEN;
}

void
tcpx_genl_put(struct tcpx_genl_request *r, uint16_t type, const void *data, size_t len)
{
	struct nlattr attr = { .nla_len = (uint16_t)(NLA_HDRLEN + len), .nla_type = type };

	if (r->full || len > sizeof(r->bytes) ||
	    NLA_HDRLEN + NLA_ALIGN(len) > sizeof(r->bytes) - r->len) {
		r->full = true;
		return;
	}
	memcpy(r->bytes + r->len, &attr, sizeof(attr));
	if (len)
		memcpy(r->bytes + r->len + NLA_HDRLEN, data, len);
	r->len += NLA_HDRLEN + NLA_ALIGN(len);
}

void
tcpx_genl_put_u32(struct tcpx_genl_request *r, uint16_t type, uint32_t v)
{
	tcpx_genl_put(r, type, &v, sizeof(v));
}

size_t
tcpx_genl_nest(struct tcpx_genl_request *r, uint16_t type)
{
	size_t mark = r->len;

	tcpx_genl_put(r, type | NLA_F_NESTED, NULL, 0);
	return mark;
}

void
tcpx_genl_nest_end(struct tcpx_genl_request *r, size_t mark)
{
	uint16_t len = (uint16_t)(r->len - mark);

	if (!r->full)
		memcpy(r->bytes + mark, &len, sizeof(len));
}

/* ---- attributes ------------------------------------------------------------------- */

bool
tcpx_nlattr_next(struct tcpx_nlattrs *a)
{
	struct nlattr attr;
	size_t step;

	if (a->left < NLA_HDRLEN)
		return false;
	memcpy(&attr, a->at, sizeof(attr));
	if (attr.nla_len < NLA_HDRLEN || attr.nla_len > a->left)
		return false;
	a->type = attr.nla_type & NLA_TYPE_MASK;
	a->data = a->at + NLA_HDRLEN;
	a->len = attr.nla_len - (size_t)NLA_HDRLEN;
	step = NLA_ALIGN(attr.nla_len);
	if (step > a->left)
		step = a->left;
	a->at += step;
	a->left -= step;
	return true;
}

bool
tcpx_nlattr_number(const struct tcpx_nlattrs *a, uint64_t *value)
{
	uint16_t u16;
	uint32_t u32;

	switch (a->len) {
	case 1:
		*value = *a->data;
		return true;
	case 2:
		memcpy(&u16, a->data, sizeof(u16));
		*value = u16;
		return true;
	case 4:
		memcpy(&u32, a->data, sizeof(u32));
		*value = u32;
		return true;
	case 8:
		memcpy(value, a->data, sizeof(*value));
		return true;
	default:
		return false;
	}
}

struct tcpx_nlattrs
tcpx_nlattr_inside(const struct tcpx_nlattrs *a)
{
	return (struct tcpx_nlattrs){ .at = a->data, .left = a->len };
}

bool
tcpx_nlattr_is(const struct tcpx_nlattrs *a, const char *text)
{
	size_t len = strlen(text);

	return a->len >= len && memcmp(a->data, text, len) == 0 &&
	       (a->len == len || a->data[len] == '\0');
}

/* ---- answers ---------------------------------------------------------------------- */

/* Of an error or the end of a dump: both carry a code. */
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
tcpx_genl_ask(struct tcpx_genl *g, struct tcpx_genl_request *r, tcpx_genl_fn fn, void *arg)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	ssize_t n;

	if (r->full)
		return -EMSGSIZE;
	header_of(r)->nlmsg_len = (uint32_t)r->len;
	header_of(r)->nlmsg_seq = ++g->seq;
	do
		n = sendto(g->fd, r->bytes, r->len, 0, (const struct sockaddr *)&kernel,
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
	struct tcpx_genl_request r;
	int id = -ENOENT, rc;

	tcpx_genl_request_init(&r, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, false);
	tcpx_genl_put(&r, CTRL_ATTR_FAMILY_NAME, name, strlen(name) + 1);
	rc = tcpx_genl_ask(g, &r, take_family, &id);
	return rc < 0 ? rc : id;
}
