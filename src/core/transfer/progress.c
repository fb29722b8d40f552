/* SPDX-License-Identifier: Apache-2.0 */
/* Channels' reports on chunks: the transfer of each, and its progress. */
#include "core/transfer/progress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/channel/channel.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/payload.h"
#include "core/memory/staging.h"
#include "core/session/control.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "core/transfer/answer.h"
#include "core/transfer/eager.h"
#include "core/transfer/end.h"
#include "core/transfer/lane_chunks.h"
#include "core/transfer/stuck.h"
#include "core/transfer/transfer.h"
#include "core/transfer/turn.h"

/* Messages of a transfer in a row that arrive changed, with no chunk in place between them. */
#define CORRUPT_MAX 5
#define NO_ROOM_AGAIN "the sender has no memory to send a chunk again"

int
tcpx_chunk_place(struct channel *c, const struct tcpx_head *h, struct rx_record *r,
	      enum chunk_place *how)
{
	struct session *s = c->session;
	struct tcpx_xfer *x;
	int rc = 0;

	*r = (struct rx_record){ .id = h->xfer, .chunk = h->chunk, .len = h->len };
	pthread_mutex_lock(&s->lock);
	if (tcpx_lane_is(h->xfer)) {
		rc = tcpx_lane_place(c, h, r, how);
		pthread_mutex_unlock(&s->lock);
		return rc;
	}
	x = tcpx_xfer_find(s, h->xfer);
	if (!x) {
		*how = CHUNK_SINK;
		if (!id_is_known(s, h->xfer)) {
			*how = CHUNK_PARK;
			c->rx.parked = PARK_OPEN;
			rc = id_is_ours(s, h->xfer) ? TCPX_EFRAME : 0;
		}
	} else if (!x->rx.map.words || h->chunk >= x->chunks ||
		   h->len != tcpx_chunk_len(x->total, x->payload.chunk, h->chunk) ||
		   tcpx_chunkmap_get(&x->rx.map, h->chunk)) {
		rc = TCPX_EFRAME;
	} else {
		*how = CHUNK_FOUND;
		tcpx_xfer_get(x);
		r->payload = &x->payload;
	}
	if (*how != CHUNK_PARK)
		c->rx.parked = PARK_NOT;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* The answer to a small transfer is flushed with others', if this thread runs the control
 * stream's loop. So are those of many, if that loop is awake: written one by one by twelve
 * threads, under the session's lock, they took the receiver as long as the payload. */
static void
say(struct channel *c, bool small)
{
	struct session *s = c->session;

	if (c->loop == s->loop && (small || s->xfers.live > 1))
		tcpx_control_flush_later(s);
	else if (c->loop != s->loop && s->xfers.live > 1 && !atomic_load(&s->loop->asleep))
		tcpx_control_flush_by_loop(s);
	else
		tcpx_control_flush(s);
}

int
tcpx_chunk_applied(struct channel *c, const struct rx_record *r, uint64_t now_ns)
{
	struct session *s = c->session;
	struct tcpx_xfer *x = xfer_of(r->payload);
	bool small, live, done = false, over = false;
	int rc = 0;

	count_add(&s->engine->count.bytes_rx, r->len);
	count_add(&s->engine->count.chunks_rx, 1);
	pthread_mutex_lock(&s->lock);
	count_add(&s->engine->nics.sum[c->near_nic].bytes_rx, r->len);
	c->figures.moved_ns = now_ns;
	c->figures.bytes += r->len;
	c->figures.chunks++;
	c->heal.proven = true;
	live = x && x->id == r->id && atomic_load(&x->status) == -EAGAIN;
	if (live) {
		s->health.rx_progress_ns = x->times.progress_ns = now_ns;
		x->rx.corrupt = 0;
		count_add(&x->bytes_done, r->len);
		if (r->early)
			rc = tcpx_lane_early_came(s, x, r, &done, &over);
		else if (x->lane)
			rc = tcpx_lane_chunk_applied(s, x, r, &done);
		else if (!tcpx_chunkmap_set(&x->rx.map, r->chunk))
			rc = TCPX_EFRAME; /* the fence forbids it: no chunk is applied twice */
		if (rc == 0 && !x->lane && tcpx_chunkmap_full(&x->rx.map)) {
			small = x->chunks == 1 && x->total <= STAGING_SMALL_BYTES;
			tcpx_answer_filled(s, x);
			say(c, small);
		}
	} else if (r->early) {
		rc = tcpx_lane_early_came(s, NULL, r, &done, &over);
	} else if (x && x->lane) {
		rc = tcpx_lane_holds(c, x->lane);
	}
	if (done)
		say(c, true);
	if (over) /* a grant goes with the next frame: who lacks credit waits for that of its receive */
		tcpx_eager_release(s, r->len);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

void
tcpx_chunk_missed(struct channel *c, const struct rx_record *r, bool passed)
{
	struct session *s = c->session;
	bool done = false, over = false;

	if (!r->early)
		return;
	pthread_mutex_lock(&s->lock);
	tcpx_lane_early_missed(s, xfer_of(r->payload));
	if (passed)
		(void)tcpx_lane_early_came(s, NULL, r, &done, &over);
	if (over)
		tcpx_eager_release(s, r->len);
	pthread_mutex_unlock(&s->lock);
}

void
tcpx_chunk_corrupt(struct channel *c, const struct rx_record *r, const struct tcpx_head *h,
		   uint32_t sum, uint64_t now_ns)
{
	struct session *s = c->session;
	struct tcpx_xfer *x = xfer_of(r->payload);
	uint32_t *row = x && r->early ? &x->lane->corrupt : x ? &x->rx.corrupt : NULL;
	bool lane = tcpx_lane_is(h->xfer);
	char text[TCPX_TEXT_MAX], name[XFER_NAME];

	count_add(&s->engine->corrupt.chunks, 1);
	tcpx_xfer_name(h->xfer, name, sizeof(name));
	snprintf(text, sizeof(text), "chunk %s%llu of %s arrived changed on channel %u, %s: "
		 "CRC32C %08x, sent %08x", lane ? "at byte " : "",
		 lane ? (unsigned long long)tcpx_lane_offset(h->chunk) : h->chunk, name, c->index,
		 tcpx_near_nic(c)->name, sum, h->sum);
	pthread_mutex_lock(&s->lock);
	if (s->health.corrupt_ns == 0 || now_ns >= s->health.corrupt_ns + TCPX_SEC) {
		s->health.corrupt_ns = now_ns;
		tcpx_log(TCPX_LOG_WARN, TCPX_SUB_CHAN, "%s of %s to %s: %s", tcpx_far_nic(c)->name,
			 s->peer->name, tcpx_near_nic(c)->name, text);
	}
	if (x && x->id == r->id && atomic_load(&x->status) == -EAGAIN &&
	    ++*row == CORRUPT_MAX) {
		tcpx_answer_fail(s, x, TCPX_EDATA, text, text);
		tcpx_control_flush(s);
	}
	pthread_mutex_unlock(&s->lock);
}

void
tcpx_chunk_acked(struct channel *c, struct tx_record *r, uint64_t now_ns)
{
	struct tcpx_xfer *x = xfer_of(r->payload);

	if (x->id == r->id && atomic_load(&x->status) == -EAGAIN) {
		x->tx.in_flight--;
		x->tx.applied++;
		x->times.progress_ns = now_ns;
		count_add(&x->bytes_done, r->len);
		/* an initiator waits for DONE: chunks in a sink are acknowledged, too */
		if (x->tx.applied == x->chunks && (x->target || x->lane))
			tcpx_xfer_end(x, 0, NULL);
	}
	r->payload = NULL;
	tcpx_xfer_put(x);
}

void
tcpx_chunk_given_back(struct channel *c, struct tx_record *r)
{
	struct session *s = c->session;
	struct tcpx_xfer *x = xfer_of(r->payload);
	uint32_t *grown;

	r->payload = NULL;
	if (x->id != r->id || atomic_load(&x->status) != -EAGAIN) {
		if (x->tx.early)
			tcpx_eager_unused(&x->session->lanes.credit, tcpx_eager_cost(x->total));
		goto put;
	}
	x->tx.in_flight--;
	x->failure.stuck = (struct stuck){ .chunk = r->chunk, .channel = c->index };
	memcpy(x->failure.stuck.nic, tcpx_near_nic(c)->name, sizeof(x->failure.stuck.nic));
	if (x->tx.again_count == x->tx.again_cap) {
		grown = realloc(x->tx.again, (2 * x->tx.again_cap + 16) * sizeof(*grown));
		if (!grown) {
			tcpx_answer_fail(s, x, -ENOMEM, NO_ROOM_AGAIN, NO_ROOM_AGAIN);
			tcpx_control_flush(s);
			goto put;
		}
		x->tx.again = grown;
		x->tx.again_cap = 2 * x->tx.again_cap + 16;
	}
	x->tx.again[x->tx.again_count++] = r->chunk;
	s->sched.queued_bytes += r->len;
	tcpx_turn_join(s, x);
	count_add(&s->engine->count.chunks_resent, 1);
put:
	tcpx_xfer_put(x);
}

void
tcpx_chunk_put(struct payload *p)
{
	tcpx_xfer_put(xfer_of(p));
}
