/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control stream's connection: bytes between proto/ctrl and the provider. Any thread
 * may put and flush under session.lock; only the loop reads.
 */
#include "core/session/control.h"

#include <errno.h>
#include <stdio.h>

#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/session/peer.h"
#include "core/session/session.h"

#define ROOM_NS (50 * TCPX_MS) /* between looks for memory, which others may have */
#define FEW_PAUSE_MAX_NS (200 * TCPX_MS) /* of a few attempts: the fourth pause is 160 ms */

static const void *
bytes_of(const struct tcpx_buf *b)
{
	return b ? b->data : NULL;
}

static int
checked(struct session *s, uint8_t type, const struct tcpx_buf *b, int rc)
{
	if (b && b->bad)
		rc = TCPX_ELIMIT;
	if (rc)
		return tcpx_fail(TCPX_SUB_BOOT, rc, "control frame %s to %s", tcpx_frame_name(type),
				 s->peer ? s->peer->name : "?");
	count_add(&s->engine->count.ctrl_frames_tx, 1);
	return 0;
}

int
tcpx_control_put(struct session *s, uint8_t type, const struct tcpx_buf *b)
{
	return checked(s, type, b, tcpx_ctrl_put(s->control.ctrl, type, bytes_of(b), b ? b->pos : 0));
}

void
tcpx_control_commit(struct session *s, uint8_t type, size_t len)
{
	tcpx_ctrl_commit(s->control.ctrl, type, len);
	count_add(&s->engine->count.ctrl_frames_tx, 1);
}

int
tcpx_control_put_bulk(struct session *s, uint8_t type, const struct tcpx_buf *b, uint64_t *ticket)
{
	return checked(s, type, b, tcpx_ctrl_put_bulk(s->control.ctrl, type, bytes_of(b),
						      b ? b->pos : 0, ticket));
}

int
tcpx_control_put_raw(struct session *s, uint8_t type, const struct tcpx_buf *b)
{
	return checked(s, type, b, tcpx_ctrl_put_raw(s->control.ctrl, type, bytes_of(b),
						     b ? b->pos : 0));
}

void
tcpx_control_say(struct session *s, uint8_t type, const struct tcpx_buf *b)
{
	/* a cancel must not overtake its OPEN, which may still wait among the bulk */
	int rc = type == TCPX_FR_CANCEL ? tcpx_control_put_bulk(s, type, b, NULL) :
					  tcpx_control_put(s, type, b);
	char why[TCPX_TEXT_MAX] = "no memory for a control frame";

	if (rc == TCPX_ELIMIT && tcpx_ctrl_is_unread(s->control.ctrl))
		snprintf(why, sizeof(why), "peer does not read its control stream");
	else if (rc == TCPX_ELIMIT)
		tcpx_kept_why(s->peer, TCPX_FRAME_MAX, "this engine's", why, sizeof(why));
	if (rc)
		tcpx_session_fail(s, rc, "%s", why);
}

void
tcpx_control_say_u64(struct session *s, uint8_t type, uint64_t v)
{
	uint8_t room[8];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_buf_put_u64(&b, v);
	tcpx_control_say(s, type, &b);
}

void
tcpx_control_watch(struct session *s, unsigned interest)
{
	if (s->control.pays)
		interest &= ~(unsigned)TCPX_READABLE;
	if (s->control.interest == interest)
		return;
	if (s->engine->ops->stream_watch(s->control.line.stream, s->loop->poller, &s->source,
					 interest) == 0)
		s->control.interest = interest;
}

void
tcpx_control_wants_room(struct session *s, uint64_t now_ns)
{
	s->control.short_of_room = true;
	tcpx_session_add_timer(s, now_ns + ROOM_NS);
}

bool
tcpx_control_owes(const struct session *s)
{
	const struct line *line = &s->control.line;

	return tcpx_ctrl_waits(s->control.ctrl) || tcpx_line_owes(line) || line->due ||
	       s->control.interest != TCPX_READABLE;
}

/* Those who waited for bulk frames to be written, if that has happened since @opened was right. */
static void
tell_waiting(struct session *s, uint64_t opened)
{
	if (tcpx_ctrl_bulk_written(s->control.ctrl) == opened)
		return;
	if (s->control.short_of_room) /* theirs may have become free */
		tcpx_session_add_timer(s, engine_now(s->engine));
	/* an OPEN may wait longer, for a peer that acknowledges nothing: its channels sleep on */
	if (s->control.chunks_wait) {
		s->control.chunks_wait = false;
		s->engine->up.session->writable(s);
	}
}

/* A send fails before the last words of a peer that closes are read, its BYE among them. The loop
 * reads them, then cuts. */
