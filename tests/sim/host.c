/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host: the first engine, beside babblers. What it moves with the other engines must succeed, as
 * on any sound network. Its application also does with babblers what it may do with a peer; all of
 * that must end, and nothing of it is kept when they have left.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/peer.h"
#include "core/session/session.h"
#include "proto/blob.h"
#include "sim/accuse.h"
#include "sim/babble/babble.h"

#define AFTER_NS (120 * TCPX_SEC) /* all has ended so long after babblers have left */

/* ---- making ---------------------------------------------------------------------- */

void
sim_babble_plan(struct sim_world *w)
{
	struct babble *all = w->babble;

	if (w->weather != SIM_BABBLE)
		return;
	if (!all)
		all = calloc(1, sizeof(*all));
	if (!all)
		exit(2);
	w->babble = all;
	all->told = all->told ? all->told : &all->told_here;
	all->babblers = (uint32_t)sim_between(w, 1, BABBLERS);
	all->lanes = !sim_one_in(w, 3);
	all->takes_notes = !sim_one_in(w, 3);
	w->work_ns = sim_one_in(w, 10) ? 15 * TCPX_SEC : sim_between(w, 20, 200) * TCPX_MS;
	if (!w->fabric)
		w->work_ns = sim_between(w, 5, 100) * TCPX_MS;
	sim_setting(w, "TCPX_CREDIT_LIST_BYTES", sim_one_in(w, 2) ? 64 << 10 : 16 << 20);
	sim_setting(w, "TCPX_PEER_MEMORY", sim_one_in(w, 2) ? 4 << 20 : 64 << 20);
}

int
sim_babblers_begin(struct sim_world *w)
{
	int rc = 0;

	for (uint32_t i = 0; w->babble && i < w->babble->babblers && rc == 0; i++)
		rc = babbler_begin(w, (int)i);
	return rc;
}

static int
name_of_region(tcpx_engine *e, uint64_t id, struct tcpx_region_ref *ref)
{
	struct tcpx_region_blob blob;
	uint8_t room[256];
	size_t len = sizeof(room);
	struct tcpx_buf b;
	int rc = tcpx_mem_export(e, id, room, &len);

	if (rc)
		return rc;
	tcpx_buf_init_const(&b, room, len);
	rc = tcpx_region_blob_read(&b, &blob);
	if (rc)
		return rc;
	ref->id = blob.id;
	memcpy(ref->key, blob.key, sizeof(ref->key));
	return 0;
}

int
sim_host_begin(struct sim_world *w)
{
	struct sim_engine *host = &w->engine[0];
	struct babble *all = w->babble;
	int rc;

	if (!all)
		return 0;
	all->shared = calloc(1, BABBLE_MEMORY);
	if (!all->shared)
		return -ENOMEM;
	all->told->port = tcpx_port(host->engine);
	rc = tcpx_mem_register(host->engine, all->shared, BABBLE_MEMORY,
			       TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE, &all->shared_id);
	if (rc == 0)
		rc = name_of_region(host->engine, all->shared_id, &all->told->shared);
	if (rc == 0) /* transfers of other engines end there */
		rc = name_of_region(host->engine, host->region[2].id, &all->told->others);
	all->told->others.key[5] ^= 4;
	return rc;
}

void
sim_babblers_learn(struct sim_world *w, const struct sim_lane *l)
{
	memcpy(w->babble->told->lane[(l - w->lane) % BABBLE_LANES], l->key, TCPX_LANE_KEY);
}

/* ---- doing ----------------------------------------------------------------------- */

tcpx_peer *
sim_some_babbler(struct sim_world *w)
{
	const struct babble *all = w->babble;
	const struct babbler *b = &all->babbler[sim_between(w, 0, all->babblers - 1)];
	tcpx_engine *host = w->engine[0].engine;
	char name[32];
	tcpx_peer *p;

	if (sim_one_in(w, 2)) {
		snprintf(name, sizeof(name), "babbler%d", b->number);
		return tcpx_peer_find(host, name, &p) == 0 ? p : NULL;
	}
	snprintf(name, sizeof(name), "%u.0.0.%d:%u", b->nic.addr.ip[0], 100 + b->number, b->bound.port);
	return tcpx_peer_connect(host, name, &p) == 0 ? p : NULL;
}

