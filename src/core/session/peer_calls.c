/* SPDX-License-Identifier: Apache-2.0 */
/* Public calls of tcpx/tcpx.h on a peer. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/context/context.h"
#include "core/loop/lease.h"
#include "core/session/control.h"
#include "core/session/note_flow.h"
#include "core/session/peer.h"
#include "core/session/peer_index.h"
#include "core/session/peer_session.h"
#include "core/session/session.h"
#include "net/resolve.h"
#include "proto/blob.h"

/* Gives the peer to the application and starts its session. Takes over the reference. */
static int
hand_out(struct tcpx_peer *p, tcpx_peer **peer)
{
	struct session *s;
	int rc;

	atomic_fetch_add(&p->handles, 1);
	p->dropped_ns = 0;
	rc = tcpx_peer_session(p, &s);
	if (rc) {
		atomic_fetch_sub(&p->handles, 1);
		tcpx_peer_put(p);
		return rc;
	}
	tcpx_session_put(s);
	*peer = p;
	return 0;
}

/* Has it a session that is not cut? If it is, the peer may have restarted. */
static bool
is_connected(struct tcpx_peer *p)
{
	int gone;
	struct session *s = tcpx_peer_usable_session(p, &gone);
	bool cut;

	if (!s)
		return false;
	pthread_mutex_lock(&s->lock);
	cut = s->state == SESS_FAILED || (s->state == SESS_OPEN && !s->control.line.stream);
	pthread_mutex_unlock(&s->lock);
	tcpx_session_put(s);
	return !cut;
}

/* The peer that has a session, and was dialled so; a reference. NULL: none. */
static struct tcpx_peer *
connected_at(struct tcpx_engine *e, const struct tcpx_addr *addr, uint32_t count, const char *name)
{
	struct tcpx_peer *p;
	uint64_t number = 0;

	while ((p = tcpx_peer_index_dialled(e, addr, count, name, number)) && !is_connected(p)) {
		number = p->number;
		tcpx_peer_put(p);
	}
	return p;
}

/* Hands a peer out with the addresses that the application gave for it. */
static int
place(struct tcpx_peer *p, const struct tcpx_addr *addr, uint32_t count, tcpx_peer **peer)
{
	int rc = tcpx_peer_index_place(p, addr, count);

	if (rc) {
		tcpx_peer_put(p);
		return rc;
	}
	return hand_out(p, peer);
}

int
tcpx_peer_add(tcpx_engine *e, const void *blob, size_t len, tcpx_peer **peer)
{
	struct tcpx_endpoint_blob ep;
	struct tcpx_addr addr[TCPX_NICS_MAX];
	struct tcpx_peer *p;
	struct tcpx_buf b;
	int rc;

	tcpx_buf_init_const(&b, blob, len);
	if (!blob || tcpx_endpoint_blob_read(&b, &ep) != 0)
		return tcpx_fail(TCPX_SUB_BOOT, TCPX_EBLOB, "engine blob of %zu bytes", len);
	rc = tcpx_peer_find_or_make(e, ep.name, ep.incarnation, NULL, NULL, &p);
	if (rc)
		return rc;
	for (uint32_t i = 0; i < ep.nic_count; i++)
		addr[i] = ep.nic[i].addr;
	return place(p, addr, ep.nic_count, peer);
}

int
tcpx_peer_connect(tcpx_engine *e, const char *host_port, tcpx_peer **peer)
{
	char name[TCPX_NAME_MAX];
	struct tcpx_addr addr[8];
	struct tcpx_peer *p;
	const char *at;
	uint32_t count;
	int rc;

	if (!host_port)
		return tcpx_fail(TCPX_SUB_BOOT, -EINVAL, "no HOST:PORT given");
	at = strrchr(host_port, '@');
	if (at && (at == host_port || (size_t)(at - host_port) >= sizeof(name)))
		return tcpx_fail(TCPX_SUB_BOOT, -EINVAL, "\"%s\": a name of 1 to %zu bytes is allowed "
				 "before the @", host_port, sizeof(name) - 1);
	snprintf(name, sizeof(name), "%.*s", at ? (int)(at - host_port) : (int)strlen(host_port),
		 host_port);
	if (at && tcpx_name_control(name))
		return tcpx_fail(TCPX_SUB_BOOT, -EINVAL, "the name before @%s has a control character: no engine has "
				 "such a name", at + 1);
	rc = tcpx_addr_resolve(at ? at + 1 : host_port, addr, 8, &count);
	p = rc ? NULL : connected_at(e, addr, count, at ? name : NULL);
	if (p)
		return hand_out(p, peer);
	if (rc == 0)
		rc = tcpx_peer_new(e, name, 0, &p);
	if (rc)
		return rc;
	p->named = at != NULL; /* nobody looks before it has its address */
	return place(p, addr, count, peer);
}

