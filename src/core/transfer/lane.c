/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane's messages: posted, launched when their receives are known or before, ended together when the
 * lane fails. What has come whole before a lane ends is still taken by receives that are posted later.
 *
 * An acknowledgement alone is no success, since what goes to a sink is acknowledged, too. So a
 * receiver that fails with receives announced says so, and the channels hold chunks that come for
 * it, unacknowledged, until its sender has answered: by then the sends have ended as well.
 */
#include "core/transfer/lane.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/channel/channel.h"
#include "core/context/context.h"
#include "core/loop/lease.h"
#include "core/loop/loop.h"
#include "core/memory/copy.h"
#include "core/memory/list.h"
#include "core/memory/payload.h"
#include "core/session/control.h"
#include "core/session/session.h"
#include "core/transfer/eager.h"
#include "core/transfer/end.h"
#include "core/transfer/launch.h"
#include "core/transfer/lane_tell.h"
#include "core/transfer/spread.h"
#include "core/transfer/transfer.h"

#define IN_VAIN 64 /* lanes tried in a row for which there is nothing yet: the others are next */

/* ---- ends ---- */

void
tcpx_lanes_wake_held(struct session *s)
{
	for (uint32_t i = 0; i < s->chan.count; i++)
		if (s->chan.rx[i] && s->chan.rx[i]->rx.parked)
			tcpx_loop_post(s->chan.rx[i]->loop, &s->chan.rx[i]->work);
}

/* Its messages from @first on end. */
static void
end_from(struct tcpx_lane *l, uint64_t first, int code, const char *text)
{
	uint64_t last = tcpx_lane_ring(l)->posted;
	int status = atomic_load(&l->status);

	if (status == 0 || status == -EAGAIN) {
		snprintf(l->cause, sizeof(l->cause), "%.*s", (int)sizeof(l->cause) - 1, text);
		tcpx_lane_falls(l, code);
		tcpx_eager_drop(l, true);
	}
	for (uint64_t seq = first; seq <= last; seq++)
		if (*tcpx_lane_slot(l, seq))
			tcpx_xfer_end(*tcpx_lane_slot(l, seq), code, text);
}

/* All receives have ended, and the next ones have come already: the lane leaves its session, with them. */
static bool
lasts(struct tcpx_lane *l, int code, const char *text)
{
	if (l->sends || atomic_load(&l->status) || l->rx.ring.done != l->rx.ring.posted)
		return false;
	tcpx_eager_drop(l, false);
	if (!l->rx.kept || atomic_load(&l->status))
		return false;
	l->ends_as = code;
	snprintf(l->cause, sizeof(l->cause), "%.*s", (int)sizeof(l->cause) - 1, text);
	tcpx_lane_leave(l);
	return true;
}

void
tcpx_lane_end(struct tcpx_lane *l, int code, const char *text)
{
	if (lasts(l, code, text))
		return;
	atomic_fetch_add(&l->refs, 1); /* the messages may have the last ones */
	end_from(l, tcpx_lane_ring(l)->done + 1, code, text);
	tcpx_lane_leave(l);
	tcpx_lane_put(l);
}

void
tcpx_lane_fail(struct tcpx_lane *l, int code, const char *text)
{
	int status = atomic_load(&l->status);
	bool ended = status && status != -EAGAIN, told;
	const struct tcpx_lane_ring had = *tcpx_lane_ring(l);

	if (ended && tcpx_lane_ring(l)->done == tcpx_lane_ring(l)->posted)
		return;
	atomic_fetch_add(&l->refs, 1); /* as above */
	/* chunks of announced receives may be under way */
	l->held = !l->sends && l->rx.announced > l->rx.ring.done;
	told = l->session->state == SESS_OPEN && l->word && !l->ends_as;
	end_from(l, had.done + 1, code, text);
	if (told && !l->sends)
		tcpx_lane_tell_done(l->session, l->word, &had);
	if (told)
		tcpx_lane_tell_failure(l->session, l->word, l->sends, code, text);
	if (!l->held || !told)
		tcpx_lane_leave(l);
	tcpx_lane_put(l);
}

