/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that arrive on the control stream, and their handlers. */
#include "core/session/receive.h"

#include <errno.h>
#include <stdio.h>

#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/payload.h"
#include "core/session/breach.h"
#include "core/session/connect.h"
#include "core/session/control.h"
#include "core/session/gone.h"
#include "core/session/handshake.h"
#include "core/session/peer.h"
#include "core/session/resume.h"
#include "core/session/session.h"

/* The words for a refusal that anybody may have written: this side's own, or NULL. */
static const char *
own_words(const struct session *s, int code)
{
	bool secret = s->engine->secret != NULL;

	switch (code) {
	case TCPX_EAUTH:
		return secret ? "the peer has no secret, this side has one (TCPX_SECRET_FILE)" :
				"the peer wants a secret; TCPX_SECRET_FILE is not set here";
	case TCPX_EVERSION:
		return "the peer speaks another version of the protocol: use one release on both";
	case TCPX_ETIMEDOUT:
		return "the peer did not get the proof of the secret in time";
	default:
		return secret ? "the peer refused, without proof that it has the secret" : NULL;
	}
}

/* With a secret: what an acceptor refuses for before the proof. Nothing else is believed, least of
 * all that the peer has gone. */
static int
unproven(int code)
{
	return code == TCPX_EAUTH || code == TCPX_EVERSION || code == TCPX_ETIMEDOUT ||
	       code == TCPX_ELIMIT ? code : TCPX_EPROTO;
}

/* Tries again when the peer may have room: at the time that it names, else soon. */
static void
refused_for_now(struct session *s, const char *why, uint32_t wait_ms, uint64_t now_ns)
{
	if (s->hs)
		s->hs->wait_ns = wait_ms * TCPX_MS;
	if (tcpx_control_may_begin_again(s, now_ns))
		tcpx_control_cut(s, now_ns, why);
	else
		tcpx_session_fail(s, TCPX_ELIMIT, "%s%s", why, wait_ms ? ", which is after TCPX_CONNECT_MS" : "");
}

static int
refused(struct session *s, struct tcpx_buf *b, uint64_t now_ns)
{
	bool proven = s->engine->secret && !s->control.line.clear;
	bool open = s->state == SESS_OPEN, again = tcpx_control_resumes(s) && s->control.cut_ns;
	const char *words = NULL;
	char text[TCPX_TEXT_MAX], why[TCPX_TEXT_MAX + 32];
	uint32_t wait_ms = 0;
	int32_t code;

	code = tcpx_refuse_read(b, &code, text, &wait_ms) != 0 || code >= 0 ? 0 : code;
	if ((open || again) && s->engine->secret &&
	    (!proven || (open && code != TCPX_EPEERGONE && code != TCPX_ESTALLED))) {
		/* not the end: resumes again, under the session's own key */
		s->control.asking = false;
		tcpx_control_cut(s, now_ns, "refused");
		return 0;
	}
	if (code == 0)
		return TCPX_EPROTO;
	if ((open || again) && code == TCPX_EPEERGONE) {
		tcpx_session_peer_gone(s, "peer has gone: another incarnation answers");
		return 0;
	}
	if (again && !open) {
		if (code == TCPX_ELIMIT)
			tcpx_control_cut(s, now_ns, "refused: full");
		else
			tcpx_control_start_over(s, now_ns, "the acceptor had not opened the session");
		return 0;
	}
	if (!proven && (s->engine->secret || !text[0]))
		words = own_words(s, code);
	if (words && s->engine->secret)
		code = unproven(code);
	snprintf(why, sizeof(why), "refused by the peer: %s", words ? words : text);
	if (code == TCPX_ENOCHANNEL && tcpx_control_may_wire_again(s, now_ns))
		tcpx_control_start_over(s, now_ns, why);
	else if (code == TCPX_ELIMIT)
		refused_for_now(s, why, s->engine->secret && !proven ? 0 : wait_ms, now_ns);
	else
		tcpx_session_fail(s, code, "%s", why);
	return 0;
}

static int
raw_frame(struct session *s, const struct tcpx_frame_head *h, const uint8_t *payload,
	  uint64_t now_ns)
{
	struct tcpx_buf b;

	tcpx_buf_init_const(&b, payload, h->len - TCPX_FRAME_HEAD);
	switch (h->type) {
	case TCPX_FR_PING:
		return tcpx_control_put_raw(s, TCPX_FR_PONG, NULL);
	case TCPX_FR_PONG:
		s->health.answers++;
		return 0;
	case TCPX_FR_RESUMED:
		return tcpx_resume_answered(s, &b);
	case TCPX_FR_REFUSE:
		return refused(s, &b, now_ns);
	default:
		return TCPX_EPROTO;
	}
}

