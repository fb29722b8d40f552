/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx_netmap_plan() of netmap.h: the NIC pairs and channels from the offers of both sides. The
 * result does not depend on the side that computes it: near is the opener on both, far the
 * acceptor.
 */
#include "proto/netmap.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "proto/netmap_text.h"

#define PAIRS_MAX (2 * TCPX_NETMAP_NICS)

struct side {
	const struct tcpx_netmap_offer *offer;
	uint32_t count;
	uint32_t free; /* bit i: offer[i] is usable, and in no pair */
};

struct plan {
	struct side near, far;
	struct pair {
		uint16_t near, far;
		enum reason { BY_NETWORK, BY_NAME, BY_ORDER } by;
	} pair[PAIRS_MAX];
	uint32_t count;
};

static uint32_t
usable(const struct tcpx_netmap_offer *offer, uint32_t count)
{
	uint32_t set = 0;

	for (uint32_t i = 0; i < count; i++)
		set |= (uint32_t)offer[i].usable << i;
	return set;
}

static uint32_t
on_network(const struct side *s, uint64_t network)
{
	uint32_t set = 0;

	for (uint32_t i = 0; i < s->count; i++)
		if (s->offer[i].usable && s->offer[i].network == network)
			set |= 1u << i;
	return set;
}

static uint32_t
nth(uint32_t set, uint32_t n)
{
	while (n-- > 0)
		set &= set - 1;
	return (uint32_t)__builtin_ctz(set);
}

static void
join(struct plan *p, uint32_t near, uint32_t far, enum reason by)
{
	p->pair[p->count++] = (struct pair){ (uint16_t)near, (uint16_t)far, by };
	p->near.free &= ~(1u << near);
	p->far.free &= ~(1u << far);
}

/* Pairs all of one set with all of the other, in order; the smaller set is repeated. */
static void
join_sets(struct plan *p, uint32_t near, uint32_t far, enum reason by)
{
	uint32_t n = (uint32_t)__builtin_popcount(near), m = (uint32_t)__builtin_popcount(far);

	for (uint32_t k = 0; n && m && k < (n > m ? n : m); k++)
		join(p, nth(near, k % n), nth(far, k % m), by);
}

static void
pair_networks(struct plan *p)
{
	for (uint32_t i = 0; i < p->near.count; i++) {
		uint64_t network = p->near.offer[i].network;

		if (network && p->near.free >> i & 1)
			join_sets(p, on_network(&p->near, network), on_network(&p->far, network),
				  BY_NETWORK);
	}
}

/* Pairs those of one name. */
static void
join_names(struct plan *p, uint32_t near, uint32_t far)
{
	for (uint32_t i = 0; i < p->near.count; i++)
		for (uint32_t k = 0; k < p->far.count; k++)
			if (near & p->near.free & 1u << i && far & p->far.free & 1u << k &&
			    !strcmp(p->near.offer[i].name, p->far.offer[k].name))
				join(p, i, k, BY_NAME);
}

/* NICs that may share a network: unknown with unknown, by name and then by order; then the
 * remaining unknown of one side with the remaining known of the other. */
static void
pair_unknown(struct plan *p)
{
	uint32_t near = p->near.free & on_network(&p->near, 0);
	uint32_t far = p->far.free & on_network(&p->far, 0);

	if (!near && !far)
		return;
	near = near ? near : p->near.free;
	far = far ? far : p->far.free;
	join_names(p, near, far);
	join_sets(p, near & p->near.free, far & p->far.free, BY_ORDER);
}

static int
relays(const struct plan *p, const struct pair *r)
{
	return p->near.offer[r->near].relayed + p->far.offer[r->far].relayed;
}

static int
ranks(const struct plan *p, const struct pair *r)
{
	return p->near.offer[r->near].rank + p->far.offer[r->far].rank;
}

/* Whether pair a goes after pair b. Pairs with fewer relays come first, since each is one more
 * copy; then those with lower ranks, then by the opener's NIC, then by the acceptor's. */
static bool
goes_after(const struct plan *p, const struct pair *a, const struct pair *b)
{
	int ra = relays(p, a), rb = relays(p, b), ka = ranks(p, a), kb = ranks(p, b);

	if (ra != rb)
		return ra > rb;
	if (ka != kb)
		return ka > kb;
	return a->near != b->near ? a->near > b->near : a->far > b->far;
}