void
tcpx_lane_refused(struct tcpx_lane *l)
{
	atomic_fetch_add(&l->refs, 1);
	end_from(l, l->tx.launched + 1, TCPX_ECLOSED, "closed by its receiver");
	if (l->tx.ring.done == l->tx.ring.posted)
		tcpx_lane_leave(l);
	tcpx_lane_put(l);
}

void
tcpx_lanes_end(struct session *s)
{
	tcpx_eager_end(s);
	tcpx_chain_each(n, after, &s->lanes.all)
		tcpx_lane_end(tcpx_container(n, struct tcpx_lane, in_session), s->cause,
			      s->cause_text);
}

void
tcpx_lanes_leave(struct session *s)
{
	tcpx_chain_each(n, after, &s->lanes.all) {
		struct tcpx_lane *l = tcpx_container(n, struct tcpx_lane, in_session);

		if (!l->sends && atomic_load(&l->status) == 0)
			tcpx_lane_tell_done(s, l->word, &l->rx.ring);
	}
}

void
tcpx_lanes_region_gone(struct session *s, uint64_t region_id, const char *text)
{
	tcpx_chain_each(n, after, &s->lanes.busy) {
		struct tcpx_lane *l = tcpx_container(n, struct tcpx_lane, busy);
		bool named = false;

		for (uint32_t i = 0; i < TCPX_LANE_SLOTS; i++)
			named |= l->slot[i] && tcpx_list_names(l->slot[i]->payload.list, region_id);
		if (named)
			tcpx_lane_fail(l, TCPX_EREGION, text);
		if (s->state == SESS_FAILED)
			return; /* that has ended all of them */
	}
}

/* All of it is in place, or on its way. */
static void
whole(struct tcpx_xfer *x, uint64_t len)
{
	x->total = len;
	atomic_store(&x->bytes_done, len);
	tcpx_xfer_end(x, 0, NULL);
}

/* ---- sending ---- */

int
tcpx_lane_done(struct tcpx_lane *l, const struct tcpx_lane_progress *p)
{
	uint64_t first = l->tx.ring.done + 1, last = l->tx.launched;
	struct tcpx_lane_ring there;
	int rc = tcpx_lane_finished(&l->tx, p->done, p->finished, &there);

	if (rc)
		return rc;
	atomic_fetch_add(&l->refs, 1); /* the messages may have the last ones */
	for (uint64_t seq = first; seq <= last; seq++) {
		struct tcpx_xfer *x = *tcpx_lane_slot(l, seq);

		if (x && !tcpx_lane_ring_has(&there, seq))
			whole(x, x->total);
	}
	tcpx_lane_put(l);
	return 0;
}

int
tcpx_lane_join(struct tcpx_lane *l)
{
	struct session *s = l->session;

	if (s->state == SESS_FAILED)
		return tcpx_session_cause(s);
	if (s->lanes.opened_here == TCPX_LANES_MAX)
		return tcpx_fail(TCPX_SUB_XFER, TCPX_ELIMIT, "a session has at most %u lanes in its life",
				 TCPX_LANES_MAX);
	atomic_fetch_add(&l->refs, 1); /* the session's, which it gives up if this ends it */
	tcpx_chain_add(&s->lanes.all, &l->in_session);
	if (s->state == SESS_OPEN) {
		tcpx_lane_tell_open(l);
		tcpx_control_flush(s);
	}
	return 0;
}

/* Do threads of other loops move it? Then its tests look for events seldom. */
static void
by_others(struct tcpx_xfer *x, struct channel *const *chan, bool large)
{
	atomic_store_explicit(&x->waiters.by_others, large && tcpx_spread_others(x->session, chan),
			      memory_order_relaxed);
}

/* The next message goes to the channels. False: the lane has failed. */
static bool
launch(struct tcpx_lane *l, struct tcpx_xfer *x, uint64_t room)
{
	struct session *s = l->session;
	uint64_t total = x->payload.list->total;
	char text[TCPX_TEXT_MAX];

	if (total > room) {
		snprintf(text, sizeof(text), "send of %llu bytes met a receive of %llu",
			 (unsigned long long)total, (unsigned long long)room);
		tcpx_lane_fail(l, TCPX_ELENGTH, text);
		return false;
	}
	tcpx_xfer_shape(x, total, tcpx_launch_lane_chunk(s, x));
	x->chunks += total == 0; /* an empty message has one chunk */
	x->times.progress_ns = engine_now(s->engine);
	tcpx_xfer_enter(s, x);
	atomic_store(&x->payload.live, x->id);
	by_others(x, s->chan.tx, total > TCPX_LANE_LARGE);
	tcpx_spread_chunks(s, x);
	return true;
}

