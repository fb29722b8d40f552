/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transfer's life on this side: made, in a session's table, ended once by the first
 * cause. Ending waits until no socket call or copy holds its memory, never for the
 * network.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"

int
tcpx_xfer_new(struct tcpx_engine *e, struct tcpx_xfer **out)
{
	struct tcpx_xfer *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	x->engine = e;
	x->refs = 1;
	x->observed = true;
	tcpx_node_init(&x->table);
	tcpx_node_init(&x->queue);
	tcpx_node_init(&x->handle);
	*out = x;
	return 0;
}

void
tcpx_xfer_get(struct tcpx_xfer *x)
{
	atomic_fetch_add_explicit(&x->refs, 1, memory_order_relaxed);
}

void
tcpx_xfer_put(struct tcpx_xfer *x)
{
	if (!x || atomic_fetch_sub(&x->refs, 1) != 1)
		return;
	tcpx_list_put(x->list);
	tcpx_list_put(x->remote);
	tcpx_builder_free(x->builder);
	if (x->word)
		tcpx_gpu_word_put(x);
	free(x->note);
	free(x->again);
	free(x->map.words);
	if (x->session)
		tcpx_session_put(x->session);
	if (x->peer)
		tcpx_peer_put(x->peer);
	free(x);
}

void
tcpx_xfer_shape(struct tcpx_xfer *x, uint64_t total, uint32_t chunk)
{
	x->total = total;
	x->chunk = chunk;
	x->chunks = tcpx_chunk_count(total, chunk);
	x->next_chunk = 0;
	x->again_count = 0;
	x->applied = 0;
	x->in_flight = 0;
}

int
tcpx_xfer_map(struct tcpx_xfer *x)
{
	uint64_t *words = calloc((x->chunks + 63) / 64 + 1, sizeof(*words));

	if (!words)
		return -ENOMEM;
	free(x->map.words);
	x->map = (struct tcpx_chunkmap){ .words = words, .count = x->chunks };
	return 0;
}

struct tcpx_xfer *
tcpx_xfer_find(struct session *s, uint64_t id)
{
	tcpx_chain_each(n, after, &s->table[id % SESS_BUCKETS]) {
		struct tcpx_xfer *x = tcpx_container(n, struct tcpx_xfer, table);

		if (x->id == id)
			return x;
	}
	return NULL;
}

void
tcpx_xfer_insert(struct session *s, struct tcpx_xfer *x, uint64_t now_ns)
{
	tcpx_chain_add(&s->table[x->id % SESS_BUCKETS], &x->table);
	s->live++;
	s->live_bytes += x->total;
	x->progress_ns = now_ns;
}

void
tcpx_xfer_quiesce(struct tcpx_xfer *x)
{
	struct tcpx_engine *e = x->engine;
	uint32_t i;

	atomic_store(&x->live, 0);
	for (i = 0; i < e->loop_count; i++)
		while (atomic_load(&e->loop[i].gate) == x)
			sched_yield();
	while (atomic_load(&x->batched) > 0)
		for (i = 0; i < e->loop_count; i++)
			tcpx_batches_finish(&e->loop[i]);
}

/* Takes it out of whatever chain of the session it is in; how many references they held. */
static int
unlink_xfer(struct session *s, struct tcpx_xfer *x)
{
	int held = 0;

	if (x->drr.next) {
		tcpx_drr_remove(&s->drr, &x->drr);
		s->queued_bytes -= tcpx_tx_queued(x);
	}
	if (tcpx_node_linked(&x->table)) {
		tcpx_chain_remove(&x->table);
		s->live--;
		s->live_bytes -= x->total;
		if (!x->target) {
			s->used_xfers--;
			s->used_list -= x->list_bytes;
			x->list_bytes = 0;
		}
		held++;
	}
	if (tcpx_node_linked(&x->queue)) {
		if (x->event)
			atomic_fetch_sub(&x->engine->eventful, 1);
		x->event = NULL;
		tcpx_chain_remove(&x->queue);
		held++;
	}
	return held;
}

static void
announce(struct tcpx_xfer *x, int code)
{
	bool user = x->user; /* the handle may be given back as soon as the status is seen */
	struct loop *l;

	atomic_store_explicit(&x->observed, !user, memory_order_relaxed);
	atomic_store(&x->status, code);
	if (user) /* after the status: whoever the descriptor wakes finds it */
		tcpx_event_add(x->engine);
	if (atomic_load(&x->word))
		tcpx_gpu_word_set(x);
	if (atomic_load(&x->sleepers) > 0)
		tcpx_futex_wake(&x->status, 1 << 30);
	l = atomic_load(&x->wait_loop);
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
	/* the peer may say DONE before the call that sent the last byte has returned here */
	if (code == 0 && !x->sends)
		atomic_store(&x->live, 0);
	else if (atomic_load(&x->live))
		tcpx_xfer_quiesce(x);
	if (s)
		held = unlink_xfer(s, x);
	if (held == 0) { /* the application may let go of it as soon as it is told */
		tcpx_xfer_get(x);
		held = 1;
	}
	x->done_ns = now_ns = engine_now(e);
	x->cause[0] = '\0';
	if (code && text)
		snprintf(x->cause, sizeof(x->cause), "%s", text);
	count_add(code ? &e->count.xfers_failed : &e->count.xfers_done, x->user);
	announce(x, code);
	if (atomic_load(&e->stopping)) { /* tcpx_stop() waits for the last one */
		tcpx_engine_bell(e);
		tcpx_loop_wake(&e->loop[0]);
	}
	if (s && !tcpx_chain_empty(&s->waiting))
		tcpx_post_waiting(s, now_ns);
	while (held-- > 0)
		tcpx_xfer_put(x);
}