static void
send_failed(struct session *s, int rc)
{
	if (s->state == SESS_FAILED) {
		tcpx_control_cut(s, engine_now(s->engine), "send failed");
		return;
	}
	s->control.lost = rc;
	tcpx_loop_post(s->loop, &s->control.read_work);
}

void
tcpx_control_flush(struct session *s)
{
	uint64_t opened;
	int rc;

	if (!s->control.line.stream || !s->control.up || s->control.lost)
		return;
	opened = tcpx_ctrl_bulk_written(s->control.ctrl);
	rc = tcpx_line_flush(&s->control.line, s->engine->ops, s->control.ctrl);
	if (rc == -EAGAIN) {
		tcpx_control_watch(s, TCPX_READABLE | TCPX_WRITABLE);
		tell_waiting(s, opened); /* of what has gone before */
		return;
	}
	if (rc < 0) {
		send_failed(s, rc);
		return;
	}
	atomic_store_explicit(&s->control.flush_owed, false, memory_order_relaxed);
	tcpx_control_watch(s, TCPX_READABLE);
	if (s->control.lanes_wait && tcpx_ctrl_room_now(s->control.ctrl, 0))
		tcpx_control_flush_by_loop(s);
	if (tcpx_ctrl_bulk_due(s->control.ctrl))
		tcpx_control_wants_room(s, engine_now(s->engine));
	tell_waiting(s, opened);
}

void
tcpx_control_flush_later(struct session *s)
{
	atomic_store_explicit(&s->control.flush_owed, true, memory_order_relaxed);
	if (!tcpx_node_linked(&s->control.to_flush))
		tcpx_chain_add(&s->engine->registry.to_flush, &s->control.to_flush);
}

void
tcpx_control_flush_by_loop(struct session *s)
{
	tcpx_loop_post(s->loop, &s->control.flush_work);
}

void
tcpx_control_flush_by_test(struct session *s)
{
	atomic_store_explicit(&s->control.flush_owed, true, memory_order_relaxed);
	tcpx_control_flush_by_loop(s);
}

void
tcpx_control_flush_owed(struct session *s)
{
	if (!atomic_load_explicit(&s->control.flush_owed, memory_order_relaxed) ||
	    !engine_is_here(s->engine))
		return;
	pthread_mutex_lock(&s->lock);
	atomic_store_explicit(&s->control.flush_owed, false, memory_order_relaxed);
	if (s->state != SESS_FAILED)
		tcpx_control_flush(s);
	pthread_mutex_unlock(&s->lock);
}

void
tcpx_control_flush_work(struct work *w, uint64_t now_ns)
{
	struct session *s = tcpx_container(w, struct session, control.flush_work);

	(void)now_ns;
	pthread_mutex_lock(&s->lock);
	tcpx_control_serve_lanes(s);
	if (s->state != SESS_FAILED)
		tcpx_control_flush(s);
	pthread_mutex_unlock(&s->lock);
}

void
tcpx_control_serve_lanes(struct session *s)
{
	if (!s->control.lanes_wait || s->state != SESS_OPEN || !tcpx_ctrl_room_now(s->control.ctrl, 0))
		return;
	s->control.lanes_wait = false;
	s->engine->up.session->lanes(s);
}

struct tcpx_addr
tcpx_control_dialled(const struct session *s)
{
	struct tcpx_peer *p = s->peer;
	struct tcpx_addr at = { 0 };

	pthread_mutex_lock(&p->lock);
	if (p->addr_count)
		at = p->addr[(s->control.target_addr - 1) % p->addr_count];
	pthread_mutex_unlock(&p->lock);
	return at;
}

struct tcpx_identity
tcpx_control_identity(const struct session *s)
{
	const struct tcpx_peer *p = s->peer;

	return (struct tcpx_identity){ .name = s->engine->name,
				       .incarnation = s->engine->incarnation,
				       .secret = s->engine->secret != NULL,
				       .peer = p->incarnation,
				       .peer_name = p->named ? p->name : "" };
}

void
tcpx_control_stranger(struct session *s, int code, const char *why)
{
	struct tcpx_addr at = tcpx_control_dialled(s);
	char text[64];

	tcpx_addr_format(&at, text, sizeof(text));
	tcpx_session_fail(s, code, "something listens at %s that is no tcpx engine%s", text, why);
}

static uint64_t
next_pause(const struct handshake *hs)
{
	if (hs->wait_ns)
		return hs->wait_ns > CONTROL_RETRY_NS ? hs->wait_ns : CONTROL_RETRY_NS;
	return hs->retry_pause_ns ? 2 * hs->retry_pause_ns : CONTROL_RETRY_NS;
}

bool
tcpx_control_resumes(const struct session *s)
{
	return s->state == SESS_OPEN || (s->opener && s->state == SESS_READY);
}

