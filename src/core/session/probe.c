/* SPDX-License-Identifier: Apache-2.0 */
#include "core/session/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"
#include "core/session/control.h"
#include "core/session/gone.h"
#include "core/session/line.h"
#include "core/session/peer.h"
#include "proto/pair.h"
#include "seal/secret.h"

#define PATIENCE_NS (1000 * TCPX_MS) /* for the opener to resume after a cut */

/* A connection to an address of the opener. */
struct probe {
	struct line line;
	struct tcpx_ctrl *ctrl;
	struct tcpx_addr to;
	uint32_t addresses; /* of the opener                             */
	bool up;            /* the connection stands, and START is on it */
	bool asked;         /* the question, too                         */
};

/* The opener's address, from the @at-th one round. Returns their number; 0: none. */
static uint32_t
opener_listens(const struct session *s, uint32_t at, struct tcpx_addr *to)
{
	struct tcpx_peer *p = s->peer;
	uint32_t count;

	pthread_mutex_lock(&p->lock);
	count = p->addr_count;
	if (count)
		*to = p->addr[at % count];
	pthread_mutex_unlock(&p->lock);
	return count;
}

void
tcpx_probe_avoid(struct session *s, const struct tcpx_addr *near)
{
	const struct tcpx_pair_nic ours = { .addr = *near, .name = "" };
	struct tcpx_peer *p = s->peer;
	unsigned best = 0;

	pthread_mutex_lock(&p->lock);
	for (uint32_t i = 0; i < p->addr_count; i++) {
		unsigned fit = tcpx_pair_fit(&ours, &(struct tcpx_pair_nic){ p->addr[i], "", 0 });

		if (fit > best) {
			best = fit;
			s->control.target_addr = i + 1;
		}
	}
	pthread_mutex_unlock(&p->lock);
}

static void
hang_up(struct session *s)
{
	struct probe *p = s->control.probe;

	if (!p)
		return;
	tcpx_line_close(&p->line, s->engine->ops);
	tcpx_ctrl_free(p->ctrl);
	free(p);
	s->control.probe = NULL;
}

void
tcpx_probe_end(struct session *s)
{
	hang_up(s);
	s->control.refusals.row = 0;
	s->control.cut_here = false;
}

/* Until the next attempt, as one has ended with @rc. */
static uint64_t
pause_ns(const struct session *s, int rc)
{
	return rc == -ECONNREFUSED || (rc && s->control.cut_here) ? CONTROL_RETRY_NS : CONTROL_ATTEMPT_NS;
}

/* 0; or the code for which the attempt has failed. */
static int
begin(struct session *s, uint32_t addresses, const struct tcpx_addr *to)
{
	struct probe *p = calloc(1, sizeof(*p));
	int rc = p ? tcpx_ctrl_new(&p->ctrl) : -ENOMEM;

	if (rc) {
		free(p);
		return rc;
	}
	p->to = *to;
	p->addresses = addresses;
	rc = s->engine->ops->connect(s->engine->net, -1, to, 0, &p->line.stream);
	if (rc)
		p->line.stream = NULL;
	s->control.probe = p;
	return rc;
}

/* START, in clear; with a secret each side proves it before the question. */
static int
introduce(const struct session *s, struct probe *p)
{
	const struct tcpx_secret *secret = s->engine->secret;
	struct tcpx_start start = { .version_min = TCPX_PROTO_VERSION,
				    .version_max = TCPX_PROTO_VERSION, .sealed = secret != NULL,
				    .kind = TCPX_START_ASK };
	int rc = tcpx_line_start(&p->line, &start);

	p->up = rc == 0;
	if (rc == 0 && secret)
		rc = tcpx_line_seal(&p->line, secret, true, &secret->psk[0], 1);
	return rc;
}

/* RESUME, with the epoch of what is cut. */
static int
ask(const struct session *s, struct probe *p)
{
	struct tcpx_resume r = { .session = s->id, .incarnation = s->engine->incarnation,
				 .expect = s->peer->incarnation, .dialled = p->to,
				 .epoch = s->control.epoch };
	uint8_t room[128];
	struct tcpx_buf b;

	if (p->asked || !tcpx_line_proven(&p->line))
		return 0;
	p->asked = true;
	memcpy(r.token, s->resume.token, sizeof(r.token));
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_resume_write(&b, &r);
	return b.bad ? TCPX_ELIMIT : tcpx_ctrl_put_raw(p->ctrl, TCPX_FR_RESUME, room, b.pos);
}

