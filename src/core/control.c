/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control stream's connection: bytes between proto/ctrl and the provider. Any thread
 * may put and flush under session.lock; only the loop reads.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/core.h"

#define RETRY_NS   (20 * TCPX_MS)  /* between attempts to connect        */
#define ATTEMPT_NS (1000 * TCPX_MS) /* for one attempt on one address     */
#define REFUSALS   3                /* of each address: nobody is there   */
#define PATIENCE_NS (1000 * TCPX_MS) /* for the opener to resume what was cut */

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
	return checked(s, type, b, tcpx_ctrl_put(s->ctrl, type, bytes_of(b), b ? b->pos : 0));
}

int
tcpx_control_put_bulk(struct session *s, uint8_t type, const struct tcpx_buf *b, uint64_t *ticket)
{
	return checked(s, type, b,
		       tcpx_ctrl_put_bulk(s->ctrl, type, bytes_of(b), b ? b->pos : 0, ticket));
}

int
tcpx_control_put_raw(struct session *s, uint8_t type, const struct tcpx_buf *b)
{
	return checked(s, type, b, tcpx_ctrl_put_raw(s->ctrl, type, bytes_of(b), b ? b->pos : 0));
}

int
tcpx_control_put_u64(struct session *s, uint8_t type, uint64_t v)
{
	uint8_t room[8];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_buf_put_u64(&b, v);
	/* a cancel must not overtake its OPEN, which may still wait among the bulk */
	return type == TCPX_FR_CANCEL ? tcpx_control_put_bulk(s, type, &b, NULL) :
					tcpx_control_put(s, type, &b);
}

static void
watch(struct session *s, unsigned interest)
{
	if (s->stream_interest == interest)
		return;
	if (s->engine->ops->stream_watch(s->stream, s->loop->poller, &s->source, interest) == 0)
		s->stream_interest = interest;
}

void
tcpx_control_flush(struct session *s)
{
	const uint8_t *data;
	size_t len;
	ssize_t n;

	if (!s->stream || !s->stream_up)
		return;
	while ((len = tcpx_ctrl_pending(s->ctrl, &data)) > 0) {
		n = s->engine->ops->stream_send(s->stream, data, len);
		if (n == -EAGAIN) {
			watch(s, TCPX_READABLE | TCPX_WRITABLE);
			return;
		}
		if (n < 0) {
			tcpx_control_cut(s, engine_now(s->engine), "send failed");
			return;
		}
		tcpx_ctrl_written(s->ctrl, (size_t)n);
	}
	atomic_store_explicit(&s->owes, false, memory_order_relaxed);
	watch(s, TCPX_READABLE);
	if (s->chunks_wait) {
		s->chunks_wait = false;
		tcpx_tx_kick_all(s);
	}
}

void
tcpx_control_later(struct session *s)
{
	atomic_store_explicit(&s->owes, true, memory_order_relaxed);
	if (!tcpx_node_linked(&s->unsaid))
		tcpx_chain_add(&s->loop->unsaid, &s->unsaid);
}

void
tcpx_control_hand(struct session *s)
{
	tcpx_loop_post(s->loop, &s->speech);
}

void
tcpx_control_speech(struct work *w, uint64_t now_ns)
{
	struct session *s = tcpx_container(w, struct session, speech);

	(void)now_ns;
	pthread_mutex_lock(&s->lock);
	if (s->state != SESS_FAILED)
		tcpx_control_flush(s);
	pthread_mutex_unlock(&s->lock);
}

void
tcpx_control_cut(struct session *s, uint64_t now_ns, const char *why)
{
	if (!s->stream)
		return;
	s->engine->ops->stream_close(s->stream);
	s->stream = NULL;
	s->stream_up = false;
	s->stream_interest = 0;
	s->resuming = false;
	tcpx_ctrl_cut(s->ctrl);
	tcpx_debug(TCPX_SUB_BOOT, "control stream with %s cut: %s", s->peer ? s->peer->name : "?",
		   why);
	switch (s->state) {
	case SESS_FAILED:
		return;
	case SESS_OPEN:
		if (s->cut_ns == 0)
			s->cut_ns = now_ns;
		s->retry_ns = now_ns + (s->cut_ns == now_ns ? 0 : RETRY_NS);
		tcpx_session_check_alive(s, now_ns);
		break;
	case SESS_CONNECTING:
		s->retry_ns = now_ns + RETRY_NS;
		break;
	default:
		tcpx_session_fail(s, TCPX_EPEERGONE, "connection closed during the handshake: %s",
				  why);
	}
	tcpx_session_kick_loop(s);
}

