/* SPDX-License-Identifier: Apache-2.0 */
#include "core/session/kept.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mutex.h"
#include "core/context/context.h"
#include "core/session/note.h"
#include "core/session/peer.h"
#include "core/session/session.h"

static const uint64_t own_of[KEPT_KINDS] = { [KEPT_LISTS] = KEPT_OWN_LISTS, [KEPT_NOTES] = KEPT_OWN_NOTES };

static struct tcpx_engine *
engine_of(struct tcpx_quota *kept)
{
	return tcpx_container(kept, struct tcpx_engine, kept);
}

/* ---- the pot ---- */

static bool
yield(struct tcpx_quota *kept, uint64_t bytes, uint64_t had)
{
	struct tcpx_engine *e = engine_of(kept);

	return tcpx_notes_yield(e, NULL, bytes) || e->up.session->evict(e, had);
}

static void
tell(struct work *w, uint64_t now_ns)
{
	struct pot *pot = tcpx_container(w, struct pot, tell);

	(void)now_ns;
	pot->engine->up.session->evicted(pot->engine);
}

void
tcpx_kept_open(struct tcpx_engine *e)
{
	struct pot *pot = e->pot;

	tcpx_mutex_init(&pot->lock);
	tcpx_tags_init(&pot->hosts);
	tcpx_node_init(&pot->evicted);
	pot->engine = e;
	pot->tell.run = tell;
	e->kept.yield = yield;
}

void
tcpx_kept_close(struct tcpx_engine *e)
{
	tcpx_tags_fini(&e->pot->hosts);
	pthread_mutex_destroy(&e->pot->lock);
}

/* ---- shares by address ---- */

static bool
yield_host(struct tcpx_quota *kept, uint64_t bytes, uint64_t had)
{
	(void)had;
	return tcpx_notes_yield(engine_of(kept->whole), tcpx_container(kept, struct kept_host, kept), bytes);
}

/* The address that shares a part of the pot. An IPv6 network of 64 bits counts as one: its owner has all
 * addresses in it. */
static struct tcpx_addr
host_of(const struct tcpx_addr *from)
{
	struct tcpx_addr a = { .family = from->family };

	memcpy(a.ip, from->ip, from->family == 6 ? 8 : 4);
	return a;
}

/* pot.lock */
static struct kept_host *
find_host(struct tcpx_engine *e, const struct tcpx_addr *a, uint64_t tag)
{
	struct tcpx_tagged *t = tcpx_tags_newest(&e->pot->hosts, tag);

	for (; t; t = tcpx_tags_older(t)) {
		struct kept_host *h = tcpx_container(t, struct kept_host, by_addr);

		if (memcmp(&h->addr, a, sizeof(*a)) == 0)
			return h;
	}
	return NULL;
}

static struct kept_host *
enter_host(struct tcpx_engine *e, const struct tcpx_addr *from)
{
	struct tcpx_addr a = host_of(from);
	uint64_t tag = tcpx_hash(e->registry.seed, a.ip, sizeof(a.ip));
	struct kept_host *fresh = calloc(1, sizeof(*fresh)), *h;

	pthread_mutex_lock(&e->pot->lock);
	h = find_host(e, &a, tag);
	if (!h && fresh) {
		h = fresh;
		h->addr = a;
		h->kept.limit = e->kept.limit / 2;
		h->kept.whole = &e->kept;
		h->kept.yield = yield_host;
		tcpx_tags_add(&e->pot->hosts, &h->by_addr, tag);
	}
	if (h)
		h->peers++;
	pthread_mutex_unlock(&e->pot->lock);
	if (h != fresh)
		free(fresh);
	return h;
}

int
tcpx_kept_enter(struct tcpx_peer *p, const struct tcpx_addr *from)
{
	struct tcpx_engine *e = p->engine;

	p->kept.limit = e->limit.peer_memory;
	p->kept.reserve = p->kept.limit / 8;
	p->kept.whole = &e->kept;
	if (!from)
		return 0;
	p->host = enter_host(e, from);
	if (!p->host)
		return tcpx_fail(TCPX_SUB_BOOT, -ENOMEM, "no memory for a peer's address");
	p->kept.whole = &p->host->kept;
	return 0;
}

void
tcpx_kept_leave(struct tcpx_peer *p)
{
	struct kept_host *h = p->host;
	struct tcpx_engine *e = p->engine;

	if (!h)
		return;
	pthread_mutex_lock(&e->pot->lock);
	if (--h->peers == 0)
		tcpx_tags_remove(&e->pot->hosts, &h->by_addr);
	else
		h = NULL;
	pthread_mutex_unlock(&e->pot->lock);
	free(h);
}