/* What answers. -EAGAIN; 0: *code is of a REFUSE that counts; else it says nothing. */
static int
hear(const struct session *s, struct probe *p, int32_t *code)
{
	struct tcpx_frame_head h;
	const uint8_t *payload;
	char text[TCPX_TEXT_MAX];
	struct tcpx_buf b;
	uint8_t *room;
	size_t cap;
	ssize_t n;

	do {
		cap = tcpx_ctrl_room(p->ctrl, &room);
		n = tcpx_line_recv(&p->line, s->engine->ops, true, room, cap);
		if (n <= 0)
			return n ? (int)n : -EPIPE;
		tcpx_ctrl_arrived(p->ctrl, (size_t)n);
		n = tcpx_ctrl_next(p->ctrl, &h, &payload);
	} while (n == 0);
	if (n < 0 || h.type != TCPX_FR_REFUSE || p->line.clear)
		return TCPX_EPROTO; /* in clear, beside a secret, it is anybody's */
	tcpx_buf_init_const(&b, payload, h.len - TCPX_FRAME_HEAD);
	return tcpx_refuse_read(&b, code, text, NULL) ? TCPX_EPROTO : 0;
}

/* -EAGAIN: it may still answer. */
static int
talk(struct session *s, struct probe *p, int32_t *code)
{
	int rc;

	if (!p->up) {
		rc = (int)s->engine->ops->stream_send(p->line.stream, NULL, 0);
		if (rc == 0)
			rc = introduce(s, p);
		if (rc)
			return rc;
	}
	rc = tcpx_line_flush(&p->line, s->engine->ops, p->ctrl);
	if (rc == 0 || rc == -EAGAIN)
		rc = hear(s, p, code);
	if (rc == -EAGAIN && ask(s, p) == 0) {
		rc = tcpx_line_flush(&p->line, s->engine->ops, p->ctrl);
		rc = rc ? rc : -EAGAIN;
	}
	return rc;
}

/* True: there is nothing more to do, or not yet. */
static bool
go_on(struct session *s, uint64_t now_ns)
{
	struct probe *p = s->control.probe;
	uint32_t addresses = p->addresses;
	int32_t code = 0;
	int rc = talk(s, p, &code);

	if (rc == -EAGAIN && now_ns < s->control.retry_ns) {
		tcpx_session_add_timer(s, now_ns + CONTROL_RETRY_NS);
		return true;
	}
	hang_up(s);
	if (rc == 0 && code == TCPX_EPEERGONE)
		tcpx_session_peer_gone(s, "peer has gone: another incarnation answers");
	else if (rc == 0 && code == TCPX_ESTALLED)
		tcpx_session_fail(s, code, "the session has ended at the peer");
	if (s->state == SESS_FAILED || tcpx_control_misses_peer(s, rc, addresses, now_ns))
		return true;
	s->control.retry_ns = now_ns + pause_ns(s, rc);
	return false;
}

void
tcpx_probe_step(struct session *s, uint64_t now_ns)
{
	uint64_t patience_ns = s->engine->limit.stall_ns / 4, at_ns = s->control.cut_ns;
	struct tcpx_addr to = { 0 };
	uint32_t count = opener_listens(s, s->control.target_addr, &to);
	int rc;

	if (count == 0 || (s->control.probe && go_on(s, now_ns)))
		return;
	if (s->chan.tx_up && s->chan.rx_up && !s->control.cut_here)
		at_ns += patience_ns < PATIENCE_NS ? patience_ns : PATIENCE_NS;
	if (at_ns < s->control.retry_ns)
		at_ns = s->control.retry_ns;
	if (now_ns < at_ns) {
		tcpx_session_add_timer(s, at_ns);
		return;
	}
	s->control.target_addr++;
	rc = begin(s, count, &to);
	if (rc) {
		hang_up(s);
		if (tcpx_control_misses_peer(s, rc, count, now_ns))
			return;
	}
	s->control.retry_ns = now_ns + pause_ns(s, rc);
	tcpx_session_add_timer(s, now_ns + CONTROL_RETRY_NS);
}
