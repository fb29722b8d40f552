/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivery rates, the pull rule and deficit round robin: which channel and which
 * transfer is next.
 */
#include "proto/sched.h"

#include <stddef.h>

#define NS_PER_SEC    1000000000ull
#define SAMPLE_MIN_NS 1000ull
#define UNKNOWN_MAX   2     /* messages before a rate is known       */
#define QUANTUM_UNSET 65536 /* of a ring whose owner set none        */

/* a * b / c without overflow on the way, at most UINT64_MAX. */
static uint64_t
mul_div(uint64_t a, uint64_t b, uint64_t c)
{
	unsigned __int128 v = (unsigned __int128)a * b / c;

	return v < UINT64_MAX ? (uint64_t)v : UINT64_MAX;
}

struct tcpx_rate_mark
tcpx_rate_now(const struct tcpx_rate *r, uint64_t now_ns)
{
	return (struct tcpx_rate_mark){ .delivered = r->delivered, .ns = now_ns };
}

void
tcpx_rate_ack(struct tcpx_rate *r, const struct tcpx_rate_mark *mark, uint32_t len,
	      uint64_t now_ns)
{
	uint64_t ns = now_ns > mark->ns ? now_ns - mark->ns : 0;
	uint64_t sample;

	r->delivered += len;
	ns = ns < SAMPLE_MIN_NS ? SAMPLE_MIN_NS : ns;
	sample = mul_div(r->delivered - mark->delivered, NS_PER_SEC, ns);
	if (!r->Bps)
		r->Bps = sample;
	else if (sample > r->Bps)
		r->Bps += (sample - r->Bps) / 4;
	else
		r->Bps -= (r->Bps - sample) / 4;
	if (!r->Bps)
		r->Bps = 1; /* slow, but known */
	r->last_ns = now_ns;
}

bool
tcpx_pull_allowed(const struct tcpx_pull_channel *c, const struct tcpx_pull_session *s,
		  uint32_t len)
{
	uint64_t total_Bps = s->Bps > c->Bps ? s->Bps : c->Bps;
	uint64_t own_ns, all_ns;

	if (c->outstanding >= c->window)
		return false;
	if (!s->outstanding_bytes)
		return true; /* no channel is at work */
	if (!c->Bps)
		return c->outstanding < UNKNOWN_MAX;
	if (mul_div(c->outstanding_bytes, NS_PER_SEC, c->Bps) > TCPX_PULL_DRAIN_NS)
		return false;
	own_ns = mul_div(c->outstanding_bytes + len, NS_PER_SEC, c->Bps);
	all_ns = mul_div(s->queued_bytes + s->outstanding_bytes, NS_PER_SEC, total_Bps);
	return own_ns <= TCPX_PULL_SLACK_NS || own_ns - TCPX_PULL_SLACK_NS <= all_ns;
}

static uint32_t
quantum(const struct tcpx_drr *d)
{
	return d->quantum ? d->quantum : QUANTUM_UNSET;
}

/* Its turn begins. */
static void
drr_give(struct tcpx_drr *d, struct tcpx_drr_node *n)
{
	n->deficit += (int64_t)quantum(d) * (n->weight ? n->weight : 1);
	d->turn = n;
}

void
tcpx_drr_add(struct tcpx_drr *d, struct tcpx_drr_node *n)
{
	if (n->next)
		return;
	n->deficit = 0;
	if (!d->turn) {
		n->prev = n->next = n;
		drr_give(d, n);
		return;
	}
	n->next = d->turn; /* last in the round */
	n->prev = d->turn->prev;
	n->prev->next = n;
	n->next->prev = n;
}

void
tcpx_drr_remove(struct tcpx_drr *d, struct tcpx_drr_node *n)
{
	if (!n->next)
		return;
	if (n->next == n)
		d->turn = NULL;
	else if (d->turn == n)
		drr_give(d, n->next);
	n->prev->next = n->next;
	n->next->prev = n->prev;
	n->prev = n->next = NULL;
}

struct tcpx_drr_node *
tcpx_drr_peek(struct tcpx_drr *d, uint32_t (*next_len)(struct tcpx_drr_node *))
{
	if (!d->turn)
		return NULL;
	while (d->turn->deficit < (int64_t)next_len(d->turn))
		drr_give(d, d->turn->next);
	return d->turn;
}

void
tcpx_drr_charge(struct tcpx_drr *d, struct tcpx_drr_node *n, uint32_t len)
{
	n->deficit -= len;
}
