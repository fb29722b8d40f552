/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes that have arrived and wait to be taken. Each peer has a queue, limited in number and bytes:
 * beyond it its new ones find no room, because an application that never takes them must not exhaust
 * memory, and a peer that sends many must not cost others theirs.
 */
#include "core/session/note.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mutex.h"
#include "base/slab.h"
#include "core/context/context.h"
#include "core/loop/event.h"
#include "core/loop/futex.h"
#include "core/loop/lease.h"
#include "core/loop/loop.h"
#include "core/session/note_flow.h"
#include "core/session/peer.h"
#include "core/session/session.h"

#define LEFT_LOOKS 64

static void
wake_waiters(struct tcpx_engine *e)
{
	uint32_t i;

	if (atomic_load(&e->notes->sleepers) > 0)
		tcpx_futex_wake(&e->events.notes, 1 << 30);
	for (i = 0; i < e->loop_count; i++)
		if (atomic_load(&e->loop[i].lease.borrowers) > 0)
			tcpx_loop_wake(&e->loop[i]);
}

static void
fill(struct tcpx_note *n, const struct tcpx_peer *from, const void *data, size_t len)
{
	memset(n->sender, 0, sizeof(n->sender));
	if (from)
		memcpy(n->sender, from->name, strnlen(from->name, sizeof(n->sender) - 1));
	n->peer = from ? from->number : 0;
	n->len = len;
	if (len)
		memcpy(n->data, data, len);
}

int
tcpx_note_keep(struct tcpx_node *chain, const void *data, size_t len)
{
	struct tcpx_note *n = malloc(sizeof(*n) + len);

	if (!n)
		return tcpx_fail(TCPX_SUB_XFER, -ENOMEM, "no memory for a note");
	fill(n, NULL, data, len);
	tcpx_chain_add(chain, &n->node);
	return 0;
}

static uint64_t
bytes_of(const struct tcpx_note *n)
{
	return sizeof(*n) + n->len;
}

/* Its first note. */
static void
begin_turn(struct notes *all, struct tcpx_peer *from)
{
	struct note_queue *q = &from->notes;

	if (tcpx_node_linked(&q->turn)) /* among the spent, with a reference */
		tcpx_chain_remove(&q->turn);
	else
		tcpx_peer_get(from);
	tcpx_chain_add(&all->turn, &q->turn);
	if (q->absent)
		tcpx_chain_add(&all->left, &q->left);
}

/* 0; TCPX_ELIMIT: it has too many; -ENOMEM. */
static int
enqueue(struct tcpx_peer *from, const void *data, size_t len)
{
	struct notes *all = from->engine->notes;
	struct note_queue *q = &from->notes;
	struct tcpx_note *n = NULL;
	bool room;

	pthread_mutex_lock(&all->lock);
	room = q->count < from->engine->limit.notes;
	if (room)
		n = tcpx_slab_take(&q->slab, sizeof(*n) + len);
	if (n) {
		fill(n, from, data, len);
		tcpx_chain_add(&q->notes, &n->node);
		if (q->count++ == 0)
			begin_turn(all, from);
		atomic_fetch_add(&from->engine->events.notes, 1);
	}
	pthread_mutex_unlock(&all->lock);
	return n ? 0 : room ? -ENOMEM : TCPX_ELIMIT;
}

int
tcpx_note_push(struct tcpx_peer *from, const void *data, size_t len)
{
	struct tcpx_engine *e = from->engine;
	uint64_t bytes = sizeof(struct tcpx_note) + len;
	int rc;

	if (!tcpx_kept_charge(from, KEPT_NOTES, bytes))
		return TCPX_ELIMIT;
	rc = enqueue(from, data, len);
	if (rc) {
		tcpx_kept_give(from, KEPT_NOTES, bytes);
		return rc;
	}
	count_add(&e->count.notes_rx, 1);
	tcpx_event_changed(e);
	wake_waiters(e);
	return 0;
}

void
tcpx_note_why(const struct tcpx_peer *from, size_t len, int code, char *text, size_t cap)
{
	const struct tcpx_engine *e = from->engine;
	uint32_t wait;

	pthread_mutex_lock(&e->notes->lock);
	wait = from->notes.count;
	pthread_mutex_unlock(&e->notes->lock);
	if (code != TCPX_ELIMIT)
		snprintf(text, cap, "the target has no memory for its note");
	else if (wait >= e->limit.notes)
		snprintf(text, cap, "the target has no room for its note: %u of this peer wait untaken, of at "
			 "most %u (TCPX_NOTE_LIMIT there)", wait, e->limit.notes);
	else
		tcpx_kept_why(from, sizeof(struct tcpx_note) + len, "target's", text, cap);
}

