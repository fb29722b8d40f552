/* SPDX-License-Identifier: Apache-2.0 */
#include "core/session/note_flow.h"

#include <errno.h>
#include <stdlib.h>

#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/session/control.h"
#include "core/session/note.h"
#include "core/session/peer.h"

#define HELD_NS (100 * TCPX_MS) /* between looks for room */

static int
put(struct session *s, const void *data, size_t len)
{
	struct tcpx_buf b;
	int rc;

	tcpx_buf_init_const(&b, data, len);
	b.pos = len;
	rc = tcpx_control_put_bulk(s, TCPX_FR_NOTE, &b, NULL);
	s->notes.out += rc == 0;
	return rc;
}

bool
tcpx_notes_may_go(const struct session *s)
{
	return s->state == SESS_OPEN && s->notes.out < NOTES_AHEAD &&
	       tcpx_chain_empty(&s->notes.waiting);
}

int
tcpx_notes_send(struct session *s, const void *data, size_t len)
{
	int rc;

	if (tcpx_notes_may_go(s))
		return put(s, data, len);
	if (s->notes.waiting_bytes + len > NOTES_WAIT)
		return tcpx_fail(TCPX_SUB_XFER, TCPX_ELIMIT, "%u KiB of notes wait until %s takes some",
				 NOTES_WAIT >> 10, s->peer->name);
	rc = tcpx_note_keep(&s->notes.waiting, data, len);
	if (rc == 0)
		s->notes.waiting_bytes += sizeof(struct tcpx_note) + len;
	return rc;
}

void
tcpx_notes_flush(struct session *s)
{
	tcpx_chain_each(n, after, &s->notes.waiting) {
		struct tcpx_note *note = tcpx_container(n, struct tcpx_note, node);

		if (s->notes.out >= NOTES_AHEAD || put(s, note->data, note->len) != 0)
			return;
		tcpx_chain_remove(n);
		s->notes.waiting_bytes -= sizeof(*note) + note->len;
		free(note);
	}
}

void
tcpx_notes_move(struct session *s, struct session *to)
{
	tcpx_chain_each(n, after, &s->notes.waiting) {
		tcpx_chain_remove(n);
		tcpx_chain_add(&to->notes.waiting, n);
	}
	to->notes.waiting_bytes += s->notes.waiting_bytes;
	s->notes.waiting_bytes = 0;
	tcpx_notes_flush(to);
}

static void
took(struct session *s)
{
	if (++s->notes.taken < NOTES_AHEAD / 4)
		return;
	tcpx_control_say_u64(s, TCPX_FR_NOTED, s->notes.taken);
	s->notes.taken = 0;
}

int
tcpx_notes_arrived(struct session *s, const void *data, size_t len)
{
	bool none = s->engine->limit.notes == 0; /* then they are dropped, as nobody will take them */
	int rc;

	if (none)
		count_add(&s->engine->count.notes_dropped, 1);
	if (none || (s->notes.held_count == 0 && tcpx_note_push(s->peer, data, len) == 0)) {
		took(s);
		return 0;
	}
	if (s->notes.held_count == NOTES_AHEAD)
		return TCPX_EPROTO;
	rc = tcpx_note_keep(&s->notes.held, data, len);
	if (rc == 0) {
		atomic_fetch_add(&s->engine->notes->held, 1);
		if (s->notes.held_count++ == 0) /* some may have been taken meanwhile */
			tcpx_loop_post(&s->engine->loop[0], &s->engine->notes->retry);
	}
	return rc;
}

int
tcpx_notes_told(struct session *s, uint64_t count)
{
	if (count > s->notes.out)
		return TCPX_EPROTO;
	s->notes.out -= (uint32_t)count;
	tcpx_notes_flush(s);
	return 0;
}

static void
retry(struct session *s)
{
	tcpx_chain_each(n, after, &s->notes.held) {
		struct tcpx_note *note = tcpx_container(n, struct tcpx_note, node);

		if (tcpx_note_push(s->peer, note->data, note->len) != 0)
			break;
		tcpx_chain_remove(n);
		free(note);
		s->notes.held_count--;
		atomic_fetch_sub(&s->engine->notes->held, 1);
		took(s);
	}
	tcpx_control_flush(s);
}

void
tcpx_notes_look(struct session *s, uint64_t now_ns)
{
	if (s->notes.held_count)
		retry(s);
	if (s->notes.held_count) /* room may come of what is no note */
		tcpx_session_add_timer(s, now_ns + HELD_NS);
}

void
tcpx_notes_retry(struct work *w, uint64_t now_ns)
{
	struct notes *all = tcpx_container(w, struct notes, retry);

	tcpx_notes_spent(all);
	tcpx_chain_each(n, after, &all->engine->registry.served) {
		struct session *s = tcpx_container(n, struct session, in_loop);

		pthread_mutex_lock(&s->lock);
		if (s->state == SESS_OPEN)
			tcpx_notes_look(s, now_ns);
		pthread_mutex_unlock(&s->lock);
	}
}
