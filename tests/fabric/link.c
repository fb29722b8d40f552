/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of the scripted network, of either kind. It comes up or is refused; it
 * ends by a break (bytes lost) or by closing (bytes arrive, then the end). It lives until
 * both holders have let go.
 */
#include "fabric/inside.h"

#include <errno.h>
#include <stdlib.h>

/* The NIC a connection leaves from. */
static const struct tcpx_addr *
source_addr(struct tcpx_net *net, int nic, const struct tcpx_addr *to)
{
	const struct tcpx_addr *any = NULL;

	if (nic >= 0)
		return &net->nics[nic].addr;
	for (uint32_t i = 0; i < net->nic_count; i++) {
		const struct tcpx_addr *a = &net->nics[i].addr;
		struct loop_nic *n = tcpx_fabric_nic(net->fabric, a);

		if (a->family != to->family || !n)
			continue;
		if (n->up)
			return a;
		any = a;
	}
	return any ? any : to;
}

int
tcpx_link_new(struct tcpx_net *net, enum tcpx_fabric_kind kind, int nic,
	      const struct tcpx_addr *to, struct loop_link **link)
{
	struct tcpx_fabric *f = net->fabric;
	struct loop_nic *here, *there;
	struct loop_link *l;

	if (nic < -1 || nic >= (int)net->nic_count)
		return tcpx_fail(TCPX_SUB_NET, -EINVAL, "connect from NIC %d of %u", nic,
				 net->nic_count);
	here = tcpx_fabric_nic(f, source_addr(net, nic, to));
	there = tcpx_fabric_nic(f, to);
	l = calloc(1, sizeof(*l));
	if (!here || !there || !l) {
		free(l);
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "a scripted connection");
	}
	l->fabric = f;
	l->kind = kind;
	l->index = f->links_made[kind]++;
	l->dead_ns[0] = l->dead_ns[1] = LOOP_NEVER;
	l->reset_code = tcpx_rng_below(&f->rng, 2) ? -ECONNRESET : 0;
	l->open[0] = true;
	tcpx_pipe_init(&l->pipe[0], l, here, there);
	tcpx_pipe_init(&l->pipe[1], l, there, here);
	l->up_ns = f->now_ns + tcpx_fabric_delay(f, kind);
	l->pipe[0].last_ns = l->pipe[1].last_ns = l->up_ns;
	if (tcpx_fabric_chance(f, f->script.refuse_ppm))
		l->refused = -ECONNREFUSED;
	else if ((!here->up || !there->up) && tcpx_rng_below(&f->rng, 2))
		l->refused = -EHOSTUNREACH;
	tcpx_chain_add(&f->links, &l->node);
	f->activity++;
	*link = l;
	return 0;
}

uint64_t
tcpx_link_when(const struct loop_link *l, uint64_t t)
{
	if (t == LOOP_NEVER || !l->pipe[0].from->up || !l->pipe[0].to->up)
		return LOOP_NEVER;
	return t > l->fabric->held_ns[l->kind] ? t : l->fabric->held_ns[l->kind];
}

/* A refusal needs no NIC to arrive: it may be our own kernel's. */
static uint64_t
answer_ns(const struct loop_link *l)
{
	return l->refused ? l->up_ns : tcpx_link_when(l, l->up_ns);
}

int
tcpx_link_up(struct loop_link *l)
{
	if (!l->answered && answer_ns(l) > l->fabric->now_ns)
		return -EAGAIN;
	l->answered = true; /* no hold takes that back */
	return l->refused;
}

bool
tcpx_link_dead(const struct loop_link *l, int side)
{
	return l->dead_ns[side] <= l->fabric->now_ns;
}

bool
tcpx_link_stands(struct loop_link *l)
{
	return l->accepted && l->open[0] && l->open[1] && !tcpx_link_up(l) &&
	       l->dead_ns[0] == LOOP_NEVER;
}

void
tcpx_link_break(struct loop_link *l, int side)
{
	struct tcpx_fabric *f = l->fabric;

	if (l->dead_ns[side] == LOOP_NEVER)
		l->dead_ns[!side] = f->now_ns + tcpx_fabric_delay(f, l->kind);
	l->dead_ns[side] = f->now_ns;
	f->activity++;
	tcpx_pipe_purge(&l->pipe[0]);
	tcpx_pipe_purge(&l->pipe[1]);
	if (l->ring)
		tcpx_slotring_purge(l->ring);
}

