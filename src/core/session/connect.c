/* SPDX-License-Identifier: Apache-2.0 */
/* The control stream's connection: made by the opener, and again after a cut. */
#include "core/session/connect.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/session/control.h"
#include "core/session/gone.h"
#include "core/session/handshake.h"
#include "core/session/peer.h"
#include "core/session/probe.h"
#include "core/session/resume.h"
#include "core/session/session.h"
#include "core/session/twins.h"
#include "proto/path.h"

/* START, and with a secret the proof of it: of the session's own key when it is resumed, so that
 * no other holder of the secret can do that. */
static int
start(struct session *s, uint64_t now_ns)
{
	const struct tcpx_secret *secret = s->engine->secret;
	bool again = tcpx_control_resumes(s), own = again && !s->control.asking;
	struct tcpx_start start = { .version_min = TCPX_PROTO_VERSION,
				    .version_max = TCPX_PROTO_VERSION, .sealed = secret != NULL,
				    .kind = own ? TCPX_START_RESUME :
					    again ? TCPX_START_ASK : TCPX_START_NEW,
				    .session = own ? s->id : 0 };
	int rc;

	if (!again) {
		s->state = SESS_PROOF;
		s->hs->deadline_ns = now_ns + s->engine->limit.handshake_ns;
		tcpx_session_add_timer(s, s->hs->deadline_ns);
	}
	s->control.proving = true;
	rc = tcpx_line_start(&s->control.line, &start);
	if (rc == 0 && secret)
		rc = tcpx_line_seal(&s->control.line, secret, true,
				    own ? &s->resume.key : &secret->psk[0], 1);
	return rc ? rc : tcpx_control_introduce(s);
}

int
tcpx_control_introduce(struct session *s)
{
	if (!s->control.proving || !tcpx_line_proven(&s->control.line))
		return 0;
	s->control.proving = false;
	return tcpx_control_resumes(s) ? tcpx_resume_ask(s) : tcpx_handshake_start(s);
}

/* The connection stands. */
static void
came_up(struct session *s, uint64_t now_ns)
{
	int rc;

	s->control.up = true;
	s->control.refusals.row = 0;
	s->health.heard_ns = now_ns;
	rc = start(s, now_ns);
	if (rc)
		tcpx_session_fail(s, rc, "%s", "first frame of a connection");
	else
		tcpx_control_flush(s);
}

int
tcpx_control_nic(const struct session *s)
{
	const struct nics *nics = &s->engine->nics;
	struct tcpx_addr at;

	s->engine->ops->stream_name(s->control.line.stream, &at);
	for (uint32_t i = 0; i < nics->count; i++)
		if (tcpx_addr_same_host(&nics->at[i].addr, &at))
			return (int)i;
	return -1;
}

/* The address of ours on which the connection stands, if it cannot work any more; else
 * NULL. */
static const struct tcpx_addr *
lost_address(const struct session *s)
{
	const struct nics *nics = &s->engine->nics;
	struct tcpx_addr at;
	int nic = tcpx_control_nic(s);

	if (nic >= 0)
		return atomic_load(&nics->down[nic]) ? &nics->at[nic].addr : NULL;
	s->engine->ops->stream_name(s->control.line.stream, &at);
	for (uint32_t i = 0; i < nics->other_count; i++)
		if (atomic_load(&nics->other[i].gone) && tcpx_addr_same_host(&nics->other[i].addr, &at))
			return &nics->other[i].addr;
	return NULL;
}

void
tcpx_control_silent(struct session *s, uint64_t now_ns)
{
	s->control.silent_nic = tcpx_control_nic(s) + 1;
	tcpx_control_cut(s, now_ns, "peer is silent");
}

bool
tcpx_control_is_stuck(struct session *s, uint64_t now_ns)
{
	const struct tcpx_net_ops *ops = s->engine->ops;
	bool open = s->state >= SESS_READY; /* else nobody asks, and the peer may have nothing to say */
	uint64_t heard_ns = open && s->health.heard_ns < now_ns ? now_ns - s->health.heard_ns : 0;
	struct tcpx_net_way way;
	struct tcpx_packet oldest;
	char why[160];

	if (!ops->stream_under_way || !s->control.line.stream || !s->control.up ||
	    ops->stream_under_way(s->control.line.stream, &way) <= 0)
		return false;
	oldest = (struct tcpx_packet){ way.packet, way.resent, way.stuck_ns, heard_ns, way.carried, true };
	if (!tcpx_path_carries(&oldest, s->engine->limit.stall_ns))
		return false;
	snprintf(why, sizeof(why), "packets of %u bytes (MTU %u here) do not pass, small ones do", way.packet,
		 way.mtu);
	tcpx_warn(TCPX_SUB_BOOT, "control stream with %s: %s: it goes on with %u at most; set the MTU of both "
		  "ends to that of the path", s->peer ? s->peer->name : "?", why, TCPX_PACKET_ANY);
	tcpx_control_cut(s, now_ns, why);
	return true;
}

