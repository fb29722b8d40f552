/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks of lanes that come. One that was sent on credit counts once: when it has come whole, or passed
 * its channel all the same. Its memory, if it is kept, goes with a channel that ends in the middle of it.
 */
#include "core/transfer/lane_chunks.h"

#include <errno.h>

#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/payload.h"
#include "core/session/control.h"
#include "core/session/session.h"
#include "core/transfer/eager.h"
#include "core/transfer/end.h"
#include "core/transfer/lane.h"
#include "core/transfer/transfer.h"

/* A chunk without a receive: late, for a lane that has ended; or nothing that a sender may send. */
static int
stray(struct channel *c, uint64_t word, enum chunk_place *how)
{
	struct session *s = c->session;
	struct tcpx_lane *l = tcpx_lane_find(s, word);

	*how = l || s->state == SESS_FAILED ? CHUNK_PARK : CHUNK_SINK;
	c->rx.parked = *how == CHUNK_PARK ? PARK_LANE : PARK_NOT;
	return id_is_ours(s, word) || tcpx_lane_number(word) > s->lanes.opened_there ||
	       (l && !l->held) ? TCPX_EFRAME : 0;
}

/* Where a message goes that was sent on credit: to its receive, or to memory that keeps it until there is
 * one. 0; TCPX_EFRAME; or the lane has failed with that code. */
static int
place_early(struct tcpx_lane *l, const struct tcpx_head *h, struct tcpx_xfer **x)
{
	uint64_t seq = tcpx_lane_seq(h->xfer);
	int rc;

	if (tcpx_lane_begins(&l->rx, seq))
		return TCPX_EFRAME;
	if (!tcpx_lane_keeps(&l->rx, seq)) {
		*x = *tcpx_lane_slot(l, seq);
		rc = tcpx_lane_fits(&l->rx, seq, h->chunk, h->len);
		if (rc == TCPX_ELENGTH)
			tcpx_lane_refuse(l, *x, h->len);
		return rc;
	}
	rc = tcpx_eager_begins_here(l, h->xfer, h->len, x);
	if (rc)
		tcpx_lane_forget(&l->rx, seq);
	if (rc == -ENOMEM)
		tcpx_lane_fail(l, rc, "no memory for a message that came before its receive");
	return rc == TCPX_EPROTO ? TCPX_EFRAME : rc;
}

/* One whose sender knew of its receive, and has compared the lengths. */
static int
place_known(struct tcpx_lane *l, const struct tcpx_head *h, const struct tcpx_xfer *x)
{
	uint64_t seq = tcpx_lane_seq(h->xfer);

	return *tcpx_lane_slot(l, seq) != x || tcpx_lane_fits(&l->rx, seq, h->chunk, h->len) ?
		       TCPX_EFRAME : 0;
}

static bool
may_be_early(const struct tcpx_head *h)
{
	return h->chunk == (TCPX_LANE_EARLY | TCPX_LANE_LAST) && h->len > TCPX_EAGER_FRAME &&
	       h->len <= TCPX_EAGER_MOST;
}

int
tcpx_lane_place(struct channel *c, const struct tcpx_head *h, struct rx_record *r,
		enum chunk_place *how)
{
	struct tcpx_xfer *x = tcpx_xfer_find(c->session, h->xfer);
	struct tcpx_lane *l;
	int rc = 0;

