/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Public calls of tcpx/tcpx.h on a transfer: test, wait, cancel, free, query, and letting a GPU
 * stream wait.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "core/channel/channel.h"
#include "core/context/context.h"
#include "core/loop/lease.h"
#include "core/loop/loop.h"
#include "core/memory/gpu.h"
#include "core/memory/memory.h"
#include "core/memory/payload.h"
#include "core/memory/word.h"
#include "core/session/control.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "core/transfer/answer.h"
#include "core/transfer/end.h"
#include "core/transfer/lane.h"
#include "core/transfer/match.h"
#include "core/transfer/move.h"
#include "core/transfer/stuck.h"
#include "core/transfer/transfer.h"
#include "core/transfer/watch.h"

static struct loop *
loop_of(struct tcpx_xfer *x)
{
	return &x->engine->loop[0]; /* that of all control streams */
}

static bool
spins(struct tcpx_xfer *x, struct loop *l)
{
	return atomic_fetch_add_explicit(&x->waiters.tests, 1, memory_order_relaxed) >=
	       TESTS_BEFORE_HELP || (x->lane && tcpx_lease_spins(l));
}

/* An application that spins does the I/O itself: one thread then does the work of two that
 * would compete for a core. One that has done it just now goes on at once, since nobody else does. */
static void
help(struct tcpx_xfer *x)
{
	struct loop *l = loop_of(x);
	bool by_others = atomic_load_explicit(&x->waiters.by_others, memory_order_relaxed);

	if ((tcpx_lease_is_lent(l) || spins(x, l)) && tcpx_lease_is_due(l, by_others))
		tcpx_lease_help(l);
}

/* A status as the call returns it: a failure has its text. */
static int
told(const struct tcpx_xfer *x, int status)
{
	if (status == 0 || status == -EAGAIN)
		return status;
	return tcpx_fail_known(status, "%s", x->failure.cause[0] ? x->failure.cause :
								   tcpx_err_text(status));
}

int
tcpx_test(tcpx_xfer *x)
{
	int status = atomic_load_explicit(&x->status, memory_order_acquire);

	if (x->lane)
		tcpx_control_flush_owed(x->session);
	if (status == -EAGAIN) {
		help(x);
		status = atomic_load_explicit(&x->status, memory_order_acquire);
	}
	if (status != -EAGAIN && !atomic_load_explicit(&x->waiters.observed, memory_order_relaxed))
		tcpx_watch_observe(x);
	return told(x, status);
}

static bool
ended(void *arg)
{
	struct tcpx_xfer *x = arg;

	return atomic_load_explicit(&x->status, memory_order_acquire) != -EAGAIN;
}

int
tcpx_wait(tcpx_xfer *x, int timeout_ms)
{
	struct loop *l = loop_of(x);
	int rc;

	if (x->lane)
		tcpx_control_flush_owed(x->session);
	if (!ended(x)) {
		atomic_store(&x->waiters.loop, l);
		rc = tcpx_lease_wait(l, ended, x, (_Atomic uint32_t *)&x->status,
				     &x->waiters.sleepers, timeout_ms);
		if (rc)
			return rc;
		atomic_store(&x->waiters.loop, NULL);
	}
	tcpx_watch_observe(x);
	return told(x, atomic_load_explicit(&x->status, memory_order_acquire));
}

/* Ends a receive that waits. False: it does not, or another thread has taken it out to end it. */
static bool
end_waiting(struct tcpx_xfer *x)
{
	struct tcpx_peer *home = tcpx_peer_lock_queues(x->peer);
	bool waiting;

	waiting = x->op == TCPX_OP_RECV && !x->session && tcpx_node_linked(&x->queue);
	if (waiting)
		tcpx_match_remove(home, x);
	tcpx_peer_unlock_queues(x->peer);
	if (!waiting)
		return false;
	tcpx_xfer_end(x, TCPX_ECANCELED, "cancelled");
	tcpx_xfer_put(x);
	return true;
}

/* Its session, locked, with a reference; or NULL after ending a transfer without one. */
static struct session *
hold_session(struct tcpx_xfer *x)
{
	struct session *s = NULL;

	while (!ended(x) && !end_waiting(x) && !(s = tcpx_xfer_lock_session(x)))
		sched_yield();
	return s;
}