/* ---- charging ---- */

/* Bytes beyond those that are the peer's own. */
static uint64_t
beyond(enum kept_kind kind, uint64_t bytes)
{
	return bytes > own_of[kind] ? bytes - own_of[kind] : 0;
}

/* Puts the peer into its place among those that have sends. */
static void
rank(struct tcpx_peer *p)
{
	struct pot *pot = p->engine->pot;
	uint64_t bytes;

	pthread_mutex_lock(&pot->lock);
	tcpx_heap_remove(&pot->sends, &p->by_sends);
	bytes = atomic_load(&p->keeps[KEPT_SENDS]);
	if (bytes)
		tcpx_heap_add(&pot->sends, &p->by_sends, UINT64_MAX - bytes);
	pthread_mutex_unlock(&pot->lock);
}

/* The pot is charged before the sum is seen, and gets it back after: so it never has less than it lent. */
bool
tcpx_kept_charge(struct tcpx_peer *p, enum kept_kind kind, uint64_t bytes)
{
	struct tcpx_engine *e = p->engine;
	uint64_t old = atomic_load(&p->keeps[kind]), more;

	for (;;) {
		more = beyond(kind, old + bytes) - beyond(kind, old);
		if (more && !tcpx_quota_charge(&p->kept, more))
			return false;
		if (atomic_compare_exchange_strong(&p->keeps[kind], &old, old + bytes))
			break;
		tcpx_quota_give(&p->kept, more);
	}
	count_add(&e->pot->of[kind], more);
	count_add(&e->pot->own, bytes - more);
	if (kind == KEPT_SENDS)
		rank(p);
	return true;
}

void
tcpx_kept_give(struct tcpx_peer *p, enum kept_kind kind, uint64_t bytes)
{
	struct tcpx_engine *e = p->engine;
	uint64_t old = atomic_fetch_sub(&p->keeps[kind], bytes);
	uint64_t less = beyond(kind, old) - beyond(kind, old - bytes);

	atomic_fetch_sub(&e->pot->of[kind], less);
	atomic_fetch_sub(&e->pot->own, bytes - less);
	if (less)
		tcpx_quota_give(&p->kept, less);
	if (kind == KEPT_SENDS)
		rank(p);
}

struct tcpx_peer *
tcpx_kept_largest(struct tcpx_engine *e, uint64_t had)
{
	struct pot *pot = e->pot;
	struct tcpx_peer *p = NULL;

	pthread_mutex_lock(&pot->lock);
	if (pot->sends.first && UINT64_MAX - pot->sends.first->key > had) {
		p = tcpx_container(pot->sends.first, struct tcpx_peer, by_sends);
		if (!tcpx_peer_try_get(p))
			p = NULL;
	}
	pthread_mutex_unlock(&pot->lock);
	return p;
}

static unsigned long long
kib(uint64_t bytes)
{
	return (bytes + 1023) / 1024;
}

void
tcpx_kept_why(const struct tcpx_peer *p, uint64_t bytes, const char *whose, char *text, size_t cap)
{
	const struct tcpx_engine *e = p->engine;
	uint64_t mine = tcpx_quota_used(&p->kept), all = tcpx_quota_used(&e->kept), rest = all;
	uint64_t of[KEPT_KINDS];

	if (mine + bytes > p->kept.limit - p->kept.reserve) {
		snprintf(text, cap, "%s memory for this peer is used up: %llu of %llu KiB, %llu more are "
			 "needed (TCPX_PEER_MEMORY)", whose, kib(mine), kib(p->kept.limit), kib(bytes));
		return;
	}
	for (int k = 0; k < KEPT_KINDS; k++) {
		of[k] = atomic_load(&e->pot->of[k]);
		rest -= of[k] < rest ? of[k] : rest;
	}
	snprintf(text, cap, "%s memory for peers is short: %llu of %llu KiB (sends %llu, notes %llu, "
		 "lists %llu, lanes %llu, frames %llu; TCPX_PEERS_MEMORY)", whose, kib(all), kib(e->kept.limit),
		 kib(of[KEPT_SENDS]), kib(of[KEPT_NOTES]), kib(of[KEPT_LISTS]), kib(of[KEPT_LANES]), kib(rest));
}
