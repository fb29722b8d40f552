/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resuming a cut control stream over another connection: each side sends the highest number
 * it has received, and repeats what the other lacks.
 */
#include "core/session/resume.h"

#include <string.h>

#include "base/random.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/session/control.h"
#include "core/session/identity.h"
#include "core/session/listen.h"
#include "core/session/peer.h"
#include "core/session/probe.h"
#include "core/session/session.h"
#include "core/session/twins.h"

static int
put(struct session *s, uint8_t type)
{
	struct tcpx_resume r = { .session = s->id, .incarnation = s->engine->incarnation,
				 .expect = s->peer->incarnation, .epoch = s->control.epoch,
				 .received = tcpx_ctrl_received(s->control.ctrl) };
	uint8_t room[128];
	struct tcpx_buf b;

	if (s->opener)
		r.dialled = tcpx_control_dialled(s);
	memcpy(r.token, s->resume.token, sizeof(r.token));
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_resume_write(&b, &r);
	return tcpx_control_put_raw(s, type, &b);
}

/* Is the frame the peer's, for this side and this session? */
static bool
is_meant(const struct session *s, const struct tcpx_resume *r)
{
	struct tcpx_identity us = tcpx_control_identity(s);

	return r->session == s->id && tcpx_identity_resume(&us, r, s->resume.token);
}

int
tcpx_resume_ask(struct session *s)
{
	s->control.epoch++;
	s->control.resuming = true;
	return put(s, TCPX_FR_RESUME);
}

static int
carry_on(struct session *s, uint64_t peer_received)
{
	int rc = tcpx_ctrl_resume(s->control.ctrl, peer_received);

	if (rc)
		return rc;
	s->control.resuming = false;
	s->control.closed = false;
	if (engine_now(s->engine) >= s->control.cut_ns + s->engine->limit.stall_ns / 24)
		s->control.silent_nic = 0; /* all were silent, not that NIC alone */
	else if (s->control.silent_nic)
		tcpx_session_wake_loop(s);
	s->control.cut_ns = 0;
	tcpx_probe_end(s);
	tcpx_session_check_alive(s, engine_now(s->engine));
	count_add(&s->engine->count.ctrl_resumes, 1);
	tcpx_info(TCPX_SUB_BOOT, "control stream with %s resumed, epoch %u", s->peer->name,
		  s->control.epoch);
	return 0;
}

int
tcpx_resume_answered(struct session *s, struct tcpx_buf *b)
{
	struct tcpx_resume r;

	if (tcpx_resume_read(b, &r) != 0 || !s->opener || !s->control.resuming ||
	    r.epoch != s->control.epoch)
		return TCPX_EPROTO;
	if (!is_meant(s, &r))
		return TCPX_EAUTH;
	tcpx_twins_stir(s);
	return carry_on(s, r.received);
}

/* The session of this number that this side, or a peer, has opened, with a reference; NULL: none. */
static struct session *
find(struct tcpx_engine *e, uint64_t id, bool opener)
{
	struct session *s = NULL;

	while ((s = tcpx_session_after(e, s)) && (s->id != id || s->opener != opener))
		;
	return s;
}

static int
accept_locked(struct session *s, const struct tcpx_resume *r, struct line *line, uint64_t now_ns)
{
	int rc;

	if (s->state != SESS_OPEN || r->epoch <= s->control.epoch || !is_meant(s, r))
		return s->state == SESS_FAILED && is_meant(s, r) ? TCPX_ESTALLED : TCPX_EAUTH;
	tcpx_control_cut(s, now_ns, "replaced by a resumed one");
	if (s->state == SESS_FAILED)
		return s->cause;
	rc = s->engine->ops->stream_watch(line->stream, s->loop->poller, &s->source, TCPX_READABLE);
	if (rc)
		return rc;
	s->control.line = *line;
	*line = (struct line){ .stream = NULL };
	s->control.up = true;
	s->control.interest = TCPX_READABLE;
	s->control.epoch = r->epoch;
	s->health.heard_ns = now_ns;
	rc = put(s, TCPX_FR_RESUMED);
	if (rc == 0)
		rc = carry_on(s, r->received);
	if (rc) {
		tcpx_session_fail(s, rc, "%s", "resume asks for frames that are gone");
		return 0; /* the connection belongs to the session already */
	}
	tcpx_control_flush(s);
	return 0;
}

int
tcpx_resume_key(struct tcpx_engine *e, uint64_t id, struct tcpx_seal_psk *key)
{
	struct session *s = find(e, id, false);
	bool known = false;
	struct tcpx_buf b;

	if (s) {
		pthread_mutex_lock(&s->lock);
		known = s->state == SESS_OPEN;
		if (known)
			*key = s->resume.key;
		pthread_mutex_unlock(&s->lock);
		tcpx_session_put(s);
	}
	if (known)
		return 0;
	tcpx_buf_init(&b, key->id, sizeof(key->id));
	tcpx_buf_put_u64(&b, id);
	key->id_len = (uint8_t)b.pos;
	return tcpx_random_bytes(key->key, sizeof(key->key));
}

int
tcpx_resume_accept(struct tcpx_engine *e, const struct tcpx_resume *r, struct line *line,
		   uint64_t now_ns)
{
	struct session *s = find(e, r->session, false);
	int rc;

	if (!s)
		return r->expect == e->incarnation ? TCPX_ESTALLED : TCPX_EPEERGONE;
	pthread_mutex_lock(&s->lock);
	rc = accept_locked(s, r, line, now_ns);
	pthread_mutex_unlock(&s->lock);
	tcpx_twins_stir(s);
	tcpx_session_put(s);
	return rc;
}

/* The acceptor has cut the connection, and who asks is the acceptor: so what is cut there stands here. */
static void
missed_cut(struct session *s, const struct tcpx_resume *r, uint64_t now_ns)
{
	pthread_mutex_lock(&s->lock);
	if (s->state == SESS_OPEN && is_meant(s, r) && r->epoch == s->control.epoch &&
	    s->control.up && !s->control.resuming)
		tcpx_control_cut(s, now_ns, "the peer has cut it");
	pthread_mutex_unlock(&s->lock);
}

int
tcpx_resume_known(struct tcpx_engine *e, const struct tcpx_resume *r, const struct tcpx_addr *at,
		  uint64_t now_ns)
{
	struct tcpx_identity us = { .name = e->name, .incarnation = e->incarnation };
	struct session *s = find(e, r->session, false);
	bool over = false;

	if (!s) {
		s = find(e, r->session, true);
		over = s && atomic_load(&s->state) == SESS_FAILED;
		if (s)
			missed_cut(s, r, now_ns);
	}
	if (!s)
		return tcpx_identity_ask(&us, r, tcpx_listen_is_advertised(e, &r->dialled) ? &r->dialled : at);
	tcpx_session_put(s);
	return over ? TCPX_ESTALLED : TCPX_EAUTH;
}