/* Moves a channel of the opener to other NICs, during the handshake. */
static bool
wires(const struct session *s, uint8_t type)
{
	return (s->state == SESS_WIRING || s->state == SESS_READY) &&
	       type == (s->opener ? TCPX_FR_CHANNEL_HANDLE : TCPX_FR_CHANNEL_ASK);
}

static int
dispatch(struct session *s, const struct tcpx_frame_head *h, const uint8_t *payload,
	 uint64_t now_ns)
{
	bool early = s->state != SESS_OPEN;

	if (s->control.line.clear && h->type != TCPX_FR_REFUSE)
		return TCPX_EPROTO; /* in clear, and anybody's */
	if (early && (h->type == TCPX_FR_HELLO ||
		      h->type == TCPX_FR_HANDLES || h->type == TCPX_FR_READY))
		return tcpx_handshake_frame(s, h, payload, now_ns);
	if (!tcpx_frame_numbered(h->type))
		return raw_frame(s, h, payload, now_ns);
	if ((early && !wires(s, h->type)) || s->control.resuming)
		return TCPX_EPROTO;
	return s->engine->up.session->frame(s, h, payload);
}

/* The network changed a frame: a new connection repeats it, and all behind it. */
static void
changed(struct session *s, uint64_t now_ns)
{
	count_add(&s->engine->corrupt.frames, 1);
	if (s->health.corrupt_ns == 0 || now_ns >= s->health.corrupt_ns + TCPX_SEC) {
		s->health.corrupt_ns = now_ns;
		tcpx_log(TCPX_LOG_WARN, TCPX_SUB_BOOT, "a control frame of %s after frame %llu "
			 "arrived changed: it is repeated on a new connection", s->peer->name,
			 (unsigned long long)tcpx_ctrl_received(s->control.ctrl));
	}
	tcpx_control_cut(s, now_ns, "a frame arrived changed");
}

/* Nothing is read until the toll is paid. */
static void
pay(struct session *s)
{
	s->control.pays = true;
	tcpx_control_watch(s, s->control.interest);
	tcpx_session_add_timer(s, s->control.toll.paid_ns);
}

/* The peer was not listened to, so it was not silent. */
bool
tcpx_control_has_paid(struct session *s, uint64_t now_ns)
{
	if (!s->control.pays)
		return true;
	if (tcpx_toll_is_due(&s->control.toll, now_ns)) {
		tcpx_session_add_timer(s, s->control.toll.paid_ns);
		return false;
	}
	s->control.pays = false;
	s->health.heard_ns = now_ns;
	if (!s->control.line.stream || !s->control.up)
		return true;
	s->control.more = true;
	tcpx_control_watch(s, s->control.interest | TCPX_READABLE);
	tcpx_loop_post(s->loop, &s->control.read_work);
	return true;
}

/* Handles complete frames, until the turn's budget is spent. A frame of a few bytes may name a list of
 * a million entries: one that is read in part comes first in the next turn, with a connection or
 * without, as the peer will not repeat it. False: the session has failed or its connection is gone. */
static bool
take_frames(struct session *s, uint64_t now_ns)
{
	struct tcpx_frame_head h = { .type = TCPX_FR_LIST };
	const uint8_t *payload;
	uint64_t count = 0;
	int rc = 1, bad = s->xfers.half_read ? s->engine->up.session->frame_rest(s) : 0;

	while (!bad && !s->xfers.half_read && s->state != SESS_FAILED && s->control.line.stream &&
	       s->control.spent < s->engine->limit.turn_cost &&
	       !tcpx_toll_is_due(&s->control.toll, now_ns)) {
		rc = tcpx_ctrl_next(s->control.ctrl, &h, &payload);
		if (rc != 1)
			break;
		count++;
		s->control.spent += FRAME_COST + h.len / COST_BYTES;
		bad = dispatch(s, &h, payload, now_ns);
	}
	s->control.more = !bad && (s->xfers.half_read || (rc == 1 && s->control.line.stream));
	if (s->control.more && tcpx_toll_is_due(&s->control.toll, now_ns))
		pay(s);
	else if (s->control.more)
		tcpx_loop_post(s->loop, &s->control.read_work);
	count_add(&s->engine->count.ctrl_frames_rx, count);
	if (bad || rc < 0)
		tcpx_breach_ended(s, bad ? bad : rc, now_ns);
	if (bad)
		tcpx_session_fail(s, bad, "frame %s in session state %d",
				  tcpx_frame_name(h.type), s->state);
	else if (rc == TCPX_EDATA && s->state == SESS_OPEN)
		changed(s, now_ns);
	else if (rc < 0 && s->opener && (s->state == SESS_HELLO || s->state == SESS_PROOF))
		tcpx_control_stranger(s, rc, ": its bytes are no frame");
	else if (rc < 0)
		tcpx_session_fail(s, rc, "%s", "bytes on the control stream that are no frame");
	return s->state != SESS_FAILED && s->control.line.stream && s->control.up;
}