static int
some_deal(struct sim_world *w, tcpx_peer *p, struct deal *d)
{
	uint64_t len = sim_between(w, 0, sim_one_in(w, 2) ? 3000 : BABBLE_MEMORY / 2);
	struct tcpx_region_blob blob = { .id = tcpx_rng_next(&w->rng), .len = BABBLE_MEMORY,
					 .access = TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE };
	struct tcpx_desc near = { w->babble->shared_id, 0, len }, far = { 0, 0, len };
	tcpx_engine *host = w->engine[0].engine;
	uint64_t tag = sim_between(w, 0, 3);
	bool note = sim_one_in(w, 3);
	uint8_t room[256];
	struct tcpx_buf b;
	int rc;

	switch (sim_between(w, 0, 4)) {
	case 0:
		return tcpx_send(p, &near, 1, tag, &d->xfer);
	case 1:
		return tcpx_recv(p, &near, 1, tag, &d->xfer);
	case 2:
		memset(room, 0, sizeof(room));
		return tcpx_notify(p, room, sim_between(w, 0, sizeof(room))) ? -EIO : -EAGAIN;
	default:
		break;
	}
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_region_blob_write(&b, &blob);
	rc = tcpx_mem_import(host, room, b.pos, &far.region);
	if (rc)
		return rc;
	rc = (sim_one_in(w, 2) ? tcpx_write : tcpx_read)(p, &near, 1, &far, 1, "note", note * 4u,
							 &d->xfer);
	(void)tcpx_mem_deregister(host, far.region);
	return rc;
}

static void
deal_more(struct sim_world *w, struct deal *d)
{
	tcpx_peer *p = sim_some_babbler(w);

	if (!p)
		return;
	memset(d, 0, sizeof(*d));
	if (some_deal(w, p, d) != 0)
		d->xfer = NULL;
	d->until_ns = sim_one_in(w, 2) ? SIM_NEVER : sim_now(w) + sim_between(w, 0, 50 * TCPX_MS);
	tcpx_peer_free(p);
}

void
sim_host_do(struct sim_world *w)
{
	struct babble *all = w->babble;

	if (!all)
		return;
	if (w->fabric && !all->gone && sim_now(w) >= w->begun_ns + w->work_ns)
		sim_babblers_leave(w);
	for (uint32_t i = 0; w->fabric && i < all->babblers && !all->gone; i++)
		babbler_do(&all->babbler[i]);
	for (int i = 0; i < BABBLE_XFERS; i++) {
		struct deal *d = &all->deal[i];

		if (d->xfer && sim_now(w) >= d->until_ns)
			tcpx_cancel(d->xfer);
		if (!d->xfer && !all->gone && sim_one_in(w, 200))
			deal_more(w, d);
	}
}

void
sim_babblers_leave(struct sim_world *w)
{
	struct babble *all = w->babble;

	for (uint32_t i = 0; i < all->babblers; i++)
		babbler_end(&all->babbler[i]);
	all->gone = true;
	all->left_ns = sim_now(w);
}

static void
sooner(uint64_t *next, uint64_t ns)
{
	if (ns < *next)
		*next = ns;
}

uint64_t
sim_host_next_ns(const struct sim_world *w)
{
	const struct babble *all = w->babble;
	uint64_t next = SIM_NEVER;

	if (!all)
		return next;
	for (int i = 0; i < BABBLE_XFERS; i++)
		if (all->deal[i].xfer)
			sooner(&next, all->deal[i].until_ns);
	for (uint32_t i = 0; i < all->babblers && !all->gone; i++)
		if (all->babbler[i].next_ns > sim_now(w))
			sooner(&next, all->babbler[i].next_ns);
	if (!all->gone)
		sooner(&next, w->begun_ns + w->work_ns);
	return next;
}

bool
sim_host_takes_notes(const struct sim_world *w, uint32_t engine)
{
	return !w->babble || engine > 0 || w->babble->takes_notes;
}

void
sim_host_takes_all(struct sim_world *w)
{
	w->babble->takes_notes = true;
	sim_work_look(w);
}

/* ---- looking --------------------------------------------------------------------- */

uint32_t
sim_deals_look(struct sim_world *w, uint32_t engine)
{
	uint32_t found = 0;

	for (int i = 0; w->babble && engine == 0 && i < BABBLE_XFERS; i++) {
		struct deal *d = &w->babble->deal[i];

		if (!d->xfer || tcpx_test(d->xfer) == -EAGAIN)
			continue;
		tcpx_xfer_free(d->xfer);
		d->xfer = NULL;
		found++;
	}
	return found;
}