/* The oldest note of a peer that has some. notes.lock */
static struct tcpx_note *
pop(struct tcpx_peer *p)
{
	struct note_queue *q = &p->notes;
	struct tcpx_note *n = tcpx_container(tcpx_chain_first(&q->notes), struct tcpx_note, node);

	tcpx_chain_remove(&n->node);
	tcpx_kept_give(p, KEPT_NOTES, bytes_of(n));
	atomic_fetch_sub(&p->engine->events.notes, 1);
	if (--q->count == 0) {
		tcpx_chain_remove(&q->turn);
		tcpx_chain_remove(&q->left);
	}
	return n;
}

/* The first note of the first peer, who then is the last. *rest: who has no more, with the
 * reference of its queue; else NULL. notes.lock */
static struct tcpx_note *
dequeue(struct notes *all, struct tcpx_peer **rest)
{
	struct tcpx_node *turn = tcpx_chain_first(&all->turn);
	struct tcpx_peer *p;
	struct tcpx_note *n;

	*rest = NULL;
	if (!turn)
		return NULL;
	p = tcpx_container(turn, struct tcpx_peer, notes.turn);
	n = pop(p);
	if (p->notes.count) {
		tcpx_chain_remove(turn);
		tcpx_chain_add(&all->turn, turn);
	} else {
		*rest = p;
	}
	return n;
}

static int
take(struct tcpx_engine *e, struct tcpx_note **note)
{
	struct notes *all = e->notes;
	struct tcpx_peer *rest;
	struct tcpx_note *n;

	pthread_mutex_lock(&all->lock);
	n = dequeue(all, &rest);
	pthread_mutex_unlock(&all->lock);
	if (!n)
		return -EAGAIN;
	if (atomic_load(&all->held))
		tcpx_loop_post(&e->loop[0], &all->retry);
	if (rest)
		tcpx_peer_put(rest);
	atomic_store_explicit(&all->looks, 0, memory_order_relaxed);
	tcpx_event_changed(e);
	*note = n;
	return 0;
}

void
tcpx_notes_absent(struct tcpx_peer *p, bool absent)
{
	struct notes *all = p->engine->notes;

	pthread_mutex_lock(&all->lock);
	p->notes.absent = absent;
	tcpx_chain_remove(&p->notes.left);
	if (absent && p->notes.count)
		tcpx_chain_add(&all->left, &p->notes.left);
	pthread_mutex_unlock(&all->lock);
}

/* The peer that left first, of the first few if it has to be of @host (NULL: any). NULL: none. notes.lock */
static struct tcpx_peer *
first_left(struct notes *all, const struct kept_host *host)
{
	unsigned looks = 0;

	tcpx_chain_each(at, after, &all->left) {
		struct tcpx_peer *p = tcpx_container(at, struct tcpx_peer, notes.left);

		if (!host || p->host == host)
			return p;
		if (++looks == LEFT_LOOKS)
			break;
	}
	return NULL;
}

/* The oldest note of who left first; NULL: nobody has. Its peer's reference stays, for locks may be
 * held under which it cannot be given back. notes.lock */
static struct tcpx_note *
give_up(struct notes *all, const struct kept_host *host)
{
	struct tcpx_peer *p = first_left(all, host);
	struct tcpx_note *n = p ? pop(p) : NULL;

	if (!p)
		return NULL;
	if (p->notes.count == 0)
		tcpx_chain_add(&all->spent, &p->notes.turn);
	return n;
}

