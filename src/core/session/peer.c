/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Peers: one object for each incarnation, found by name and incarnation. It outlives its
 * sessions. Once gone it stays gone, and the same name may be added again.
 */
#include "core/session/peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mutex.h"
#include "base/random.h"
#include "base/slab.h"
#include "core/context/context.h"
#include "core/session/peer_index.h"
#include "core/session/session.h"

/* registry.lock */
static void
enter(struct tcpx_peer *p)
{
	struct registry *r = &p->engine->registry;

	p->number = ++r->peers_made;
	tcpx_chain_add(&r->peers, &p->in_engine);
	tcpx_chain_add(peer_bucket(r, p->incarnation), &p->in_bucket);
	tcpx_peer_index_add(p);
}

int
tcpx_peers_init(struct registry *r)
{
	int rc = tcpx_random_bytes(&r->seed, sizeof(r->seed));

	r->seed |= 1;
	tcpx_node_init(&r->peers);
	for (uint32_t i = 0; i < PEER_BUCKETS; i++)
		tcpx_node_init(&r->incarnations[i]);
	tcpx_tags_init(&r->by_number);
	tcpx_tags_init(&r->by_name);
	tcpx_tags_init(&r->by_addr);
	return rc;
}

void
tcpx_peers_fini(struct registry *r)
{
	tcpx_chain_each(n, after, &r->peers) {
		struct tcpx_peer *p = tcpx_container(n, struct tcpx_peer, in_engine);

		tcpx_kept_leave(p);
		tcpx_slab_leave(&p->notes.slab);
		free(p->place);
		free(p);
	}
	tcpx_tags_fini(&r->by_number);
	tcpx_tags_fini(&r->by_name);
	tcpx_tags_fini(&r->by_addr);
}

struct tcpx_peer *
tcpx_peer_lock_queues(struct tcpx_peer *p)
{
	pthread_mutex_lock(&p->lock);
	if (!p->home)
		return p;
	pthread_mutex_lock(&p->home->lock);
	return p->home;
}

void
tcpx_peer_unlock_queues(struct tcpx_peer *p)
{
	if (p->home)
		pthread_mutex_unlock(&p->home->lock);
	pthread_mutex_unlock(&p->lock);
}

/* The one of its incarnation that has the queues, with a reference; NULL: there is none. One that is
 * gone counts: a session that the peer has opened may have outlived it. registry.lock; p->lock, if
 * others know p */
static struct tcpx_peer *
home_of(const struct tcpx_peer *p)
{
	struct tcpx_node *all = peer_bucket(&p->engine->registry, p->incarnation);
	struct tcpx_peer *found = NULL;

	tcpx_chain_each(n, after, all) {
		struct tcpx_peer *other = tcpx_container(n, struct tcpx_peer, in_bucket);

		if (other == p || found)
			continue;
		pthread_mutex_lock(&other->lock);
		if (other->incarnation == p->incarnation &&
		    strcmp(other->name, p->name) == 0) {
			found = other;
			if (!tcpx_peer_try_get(found))
				found = NULL;
		}
		pthread_mutex_unlock(&other->lock);
	}
	return found;
}

void
tcpx_peer_recognise(struct tcpx_peer *p, uint64_t incarnation, const char *name)
{
	struct registry *r = &p->engine->registry;

	pthread_mutex_lock(&r->lock);
	pthread_mutex_lock(&p->lock);
	if (p->incarnation == 0) { /* after that others read these without a lock */
		p->incarnation = incarnation;
		memcpy(p->name, name, sizeof(p->name));
		tcpx_peer_index_name(p);
		tcpx_chain_remove(&p->in_bucket);
		tcpx_chain_add(peer_bucket(r, incarnation), &p->in_bucket);
		p->found = home_of(p);
	}
	pthread_mutex_unlock(&p->lock);
	pthread_mutex_unlock(&r->lock);
}