bool
tcpx_control_may_begin_again(const struct session *s, uint64_t now_ns)
{
	if (!s->opener || s->state == SESS_CONNECTING || s->state >= SESS_READY)
		return false;
	/* closed amid the proof: perhaps for another secret, whose alert a reset has swallowed */
	if (s->state == SESS_PROOF && s->control.line.heard && next_pause(s->hs) > FEW_PAUSE_MAX_NS)
		return false;
	return now_ns + next_pause(s->hs) < s->hs->connect_until_ns;
}

bool
tcpx_control_may_wire_again(const struct session *s, uint64_t now_ns)
{
	return s->opener && (s->state == SESS_WIRING || s->state == SESS_READY) &&
	       next_pause(s->hs) <= FEW_PAUSE_MAX_NS &&
	       now_ns + next_pause(s->hs) < s->hs->connect_until_ns;
}

/* What the attempt has made by now is taken apart before the next one. */
static void
begin_again(struct session *s, uint64_t now_ns, const char *why)
{
	struct handshake *hs = s->hs;

	s->state = SESS_CONNECTING;
	snprintf(s->cause_text, sizeof(s->cause_text), "%s", why);
	s->control.retry_ns = now_ns + next_pause(hs);
	if (!hs->wait_ns)
		hs->retry_pause_ns = next_pause(hs);
	hs->wait_ns = 0;
	hs->deadline_ns = hs->connect_until_ns;
	s->control.cut_ns = 0;
	s->control.asking = false;
	tcpx_session_add_timer(s, s->control.retry_ns);
	s->engine->up.session->unwire(s);
}

static void
cut_resumable(struct session *s, uint64_t now_ns)
{
	s->control.retry_ns = now_ns + (s->control.cut_ns ? CONTROL_RETRY_NS : 0);
	if (s->control.cut_ns == 0)
		s->control.cut_ns = now_ns;
}

void
tcpx_control_cut(struct session *s, uint64_t now_ns, const char *why)
{
	bool again = tcpx_control_may_begin_again(s, now_ns);

	if (!s->control.line.stream)
		return;
	tcpx_line_close(&s->control.line, s->engine->ops);
	s->control.up = false;
	s->control.lost = 0;
	s->control.interest = 0;
	s->control.resuming = s->control.proving = false;
	s->control.more = s->xfers.half_read;
	tcpx_ctrl_cut(s->control.ctrl);
	tcpx_debug(TCPX_SUB_BOOT, "control stream with %s cut: %s", s->peer ? s->peer->name : "?",
		   why);
	switch (s->state) {
	case SESS_FAILED:
		return;
	case SESS_OPEN:
		cut_resumable(s, now_ns);
		tcpx_session_check_alive(s, now_ns);
		break;
	case SESS_CONNECTING:
		s->control.retry_ns = now_ns + CONTROL_RETRY_NS;
		break;
	default:
		if (tcpx_control_resumes(s)) {
			cut_resumable(s, now_ns);
			if (s->hs->deadline_ns < s->hs->connect_until_ns)
				s->hs->deadline_ns = s->hs->connect_until_ns;
		} else if (again)
			begin_again(s, now_ns, why);
		else if (s->opener && s->state == SESS_HELLO)
			tcpx_control_stranger(s, TCPX_EPEERGONE, "; or it went away or is full: "
						"the connection was closed before HELLO");
		else if (atomic_load(&s->spare))
			tcpx_session_fail(s, TCPX_ECLOSED, "%s", "the peer has given it up, beside ours");
		else
			tcpx_session_fail(s, TCPX_EPEERGONE,
					  "connection closed during the handshake: %s", why);
	}
	tcpx_session_wake_loop(s);
}

void
tcpx_control_start_over(struct session *s, uint64_t now_ns, const char *why)
{
	s->state = SESS_WIRING;
	tcpx_control_cut(s, now_ns, why);
}

void
tcpx_control_stand_back(struct session *s, uint64_t now_ns, const char *why)
{
	s->state = SESS_CONNECTING;
	s->hs->deadline_ns = s->hs->connect_until_ns;
	snprintf(s->cause_text, sizeof(s->cause_text), "%s", why);
	tcpx_control_cut(s, now_ns, why);
	s->engine->up.session->unwire(s);
}

/* Frames that answer the peer wait until here. What the application sends on a completion
 * (a reply to a note, say) goes out first, and takes them along. */
void
tcpx_control_flush_all(struct tcpx_engine *e)
{
	tcpx_chain_each(n, after, &e->registry.to_flush) {
		struct session *s = tcpx_container(n, struct session, control.to_flush);

		tcpx_chain_remove(n);
		if (!atomic_load_explicit(&s->control.flush_owed, memory_order_relaxed))
			continue;
		pthread_mutex_lock(&s->lock);
		tcpx_control_flush(s);
		pthread_mutex_unlock(&s->lock);
	}
}
