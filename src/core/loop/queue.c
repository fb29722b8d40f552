/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of events that the application takes. One lock covers a batch; each entry is removed
 * by the one thread that copies it out.
 */
#include "core/loop/queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"
#include "core/loop/event.h"
#include "core/loop/futex.h"
#include "core/loop/lease.h"
#include "core/loop/loop.h"

struct queued_peer {
	struct queued q;
	struct peer_news *news; /* NULL: the peer's object has gone */
	uint64_t incarnation;
	char name[TCPX_NAME_MAX];
};

void
tcpx_queue_add(struct tcpx_engine *e, struct queued *q)
{
	tcpx_chain_add(&e->events.queue, &q->node);
	atomic_fetch_add(&e->events.entries, 1);
	tcpx_event_level(e);
}

void
tcpx_queue_wake(struct tcpx_engine *e)
{
	if (atomic_load(&e->events.sleepers) > 0)
		tcpx_futex_wake(&e->events.entries, 1 << 30);
	if (atomic_load(&e->events.waiting) > 0)
		tcpx_loop_wake(&e->loop[0]);
}

void
tcpx_queue_remove(struct tcpx_engine *e, struct queued *q)
{
	if (!tcpx_node_linked(&q->node))
		return;
	tcpx_chain_remove(&q->node);
	atomic_fetch_sub(&e->events.entries, 1);
	tcpx_event_level(e);
}

/* The peer's entry that waits, or a new one; NULL: no memory, or too many. events.lock held. */
static struct queued_peer *
entry_of(struct tcpx_engine *e, struct peer_news *news)
{
	struct queued_peer *p = news->waiting;

	if (p)
		return p;
	if (e->events.peer_entries < e->limit.notes)
		p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	e->events.peer_entries++;
	tcpx_node_init(&p->q.node);
	p->news = news;
	news->waiting = p;
	tcpx_queue_add(e, &p->q);
	return p;
}

void
tcpx_queue_peer(struct tcpx_engine *e, struct peer_news *news, const char *name,
		uint64_t incarnation, int status)
{
	struct queued_peer *p = NULL;
	bool same;

	if (!e->events.peers)
		return;
	pthread_mutex_lock(&e->events.lock);
	same = news->known && news->status == status;
	if (!same)
		p = entry_of(e, news);
	if (p) {
		news->known = true;
		news->status = p->q.status = status;
		p->incarnation = incarnation;
		snprintf(p->name, sizeof(p->name), "%s", name);
	}
	pthread_mutex_unlock(&e->events.lock);
	if (p)
		tcpx_queue_wake(e);
	else if (!same)
		tcpx_warn(TCPX_SUB_XFER, "an event of peer %s is lost: no memory, or %u wait", name,
			  e->limit.notes);
}

void
tcpx_queue_forget(struct tcpx_engine *e, struct peer_news *news)
{
	if (!e->events.peers)
		return;
	pthread_mutex_lock(&e->events.lock);
	if (news->waiting)
		news->waiting->news = NULL;
	pthread_mutex_unlock(&e->events.lock);
}

void
tcpx_queue_close(struct tcpx_engine *e)
{
	tcpx_chain_each(n, after, &e->events.queue) {
		struct queued *q = tcpx_container(n, struct queued, node);

		tcpx_chain_remove(n);
		if (!q->xfer)
			free(tcpx_container(q, struct queued_peer, q));
	}
}

/* Copies a removed entry out; the peer's is freed. events.lock held. */
static void
give(struct tcpx_engine *e, struct queued *q, void *out, size_t stride)
{
	struct tcpx_event ev = { .kind = TCPX_EVENT_XFER, .status = q->status, .user = q->user,
				 .xfer = q->xfer, .bytes = q->bytes };
	size_t known = stride < sizeof(ev) ? stride : sizeof(ev);
	struct queued_peer *p;

	if (!q->xfer) {
		p = tcpx_container(q, struct queued_peer, q);
		ev.kind = q->status ? TCPX_EVENT_PEER_DOWN : TCPX_EVENT_PEER_UP;
		ev.incarnation = p->incarnation;
		memcpy(ev.peer, p->name, sizeof(ev.peer));
		if (p->news)
			p->news->waiting = NULL;
		e->events.peer_entries--;
		free(p);
	}
	memcpy(out, &ev, known);
	memset((char *)out + known, 0, stride - known);
}

static size_t
take(struct tcpx_engine *e, struct tcpx_event *out, size_t stride, size_t room)
{
	struct tcpx_node *n;
	size_t taken = 0;

	pthread_mutex_lock(&e->events.lock);
	while (taken < room && (n = tcpx_chain_first(&e->events.queue))) {
		tcpx_chain_remove(n);
		give(e, tcpx_container(n, struct queued, node), (char *)out + taken * stride, stride);
		taken++;
	}
	atomic_fetch_sub(&e->events.entries, (uint32_t)taken);
	tcpx_event_level(e);
	pthread_mutex_unlock(&e->events.lock);
	if (taken)
		atomic_store_explicit(&e->events.looks, 0, memory_order_relaxed);
	return taken;
}

static int
check(size_t stride, const size_t *count)
{
	if (stride < offsetof(struct tcpx_event, incarnation) || stride % sizeof(void *) ||
	    *count == 0)
		return tcpx_fail(TCPX_SUB_XFER, -EINVAL,
				 "room for %zu events of %zu bytes: 1 or more of %zu wanted", *count,
				 stride, sizeof(struct tcpx_event));
	return 0;
}

/* An application that looks many times in vain does the I/O itself. */
static bool
still_empty(struct tcpx_engine *e)
{
	if (atomic_load_explicit(&e->events.entries, memory_order_acquire) > 0)
		return false;
	if (atomic_fetch_add_explicit(&e->events.looks, 1, memory_order_relaxed) <
	    TESTS_BEFORE_HELP)
		return true;
	tcpx_lease_help(&e->loop[0]);
	return atomic_load_explicit(&e->events.entries, memory_order_acquire) == 0;
}

int
tcpx_event_get(tcpx_engine *e, struct tcpx_event *out, size_t stride, size_t *count)
{
	int rc = check(stride, count);
	size_t taken;

	if (rc)
		return rc;
	taken = still_empty(e) ? 0 : take(e, out, stride, *count);
	*count = taken;
	return taken ? 0 : -EAGAIN;
}

struct taking {
	struct tcpx_engine *engine;
	struct tcpx_event *out;
	size_t stride, room, taken;
};

static bool
taken(void *arg)
{
	struct taking *t = arg;

	if (!t->taken && atomic_load(&t->engine->events.entries) > 0)
		t->taken = take(t->engine, t->out, t->stride, t->room);
	return t->taken > 0;
}

int
tcpx_event_wait(tcpx_engine *e, int timeout_ms, struct tcpx_event *out, size_t stride,
		size_t *count)
{
	struct taking t = { .engine = e, .out = out, .stride = stride, .room = *count };
	int rc = check(stride, count);

	if (rc)
		return rc;
	atomic_fetch_add(&e->events.waiting, 1);
	rc = tcpx_lease_wait(&e->loop[0], taken, &t, &e->events.entries, &e->events.sleepers,
			     timeout_ms);
	atomic_fetch_sub(&e->events.waiting, 1);
	*count = t.taken;
	return rc;
}