/* One that is not in the registry yet. */
static int
make(struct tcpx_engine *e, const char *name, uint64_t incarnation, const struct tcpx_addr *from,
     struct tcpx_peer **out)
{
	struct tcpx_peer *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return tcpx_fail(TCPX_SUB_BOOT, -ENOMEM, "no memory for peer %s", name);
	p->refs = 1;
	p->engine = e;
	rc = tcpx_kept_enter(p, from);
	if (rc) {
		free(p);
		return rc;
	}
	p->incarnation = incarnation;
	snprintf(p->name, sizeof(p->name), "%s", name);
	tcpx_mutex_init(&p->lock);
	tcpx_node_init(&p->in_bucket);
	tcpx_node_init(&p->inbound);
	tcpx_node_init(&p->recvs);
	tcpx_node_init(&p->unexpected);
	tcpx_tags_init(&p->recvs_by_tag);
	tcpx_tags_init(&p->unexpected_by_tag);
	note_queue_init(&p->notes);
	*out = p;
	return 0;
}

int
tcpx_peer_new(struct tcpx_engine *e, const char *name, uint64_t incarnation,
	      struct tcpx_peer **out)
{
	int rc = make(e, name, incarnation, NULL, out);

	if (rc)
		return rc;
	pthread_mutex_lock(&e->registry.lock);
	enter(*out);
	pthread_mutex_unlock(&e->registry.lock);
	return 0;
}

void
tcpx_peer_get(struct tcpx_peer *p)
{
	atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
}

/* For lookups: a peer whose last reference is being given back is not found. */
bool
tcpx_peer_try_get(struct tcpx_peer *p)
{
	int refs = atomic_load(&p->refs);

	while (refs > 0)
		if (atomic_compare_exchange_weak(&p->refs, &refs, refs + 1))
			return true;
	return false;
}

