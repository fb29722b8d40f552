/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pairing NICs in three passes, each over the NICs that the one before left: on one subnet,
 * by order, by sharing. The result depends on the order of the two lists alone.
 */
#include "proto/pair.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

#define NICS_MAX 64u

struct side {
	const struct tcpx_addr *nic;
	uint32_t count;
	uint16_t pairs[NICS_MAX]; /* pairs that use each NIC */
};

struct plan {
	struct side near, far;
	struct tcpx_pair pair[2 * NICS_MAX];
	uint32_t count;
};

typedef bool (*match_fn)(const struct tcpx_addr *a, const struct tcpx_addr *b);

/* Can the two reach each other at all? */
static bool
same_kind(const struct tcpx_addr *a, const struct tcpx_addr *b)
{
	return a->family == b->family && tcpx_addr_is_loopback(a) == tcpx_addr_is_loopback(b);
}

/* Compares by the longer prefix; one known prefix is enough. */
static bool
same_subnet(const struct tcpx_addr *a, const struct tcpx_addr *b)
{
	unsigned bits = a->prefix > b->prefix ? a->prefix : b->prefix;
	unsigned rest = bits % 8;

	if (!same_kind(a, b) || !bits || bits > 128)
		return false;
	if (memcmp(a->ip, b->ip, bits / 8))
		return false;
	return !rest || !((a->ip[bits / 8] ^ b->ip[bits / 8]) >> (8 - rest));
}

static void
join(struct plan *p, uint32_t near, uint32_t far)
{
	p->pair[p->count++] = (struct tcpx_pair){ (uint16_t)near, (uint16_t)far };
	p->near.pairs[near]++;
	p->far.pairs[far]++;
}

/* Pairs NICs that have no pair yet, in order, each with the first that matches. */
static void
pair_unused(struct plan *p, match_fn match)
{
	for (uint32_t i = 0; i < p->near.count; i++) {
		for (uint32_t j = 0; j < p->far.count && !p->near.pairs[i]; j++) {
			if (!p->far.pairs[j] && match(&p->near.nic[i], &p->far.nic[j]))
				join(p, i, j);
		}
	}
}

/* The NIC of @s that @n shares: on its subnet if there is one, then the one with the fewest
 * pairs, then the first. -1: no NIC of its kind. */
static int
share_of(const struct side *s, const struct tcpx_addr *n)
{
	int best = -1;

	for (uint32_t i = 0; i < s->count; i++) {
		bool near_net = same_subnet(&s->nic[i], n);
		bool best_net = best >= 0 && same_subnet(&s->nic[best], n);

		if (!same_kind(&s->nic[i], n))
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
tcpx_pair_plan(const struct tcpx_addr *near, uint32_t near_count,
	       const struct tcpx_addr *far, uint32_t far_count, struct tcpx_pair *out,
	       uint32_t channels)
{
	struct plan p = {
		.near = { near, near_count < NICS_MAX ? near_count : NICS_MAX, { 0 } },
		.far = { far, far_count < NICS_MAX ? far_count : NICS_MAX, { 0 } },
	};

	pair_unused(&p, same_subnet);
	pair_unused(&p, same_kind);
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
only_loopback(const struct tcpx_addr *at, uint32_t count)
{
	uint32_t i = 0;

	while (i < count && tcpx_addr_is_loopback(&at[i]))
		i++;
	return i == count;
}

void
tcpx_pair_none(const struct tcpx_addr *ours, uint32_t our_count, const struct tcpx_addr *theirs,
	       uint32_t their_count, const char *peer, char *text, size_t cap)
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
