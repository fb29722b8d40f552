/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transfer's end: once, with the first cause. It waits until no socket call or copy holds
 * the memory, never for the network.
 */
#include "core/transfer/end.h"

#include <errno.h>
#include <stdio.h>

#include "core/context/context.h"
#include "core/loop/event.h"
#include "core/loop/futex.h"
#include "core/loop/loop.h"
#include "core/memory/gpu.h"
#include "core/memory/list.h"
#include "core/memory/memory.h"
#include "core/memory/payload.h"
#include "core/memory/word.h"
#include "core/session/session.h"
#include "core/transfer/lane_state.h"
#include "core/transfer/launch.h"
#include "core/transfer/stuck.h"
#include "core/transfer/transfer.h"
#include "core/transfer/turn.h"
#include "core/transfer/watch.h"

static uint64_t
queued_bytes(const struct tcpx_xfer *x)
{
	uint64_t taken = (uint64_t)x->tx.next_chunk * x->payload.chunk, sum;
	uint32_t i;

	sum = taken < x->total ? x->total - taken : 0;
	for (i = 0; i < x->tx.again_count; i++)
		sum += tcpx_chunk_len(x->total, x->payload.chunk, x->tx.again[i]);
	return sum;
}

/* Removes it from its chains of the session; returns the number of their references. */
static int
unlink_xfer(struct session *s, struct tcpx_xfer *x)
{
	int held = 0;

	if (tcpx_turn_has(x)) {
		tcpx_turn_leave(s, x);
		s->sched.queued_bytes -= queued_bytes(x);
	}
	if (x->lane)
		return tcpx_lane_unlink(x);
	if (tcpx_node_linked(&x->table)) {
		tcpx_chain_remove(&x->table);
		s->xfers.live--;
		s->xfers.live_bytes -= x->total;
		if (x->target) {
			s->credit.their_list -= x->post.list_bytes;
		} else {
			s->credit.used_xfers[xfer_kind(x)]--;
			s->credit.used_list -= x->post.list_bytes;
		}
		x->post.list_bytes = 0;
		held++;
	}
	if (tcpx_node_linked(&x->queue)) {
		if (x->post.event)
			atomic_fetch_sub(&x->engine->registry.after_event, 1);
		x->post.event = NULL;
		tcpx_chain_remove(&x->queue);
		held++;
	}
	return held;
}

static void
announce(struct tcpx_xfer *x, int code)
{
	bool user = x->user; /* the handle may be freed as soon as the status is visible */
	bool counted = user && !atomic_load(&x->watch.on);
	struct loop *l;

	atomic_store_explicit(&x->waiters.observed, !counted, memory_order_relaxed);
	atomic_store(&x->status, code);
	if (counted) /* after the status: a thread woken by the descriptor must see it */
		tcpx_event_add(x->engine);
	if (user)
		tcpx_watch_ended(x);
	if (atomic_load(&x->word))
		tcpx_gpu_word_set(&x->engine->memory->gpus, &x->word);
	if (atomic_load(&x->waiters.sleepers) > 0)
		tcpx_futex_wake(&x->status, 1 << 30);
	l = atomic_load(&x->waiters.loop);
	if (l)
		tcpx_loop_wake(l);
}

void
tcpx_xfer_end(struct tcpx_xfer *x, int code, const char *text)
{
	struct session *s = x->session;
	struct tcpx_engine *e = x->engine;
	uint64_t now_ns;
	int held = 0;

	if (atomic_load(&x->status) != -EAGAIN)
		return;
	/* DONE may come before the call that sent the last byte has returned here. Of a receive all is
	 * in place, but a wrong peer may have sent some of it twice. */
	if (atomic_exchange(&x->payload.live, 0) != 0)
		tcpx_payload_quiesce(x->engine, &x->payload);
	if (code) {
		x->failure.stuck = tcpx_xfer_locate(s, x);
		tcpx_xfer_recall(s, x);
	} else if (x->lane) {
		tcpx_lane_count(x);
	}
	if (s)
		held = unlink_xfer(s, x);
	if (held == 0) { /* the application may free it as soon as the status is visible */
		tcpx_xfer_get(x);
		held = 1;
	}
	x->times.done_ns = now_ns = engine_now(e);
	x->failure.cause[0] = '\0';
	if (code && text)
		snprintf(x->failure.cause, sizeof(x->failure.cause), "%s", text);
	count_add(code ? &e->count.xfers_failed : &e->count.xfers_done, x->user);
	announce(x, code);
	if (atomic_load(&e->stopping)) { /* tcpx_close_wait() waits for the last one */
		tcpx_event_session(e);
		tcpx_loop_wake(&e->loop[0]);
	}
	if (s && session_waits(s))
		tcpx_launch_waiting(s, now_ns);
	while (held-- > 0)
		tcpx_xfer_put(x);
}

void
tcpx_xfers_end(struct session *s)
{
	int i;

	s->xfers.launching = true; /* nothing new is opened while the rest ends */
	for (i = 0; i < SESS_CHAINS; i++)
		tcpx_chain_each(n, after, &s->xfers.bucket[i])
			tcpx_xfer_end(tcpx_container(n, struct tcpx_xfer, table), s->cause,
				      s->cause_text);
	for (i = 0; i < CREDIT_KINDS; i++)
		tcpx_chain_each(m, after2, &s->xfers.waiting[i])
			tcpx_xfer_end(tcpx_container(m, struct tcpx_xfer, queue), s->cause,
				      s->cause_text);
	tcpx_chain_each(k, after3, &s->xfers.after_event)
		tcpx_xfer_end(tcpx_container(k, struct tcpx_xfer, queue), s->cause,
			      s->cause_text);
	if (s->xfers.opening) {
		tcpx_xfer_put(s->xfers.opening);
		s->xfers.opening = NULL;
		s->xfers.half_read = false;
	}
}
