/* SPDX-License-Identifier: Apache-2.0 */
/* A transfer's object: made, cut into chunks, entered in a session's table. */
#include "core/transfer/transfer.h"

#include <errno.h>
#include <stdlib.h>

#include "core/context/context.h"
#include "core/memory/builder.h"
#include "core/memory/gpu.h"
#include "core/memory/list.h"
#include "core/memory/memory.h"
#include "core/memory/payload.h"
#include "core/memory/word.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "core/transfer/lane_state.h"

int
tcpx_xfer_new(struct tcpx_engine *e, struct tcpx_xfer **out)
{
	struct tcpx_xfer *x = malloc(sizeof(*x)); /* calloc() of glibc has no cache of its own before 2.41 */

	if (!x)
		return tcpx_fail(TCPX_SUB_XFER, -ENOMEM, "no memory for a transfer");
	*x = (struct tcpx_xfer){ .engine = e, .refs = 1, .waiters.observed = true };
	tcpx_node_init(&x->table);
	tcpx_node_init(&x->queue);
	tcpx_node_init(&x->handle);
	tcpx_node_init(&x->watch.entry.node);
	x->watch.entry.xfer = x;
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
	tcpx_list_put(x->payload.list);
	tcpx_list_put(x->post.remote);
	tcpx_builder_free(x->rx.builder);
	if (x->word)
		tcpx_gpu_word_put(&x->engine->memory->gpus, &x->word);
	free(x->note.bytes);
	free(x->tx.again);
	free(x->rx.map.words);
	if (x->kept)
		tcpx_kept_give(x->session->peer, KEPT_LISTS, x->kept);
	tcpx_lane_put(x->lane);
	if (x->session)
		tcpx_session_put(x->session);
	if (x->peer)
		tcpx_peer_put(x->peer);
	free(x);
}

void
tcpx_xfer_hand_out(struct tcpx_xfer *x)
{
	pthread_mutex_lock(&x->engine->registry.lock);
	tcpx_chain_add(&x->engine->registry.xfers, &x->handle);
	pthread_mutex_unlock(&x->engine->registry.lock);
}

void
tcpx_xfer_shape(struct tcpx_xfer *x, uint64_t total, uint32_t chunk)
{
	x->total = total;
	x->payload.chunk = chunk;
	x->chunks = tcpx_chunk_count(total, chunk);
	x->tx.next_chunk = 0;
	x->tx.again_count = 0;
	x->tx.applied = 0;
	x->tx.in_flight = 0;
}

int
tcpx_xfer_map(struct tcpx_xfer *x)
{
	uint64_t *words = calloc((x->chunks + 63) / 64 + 1, sizeof(*words));

	if (!words)
		return -ENOMEM;
	free(x->rx.map.words);
	x->rx.map = (struct tcpx_chunkmap){ .words = words, .count = x->chunks };
	return 0;
}

/* Lanes have messages of the same numbers, and find their own. */
void
tcpx_xfer_enter(struct session *s, struct tcpx_xfer *x)
{
	tcpx_chain_add(&s->xfers.bucket[x->lane ? SESS_BUCKETS : x->id % SESS_BUCKETS], &x->table);
}

struct tcpx_xfer *
tcpx_xfer_find(struct session *s, uint64_t id)
{
	if (tcpx_lane_is(id))
		return tcpx_lane_message(s, id);
	tcpx_chain_each(n, after, &s->xfers.bucket[id % SESS_BUCKETS]) {
		struct tcpx_xfer *x = tcpx_container(n, struct tcpx_xfer, table);

		if (x->id == id)
			return x;
	}
	return NULL;
}

void
tcpx_xfer_insert(struct session *s, struct tcpx_xfer *x, uint64_t now_ns)
{
	tcpx_xfer_enter(s, x);
	s->xfers.live++;
	s->xfers.live_bytes += x->total;
	x->times.progress_ns = now_ns;
	tcpx_session_used(s);
}