/* Sessions of the host with others than engines. */
static uint32_t
strangers(struct sim_world *w)
{
	struct session *s = NULL;
	uint32_t n = 0;

	while ((s = tcpx_session_after(w->engine[0].engine, s)))
		n += !sim_is_engine(w, s->peer->incarnation);
	return n;
}

static uint32_t
open_deals(const struct sim_world *w)
{
	uint32_t n = 0;

	for (int i = 0; i < BABBLE_XFERS; i++)
		n += w->babble->deal[i].xfer != NULL;
	return n;
}

bool
sim_host_ended(struct sim_world *w)
{
	return !w->babble || (w->babble->gone && !open_deals(w) && (!w->fabric || !strangers(w)));
}

void
sim_host_hang(struct sim_world *w)
{
	if (w->babble)
		sim_fail(w, "%u sessions and %u transfers of babblers, and %llu bytes are left behind",
			 strangers(w), open_deals(w),
			 (unsigned long long)tcpx_quota_used(&w->engine[0].engine->kept));
}

/* Engines speak the protocol, whatever babblers say. */
static void
check_honest(struct sim_world *w, tcpx_engine *e)
{
	struct session *s = NULL;

	while ((s = tcpx_session_after(e, s)))
		if (s->state == SESS_FAILED && code_accuses(s->cause) &&
		    sim_is_engine(w, s->peer->incarnation))
			sim_fail(w, "an honest peer is accused: %s", s->cause_text);
}

static void
check_quotas(struct sim_world *w, tcpx_engine *e)
{
	struct tcpx_node *all = &e->registry.peers;

	if (tcpx_quota_used(&e->kept) > e->kept.limit)
		sim_fail(w, "the host keeps %llu bytes for all",
			 (unsigned long long)tcpx_quota_used(&e->kept));
	pthread_mutex_lock(&e->registry.lock);
	for (struct tcpx_node *n = all->next; n != all; n = n->next) {
		const struct tcpx_peer *p = tcpx_container(n, struct tcpx_peer, in_engine);

		if (tcpx_quota_used(&p->kept) > p->kept.limit)
			sim_fail(w, "the host keeps %llu bytes for %s",
				 (unsigned long long)tcpx_quota_used(&p->kept), p->name);
	}
	pthread_mutex_unlock(&e->registry.lock);
}

void
sim_host_judges(struct sim_world *w)
{
	for (uint32_t i = 0; w->babble && i < w->engine_count; i++)
		if (!w->engine[i].closed)
			check_honest(w, w->engine[i].engine);
}

void
sim_host_look(struct sim_world *w)
{
	struct babble *all = w->babble;

	if (!all)
		return;
	check_quotas(w, w->engine[0].engine);
	if (w->fabric && all->gone && sim_now(w) > all->left_ns + AFTER_NS && !sim_host_ended(w))
		sim_host_hang(w);
}

bool
sim_host_is_empty(struct sim_world *w)
{
	tcpx_engine *e = w->engine[0].engine;
	uint64_t own = 0;
	struct session *s = NULL;

	while ((s = tcpx_session_after(e, s)))
		if (s->peer->incarnation != e->incarnation) {
			tcpx_session_put(s);
			return false;
		}
	tcpx_chain_each(n, after, &e->registry.peers) {
		const struct tcpx_peer *p = tcpx_container(n, struct tcpx_peer, in_engine);

		own += p->incarnation == e->incarnation ? tcpx_quota_used(&p->kept) : 0;
	}
	return tcpx_quota_used(&e->kept) == own;
}

void
sim_host_end(struct sim_world *w)
{
	struct babble *all = w->babble;

	if (!all)
		return;
	for (uint32_t i = 0; i < all->babblers; i++)
		babbler_end(&all->babbler[i]);
	free(all->shared);
	free(all);
}

void
sim_babble_print(const struct sim_totals *t)
{
	printf("# %" PRIu64 " sessions of babblers, %" PRIu64 " resumed, %" PRIu64 " refused or ended; %" PRIu64
	       " frames, %" PRIu64 " lies\n", t->babbled.sessions, t->babbled.resumes, t->babbled.refused,
	       t->babbled.frames, t->babbled.lies);
}