void
tcpx_cancel(tcpx_xfer *x)
{
	struct session *s;

	if (ended(x) || !engine_is_here(x->engine))
		return;
	s = hold_session(x);
	if (!s)
		return;
	if (!ended(x)) {
		if (x->lane)
			tcpx_lane_fail(x->lane, TCPX_ECANCELED, "a message of its was cancelled");
		else if (x->op == TCPX_OP_RECV)
			tcpx_answer_done(s, x->id, TCPX_ECANCELED, 0, "cancelled by the receiver",
					NULL, 0);
		else if (tcpx_node_linked(&x->table))
			tcpx_control_say_u64(s, TCPX_FR_CANCEL, x->id);
		tcpx_xfer_end(x, TCPX_ECANCELED, "cancelled");
		tcpx_control_flush(s);
	}
	pthread_mutex_unlock(&s->lock);
	tcpx_session_put(s);
}

void
tcpx_xfer_free(tcpx_xfer *x)
{
	if (!x || !engine_is_here(x->engine))
		return;
	tcpx_cancel(x);
	tcpx_watch_observe(x);
	tcpx_watch_forget(x);
	pthread_mutex_lock(&x->engine->registry.lock);
	tcpx_chain_remove(&x->handle);
	pthread_mutex_unlock(&x->engine->registry.lock);
	x->user = false;
	tcpx_xfer_put(x);
}

int
tcpx_xfer_query(tcpx_xfer *x, struct tcpx_xfer_info *info)
{
	struct tcpx_xfer_info full = { .struct_size = info->struct_size };
	struct stuck stuck = { .channel = -1 };
	struct session *s;

	if (info->struct_size < sizeof(full.struct_size) || info->struct_size > sizeof(full))
		return tcpx_fail(TCPX_SUB_XFER, -EINVAL,
				 "tcpx_xfer_info of %zu bytes, this library knows %zu",
				 info->struct_size, sizeof(full));
	full.status = atomic_load_explicit(&x->status, memory_order_acquire);
	s = full.status == -EAGAIN ? tcpx_xfer_lock_session(x) : NULL;
	full.id = x->id;
	full.bytes_total = x->total;
	full.bytes_done = full.status == 0 ? x->total : atomic_load(&x->bytes_done);
	full.chunk_bytes = x->payload.chunk;
	full.post_ns = x->times.post_ns;
	if (full.status == -EAGAIN)
		stuck = tcpx_xfer_locate(s, x);
	else if (full.status)
		stuck = x->failure.stuck;
	full.stuck_chunk = stuck.chunk;
	full.stuck_channel = stuck.channel;
	memcpy(full.stuck_nic, stuck.nic, sizeof(full.stuck_nic));
	if (stuck.stage)
		snprintf(full.stage, sizeof(full.stage), "%s", stuck.stage);
	if (s) {
		pthread_mutex_unlock(&s->lock);
		tcpx_session_put(s);
	}
	full.done_ns = full.status == -EAGAIN ? 0 : x->times.done_ns;
	if (full.status != -EAGAIN)
		memcpy(full.cause, x->failure.cause, sizeof(full.cause));
	memcpy(info, &full, info->struct_size);
	return 0;
}

int
tcpx_xfer_stream_wait(tcpx_xfer *x, void *stream)
{
	struct gpus *g = &x->engine->memory->gpus;
	uint64_t value = 0;
	uint32_t i = 0;
	int rc;

	if (!x->times.post_ns)
		return tcpx_fail(TCPX_SUB_XFER, TCPX_ESTATE,
				 "a stream cannot wait for a transfer that was never posted");
	if (!g->used)
		return tcpx_fail(TCPX_SUB_DEV, -ENOTSUP, "no GPU memory is registered");
	pthread_mutex_lock(&g->word_lock);
	rc = tcpx_gpu_word_get(g, &x->word);
	if (rc == 0) {
		i = (uint32_t)x->word - 1;
		value = ++g->word_value[i];
	}
	pthread_mutex_unlock(&g->word_lock);
	if (rc == 0)
		rc = g->ops->stream_wait(g->dev, stream, &g->words[i], value);
	if (rc == 0 && atomic_load(&x->status) != -EAGAIN)
		tcpx_gpu_word_set(g, &x->word); /* it ended before it had a word */
	return rc;
}