static void
sort(struct plan *p)
{
	for (uint32_t i = 1; i < p->count; i++) {
		struct pair r = p->pair[i];
		uint32_t k = i;

		for (; k > 0 && goes_after(p, &p->pair[k - 1], &r); k--)
			p->pair[k] = p->pair[k - 1];
		p->pair[k] = r;
	}
}

static void
list_free(const struct side *s, const char *whose, struct tcpx_netmap_text *why)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (s->free >> i & 1)
			tcpx_netmap_say(why, "the %s's %s is left out: the other side has no usable NIC "
				   "on its network", whose, s->offer[i].name);
}

static void
say_gpu(char *buf, size_t cap, const struct tcpx_netmap_offer *o)
{
	if (o->gpu < 0)
		snprintf(buf, cap, "host");
	else
		snprintf(buf, cap, "gpu%d%s", o->gpu, o->relayed ? ", relayed" : "");
}

static void
explain(const struct plan *p, uint32_t channels, struct tcpx_netmap_text *why)
{
	for (uint32_t i = 0; i < p->count; i++) {
		const struct tcpx_netmap_offer *a = &p->near.offer[p->pair[i].near];
		const struct tcpx_netmap_offer *b = &p->far.offer[p->pair[i].far];
		uint32_t n = channels / p->count + (i < channels % p->count);
		static const char *const by[] = { "", "; by name, for a network is unknown",
						  "; by order, for a network is unknown" };
		char near[32], far[32];

		say_gpu(near, sizeof(near), a);
		say_gpu(far, sizeof(far), b);
		tcpx_netmap_say(why, "%s (%s) to %s (%s): %u channel%s%s", a->name, near, b->name, far, n,
			   n == 1 ? "" : "s",
			   by[p->pair[i].by]);
	}
	list_free(&p->near, "opener", why);
	list_free(&p->far, "acceptor", why);
}

static int
no_pair(const struct plan *p, struct tcpx_netmap_text *why)
{
	if (!usable(p->near.offer, p->near.count) || !usable(p->far.offer, p->far.count))
		tcpx_netmap_say(why, "no NIC pair: the %s offers none of its %u NICs",
				usable(p->near.offer, p->near.count) ? "acceptor" : "opener",
				usable(p->near.offer, p->near.count) ? p->far.count : p->near.count);
	else
		tcpx_netmap_say(why, "no NIC pair: no usable NIC of the opener (%s, ...) and of the "
				"acceptor (%s, ...) are on one network",
				p->near.offer[__builtin_ctz(p->near.free)].name,
				p->far.offer[__builtin_ctz(p->far.free)].name);
	return tcpx_fail(TCPX_SUB_BOOT, -ENONET, "%.*s", (int)strcspn(why->text, "\n"), why->text);
}

int
tcpx_netmap_plan(const struct tcpx_netmap_offer *opener, uint32_t opener_count,
		 uint32_t opener_channels, const struct tcpx_netmap_offer *acceptor,
		 uint32_t acceptor_count, uint32_t acceptor_channels,
		 struct tcpx_netmap_channel *out, struct tcpx_netmap_text *why)
{
	uint32_t channels = opener_channels < acceptor_channels ? opener_channels :
								  acceptor_channels;
	struct plan p = { .near = { opener, opener_count, 0 },
			  .far = { acceptor, acceptor_count, 0 } };

	why->len = 0;
	why->text[0] = '\0';
	if (opener_count > TCPX_NETMAP_NICS || acceptor_count > TCPX_NETMAP_NICS || channels == 0)
		return tcpx_fail(TCPX_SUB_BOOT, -EINVAL, "%u and %u NICs, at most %d; %u and %u "
				 "channels, at least 1", opener_count, acceptor_count,
				 TCPX_NETMAP_NICS, opener_channels, acceptor_channels);
	if (channels > TCPX_NETMAP_CHANNELS)
		channels = TCPX_NETMAP_CHANNELS;
	p.near.free = usable(opener, opener_count);
	p.far.free = usable(acceptor, acceptor_count);
	pair_networks(&p);
	pair_unknown(&p);
	if (p.count == 0)
		return no_pair(&p, why);
	sort(&p);
	for (uint32_t k = 0; k < channels; k++) {
		const struct pair *r = &p.pair[k % p.count];

		out[k] = (struct tcpx_netmap_channel){ r->near, r->far, opener[r->near].gpu,
						       acceptor[r->far].gpu };
	}
	explain(&p, channels, why);
	return (int)channels;
}