void
tcpx_control_leave_nic(struct session *s, uint64_t now_ns)
{
	const struct nics *nics = &s->engine->nics;
	const struct tcpx_addr *lost;
	bool others = false;

	if (!s->control.up || (!atomic_load(&nics->one_down) && !atomic_load(&nics->other_gone)))
		return;
	lost = lost_address(s);
	for (uint32_t i = 0; i < nics->count; i++)
		others |= !atomic_load(&nics->down[i]);
	if (!lost || !others)
		return;
	tcpx_control_cut(s, now_ns, "its NIC has no link or no address");
	if (s->opener)
		return; /* which connects again, by another address */
	s->control.cut_here = true;
	tcpx_probe_avoid(s, lost);
}

/* The size of packets for the next connection. A connection that broke may have held
 * packets that its path does not carry: the other side alone may know. */
static uint16_t
packet_max(const struct session *s)
{
	bool again = tcpx_control_resumes(s) || s->hs->retry_pause_ns;

	return again && !s->control.closed ? TCPX_PACKET_ANY : 0;
}

void
tcpx_control_connect(struct session *s, uint64_t now_ns)
{
	const struct tcpx_net_ops *ops = s->engine->ops;
	struct tcpx_peer *p = s->peer;
	struct tcpx_addr to = { 0 };
	uint32_t addr_count;
	uint64_t rest_ns;
	char text[64];
	int rc;

	pthread_mutex_lock(&p->lock);
	addr_count = p->addr_count;
	pthread_mutex_unlock(&p->lock);

	if (s->control.line.stream && !s->control.up) {
		rc = (int)ops->stream_send(s->control.line.stream, NULL, 0);
		if (rc == 0) {
			came_up(s, now_ns);
			return;
		}
		if (rc == -EAGAIN && now_ns < s->control.retry_ns) {
			tcpx_session_add_timer(s, s->control.retry_ns);
			return;
		}
		tcpx_control_cut(s, now_ns, rc == -EAGAIN ? "no answer" : tcpx_err_text(rc));
		if (s->state == SESS_FAILED ||
		    tcpx_control_misses_peer(s, rc, addr_count, now_ns))
			return;
		to = tcpx_control_dialled(s);
		tcpx_addr_format(&to, text, sizeof(text));
		snprintf(s->cause_text, sizeof(s->cause_text), "%s: %s", text,
			 rc == -EAGAIN ? "no answer" : tcpx_err_text(rc));
	}
	if (s->control.line.stream || now_ns < s->control.retry_ns) {
		if (!s->control.line.stream)
			tcpx_session_add_timer(s, s->control.retry_ns);
		return;
	}
	rest_ns = s->state == SESS_CONNECTING ? tcpx_twins_rest(s, now_ns) : 0;
	if (rest_ns) {
		tcpx_session_add_timer(s, rest_ns);
		return;
	}
	rc = s->state == SESS_CONNECTING ? tcpx_handshake_forget(s) : 0;
	if (rc) {
		if (rc != -EAGAIN)
			tcpx_session_fail(s, rc, "%s", "connecting again");
		return;
	}
	pthread_mutex_lock(&p->lock);
	if (p->addr_count)
		to = p->addr[s->control.target_addr++ % p->addr_count];
	pthread_mutex_unlock(&p->lock);
	tcpx_addr_format(&to, text, sizeof(text));
	rc = ops->connect(s->engine->net, -1, &to, packet_max(s), &s->control.line.stream);
	if (rc) {
		if (tcpx_control_misses_peer(s, rc, addr_count, now_ns))
			return;
		snprintf(s->cause_text, sizeof(s->cause_text), "%s: %s", text, tcpx_err_text(rc));
		s->control.line.stream = NULL;
		s->control.retry_ns = now_ns + CONTROL_RETRY_NS;
		tcpx_session_add_timer(s, s->control.retry_ns);
		return;
	}
	s->control.interest = 0;
	s->control.retry_ns = now_ns + CONTROL_ATTEMPT_NS;
	tcpx_control_watch(s, TCPX_READABLE | TCPX_WRITABLE);
	tcpx_session_add_timer(s, s->control.retry_ns);
}