void
tcpx_peer_free(tcpx_peer *p)
{
	if (!p || !engine_is_here(p->engine))
		return;
	if (atomic_fetch_sub(&p->handles, 1) == 1) {
		p->dropped_ns = engine_now(p->engine);
		tcpx_peer_linger_until(p, p->dropped_ns + p->engine->limit.linger_ns);
		pthread_mutex_lock(&p->lock);
		if (p->out)
			tcpx_session_wake_loop(p->out);
		pthread_mutex_unlock(&p->lock);
	}
	tcpx_peer_put(p);
}

/* Opened by the peer, in any state; a reference. NULL: none. */
static struct session *
first_inbound(struct tcpx_peer *p)
{
	struct session *s = NULL;

	pthread_mutex_lock(&p->lock);
	if (!tcpx_chain_empty(&p->inbound)) {
		s = tcpx_container(p->inbound.next, struct session, in_peer);
		tcpx_session_get(s);
	}
	pthread_mutex_unlock(&p->lock);
	return s;
}

/* 0 open, -EAGAIN not yet, or the reason. */
static int
status_of(struct tcpx_peer *p)
{
	int rc;
	struct session *s = tcpx_peer_usable_session(p, &rc);

	if (!s)
		s = first_inbound(p);
	if (rc == 0 && (!s || atomic_load(&s->state) != SESS_OPEN))
		rc = -EAGAIN;
	/* its loop may not have taken it out yet */
	if (rc == -EAGAIN && s && atomic_load(&s->state) == SESS_FAILED && s->cause != TCPX_ECLOSED)
		rc = s->cause;
	if (s)
		tcpx_session_put(s);
	return rc;
}

static bool
decided(void *arg)
{
	return status_of(arg) != -EAGAIN;
}

int
tcpx_peer_wait(tcpx_peer *p, int timeout_ms)
{
	struct tcpx_engine *e = p->engine;
	struct session *s;
	int rc;

	rc = tcpx_peer_session(p, &s); /* a session closed meanwhile is opened again */
	if (rc)
		return rc;
	tcpx_session_put(s);
	rc = tcpx_lease_wait(&e->loop[0], decided, p, &e->changes.count, &e->changes.sleepers,
			     timeout_ms);
	if (rc)
		return rc;
	rc = status_of(p);
	return rc && rc != -EAGAIN ? tcpx_peer_fail(p, rc) : rc;
}

int
tcpx_peer_query(tcpx_peer *p, struct tcpx_peer_info *info)
{
	struct tcpx_peer_info full = { .struct_size = info->struct_size };
	struct session *s;
	int gone;

	if (info->struct_size < sizeof(full.struct_size) || info->struct_size > sizeof(full))
		return tcpx_fail(TCPX_SUB_XFER, -EINVAL,
				 "tcpx_peer_info of %zu bytes, this library knows %zu",
				 info->struct_size, sizeof(full));
	full.status = status_of(p);
	pthread_mutex_lock(&p->lock);
	memcpy(full.name, p->name, sizeof(full.name));
	full.incarnation = p->incarnation;
	if (full.status && p->gone)
		memcpy(full.cause, p->gone_text, sizeof(full.cause));
	pthread_mutex_unlock(&p->lock);
	if (info->struct_size <= offsetof(struct tcpx_peer_info, channels_tx)) { /* asked for each message */
		memcpy(info, &full, info->struct_size);
		return 0;
	}
	snprintf(full.provider, sizeof(full.provider), "%s", p->engine->ops->name);
	s = tcpx_peer_usable_session(p, &gone);
	if (!s)
		s = first_inbound(p);
	if (s) {
		pthread_mutex_lock(&s->lock);
		full.channels_tx = s->chan.tx_up;
		full.channels_rx = s->chan.rx_up;
		full.channels_wanted = s->chan.count;
		full.resting_tx = session_resting(s, true);
		full.resting_rx = session_resting(s, false);
		full.chunk_bytes = s->chan.chunk_max;
		full.window_slots = s->chan.window;
		if (full.status && !full.cause[0])
			snprintf(full.cause, sizeof(full.cause), "%.*s", (int)sizeof(full.cause) - 1,
				 s->cause_text);
		full.setup_ns = s->health.open_ns ? s->health.open_ns - s->health.start_ns : 0;
		pthread_mutex_unlock(&s->lock);
		tcpx_session_put(s);
	}
	memcpy(info, &full, info->struct_size);
	return 0;
}

int
tcpx_notify(tcpx_peer *p, const void *data, size_t len)
{
	struct session *s;
	int rc;

	if (len > TCPX_NOTE_MAX || (len && !data))
		return tcpx_fail(TCPX_SUB_XFER, -EINVAL, "note of %zu bytes, at most %u allowed",
				 len, TCPX_NOTE_MAX);
	rc = tcpx_peer_lock_session(p, &s);
	if (rc)
		return rc;
	if (s->state == SESS_FAILED) {
		rc = tcpx_session_cause(s);
	} else {
		rc = tcpx_notes_send(s, data, len);
		tcpx_control_flush(s);
	}
	count_add(&p->engine->count.notes_tx, rc == 0);
	pthread_mutex_unlock(&s->lock);
	tcpx_session_put(s);
	return rc;
}