void
tcpx_link_close(struct loop_link *l, int side)
{
	struct tcpx_fabric *f = l->fabric;

	f->activity++;
	l->open[side] = false;
	tcpx_pipe_keep(&l->pipe[side]);
	tcpx_pipe_fin(&l->pipe[side]);
	tcpx_pipe_purge(&l->pipe[!side]); /* nobody reads it any more */
	if (l->ring && side == l->sender)
		tcpx_slotring_purge(l->ring); /* it lies in memory that may go now */
	if (l->ring && side != l->sender)
		tcpx_slotring_clear(l->ring, f);
	if (l->open[!side])
		return;
	tcpx_pipe_purge(&l->pipe[side]);
	if (l->ring)
		tcpx_slotring_free(l->ring, f);
	tcpx_chain_remove(&l->node);
	free(l->unacked);
	free(l);
}

void
tcpx_link_delivered(struct loop_link *l)
{
	struct tcpx_fabric *f = l->fabric;
	bool control = l->kind == TCPX_FABRIC_CONTROL;

	if (tcpx_fabric_chance(f, f->script.hold_ppm))
		tcpx_fabric_hold(f, l->kind, tcpx_rng_below(&f->rng, f->script.hold_max_ns));
	if (tcpx_fabric_chance(f, control ? f->script.cut_ppm : f->script.break_ppm))
		tcpx_link_break(l, (int)tcpx_rng_below(&f->rng, 2));
}

void
tcpx_link_given(struct loop_link *l, size_t len)
{
	struct tcpx_fabric *f = l->fabric;

	l->payload_bytes += len;
	for (uint32_t i = 0; i < f->fault_count; i++) {
		struct tcpx_fabric_fault *fault = &f->faults[i];

		if (fault->kind != TCPX_FABRIC_BREAK_CHANNEL || !fault->at_bytes ||
		    fault->index != l->index || l->payload_bytes < fault->at_bytes)
			continue;
		*fault = f->faults[--f->fault_count];
		tcpx_link_break(l, (int)tcpx_rng_below(&f->rng, 2));
		return;
	}
}

uint64_t
tcpx_link_next_ns(const struct loop_link *l)
{
	uint64_t now = l->fabric->now_ns;
	uint64_t when[] = {
		l->answered ? LOOP_NEVER : answer_ns(l),
		l->open[0] ? l->dead_ns[0] : LOOP_NEVER,
		l->open[1] ? l->dead_ns[1] : LOOP_NEVER,
		l->open[0] ? tcpx_pipe_next_ns(&l->pipe[1]) : LOOP_NEVER,
		l->open[1] ? tcpx_pipe_next_ns(&l->pipe[0]) : LOOP_NEVER,
		l->ring ? tcpx_slotring_next_ns(l) : LOOP_NEVER,
	};
	uint64_t next = LOOP_NEVER;

	for (size_t i = 0; i < sizeof(when) / sizeof(when[0]); i++)
		if (when[i] > now && when[i] < next)
			next = when[i];
	return next;
}

/* ---- ends ------------------------------------------------------------------------ */

static bool
end_has_input(const struct loop_end *e)
{
	const struct loop_link *l = e->link;

	if (l->ring && l->sender != e->side)
		return tcpx_slotring_readable(l);
	return tcpx_pipe_has_bytes(&l->pipe[!e->side]);
}

static bool
end_has_room(const struct loop_end *e)
{
	const struct loop_link *l = e->link;

	if (l->ring && l->sender == e->side)
		return l->ring->sent - l->ring->released < LOOP_SLOTS;
	return tcpx_pipe_room(&l->pipe[e->side]) > 0;
}

static unsigned
end_ready(struct loop_watch *w)
{
	struct loop_end *e = tcpx_container(w, struct loop_end, watch);
	struct loop_link *l = e->link;
	int up = tcpx_link_up(l);

	if (up == -EAGAIN)
		return 0;
	if (up || tcpx_link_dead(l, e->side))
		return TCPX_BROKEN | w->interest;
	if (tcpx_pipe_ended(&l->pipe[!e->side]) && !end_has_input(e))
		return TCPX_BROKEN | w->interest;
	return w->interest & ((end_has_input(e) ? TCPX_READABLE : 0) |
			      (end_has_room(e) ? TCPX_WRITABLE : 0));
}

void
tcpx_end_init(struct loop_end *e, struct tcpx_net *net, struct loop_link *l, int side)
{
	tcpx_node_init(&e->watch.node);
	e->watch.ready = end_ready;
	e->net = net;
	e->link = l;
	e->side = side;
	net->live++;
}

int
tcpx_end_watch(struct loop_end *e, struct tcpx_poller *p, void *owner, unsigned interest)
{
	return tcpx_watch_set(&e->watch, p, owner, interest);
}

void
tcpx_end_close(struct loop_end *e)
{
	tcpx_chain_remove(&e->watch.node);
	e->net->live--;
	tcpx_link_close(e->link, e->side);
}