/* ---- public ---- */

static void
observe(struct tcpx_xfer *x)
{
	if (!atomic_exchange(&x->observed, true))
		tcpx_event_drop(x->engine);
}

static struct loop *
loop_of(struct tcpx_xfer *x)
{
	return &x->engine->loop[0]; /* of every control stream */
}

/* An application that spins takes the I/O upon itself: one thread then does the work of
 * two that would fight for a core. */
static void
help(struct tcpx_xfer *x)
{
	if (atomic_fetch_add_explicit(&x->tests, 1, memory_order_relaxed) >= FRUITLESS)
		tcpx_lease_help(loop_of(x));
}

int
tcpx_test(tcpx_xfer *x)
{
	int status = atomic_load_explicit(&x->status, memory_order_acquire);

	if (status == -EAGAIN) {
		help(x);
		status = atomic_load_explicit(&x->status, memory_order_acquire);
	}
	if (status != -EAGAIN && !atomic_load_explicit(&x->observed, memory_order_relaxed))
		observe(x);
	return status;
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

	if (!ended(x)) {
		atomic_store(&x->wait_loop, l);
		if (tcpx_lease_wait(l, ended, x, (_Atomic uint32_t *)&x->status, &x->sleepers,
				    timeout_ms) != 0)
			return -EAGAIN;
		atomic_store(&x->wait_loop, NULL);
	}
	observe(x);
	return atomic_load_explicit(&x->status, memory_order_acquire);
}

/* The session it is bound to, with a reference, or NULL after ending an unbound one. */
static struct session *
hold_session(struct tcpx_xfer *x)
{
	struct session *s;
	bool waiting;

	if (x->op != TCPX_OP_RECV) {
		s = x->session;
		if (s)
			tcpx_session_get(s);
		return s;
	}
	pthread_mutex_lock(&x->peer->lock);
	s = x->session;
	waiting = !s && tcpx_node_linked(&x->queue);
	if (waiting)
		tcpx_chain_remove(&x->queue);
	if (s)
		tcpx_session_get(s);
	pthread_mutex_unlock(&x->peer->lock);
	if (waiting) {
		tcpx_xfer_end(x, TCPX_ECANCELED, "cancelled");
		tcpx_xfer_put(x);
	}
	while (!s && !ended(x))
		sched_yield(); /* another thread took it out to end it */
	return s;
}

void
tcpx_cancel(tcpx_xfer *x)
{
	struct session *s;

	if (ended(x))
		return;
	s = hold_session(x);
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	if (!ended(x)) {
		if (x->op == TCPX_OP_RECV)
			tcpx_serve_done(s, x->id, TCPX_ECANCELED, 0, "cancelled by the receiver",
					NULL, 0);
		else if (tcpx_node_linked(&x->table))
			tcpx_control_put_u64(s, TCPX_FR_CANCEL, x->id);
		tcpx_xfer_end(x, TCPX_ECANCELED, "cancelled");
		tcpx_control_flush(s);
	}
	pthread_mutex_unlock(&s->lock);
	tcpx_session_put(s);
}

void
tcpx_free(tcpx_xfer *x)
{
	if (!x)
		return;
	tcpx_cancel(x);
	observe(x);
	pthread_mutex_lock(&x->engine->lock);
	tcpx_chain_remove(&x->handle);
	pthread_mutex_unlock(&x->engine->lock);
	x->user = false;
	tcpx_xfer_put(x);
}

int
tcpx_xfer_query(tcpx_xfer *x, struct tcpx_xfer_info *info)
{
	struct tcpx_xfer_info full = { .struct_size = info->struct_size };
	struct session *s;

	if (info->struct_size < sizeof(full.struct_size) || info->struct_size > sizeof(full))
		return tcpx_fail(TCPX_SUB_XFER, -EINVAL,
				 "tcpx_xfer_info of %zu bytes, this library knows %zu",
				 info->struct_size, sizeof(full));
	full.status = atomic_load_explicit(&x->status, memory_order_acquire);
	pthread_mutex_lock(&x->peer->lock);
	s = full.status == -EAGAIN ? x->session : NULL;
	if (s)
		tcpx_session_get(s);
	pthread_mutex_unlock(&x->peer->lock);
	if (s)
		pthread_mutex_lock(&s->lock);
	full.id = x->id;
	full.bytes_total = x->total;
	full.bytes_done = full.status == 0 ? x->total : atomic_load(&x->bytes_done);
	full.chunk_bytes = x->chunk;
	full.post_ns = x->post_ns;
	if (s) {
		pthread_mutex_unlock(&s->lock);
		tcpx_session_put(s);
	}
	full.done_ns = full.status == -EAGAIN ? 0 : x->done_ns;
	if (full.status != -EAGAIN)
		memcpy(full.cause, x->cause, sizeof(full.cause));
	memcpy(info, &full, info->struct_size);
	return 0;
}
