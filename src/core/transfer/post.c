/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that start transfers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"
#include "core/loop/event.h"
#include "core/loop/lease.h"
#include "core/loop/loop.h"
#include "core/memory/gpu.h"
#include "core/memory/list.h"
#include "core/memory/memory.h"
#include "core/memory/payload.h"
#include "core/session/peer.h"
#include "core/session/peer_session.h"
#include "core/session/session.h"
#include "core/transfer/launch.h"
#include "core/transfer/match.h"
#include "core/transfer/transfer.h"
#include "core/transfer/watch.h"

/* Memory that a list entry costs at the target: its fragment and prefix sum. */
#define ENTRY_BYTES (sizeof(struct tcpx_frag) + sizeof(uint64_t))

static int
keep_note(struct tcpx_xfer *x, const void *note, size_t len)
{
	uint8_t *copy;

	if (len > TCPX_NOTE_MAX || (len && !note))
		return tcpx_fail(TCPX_SUB_XFER, -EINVAL, "note of %zu bytes, at most %u allowed",
				 len, TCPX_NOTE_MAX);
	if (note && (!x->note.bytes || len > x->note.cap)) {
		copy = malloc(len + 1);
		if (!copy)
			return tcpx_fail(TCPX_SUB_XFER, -ENOMEM, "no memory for a note");
		free(x->note.bytes);
		x->note.bytes = copy;
		x->note.cap = (uint32_t)len;
	}
	if (note)
		memcpy(x->note.bytes, note, len);
	x->note.len = (uint32_t)len;
	x->note.there = note != NULL;
	return 0;
}

static int
enqueue(struct session *s, struct tcpx_xfer *x)
{
	int rc = s->state == SESS_FAILED ? tcpx_session_cause(s) : tcpx_list_check(x->payload.list);

	if (rc == 0 && x->post.remote)
		rc = tcpx_list_check(x->post.remote);
	if (rc == 0 && x->post.list_bytes > s->engine->limit.credit_list)
		rc = tcpx_fail(TCPX_SUB_XFER, TCPX_ELIMIT,
			       "a remote list of %zu entries needs %llu bytes, "
			       "TCPX_CREDIT_LIST_BYTES allows %llu", x->post.remote->entry_count,
			       (unsigned long long)x->post.list_bytes,
			       (unsigned long long)s->engine->limit.credit_list);
	if (rc)
		return rc;
	x->times.post_ns = engine_now(s->engine);
	x->times.ready_ns = 0;
	atomic_store_explicit(&x->bytes_done, 0, memory_order_relaxed);
	atomic_store_explicit(&x->waiters.tests, 0, memory_order_relaxed);
	if (!atomic_load(&x->waiters.observed) && !atomic_exchange(&x->waiters.observed, true))
		tcpx_event_drop(s->engine); /* its last end was never tested */
	tcpx_watch_posted(x);
	count_add(&s->engine->count.xfers_posted, 1);
	tcpx_xfer_get(x);
	if (x->post.event) {
		tcpx_chain_add(&s->xfers.after_event, &x->queue);
		atomic_fetch_add(&s->engine->registry.after_event, 1);
		tcpx_loop_wake(s->loop);
	} else {
		tcpx_chain_add(&s->xfers.waiting[xfer_kind(x)], &x->queue);
	}
	tcpx_session_used(s);
	tcpx_launch_waiting(s, x->times.post_ns);
	return 0;
}

/* Sets x->session and locks it: that of its last post, if still open, or the peer's. */
static int
bind_session(struct tcpx_xfer *x)
{
	struct session *s;
	int rc;

	if (x->session && atomic_load(&x->session->state) == SESS_OPEN) {
		pthread_mutex_lock(&x->session->lock);
		return 0;
	}
	rc = tcpx_peer_lock_session(x->peer, &s);
	if (rc)
		return rc;
	if (x->session)
		tcpx_session_put(x->session);
	x->session = s;
	return 0;
}

static int
post(struct tcpx_xfer *x, const void *note, size_t note_len)
{
	struct session *s;
	struct loop *loop;
	bool early;
	int rc = engine_check(x->engine);

	if (rc)
		return rc;
	if (atomic_load(&x->status) == -EAGAIN)
		return tcpx_fail(TCPX_SUB_XFER, TCPX_ESTATE, "post of a transfer in progress");
	if (atomic_load(&x->engine->stopping))
		return tcpx_fail(TCPX_SUB_XFER, TCPX_ECLOSED, "post on an engine that is closing");
	rc = keep_note(x, note, note_len);
	if (rc)
		return rc;
	rc = bind_session(x);
	if (rc)
		return rc;
	s = x->session;
	loop = s->loop;
	rc = enqueue(s, x);
	early = atomic_load(&s->state) < SESS_OPEN;
	pthread_mutex_unlock(&s->lock); /* another thread may move x, and free this session */
	if (rc == 0 && early) /* the poster takes it on by a turn */
		tcpx_lease_help(loop);
	return rc;
}

/* A transfer of two lists, not posted, without a session. Takes over both list references,
 * also on failure. */
static int
make(struct tcpx_peer *peer, enum tcpx_op op, struct tcpx_list *local, struct tcpx_list *remote,
     struct tcpx_xfer **out)
{
	struct tcpx_xfer *x;
	int rc = 0;