/* Its frame has been put, or its memory cannot be read. False as above. */
static bool
gone(struct tcpx_lane *l, struct tcpx_xfer *x, int rc)
{
	char text[TCPX_TEXT_MAX], where[80];

	if (rc == 1) {
		x->payload.chunk = TCPX_LANE_UNIT;
		count_add(&l->engine->count.bytes_tx, x->payload.list->total);
		whole(x, x->payload.list->total);
	} else {
		tcpx_list_fault(x->payload.list, where, sizeof(where));
		snprintf(text, sizeof(text), "memory of the sender cannot be read: %s", where);
		tcpx_lane_fail(l, rc, text);
	}
	return atomic_load(&l->status) == 0;
}

void
tcpx_lane_launch(struct tcpx_lane *l)
{
	struct session *s = l->session;
	struct tcpx_xfer *x;
	uint64_t seq, room;
	int rc;

	tcpx_chain_remove(&l->waits);
	while (tcpx_lane_next(&l->tx, &seq, &room)) {
		/* posts that share a write may have filled it, or else the connection takes no more */
		if (!tcpx_ctrl_room_now(s->control.ctrl, 0) && !(s->control.interest & TCPX_WRITABLE))
			tcpx_control_flush(s);
		if (atomic_load(&l->status))
			return;
		x = *tcpx_lane_slot(l, seq);
		rc = x->payload.list->total > room ? 0 :
		     tcpx_eager_send(l, x, room != TCPX_LANE_UNKNOWN);
		x->tx.early = rc == 0 && room == TCPX_LANE_UNKNOWN && tcpx_eager_by_channel(l, x);
		if (rc == 0 && room == TCPX_LANE_UNKNOWN && !x->tx.early) {
			s->control.lanes_wait |= !tcpx_ctrl_room_now(s->control.ctrl, 0);
			if (tcpx_eager_is_worth(l, x))
				tcpx_chain_add(&s->lanes.waits, &l->waits);
			return;
		}
		tcpx_lane_launched(&l->tx);
		if (!(rc ? gone(l, x, rc) : launch(l, x, room)))
			return;
	}
}

void
tcpx_lanes_launch(struct session *s)
{
	struct tcpx_node *all = &s->lanes.waits, *last = all->prev, *n;
	uint32_t vain = 0;

	while (vain < IN_VAIN && (n = tcpx_chain_first(all))) {
		tcpx_lane_launch(tcpx_container(n, struct tcpx_lane, waits));
		if (s->state == SESS_FAILED || n == last)
			return;
		vain = all->prev == n ? vain + 1 : 0;
	}
}

/* ---- receiving ---- */

void
tcpx_lane_announce(struct tcpx_lane *l)
{
	enum tcpx_lane_when when = tcpx_lane_due(&l->rx);

	if (when == TCPX_LANE_NOT)
		tcpx_chain_remove(&l->soon);
	else if (when == TCPX_LANE_NOW || !tcpx_lane_tell_later(l))
		tcpx_lane_tell_receives(l);
}

void
tcpx_lane_refuse(struct tcpx_lane *l, const struct tcpx_xfer *x, uint64_t len)
{
	char text[TCPX_TEXT_MAX];

	snprintf(text, sizeof(text), "send of %llu bytes met a receive of %llu",
		 (unsigned long long)len, (unsigned long long)x->payload.list->total);
	tcpx_lane_fail(l, TCPX_ELENGTH, text);
}

