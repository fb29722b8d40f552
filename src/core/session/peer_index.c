/* SPDX-License-Identifier: Apache-2.0 */
#include "core/session/peer_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "core/context/context.h"

static uint64_t
name_tag(const struct registry *r, const char *name)
{
	return tcpx_hash(r->seed, name, strlen(name));
}

static uint64_t
addr_tag(const struct registry *r, const struct tcpx_addr *a)
{
	return tcpx_hash(r->seed ^ ((uint64_t)a->family << 16 | a->port), a->ip, sizeof(a->ip));
}

void
tcpx_peer_index_add(struct tcpx_peer *p)
{
	struct registry *r = &p->engine->registry;

	tcpx_tags_add(&r->by_number, &p->by_number, p->number);
	tcpx_tags_add(&r->by_name, &p->by_name, name_tag(r, p->name));
}

void
tcpx_peer_index_remove(struct tcpx_peer *p)
{
	struct registry *r = &p->engine->registry;

	tcpx_tags_remove(&r->by_number, &p->by_number);
	tcpx_tags_remove(&r->by_name, &p->by_name);
	for (uint32_t i = 0; p->place && i < p->given; i++)
		tcpx_tags_remove(&r->by_addr, &p->place[i].by_addr);
}

void
tcpx_peer_index_name(struct tcpx_peer *p)
{
	struct registry *r = &p->engine->registry;

	tcpx_tags_remove(&r->by_name, &p->by_name);
	tcpx_tags_add(&r->by_name, &p->by_name, name_tag(r, p->name));
}

int
tcpx_peer_index_place(struct tcpx_peer *p, const struct tcpx_addr *addr, uint32_t count)
{
	struct peer_place *place = calloc(count + 1, sizeof(*place)), *old;
	struct registry *r = &p->engine->registry;

	if (!place)
		return tcpx_fail(TCPX_SUB_BOOT, -ENOMEM, "no memory for %u addresses of %s", count, p->name);
	pthread_mutex_lock(&r->lock);
	pthread_mutex_lock(&p->lock);
	old = p->place;
	for (uint32_t i = 0; old && i < p->given; i++)
		tcpx_tags_remove(&r->by_addr, &old[i].by_addr);
	for (uint32_t i = 0; i < count; i++) {
		p->addr[i] = addr[i];
		place[i].peer = p;
		tcpx_tags_add(&r->by_addr, &place[i].by_addr, addr_tag(r, &addr[i]));
	}
	p->place = place;
	p->addr_count = p->given = count;
	pthread_mutex_unlock(&p->lock);
	pthread_mutex_unlock(&r->lock);
	free(old);
	return 0;
}

static struct tcpx_peer *
named(struct tcpx_tagged *t)
{
	return t ? tcpx_container(t, struct tcpx_peer, by_name) : NULL;
}

struct tcpx_peer *
tcpx_peer_index_named(struct registry *r, const char *name)
{
	return named(tcpx_tags_newest(&r->by_name, name_tag(r, name)));
}

struct tcpx_peer *
tcpx_peer_index_older(struct tcpx_peer *p)
{
	return named(tcpx_tags_older(&p->by_name));
}

/* Does the application's own address lead there? p->lock held. */
static bool
is_at(const struct tcpx_peer *p, const struct tcpx_addr *a)
{
	for (uint32_t i = 0; i < p->given; i++)
		if (p->addr[i].family == a->family && p->addr[i].port == a->port &&
		    p->addr[i].scope == a->scope && !memcmp(p->addr[i].ip, a->ip, sizeof(a->ip)))
			return true;
	return false;
}

static bool
answers_to(struct tcpx_peer *p, const struct tcpx_addr *a, const char *name)
{
	bool does;

	pthread_mutex_lock(&p->lock);
	does = !p->gone && is_at(p, a) && (!name || !strcmp(p->name, name));
	pthread_mutex_unlock(&p->lock);
	return does;
}

struct tcpx_peer *
tcpx_peer_index_dialled(struct tcpx_engine *e, const struct tcpx_addr *addr, uint32_t count,
			const char *name, uint64_t number)
{
	struct registry *r = &e->registry;
	struct tcpx_peer *found = NULL;

	pthread_mutex_lock(&r->lock);
	for (uint32_t k = 0; k < count; k++) {
		struct tcpx_tagged *t = tcpx_tags_newest(&r->by_addr, addr_tag(r, &addr[k]));

		for (; t; t = tcpx_tags_older(t)) {
			struct tcpx_peer *p = tcpx_container(t, struct peer_place, by_addr)->peer;

			if (p->number > number && (!found || p->number < found->number) &&
			    answers_to(p, &addr[k], name))
				found = p;
		}
	}
	if (found && !tcpx_peer_try_get(found))
		found = NULL; /* its last reference is being given back: nobody waits with it */
	pthread_mutex_unlock(&r->lock);
	return found;
}