	if (remote && remote->total != local->total)
		rc = tcpx_fail(TCPX_SUB_XFER, -EINVAL,
			       "local list has %llu bytes, remote list %llu: must be equal",
			       (unsigned long long)local->total, (unsigned long long)remote->total);
	if (rc == 0)
		rc = tcpx_xfer_new(peer->engine, &x);
	if (rc) {
		tcpx_list_put(local);
		tcpx_list_put(remote);
		return rc;
	}
	x->op = op;
	x->sends = op == TCPX_OP_WRITE || op == TCPX_OP_SEND;
	x->payload.list = local;
	x->post.remote = remote;
	x->post.list_bytes = 0;
	x->user = true;
	tcpx_peer_get(peer);
	x->peer = peer;
	*out = x;
	return 0;
}

static int
post_new(struct tcpx_peer *peer, enum tcpx_op op, const struct tcpx_desc *local, size_t nlocal,
	 const struct tcpx_desc *remote, size_t nremote, const void *note, size_t note_len,
	 uint64_t tag, struct tcpx_xfer **out)
{
	struct tcpx_list *l, *r = NULL;
	struct tcpx_xfer *x;
	bool two_sided = op == TCPX_OP_SEND || op == TCPX_OP_RECV;
	int rc = engine_check(peer->engine);

	if (rc)
		return rc;
	rc = tcpx_list_new(peer->engine, local, nlocal, false, &l);
	if (rc)
		return rc;
	if (!two_sided) {
		rc = tcpx_list_new(peer->engine, remote, nremote, true, &r);
		if (rc) {
			tcpx_list_put(l);
			return rc;
		}
	}
	rc = make(peer, op, l, r, &x);
	if (rc)
		return rc;
	x->post.tag = tag;
	x->post.list_bytes = r ? r->entry_count * ENTRY_BYTES : 0;
	rc = op == TCPX_OP_RECV ? tcpx_match_recv(peer, x) : post(x, note, note_len);
	if (rc) {
		tcpx_xfer_put(x);
		return rc;
	}
	tcpx_xfer_hand_out(x);
	*out = x;
	return 0;
}

int
tcpx_write(tcpx_peer *peer, const struct tcpx_desc *local, size_t nlocal,
	   const struct tcpx_desc *remote, size_t nremote, const void *note, size_t note_len,
	   tcpx_xfer **xfer)
{
	return post_new(peer, TCPX_OP_WRITE, local, nlocal, remote, nremote, note, note_len, 0,
			xfer);
}

int
tcpx_read(tcpx_peer *peer, const struct tcpx_desc *local, size_t nlocal,
	  const struct tcpx_desc *remote, size_t nremote, const void *note, size_t note_len,
	  tcpx_xfer **xfer)
{
	return post_new(peer, TCPX_OP_READ, local, nlocal, remote, nremote, note, note_len, 0,
			xfer);
}

int
tcpx_send(tcpx_peer *peer, const struct tcpx_desc *local, size_t nlocal, uint64_t tag,
	  tcpx_xfer **xfer)
{
	return post_new(peer, TCPX_OP_SEND, local, nlocal, NULL, 0, NULL, 0, tag, xfer);
}

int
tcpx_recv(tcpx_peer *peer, const struct tcpx_desc *local, size_t nlocal, uint64_t tag,
	  tcpx_xfer **xfer)
{
	return post_new(peer, TCPX_OP_RECV, local, nlocal, NULL, 0, NULL, 0, tag, xfer);
}

int
tcpx_xfer_prepare(tcpx_peer *peer, enum tcpx_op op, tcpx_list *local, tcpx_list *remote,
		  tcpx_xfer **xfer)
{
	bool one_sided = op == TCPX_OP_WRITE || op == TCPX_OP_READ;
	struct tcpx_xfer *x;
	int rc;

	if (!one_sided || !local || !remote || local->imported || !remote->imported)
		return tcpx_fail(TCPX_SUB_XFER, -EINVAL,
				 "prepare: op %d must be write or read, with a local list and a list "
				 "of imported regions", op);
	atomic_fetch_add(&local->refs, 1);
	atomic_fetch_add(&remote->refs, 1);
	rc = make(peer, op, local, remote, &x);
	if (rc)
		return rc;
	atomic_store(&x->status, TCPX_ESTATE); /* not posted yet */
	tcpx_xfer_hand_out(x);
	*xfer = x;
	return 0;
}

int
tcpx_xfer_post(tcpx_xfer *x, const void *note, size_t note_len)
{
	return tcpx_xfer_post_after(x, NULL, note, note_len);
}

int
tcpx_xfer_post_after(tcpx_xfer *x, void *event, const void *note, size_t note_len)
{
	int rc;

	if (atomic_load(&x->status) == -EAGAIN)
		return tcpx_fail(TCPX_SUB_XFER, TCPX_ESTATE, "post of a transfer in progress");
	if (event && !x->engine->memory->gpus.used)
		return tcpx_fail(TCPX_SUB_XFER, -ENOTSUP,
				 "an event to post after, and no GPU memory is registered");
	if (x->op == TCPX_OP_RECV || x->op == TCPX_OP_SEND)
		return tcpx_fail(TCPX_SUB_XFER, -EINVAL, "only prepared transfers are posted again");
	x->post.list_bytes = x->post.remote->entry_count * ENTRY_BYTES;
	x->post.event = event;
	rc = post(x, note, note_len);
	if (rc)
		x->post.event = NULL;
	return rc;
}