/* The connection stands: the first frame of its kind goes out. */
static void
came_up(struct session *s, uint64_t now_ns)
{
	int rc;

	s->stream_up = true;
	s->refused = 0;
	s->heard_ns = now_ns;
	rc = s->state == SESS_OPEN ? tcpx_resume_ask(s) : tcpx_handshake_start(s);
	if (rc)
		tcpx_session_fail(s, rc, "%s", "first frame of a connection");
	else
		tcpx_control_flush(s);
}

/* An attempt to reach the peer has failed. A living engine listens as long as it lives, so one whose
 * every address refuses has gone. Where connections of channels say so, too, they are believed
 * instead (tcpx_session_check_alive()); idle ones of a plugin say nothing. */
static bool
peer_is_gone(struct session *s, int rc, uint32_t addr_count)
{
	s->refused = rc == -ECONNREFUSED ? s->refused + 1 : 0;
	if (s->state != SESS_OPEN || !(s->engine->ops->caps & TCPX_NET_CTRL_HEAD) ||
	    s->refused == 0 || s->refused < REFUSALS * addr_count)
		return false;
	tcpx_session_fail(s, TCPX_EPEERGONE, "%s", "peer has gone: nobody listens at its addresses");
	return true;
}

/* Where the opener said that it listens, from the @at-th address round; 0: nowhere, or how
 * many there are. */
static uint32_t
opener_listens(const struct session *s, uint32_t at, struct tcpx_addr *to)
{
	const struct tcpx_hello *h = &s->peer_hello;
	uint32_t count = 0, i, k = 0;

	for (i = 0; i < h->nic_count; i++)
		count += h->nic[i].port != 0;
	for (i = 0; i < h->nic_count; i++) {
		if (h->nic[i].port == 0 || k++ != at % count)
			continue;
		*to = (struct tcpx_addr){ .family = h->nic[i].addr.family,
					  .port = h->nic[i].port, .scope = h->nic[i].scope };
		memcpy(to->ip, h->nic[i].addr.ip, sizeof(to->ip));
	}
	return count;
}

void
tcpx_control_probe_end(struct session *s)
{
	if (s->probe)
		s->engine->ops->stream_close(s->probe);
	s->probe = NULL;
	s->refused = 0;
}

/* Only the opener can carry a session on. One that has had the time for it and has not is
 * asked by connecting to it: nothing is said on that connection, and the opener lets it go. */
void
tcpx_control_probe(struct session *s, uint64_t now_ns)
{
	const struct tcpx_net_ops *ops = s->engine->ops;
	uint64_t patience_ns = s->engine->limit.stall_ns / 4, at_ns;
	struct tcpx_addr to = { 0 };
	uint32_t count = opener_listens(s, s->target_addr, &to);
	int rc;

	if (count == 0 || !(ops->caps & TCPX_NET_CTRL_HEAD))
		return;
	if (s->probe) {
		rc = ops->stream_up(s->probe);
		if (rc == -EAGAIN && now_ns < s->retry_ns) {
			tcpx_session_add_timer(s, now_ns + RETRY_NS);
			return;
		}
		ops->stream_close(s->probe);
		s->probe = NULL;
		if (peer_is_gone(s, rc, count))
			return;
		s->retry_ns = now_ns + (rc == -ECONNREFUSED ? RETRY_NS : ATTEMPT_NS);
	}
	at_ns = s->cut_ns + (patience_ns < PATIENCE_NS ? patience_ns : PATIENCE_NS);
	if (at_ns < s->retry_ns)
		at_ns = s->retry_ns;
	if (now_ns < at_ns) {
		tcpx_session_add_timer(s, at_ns);
		return;
	}
	s->target_addr++;
	rc = ops->connect(s->engine->net, -1, &to, &s->probe);
	if (rc) {
		s->probe = NULL;
		if (peer_is_gone(s, rc, count))
			return;
	}
	s->retry_ns = now_ns + (rc == -ECONNREFUSED ? RETRY_NS : ATTEMPT_NS);
	tcpx_session_add_timer(s, now_ns + RETRY_NS);
}

