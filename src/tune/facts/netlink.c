/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Netlink messages as bytes. Everything is padded to 4 bytes; the length of a nested
 * attribute is written when it is closed.
 */
#include "tune/facts/netlink.h"

#include <string.h>

/* Room for @len bytes at the end, padding zeroed; NULL once the request is full. */
static void *
room(struct tcpx_nl *m, size_t len)
{
	uint8_t *at = m->bytes + m->hdr.nlmsg_len;

	if (m->full || NLMSG_ALIGN(len) > sizeof(m->bytes) - m->hdr.nlmsg_len) {
		m->full = true;
		return NULL;
	}
	memset(at, 0, NLMSG_ALIGN(len));
	m->hdr.nlmsg_len += NLMSG_ALIGN(len);
	return at;
}

void
tcpx_nl_append(struct tcpx_nl *m, const void *data, size_t len)
{
	void *at = room(m, len);

	if (at && len)
		memcpy(at, data, len);
}

void
tcpx_nl_init(struct tcpx_nl *m, uint16_t type, uint16_t flags, const void *body, size_t len)
{
	*m = (struct tcpx_nl){ .hdr = {
		.nlmsg_len = NLMSG_HDRLEN,
		.nlmsg_type = type,
		.nlmsg_flags = NLM_F_REQUEST | flags,
	} };
	tcpx_nl_append(m, body, len);
}

void
tcpx_nl_put(struct tcpx_nl *m, uint16_t type, const void *data, size_t len)
{
	struct nlattr *a = room(m, NLA_HDRLEN + len);

	if (!a)
		return;
	a->nla_type = type;
	a->nla_len = (uint16_t)(NLA_HDRLEN + len);
	if (len)
		memcpy((uint8_t *)a + NLA_HDRLEN, data, len);
}

void
tcpx_nl_put_u32(struct tcpx_nl *m, uint16_t type, uint32_t v)
{
	tcpx_nl_put(m, type, &v, sizeof(v));
}

void
tcpx_nl_put_str(struct tcpx_nl *m, uint16_t type, const char *s)
{
	tcpx_nl_put(m, type, s, strlen(s) + 1);
}

size_t
tcpx_nl_nest(struct tcpx_nl *m, uint16_t type)
{
	size_t mark = m->hdr.nlmsg_len;

	tcpx_nl_put(m, type, NULL, 0);
	return mark;
}

void
tcpx_nl_nest_end(struct tcpx_nl *m, size_t mark)
{
	struct nlattr *a = (struct nlattr *)(m->bytes + mark);

	if (!m->full)
		a->nla_len = (uint16_t)(m->hdr.nlmsg_len - mark);
}

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
