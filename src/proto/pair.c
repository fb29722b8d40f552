/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairing NICs in passes, each over the NICs that the ones before left: the best fits first, the
 * rest by sharing. The result depends on the order of the two lists, and on what they say, alone.
 */
#include "proto/pair.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

#define NICS_MAX 64u

enum { FIT_ANY = 1, FIT_PLACE = 1, FIT_NAME = 2, FIT_SUBNET = 4, FIT_MOST = 8 };

struct side {
	const struct tcpx_pair_nic *nic;
	uint32_t count;
	uint16_t pairs[NICS_MAX]; /* pairs that use each NIC */
};

struct plan {
	struct side near, far;
	struct tcpx_pair pair[2 * NICS_MAX];
	uint32_t count;
};

/* Can the two reach each other at all? */
static bool
same_kind(const struct tcpx_addr *a, const struct tcpx_addr *b)
{
	return a->family == b->family && tcpx_addr_is_loopback(a) == tcpx_addr_is_loopback(b);
}

bool
tcpx_pair_same_subnet(const struct tcpx_addr *a, const struct tcpx_addr *b)
{
	unsigned bits = a->prefix > b->prefix ? a->prefix : b->prefix;
	unsigned rest = bits % 8;

	if (!same_kind(a, b) || !bits || bits > 128)
		return false;
	if (memcmp(a->ip, b->ip, bits / 8))
		return false;
	return !rest || !((a->ip[bits / 8] ^ b->ip[bits / 8]) >> (8 - rest));
}

unsigned
tcpx_pair_fit(const struct tcpx_pair_nic *a, const struct tcpx_pair_nic *b)
{
	unsigned fit = FIT_ANY;

	if (!same_kind(&a->addr, &b->addr))
		return 0;
	if (tcpx_pair_same_subnet(&a->addr, &b->addr))
		fit += FIT_SUBNET;
	if (a->name[0] && strcmp(a->name, b->name) == 0)
		fit += FIT_NAME;
	if (a->place && a->place == b->place)
		fit += FIT_PLACE;
	return fit;
}

static void
join(struct plan *p, uint32_t near, uint32_t far)
{
	p->pair[p->count++] = (struct tcpx_pair){ (uint16_t)near, (uint16_t)far };
	p->near.pairs[near]++;
	p->far.pairs[far]++;
}

/* Pairs NICs that have no pair yet, in order, each with the first that fits so well. */
static void
pair_unused(struct plan *p, unsigned fit)
{
	for (uint32_t i = 0; i < p->near.count; i++) {
		for (uint32_t j = 0; j < p->far.count && !p->near.pairs[i]; j++) {
			if (!p->far.pairs[j] && tcpx_pair_fit(&p->near.nic[i], &p->far.nic[j]) >= fit)
				join(p, i, j);
		}
	}
}

/* The NIC of @s that @n shares: on its subnet if there is one, then the one with the fewest
 * pairs, then the first. -1: no NIC of its kind. */
static int
share_of(const struct side *s, const struct tcpx_pair_nic *n)
{
	int best = -1;

	for (uint32_t i = 0; i < s->count; i++) {
		bool near_net = tcpx_pair_same_subnet(&s->nic[i].addr, &n->addr);
		bool best_net = best >= 0 && tcpx_pair_same_subnet(&s->nic[best].addr, &n->addr);

		if (!tcpx_pair_fit(&s->nic[i], n))
			continue;
		if (best < 0 || near_net > best_net ||
		    (near_net == best_net && s->pairs[i] < s->pairs[best]))
			best = (int)i;
	}
	return best;
}

static void
pair_shared(struct plan *p)
{
	for (uint32_t i = 0; i < p->near.count; i++) {
		int j = p->near.pairs[i] ? -1 : share_of(&p->far, &p->near.nic[i]);

		if (j >= 0)
			join(p, i, (uint32_t)j);
	}
	for (uint32_t j = 0; j < p->far.count; j++) {
		int i = p->far.pairs[j] ? -1 : share_of(&p->near, &p->far.nic[j]);

		if (i >= 0)
			join(p, (uint32_t)i, j);
	}
}

int
tcpx_pair_plan(const struct tcpx_pair_nic *near, uint32_t near_count,
	       const struct tcpx_pair_nic *far, uint32_t far_count, struct tcpx_pair *out,
	       uint32_t channels)
{
	struct plan p = {
		.near = { near, near_count < NICS_MAX ? near_count : NICS_MAX, { 0 } },
		.far = { far, far_count < NICS_MAX ? far_count : NICS_MAX, { 0 } },
	};

	for (unsigned fit = FIT_MOST; fit >= FIT_ANY; fit--)
		pair_unused(&p, fit);
	pair_shared(&p);
	if (!p.count)
		return tcpx_fail(TCPX_SUB_BOOT, -ENONET,
				 "none of %u NICs here has an address that could reach one of "
				 "%u NICs there",
				 near_count, far_count);
	for (uint32_t k = 0; k < channels; k++)
		out[k] = p.pair[k % p.count];
	return (int)p.count;
}

static bool
only_loopback(const struct tcpx_pair_nic *at, uint32_t count)
{
	uint32_t i = 0;

	while (i < count && tcpx_addr_is_loopback(&at[i].addr))
		i++;
	return i == count;
}

void
tcpx_pair_none(const struct tcpx_pair_nic *ours, uint32_t our_count,
	       const struct tcpx_pair_nic *theirs, uint32_t their_count, const char *peer, char *text,
	       size_t cap)
{
	bool near = only_loopback(ours, our_count), far = only_loopback(theirs, their_count);

	if (far && !near)
		snprintf(text, cap, "peer %s offers only loopback addresses, and this engine has no "
			 "lo: use nics=lo (--nics lo) here, or name the peer's NIC there", peer);
	else if (near && !far)
		snprintf(text, cap, "this engine offers only loopback addresses, and peer %s has no "
			 "lo: name a NIC here (nics=, --nics), or use nics=lo there", peer);
	else
		snprintf(text, cap, "no NIC here has an address family in common with one of peer "
			 "%s's", peer);
}