bool
tcpx_notes_yield(struct tcpx_engine *e, const struct kept_host *host, uint64_t bytes)
{
	struct notes *all = e->notes;
	char sender[TCPX_NAME_MAX];
	uint64_t freed = 0, count = 0;
	struct tcpx_note *n;
	bool tell;

	pthread_mutex_lock(&all->lock);
	while (freed < bytes && (n = give_up(all, host))) {
		memcpy(sender, n->sender, sizeof(sender));
		freed += bytes_of(n);
		count++;
		tcpx_slab_free(n);
	}
	tell = count && !all->told;
	all->told |= tell;
	pthread_mutex_unlock(&all->lock);
	if (!count)
		return false;
	count_add(&e->count.notes_dropped, count);
	if (tell)
		tcpx_warn(TCPX_SUB_XFER, "peers keep %llu KiB here, of at most %llu (TCPX_PEERS_MEMORY): "
			  "untaken notes of those that have gone are dropped, as of %s (once)",
			  (unsigned long long)tcpx_quota_used(&e->kept) / 1024,
			  (unsigned long long)e->kept.limit / 1024, sender);
	tcpx_event_changed(e);
	tcpx_loop_post(&e->loop[0], &all->retry);
	return true;
}

void
tcpx_notes_spent(struct notes *all)
{
	struct tcpx_node *turn;

	do {
		pthread_mutex_lock(&all->lock);
		turn = tcpx_chain_first(&all->spent);
		if (turn)
			tcpx_chain_remove(turn);
		pthread_mutex_unlock(&all->lock);
		if (turn)
			tcpx_peer_put(tcpx_container(turn, struct tcpx_peer, notes.turn));
	} while (turn);
}

void
tcpx_notes_open(struct tcpx_engine *e)
{
	tcpx_mutex_init(&e->notes->lock);
	tcpx_node_init(&e->notes->turn);
	tcpx_node_init(&e->notes->left);
	tcpx_node_init(&e->notes->spent);
	e->notes->engine = e;
	e->notes->retry.run = tcpx_notes_retry;
}

void
tcpx_notes_close(struct notes *all)
{
	struct tcpx_peer *rest;
	struct tcpx_note *n;

	while ((n = dequeue(all, &rest)))
		tcpx_slab_free(n);
}

/* An application that polls many times in vain does the I/O itself. */
static bool
still_empty(struct tcpx_engine *e)
{
	struct notes *q = e->notes;

	if (atomic_load_explicit(&e->events.notes, memory_order_acquire) > 0)
		return false;
	if (atomic_fetch_add_explicit(&q->looks, 1, memory_order_relaxed) < TESTS_BEFORE_HELP)
		return true;
	tcpx_lease_help(&e->loop[0]);
	return atomic_load_explicit(&e->events.notes, memory_order_acquire) == 0;
}

int
tcpx_note_get(tcpx_engine *e, tcpx_note **note)
{
	int rc = engine_check(e);

	if (rc)
		return rc;
	return still_empty(e) ? -EAGAIN : take(e, note);
}

struct taking {
	struct tcpx_engine *engine;
	struct tcpx_note *note;
};

static bool
taken(void *arg)
{
	struct taking *t = arg;

	return t->note || (atomic_load(&t->engine->events.notes) > 0 &&
			   take(t->engine, &t->note) == 0);
}

int
tcpx_note_wait(tcpx_engine *e, int timeout_ms, tcpx_note **note)
{
	struct taking t = { .engine = e };
	int rc;

	rc = tcpx_lease_wait(&e->loop[0], taken, &t, &e->events.notes, &e->notes->sleepers,
			     timeout_ms);
	if (rc == 0)
		*note = t.note;
	return rc;
}

const void *
tcpx_note_data(const tcpx_note *note, size_t *len)
{
	if (len)
		*len = note->len;
	return note->data;
}

const char *
tcpx_note_sender(const tcpx_note *note)
{
	return note->sender;
}

int
tcpx_note_peer(tcpx_engine *e, const tcpx_note *note, tcpx_peer **peer)
{
	struct tcpx_peer *p = tcpx_peer_numbered(e, note->peer);

	if (!p)
		return tcpx_fail_known(-ENOENT, "the sender of the note, %s, has gone",
				       note->sender);
	*peer = p;
	return 0;
}

void
tcpx_note_free(tcpx_note *note)
{
	tcpx_slab_free(note);
}

void
tcpx_notes_drop(struct session *s)
{
	tcpx_chain_each(n, after, &s->notes.waiting)
		free(tcpx_container(n, struct tcpx_note, node));
	tcpx_chain_each(m, after2, &s->notes.held)
		free(tcpx_container(m, struct tcpx_note, node));
	if (s->notes.held_count == 0)
		return;
	atomic_fetch_sub(&s->engine->notes->held, s->notes.held_count);
	count_add(&s->engine->count.notes_dropped, s->notes.held_count);
}