void
tcpx_control_connect(struct session *s, uint64_t now_ns)
{
	const struct tcpx_net_ops *ops = s->engine->ops;
	struct tcpx_peer *p = s->peer;
	struct tcpx_addr to = { 0 };
	uint32_t addr_count;
	char text[64];
	int rc;

	pthread_mutex_lock(&p->lock);
	addr_count = p->addr_count;
	pthread_mutex_unlock(&p->lock);

	if (s->stream && !s->stream_up) {
		rc = ops->stream_up(s->stream);
		if (rc == 0) {
			came_up(s, now_ns);
			return;
		}
		if (rc == -EAGAIN && now_ns < s->retry_ns) {
			tcpx_session_add_timer(s, s->retry_ns);
			return;
		}
		tcpx_control_cut(s, now_ns, rc == -EAGAIN ? "no answer" : tcpx_err_text(rc));
		if (s->state == SESS_FAILED || peer_is_gone(s, rc, addr_count))
			return;
		snprintf(s->cause_text, sizeof(s->cause_text), "%s",
			 rc == -EAGAIN ? "no answer" : tcpx_err_text(rc));
	}
	if (s->stream || now_ns < s->retry_ns) {
		if (!s->stream)
			tcpx_session_add_timer(s, s->retry_ns);
		return;
	}
	pthread_mutex_lock(&p->lock);
	if (p->addr_count)
		to = p->addr[s->target_addr++ % p->addr_count];
	pthread_mutex_unlock(&p->lock);
	tcpx_addr_format(&to, text, sizeof(text));
	rc = ops->connect(s->engine->net, -1, &to, &s->stream);
	if (rc) {
		if (peer_is_gone(s, rc, addr_count))
			return;
		snprintf(s->cause_text, sizeof(s->cause_text), "%s: %s", text, tcpx_err_text(rc));
		s->stream = NULL;
		s->retry_ns = now_ns + RETRY_NS;
		tcpx_session_add_timer(s, s->retry_ns);
		return;
	}
	s->stream_interest = 0;
	s->retry_ns = now_ns + ATTEMPT_NS;
	watch(s, TCPX_READABLE | TCPX_WRITABLE);
	tcpx_session_add_timer(s, s->retry_ns);
}

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
	return early || s->resuming ? TCPX_EPROTO : tcpx_serve_frame(s, h, payload);
}

/* All that have arrived. False: the session has failed or its connection is gone. */
static bool
take_frames(struct session *s, uint64_t now_ns)
{
	struct tcpx_frame_head h;
	const uint8_t *payload;
	uint64_t count = 0;
	int rc, bad = 0;

	do {
		rc = tcpx_ctrl_take(s->ctrl, &h, &payload);
		if (rc != 1)
			break;
		count++;
		bad = dispatch(s, &h, payload, now_ns);
	} while (!bad && s->state != SESS_FAILED && s->stream);
	count_add(&s->engine->count.ctrl_frames_rx, count);
	if (bad)
		tcpx_session_fail(s, bad, "frame %s in session state %d",
				  tcpx_frame_name(h.type), s->state);
	else if (rc < 0)
		tcpx_session_fail(s, rc, "%s", "bytes on the control stream that are no frame");
	return s->state != SESS_FAILED && s->stream;
}

static void
read_frames(struct session *s, uint64_t now_ns)
{
	uint8_t *room;
	size_t cap;
	ssize_t n;

	do {
		cap = tcpx_ctrl_room(s->ctrl, &room);
		n = s->engine->ops->stream_recv(s->stream, room, cap);
		if (n == -EAGAIN)
			return;
		if (n <= 0) {
			tcpx_control_cut(s, now_ns, n ? tcpx_err_text((int)n) : "closed by the peer");
			return;
		}
		s->heard_ns = now_ns;
		tcpx_ctrl_arrived(s->ctrl, (size_t)n);
	} while (take_frames(s, now_ns) && (size_t)n == cap);
}

void
tcpx_control_ready(struct source *src, unsigned ready, uint64_t now_ns)
{
	struct session *s = tcpx_container(src, struct session, source);

	pthread_mutex_lock(&s->lock);
	if (s->stream && !s->stream_up && s->state != SESS_FAILED)
		tcpx_control_connect(s, now_ns);
	if (s->stream && s->stream_up && s->state != SESS_FAILED &&
	    (ready & (TCPX_READABLE | TCPX_BROKEN)))
		read_frames(s, now_ns);
	if (s->stream && s->state != SESS_FAILED) {
		if (tcpx_ctrl_ack_due(s->ctrl))
			tcpx_ctrl_put_ack(s->ctrl);
		if (s->state == SESS_OPEN && !tcpx_node_linked(&s->unsaid))
			tcpx_control_later(s);
		else
			tcpx_control_flush(s);
	}
	pthread_mutex_unlock(&s->lock);
}