/* A message that has come before its receive, or in a frame, goes where that says. */
static void
deliver(struct tcpx_lane *l, struct tcpx_xfer *x, const uint8_t *bytes, uint64_t len, bool counted)
{
	const struct tcpx_list *list = x->payload.list;
	char text[TCPX_TEXT_MAX], where[80];
	int rc;

	if (len > list->total) {
		tcpx_lane_refuse(l, x, len);
		return;
	}
	/* a peer may also be sending it by a channel: nothing of that may come later */
	tcpx_payload_quiesce(l->engine, &x->payload);
	rc = tcpx_list_copy_in(list, bytes, len);
	if (rc) {
		tcpx_list_fault(list, where, sizeof(where));
		snprintf(text, sizeof(text), "memory of the receiver cannot be written: %s", where);
		tcpx_lane_fail(l, rc, text);
		return;
	}
	count_add(&l->engine->count.bytes_rx, counted ? 0 : len);
	whole(x, len);
	if (!l->ends_as)
		tcpx_lane_announce(l);
}

int
tcpx_lane_arrived(struct tcpx_lane *l, const struct tcpx_lane_data *d)
{
	uint64_t seq = tcpx_lane_seq(d->message);
	struct session *s = l->session;
	struct tcpx_xfer *x = NULL;
	int broken = tcpx_lane_early(&l->rx, seq, d->known), rc = 0;

	if (!broken && seq <= l->rx.ring.posted)
		x = *tcpx_lane_slot(l, seq);
	if (x)
		deliver(l, x, d->payload, d->len, false);
	else if (!broken)
		rc = tcpx_eager_keep(l, d);
	if (rc)
		tcpx_lane_fail(l, rc, "no memory for a message that came before its receive");
	if (!d->known && (x || rc || broken))
		tcpx_eager_release(s, d->len);
	return broken;
}

void
tcpx_lane_take(struct tcpx_lane *l, struct tcpx_xfer *x)
{
	struct early *m = tcpx_eager_take(l, tcpx_lane_seq(x->id));

	deliver(l, x, m->bytes, m->len, m->by_channel);
	if (l->ends_as && !l->rx.kept && atomic_load(&l->status) == 0)
		tcpx_lane_falls(l, l->ends_as);
	tcpx_eager_put(l, m);
}

void
tcpx_lane_expect(struct session *s, struct tcpx_xfer *x)
{
	tcpx_xfer_enter(s, x);
	atomic_store(&x->payload.live, x->id);
}

static void
begin_receive(struct tcpx_lane *l, struct tcpx_xfer *x)
{
	const struct early *m = tcpx_eager_at(l, tcpx_lane_seq(x->id));

	x->payload.chunk = TCPX_LANE_UNIT;
	if (m && !m->comes) {
		tcpx_lane_take(l, x);
		return;
	}
	by_others(x, l->session->chan.rx, tcpx_lane_is_large(&l->rx));
	tcpx_session_used(l->session);
	if (!m) /* else it gets that when it is whole */
		tcpx_lane_expect(l->session, x);
	tcpx_lane_announce(l);
}

/* A thread that tests posts on many lanes before: all that has one write. */
static void
flush_soon(struct session *s)
{
	if (s->state == SESS_FAILED || !tcpx_control_owes(s))
		return;
	if (tcpx_lease_is_lent(s->loop))
		tcpx_control_flush_by_test(s);
	else
		tcpx_control_flush(s);
}

int
tcpx_lane_enqueue(struct tcpx_lane *l, struct tcpx_xfer *x)
{
	struct session *s = l->session;
	uint64_t len = x->payload.list->total, seq;
	int rc = tcpx_list_check(x->payload.list);

	if (rc == 0)
		rc = l->sends ? tcpx_lane_send(&l->tx, &seq) :
				tcpx_lane_receive(&l->rx, len, &seq);
	if (rc)
		return rc;
	x->id = l->word | seq;
	x->total = len;
	tcpx_xfer_get(x);
	*tcpx_lane_slot(l, seq) = x;
	s->lanes.live++;
	if (!tcpx_node_linked(&l->busy))
		tcpx_chain_add(&s->lanes.busy, &l->busy);
	if (l->sends) {
		tcpx_lane_launch(l);
		if (atomic_load(&x->status) == -EAGAIN) /* else no deadline has anything to judge */
			tcpx_session_used(s);
	} else {
		begin_receive(l, x);
	}
	flush_soon(s);
	return 0;
}