void
tcpx_peer_put(struct tcpx_peer *p)
{
	struct tcpx_engine *e = p->engine;

	if (atomic_fetch_sub(&p->refs, 1) != 1)
		return;
	pthread_mutex_lock(&e->registry.lock);
	tcpx_chain_remove(&p->in_engine);
	tcpx_chain_remove(&p->in_bucket);
	tcpx_heap_remove(&e->registry.dropped, &p->by_drop);
	tcpx_peer_index_remove(p);
	pthread_mutex_unlock(&e->registry.lock);
	tcpx_queue_forget(e, &p->news);
	tcpx_kept_leave(p);
	tcpx_slab_leave(&p->notes.slab);
	free(p->place);
	if (p->found)
		tcpx_peer_put(p->found);
	if (p->home)
		tcpx_peer_put(p->home);
	tcpx_tags_fini(&p->recvs_by_tag);
	tcpx_tags_fini(&p->unexpected_by_tag);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static bool
has_failed(const struct session *s)
{
	return atomic_load(&s->state) == SESS_FAILED && s->cause != TCPX_ECLOSED;
}

/* Is it gone, or about to be, as its loop will find? p->lock held. */
static bool
is_gone(const struct tcpx_peer *p)
{
	if (p->gone || p->out)
		return p->gone || has_failed(p->out);
	tcpx_chain_each(n, after, &p->inbound)
		if (!has_failed(tcpx_container(n, struct session, in_peer)))
			return false;
	return !tcpx_chain_empty(&p->inbound);
}

/* Takes a reference to @p if that is a living one of that name, known, but @not, and for a caller none whom
 * another's session serves. registry.lock */
static bool
take(struct tcpx_peer *p, const char *name, bool caller, const struct tcpx_peer *not)
{
	bool took = false;

	if (p == not || p->incarnation == 0 || strcmp(p->name, name) != 0)
		return false;
	pthread_mutex_lock(&p->lock);
	if (!(caller && peer_follows(p)) && !is_gone(p))
		took = tcpx_peer_try_get(p);
	pthread_mutex_unlock(&p->lock);
	return took;
}

/* The newest such peer of the incarnation; 0: of any. registry.lock */
static struct tcpx_peer *
find_there(struct tcpx_engine *e, const char *name, uint64_t incarnation, bool caller,
	   const struct tcpx_peer *not)
{
	struct tcpx_node *all = peer_bucket(&e->registry, incarnation);
	struct tcpx_peer *p;

	if (!incarnation) {
		p = tcpx_peer_index_named(&e->registry, name);
		while (p && !take(p, name, caller, not))
			p = tcpx_peer_index_older(p);
		return p;
	}
	for (struct tcpx_node *n = all->prev; n != all; n = n->prev) {
		p = tcpx_container(n, struct tcpx_peer, in_bucket);
		if (p->incarnation == incarnation && take(p, name, caller, not))
			return p;
	}
	return NULL;
}

static struct tcpx_peer *
find(struct tcpx_engine *e, const char *name, uint64_t incarnation, bool caller,
     const struct tcpx_peer *not)
{
	struct tcpx_peer *found;

	pthread_mutex_lock(&e->registry.lock);
	found = find_there(e, name, incarnation, caller, not);
	pthread_mutex_unlock(&e->registry.lock);
	return found;
}

/* An application may add a peer while its HELLO arrives: both get one and the same. */
int
tcpx_peer_find_or_make(struct tcpx_engine *e, const char *name, uint64_t incarnation,
		       const struct tcpx_addr *from, const struct tcpx_peer *not, struct tcpx_peer **out)
{
	bool caller = from != NULL;
	struct tcpx_peer *fresh = NULL;
	int rc;

	*out = find(e, name, incarnation, caller, not);
	if (*out)
		return 0;
	rc = make(e, name, incarnation, from, &fresh);
	if (rc)
		return rc;
	pthread_mutex_lock(&e->registry.lock);
	*out = find_there(e, name, incarnation, caller, not);
	if (!*out) {
		fresh->home = home_of(fresh);
		enter(fresh);
	}
	pthread_mutex_unlock(&e->registry.lock);
	if (*out) {
		tcpx_kept_leave(fresh);
		pthread_mutex_destroy(&fresh->lock);
		free(fresh);
	} else {
		*out = fresh;
	}
	return 0;
}

int
tcpx_peer_find(tcpx_engine *e, const char *name, tcpx_peer **peer)
{
	struct tcpx_peer *p = find(e, name, 0, false, NULL);

	if (!p)
		return tcpx_fail_known(-ENOENT, "no peer named %s", name);
	atomic_fetch_add(&p->handles, 1);
	p->dropped_ns = 0;
	*peer = p;
	return 0;
}

struct tcpx_peer *
tcpx_peer_numbered(struct tcpx_engine *e, uint64_t number)
{
	struct tcpx_tagged *t;
	struct tcpx_peer *p;

	pthread_mutex_lock(&e->registry.lock);
	t = tcpx_tags_find(&e->registry.by_number, number);
	p = t ? tcpx_container(t, struct tcpx_peer, by_number) : NULL;
	if (p && !tcpx_peer_try_get(p))
		p = NULL;
	pthread_mutex_unlock(&e->registry.lock);
	if (!p)
		return NULL;
	atomic_fetch_add(&p->handles, 1);
	p->dropped_ns = 0;
	return p;
}

int
tcpx_peer_fail(struct tcpx_peer *p, int code)
{
	char name[TCPX_NAME_MAX], why[sizeof(p->gone_text)];

	pthread_mutex_lock(&p->lock);
	memcpy(name, p->name, sizeof(name));
	snprintf(why, sizeof(why), "%s", p->gone_text);
	/* the loop has not noticed yet that the session has failed */
	if (!p->gone && p->out && atomic_load(&p->out->state) == SESS_FAILED)
		snprintf(why, sizeof(why), "%s", p->out->cause_text);
	pthread_mutex_unlock(&p->lock);
	return tcpx_fail_known(code, "session with %s: %s", name, why);
}

static bool
is_known(const struct tcpx_peer *p, const struct tcpx_addr *a)
{
	for (uint32_t i = 0; i < p->addr_count; i++)
		if (tcpx_addr_same_host(&p->addr[i], a) && p->addr[i].port == a->port)
			return true;
	return false;
}

void
tcpx_peer_meet(struct session *s, const struct tcpx_addr *at)
{
	struct tcpx_peer *p = s->peer;

	pthread_mutex_lock(&p->lock);
	for (uint32_t i = 0; i < s->chan.peer_nic_count && p->addr_count < TCPX_NICS_MAX; i++) {
		const struct tcpx_addr *a = &s->chan.peer_nic[i].addr;

		if (a->port && (s->engine->secret || tcpx_addr_same_host(a, at)) && !is_known(p, a))
			p->addr[p->addr_count++] = *a;
	}
	pthread_mutex_unlock(&p->lock);
}