/* The connection gives nothing more. @rc 0: closed by the peer, unless a send failed. A session
 * that is open resumes on another; one whose own key the peer does not know asks, under the
 * secret, whether the peer still knows the session. */
static void
broken(struct session *s, int rc, uint64_t now_ns)
{
	int lost = s->control.lost;

	if (rc == TCPX_EAUTH && s->state == SESS_PROOF) {
		tcpx_control_flush(s); /* what TLS has to say */
		tcpx_session_fail(s, rc, "%s", "the two sides have different secrets");
	} else if (rc == TCPX_EPROTO && s->state == SESS_PROOF) {
		tcpx_control_stranger(s, rc, ": its bytes are no frame");
	} else {
		/* reset by our own bytes, a connection that was closed gives -EPIPE */
		s->control.closed = lost ? lost == -EPIPE : rc == 0 || rc == TCPX_EPEERGONE;
		s->control.asking = rc == TCPX_EAUTH && s->control.proving && !s->control.asking;
		tcpx_control_cut(s, now_ns, lost ? "send failed" :
				 rc ? tcpx_err_text(rc) : "closed by the peer");
	}
}

static void
read_frames(struct session *s, uint64_t now_ns)
{
	struct line *line = &s->control.line;
	uint8_t *room;
	size_t cap;
	ssize_t n;
	int rc;

	s->control.spent = 0;
	if (s->control.more && (!take_frames(s, now_ns) || s->control.more))
		return;
	do {
		cap = tcpx_ctrl_room(s->control.ctrl, &room);
		n = tcpx_line_recv(line, s->engine->ops, s->opener, room, cap);
		rc = n > 0 || n == -EAGAIN ? tcpx_control_introduce(s) : 0;
		if (rc)
			tcpx_session_fail(s, rc, "%s", "first frame of a connection");
		if (n == -EAGAIN && !s->control.lost)
			return;
		if (n <= 0) {
			broken(s, (int)n, now_ns);
			return;
		}
		s->health.heard_ns = now_ns;
		tcpx_ctrl_arrived(s->control.ctrl, (size_t)n);
	} while (take_frames(s, now_ns) && !s->control.more &&
		 (s->control.lost || (line->seal ? line->more : (size_t)n == cap)));
}

/* Reads, if there is anything to read from, and answers. */
static void
serve(struct session *s, bool readable, uint64_t now_ns)
{
	bool up = s->control.line.stream && s->control.up;

	if (up && s->control.pays)
		tcpx_control_watch(s, s->control.interest); /* a new connection's */
	else if ((up || s->xfers.half_read) && s->state != SESS_FAILED && readable)
		read_frames(s, now_ns);
	if (s->control.line.stream && s->state != SESS_FAILED) {
		/* RESUME is the first frame of a connection */
		if (s->control.up && !s->control.proving && tcpx_ctrl_ack_due(s->control.ctrl))
			tcpx_ctrl_put_ack(s->control.ctrl);
		tcpx_control_serve_lanes(s); /* what that puts is owed */
		if (s->state != SESS_OPEN || tcpx_node_linked(&s->control.to_flush))
			tcpx_control_flush(s);
		else if (tcpx_control_owes(s))
			tcpx_control_flush_later(s);
	}
}

void
tcpx_control_ready(struct source *src, unsigned ready, uint64_t now_ns)
{
	struct session *s = tcpx_container(src, struct session, source);

	pthread_mutex_lock(&s->lock);
	if (s->control.line.stream && !s->control.up && s->state != SESS_FAILED)
		tcpx_control_connect(s, now_ns);
	/* what has come already is taken first, once in a turn: by read_work */
	serve(s, (ready & (TCPX_READABLE | TCPX_BROKEN)) && !s->control.more, now_ns);
	pthread_mutex_unlock(&s->lock);
}

void
tcpx_control_read_work(struct work *w, uint64_t now_ns)
{
	struct session *s = tcpx_container(w, struct session, control.read_work);

	pthread_mutex_lock(&s->lock);
	serve(s, s->control.more || s->control.lost, now_ns);
	pthread_mutex_unlock(&s->lock);
}
