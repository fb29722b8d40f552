/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All GPUs of a machine take NICs by turns. Of NICs that are alike to a GPU it prefers the one
 * behind its own, and GPUs with the same own NICs prefer each the next one: so like GPUs use all
 * NICs alike. Where they are not alike, no NIC is taken beyond its share while another is left.
 */
#include "proto/netmap_share.h"

#include <string.h>

/* What decides between NICs, the first that differs; less is better. */
struct wish {
	bool relayed;
	uint8_t distance;  /* of relays: own NICs are all alike */
	uint32_t overload; /* GPUs beyond the share             */
	uint32_t place;    /* among those that are alike        */
};

struct turns {
	const struct tcpx_netmap_side *side;
	const struct tcpx_netmap_owned *own;
	uint32_t used;                    /* bit i: NIC i can be taken by some GPU */
	uint8_t place[TCPX_NETMAP_GPUS][TCPX_NETMAP_NICS];
	uint32_t taken[TCPX_NETMAP_GPUS];
	uint32_t load[TCPX_NETMAP_NICS];
	uint32_t share;                   /* GPUs a NIC, at the end of this turn   */
};

static bool
is_own(const struct turns *t, uint32_t gpu, uint32_t nic)
{
	return t->own->nics[gpu] >> nic & 1;
}

static bool
are_alike(const struct turns *t, uint32_t gpu, uint32_t a, uint32_t b)
{
	if (is_own(t, gpu, a) || is_own(t, gpu, b))
		return is_own(t, gpu, a) && is_own(t, gpu, b);
	return t->side->nic[a].distance[gpu] == t->side->nic[b].distance[gpu];
}

/* NICs on the way from the GPU's own one, going round. */
static uint32_t
steps(const struct turns *t, uint32_t gpu, uint32_t nic)
{
	uint32_t own = t->own->nics[gpu], n = t->side->nic_count;

	return (nic + n - (own ? (uint32_t)__builtin_ctz(own) : 0)) % n;
}

static uint32_t
place_of(const struct turns *t, uint32_t gpu, uint32_t nic)
{
	uint32_t before = 0, alike = 0, sharers = 0;

	for (uint32_t i = 0; i < t->side->nic_count; i++) {
		if (!(t->used >> i & 1) || !are_alike(t, gpu, i, nic))
			continue;
		alike++;
		before += steps(t, gpu, i) < steps(t, gpu, nic);
	}
	for (uint32_t g = 0; g < gpu; g++)
		sharers += t->own->nics[g] == t->own->nics[gpu];
	return (before + alike - sharers % alike) % alike;
}

static struct wish
wish_for(const struct turns *t, uint32_t gpu, uint32_t nic)
{
	bool relayed = !is_own(t, gpu, nic);

	return (struct wish){ .relayed = relayed,
			      .distance = relayed ? t->side->nic[nic].distance[gpu] : 0,
			      .overload = t->load[nic] < t->share ? 0 :
							t->load[nic] - t->share + 1,
			      .place = t->place[gpu][nic] };
}

static bool
is_better(const struct wish *a, const struct wish *b)
{
	if (a->relayed != b->relayed)
		return b->relayed;
	if (a->distance != b->distance)
		return a->distance < b->distance;
	if (a->overload != b->overload)
		return a->overload < b->overload;
	return a->place < b->place;
}

/* The NIC that @gpu takes in its turn; -1: it has all that it can. */
static int
take(struct turns *t, uint32_t gpu)
{
	uint32_t can = t->used & ~t->taken[gpu];
	struct wish best, w;
	int nic = -1;

	if (!t->side->relay)
		can &= t->own->nics[gpu];
	for (uint32_t i = 0; i < t->side->nic_count; i++) {
		if (!(can >> i & 1))
			continue;
		w = wish_for(t, gpu, i);
		if (nic >= 0 && !is_better(&w, &best))
			continue;
		best = w;
		nic = (int)i;
	}
	if (nic >= 0) {
		t->taken[gpu] |= 1u << nic;
		t->load[nic]++;
	}
	return nic;
}

void
tcpx_netmap_share(const struct tcpx_netmap_side *side, const struct tcpx_netmap_owned *own,
		  uint8_t rank[TCPX_NETMAP_NICS])
{
	struct turns t = { .side = side, .own = own };
	uint32_t nics;

	memset(rank, TCPX_NETMAP_NICS, TCPX_NETMAP_NICS);
	for (uint32_t i = 0; i < side->nic_count; i++)
		for (uint32_t g = 0; g < side->gpu_count && side->nic[i].used; g++)
			t.used |= own->nics[g] & 1u << i;
	for (uint32_t g = 0; g < side->gpu_count; g++)
		for (uint32_t i = 0; i < side->nic_count; i++)
			t.place[g][i] = (uint8_t)(t.used >> i & 1 ? place_of(&t, g, i) : 0);
	nics = (uint32_t)__builtin_popcount(t.used);
	for (uint32_t turn = 0; turn < nics; turn++) {
		t.share = (side->gpu_count * (turn + 1) + nics - 1) / nics;
		for (uint32_t g = 0; g < side->gpu_count; g++) {
			int nic = take(&t, g);

			if (nic >= 0 && (int)g == side->gpu)
				rank[nic] = (uint8_t)turn;
		}
	}
}
