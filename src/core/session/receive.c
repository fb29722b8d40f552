/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that arrive on the control stream, and their handlers. */
#include "core/session/receive.h"

#include <errno.h>

#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/payload.h"
#include "core/session/connect.h"
#include "core/session/control.h"
#include "core/session/handshake.h"
#include "core/session/resume.h"
#include "core/session/session.h"

static int
raw_frame(struct session *s, const struct tcpx_frame_head *h, const uint8_t *payload)
{
	char text[TCPX_TEXT_MAX];
	struct tcpx_buf b;
	int32_t code;

	tcpx_buf_init_const(&b, payload, h->len - TCPX_FRAME_HEAD);
	switch (h->type) {
	case TCPX_FR_PING:
		return tcpx_control_put_raw(s, TCPX_FR_PONG, NULL);
	case TCPX_FR_PONG:
		return 0;
	case TCPX_FR_RESUMED:
		return tcpx_resume_answered(s, &b);
	case TCPX_FR_REFUSE:
		if (tcpx_refuse_read(&b, &code, text) != 0 || code >= 0)
			return TCPX_EPROTO;
		tcpx_session_fail(s, code, "refused by the peer: %s", text);
		return 0;
	default:
		return TCPX_EPROTO;
	}
}

static int
dispatch(struct session *s, const struct tcpx_frame_head *h, const uint8_t *payload,
	 uint64_t now_ns)
{
	bool early = s->state != SESS_OPEN;

	if (early && (h->type == TCPX_FR_HELLO || h->type == TCPX_FR_AUTH ||
		      h->type == TCPX_FR_HANDLES || h->type == TCPX_FR_READY))
		return tcpx_handshake_frame(s, h, payload, now_ns);
	if (!tcpx_frame_numbered(h->type))
		return raw_frame(s, h, payload);
	if (early || s->control.resuming)
		return TCPX_EPROTO;
	return s->engine->up.session->frame(s, h, payload);
}

/* Handles all complete frames. False: the session has failed or its connection is gone. */
static bool
take_frames(struct session *s, uint64_t now_ns)
{
	struct tcpx_frame_head h;
	const uint8_t *payload;
	uint64_t count = 0;
	int rc, bad = 0;

	do {
		rc = tcpx_ctrl_next(s->control.ctrl, &h, &payload);
		if (rc != 1)
			break;
		count++;
		bad = dispatch(s, &h, payload, now_ns);
	} while (!bad && s->state != SESS_FAILED && s->control.stream);
	count_add(&s->engine->count.ctrl_frames_rx, count);
	if (bad)
		tcpx_session_fail(s, bad, "frame %s in session state %d",
				  tcpx_frame_name(h.type), s->state);
	else if (rc < 0 && s->opener && s->state == SESS_HELLO)
		tcpx_handshake_stranger(s, rc, ": its bytes are no frame");
	else if (rc < 0)
		tcpx_session_fail(s, rc, "%s", "bytes on the control stream that are no frame");
	return s->state != SESS_FAILED && s->control.stream;
}

static void
read_frames(struct session *s, uint64_t now_ns)
{
	uint8_t *room;
	size_t cap;
	ssize_t n;

	do {
		cap = tcpx_ctrl_room(s->control.ctrl, &room);
		n = s->engine->ops->stream_recv(s->control.stream, room, cap);
		if (n == -EAGAIN)
			return;
		if (n <= 0) {
			tcpx_control_cut(s, now_ns, n ? tcpx_err_text((int)n) : "closed by the peer");
			return;
		}
		s->health.heard_ns = now_ns;
		tcpx_ctrl_arrived(s->control.ctrl, (size_t)n);
	} while (take_frames(s, now_ns) && (size_t)n == cap);
}

void
tcpx_control_ready(struct source *src, unsigned ready, uint64_t now_ns)
{
	struct session *s = tcpx_container(src, struct session, source);

	pthread_mutex_lock(&s->lock);
	if (s->control.stream && !s->control.up && s->state != SESS_FAILED)
		tcpx_control_connect(s, now_ns);
	if (s->control.stream && s->control.up && s->state != SESS_FAILED &&
	    (ready & (TCPX_READABLE | TCPX_BROKEN)))
		read_frames(s, now_ns);
	if (s->control.stream && s->state != SESS_FAILED) {
		if (tcpx_ctrl_ack_due(s->control.ctrl))
			tcpx_ctrl_put_ack(s->control.ctrl);
		if (s->state == SESS_OPEN && !tcpx_node_linked(&s->control.to_flush))
			tcpx_control_flush_later(s);
		else
			tcpx_control_flush(s);
	}
	pthread_mutex_unlock(&s->lock);
}