	c->rx.parked = PARK_NOT;
	r->chunk = h->chunk & ~(TCPX_LANE_LAST | TCPX_LANE_EARLY);
	r->last = h->chunk & TCPX_LANE_LAST;
	r->early = h->chunk & TCPX_LANE_EARLY;
	l = x ? x->lane : r->early ? tcpx_lane_find(c->session, h->xfer) : NULL;
	if (r->early && !may_be_early(h))
		return TCPX_EFRAME;
	if (!l || atomic_load(&l->status))
		return stray(c, h->xfer, how);
	rc = l->sends || h->len > c->session->chan.chunk_max ? TCPX_EFRAME :
	     r->early ? place_early(l, h, &x) : place_known(l, h, x);
	if (rc == TCPX_EFRAME)
		return rc;
	if (rc) {
		tcpx_control_flush(c->session);
		return stray(c, h->xfer, how);
	}
	if (h->len <= TCPX_CHUNK_LITTLE)
		loop_stay_awake(c->loop, c->loop->now_ns);
	*how = CHUNK_FOUND;
	tcpx_xfer_get(x);
	r->payload = &x->payload;
	return 0;
}

int
tcpx_lane_chunk_applied(struct session *s, struct tcpx_xfer *x, const struct rx_record *r,
			bool *done)
{
	struct tcpx_lane *l = x->lane;
	uint64_t seq = tcpx_lane_seq(r->id);
	uint32_t chunk = r->chunk | (r->last ? TCPX_LANE_LAST : 0) | (r->early ? TCPX_LANE_EARLY : 0);
	int rc = tcpx_lane_applied(&l->rx, seq, chunk, r->len);

	if (rc < 0)
		return rc;
	*done = rc == 1;
	if (*done) {
		x->total = l->rx.slot[seq % TCPX_LANE_SLOTS].total;
		tcpx_xfer_end(x, 0, NULL);
		tcpx_lane_announce(l);
	}
	return 0;
}

/* What is kept and is being received into that transfer. */
static struct early *
kept_by(struct tcpx_xfer *x)
{
	struct early *m = x && x->lane ? tcpx_eager_at(x->lane, tcpx_lane_seq(x->id)) : NULL;

	return m && m->comes == x ? m : NULL;
}

int
tcpx_lane_early_came(struct session *s, struct tcpx_xfer *x, const struct rx_record *r, bool *done,
		     bool *over)
{
	uint64_t seq = tcpx_lane_seq(r->id);
	struct early *m = kept_by(x);

	if (s->state == SESS_FAILED)
		return 0; /* its credit is given back */
	if (m)
		tcpx_eager_whole(x->lane, m);
	if (tcpx_eager_arrived(&s->lanes.kept, tcpx_eager_cost(r->len)))
		return TCPX_EFRAME;
	*over = !m; /* else when it is taken */
	if (x)
		x->lane->corrupt = 0;
	if (!m)
		return x ? tcpx_lane_chunk_applied(s, x, r, done) : 0;
	*done = seq <= x->lane->rx.ring.posted;
	if (*done)
		tcpx_lane_take(x->lane, *tcpx_lane_slot(x->lane, seq));
	return 0;
}

void
tcpx_lane_early_missed(struct session *s, struct tcpx_xfer *x)
{
	struct early *m = kept_by(x);
	struct tcpx_lane *l = x ? x->lane : NULL;
	uint64_t seq = x ? tcpx_lane_seq(x->id) : 0;

	if (!m)
		return;
	tcpx_eager_put(l, tcpx_eager_take(l, seq));
	if (seq <= l->rx.ring.posted)
		tcpx_lane_expect(s, *tcpx_lane_slot(l, seq));
}

bool
tcpx_lane_holds(struct channel *c, const struct tcpx_lane *l)
{
	bool holds = c->session->state == SESS_FAILED ||
		     (l->held && tcpx_node_linked(&l->in_session));

	if (holds)
		c->rx.parked = PARK_LANE; /* perhaps for another message, too */
	return holds;
}

bool
tcpx_lane_settled(struct channel *c, const struct rx_record *r)
{
	struct tcpx_xfer *x = tcpx_lane_is(r->id) && r->payload && !r->early ? xfer_of(r->payload) : NULL;
	bool holds;

	if (!x)
		return true;
	pthread_mutex_lock(&c->session->lock);
	holds = tcpx_lane_holds(c, x->lane);
	pthread_mutex_unlock(&c->session->lock);
	return !holds;
}
