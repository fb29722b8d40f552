/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session is opened with the life of the other that is there now, kept until it fails, and
 * opened again once its transfers have ended.
 */
#include "chaos/link.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"

enum { AGAIN_NS = 50 * 1000000 };

void
chaos_tell(struct worker *w, const struct chaos_outcome *o)
{
	uint64_t n = atomic_load(&w->own->outcomes);

	if (atomic_load(&w->area->phase) == CHAOS_ENDS || atomic_load(&w->own->leave))
		return;
	w->own->outcome[n % CHAOS_OUTCOMES] = *o;
	atomic_store(&w->own->outcomes, n + 1);
}

static void
link_open(struct worker *w, unsigned b)
{
	struct chaos_host *other = &w->area->host[b];
	struct link *l = &w->link[b];
	uint32_t life = atomic_load(&other->ready);
	struct chaos_card card;
	int rc;

	if (!life || w->now < l->again_ns)
		return;
	card = other->card[life % 2];
	if (atomic_load(&other->ready) != life)
		return;
	l->again_ns = w->now + AGAIN_NS;
	rc = tcpx_mem_import(w->engine, card.target, card.target_len, &l->target);
	if (rc)
		return;
	if (tcpx_mem_import(w->engine, card.source, card.source_len, &l->source)) {
		tcpx_mem_deregister(w->engine, l->target);
		return;
	}
	rc = tcpx_peer_add(w->engine, card.blob, card.blob_len, &l->peer);
	if (rc) {
		tcpx_mem_deregister(w->engine, l->target);
		tcpx_mem_deregister(w->engine, l->source);
		l->peer = NULL;
		return;
	}
	l->life = life;
	l->failed = false;
	l->added_ns = w->now;
	l->number++;
	l->notes = 0;
}

static void
link_failed(struct worker *w, unsigned b, const struct tcpx_peer_info *info)
{
	struct link *l = &w->link[b];
	struct chaos_outcome o = {
		.kind = CHAOS_SESSION, .host = w->me, .peer = b, .peer_life = l->life,
		.posted_ns = l->added_ns, .ended_ns = tcpx_clock_now(&tcpx_clock_system),
		.code = info->status,
	};

	snprintf(o.text, sizeof(o.text), "%s", info->cause);
	chaos_tell(w, &o);
	l->failed = true;
	for (unsigned i = 0; i < CHAOS_JOBS; i++)
		if (w->job[i].xfer && w->job[i].work.to == b)
			atomic_store(&w->own->pending[i].doomed_ns, o.ended_ns);
}

static bool
link_used(const struct worker *w, unsigned b)
{
	for (unsigned i = 0; i < CHAOS_JOBS; i++)
		if (w->job[i].xfer && w->job[i].work.to == b)
			return true;
	return false;
}

static void
link_close(struct worker *w, unsigned b)
{
	struct link *l = &w->link[b];

	tcpx_peer_free(l->peer);
	l->peer = NULL;
	tcpx_mem_deregister(w->engine, l->target);
	tcpx_mem_deregister(w->engine, l->source);
	l->again_ns = w->now + AGAIN_NS;
}

void
chaos_link_keep(struct worker *w, unsigned b)
{
	struct tcpx_peer_info info = TCPX_PEER_INFO_INIT;
	_Atomic uint64_t *down = &w->own->down_ns[b];
	struct link *l = &w->link[b];
	bool up = false;

	if (!l->peer)
		link_open(w, b);
	if (l->peer && !l->failed) {
		tcpx_peer_query(l->peer, &info);
		up = info.status == 0;
		if (info.status && info.status != -EAGAIN)
			link_failed(w, b, &info);
	}
	if (l->peer && l->failed && !link_used(w, b))
		link_close(w, b);
	if (up)
		atomic_store(down, 0);
	else if (!atomic_load(down))
		atomic_store(down, w->now);
}
