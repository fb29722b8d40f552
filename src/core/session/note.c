/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notes that have arrived and wait to be taken. Their number is limited: beyond it new ones
 * are dropped and counted, because an application that never takes them must not
 * exhaust memory.
 */
#include "core/session/note.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"
#include "core/loop/event.h"
#include "core/loop/futex.h"
#include "core/loop/lease.h"
#include "core/loop/loop.h"
#include "core/session/peer.h"

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

static struct tcpx_note *
make(const struct tcpx_peer *from, const void *data, size_t len)
{
	struct tcpx_note *n = malloc(sizeof(*n) + len);

	if (!n)
		return NULL;
	memset(n->sender, 0, sizeof(n->sender));
	if (from)
		memcpy(n->sender, from->name, strnlen(from->name, sizeof(n->sender) - 1));
	n->peer = from ? from->number : 0;
	n->len = len;
	if (len)
		memcpy(n->data, data, len);
	return n;
}

int
tcpx_note_keep(struct tcpx_node *chain, const void *data, size_t len)
{
	struct tcpx_note *n = make(NULL, data, len);

	if (!n)
		return tcpx_fail(TCPX_SUB_XFER, -ENOMEM, "no memory for a note");
	tcpx_chain_add(chain, &n->node);
	return 0;
}

int
tcpx_note_push(const struct tcpx_peer *from, const void *data, size_t len)
{
	struct tcpx_engine *e = from->engine;
	struct notes *q = e->notes;
	bool full = atomic_load(&e->events.notes) >= e->limit.notes;
	struct tcpx_note *n = NULL;

	if (!full)
		n = make(from, data, len);
	if (!n) {
		if (atomic_fetch_add(&e->count.notes_dropped, 1) == 0)
			tcpx_warn(TCPX_SUB_XFER,
				  "%u notes wait untaken, the limit; newer ones are dropped (once)",
				  e->limit.notes);
		return full ? TCPX_ELIMIT : -ENOMEM;
	}
	pthread_mutex_lock(&q->lock);
	tcpx_chain_add(&q->queue, &n->node);
	atomic_fetch_add(&e->events.notes, 1);
	pthread_mutex_unlock(&q->lock);
	count_add(&e->count.notes_rx, 1);
	tcpx_event_changed(e);
	wake_waiters(e);
	return 0;
}

static int
take(struct tcpx_engine *e, struct tcpx_note **note)
{
	struct notes *q = e->notes;
	struct tcpx_node *n;

	pthread_mutex_lock(&q->lock);
	n = tcpx_chain_first(&q->queue);
	if (n) {
		tcpx_chain_remove(n);
		atomic_fetch_sub(&e->events.notes, 1);
	}
	pthread_mutex_unlock(&q->lock);
	if (!n)
		return -EAGAIN;
	atomic_store_explicit(&q->looks, 0, memory_order_relaxed);
	tcpx_event_changed(e);
	*note = tcpx_container(n, struct tcpx_note, node);
	return 0;
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
	if (still_empty(e))
		return -EAGAIN;
	return take(e, note);
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
	free(note);
}
