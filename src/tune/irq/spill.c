/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cores of NUMA nodes without NICs are lent to the groups of
 * the nearest node that has NICs, for their workers (TX and RX). The other parts of a group (head,
 * tail, interrupts) stay near their NICs, unchanged. A lending node keeps 2 cores for each GPU of
 * its own, at most a quarter of its cores, as the head of a group does.
 */
#include "tune/irq/spill.h"

#include <stdlib.h>

/* Groups that can borrow: their NICs' node is known and used, and they have several cores. */
static bool
can_take(const struct tcpx_plan_group *g)
{
	return g->node >= 0 && !(g->flags & (TCPX_PLAN_NO_NODE | TCPX_PLAN_OFF_NODE |
					     TCPX_PLAN_SHARED));
}

static bool
has_group(const struct tcpx_plan *p, int node)
{
	for (unsigned i = 0; i < p->group_count; i++)
		if (p->groups[i].node == node)
			return true;
	return false;
}

/* The nearest node with a group that can borrow, the first one of equals; -1: no
 * distance is known. */
static int
nearest(const struct tcpx_plan *p, const struct tcpx_machine *m, unsigned from)
{
	int best = -1;
	unsigned best_distance = 0;

	for (unsigned i = 0; i < p->group_count; i++) {
		int at = tcpx_machine_node_find(m, p->groups[i].node);
		unsigned distance = at < 0 ? 0 : m->nodes[from].distance[at];

		if (!can_take(&p->groups[i]) || !distance)
			continue;
		if (best < 0 || distance < best_distance) {
			best = p->groups[i].node;
			best_distance = distance;
		}
	}
	return best;
}

static unsigned
kept(const struct tcpx_machine *m, int node, unsigned cores)
{
	unsigned want = 0;

	for (unsigned i = 0; i < m->gpu_count; i++)
		want += m->gpus[i].place.numa == node ? 2 : 0;
	return want < cores / 4 ? want : cores / 4;
}

static void
add_cores(struct tcpx_plan_group *g, const struct tcpx_plan_core *core, unsigned count)
{
	/* RX keeps the odd core */
	unsigned tx = (count + (g->rx_cores > g->tx_cores)) / 2;

	for (unsigned i = 0; i < count; i++)
		for (unsigned k = 0; k < core[i].use; k++) {
			tcpx_cpuset_add(i < tx ? &g->tx : &g->rx, core[i].cpu[k]);
			tcpx_cpuset_add(&g->far, core[i].cpu[k]);
		}
	g->tx_cores += tx;
	g->far_tx_cores += tx;
	g->rx_cores += count - tx;
	g->far_rx_cores += count - tx;
	if (count)
		g->flags |= TCPX_PLAN_SPILLED;
}

/* Groups of one node, where each NIC has its own, share equally; the first ones
 * get the odd cores. */
static void
give(struct tcpx_plan *p, int node, const struct tcpx_plan_core *core, unsigned count)
{
	unsigned groups = 0, at = 0;

	for (unsigned i = 0; i < p->group_count; i++)
		groups += p->groups[i].node == node && can_take(&p->groups[i]);
	for (unsigned i = 0, nth = 0; i < p->group_count; i++) {
		unsigned part = groups ? count / groups + (nth < count % groups) : 0;

		if (p->groups[i].node != node || !can_take(&p->groups[i]))
			continue;
		add_cores(&p->groups[i], core + at, part);
		at += part;
		nth++;
	}
}

int
tcpx_plan_spill(struct tcpx_plan *p, const struct tcpx_machine *m)
{
	for (unsigned i = 0; i < m->node_count; i++) {
		int node = m->nodes[i].id, to = has_group(p, node) ? -1 : nearest(p, m, i), rc;
		struct tcpx_plan_cores pool;
		bool partial = false;
		unsigned own;

		if (to < 0)
			continue;
		rc = tcpx_plan_cores_of(m, node, false, &p->usable, p->options.first_threads, &pool,
					&partial);
		if (rc)
			return rc;
		own = kept(m, node, pool.count);
		give(p, to, pool.at + own, pool.count - own);
		free(pool.at);
	}
	return 0;
}
