/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of lanes that do not wait for their receives. The control stream numbers, keeps and repeats
 * small ones, so a send is over when its frame is put; longer ones go by a channel, in one chunk. What a
 * peer may have kept here is reserved before it is granted: a message that comes always finds its room.
 */
#include "core/transfer/eager.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"
#include "core/memory/copy.h"
#include "core/memory/gpu.h"
#include "core/memory/list.h"
#include "core/memory/payload.h"
#include "core/session/control.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "core/transfer/lane_tell.h"
#include "core/transfer/launch.h"
#include "core/transfer/transfer.h"

_Static_assert(TCPX_EAGER_MOST <= GPU_SMALL_MAX && TCPX_LANE_DATA_MAX <= GPU_SMALL_MAX,
	       "what is kept is copied to any memory");

#define FRAME_BOTH_WAYS (32u << 10) /* of lent memory, also where both sides send */
#define CROWD_PER_NS    4 /* bytes: what a thread carries in frames, about */

/* ---- sending ---- */

/* Do long messages come faster than one thread carries them? */
static bool
is_crowd(struct session *s, const struct tcpx_xfer *x)
{
	uint64_t post_ns = x->times.post_ns;

	if (post_ns > s->lanes.long_ns) { /* else it is asked again, for one that waits */
		if (post_ns < s->lanes.long_ns + x->payload.list->total / CROWD_PER_NS)
			s->lanes.crowd_ns = post_ns;
		s->lanes.long_ns = post_ns;
	}
	return post_ns < s->lanes.crowd_ns + TCPX_MS;
}

/*
 * A frame costs both sides a copy, and spares them a call each for an acknowledgement. Memory that has to be
 * touched by system calls is copied three times as slowly. Where both sides send, where messages crowd, and
 * where CPUs are few channels are faster with long ones.
 */
static bool
fits_frame(struct session *s, const struct tcpx_xfer *x)
{
	const struct tcpx_list *list = x->payload.list;

	if (!s->engine->limit.inline_bytes || list_staged(list))
		return false;
	if (list->total <= TCPX_EAGER_FRAME)
		return true;
	return list->mapped && (list->total <= FRAME_BOTH_WAYS ||
				(list->total <= TCPX_LANE_DATA_MAX && s->engine->limit.long_frames &&
				 tcpx_launch_is_one_way(s) && !is_crowd(s, x)));
}

bool
tcpx_eager_is_worth(struct tcpx_lane *l, const struct tcpx_xfer *x)
{
	const struct tcpx_list *list = x->payload.list;

	return l->engine->limit.inline_bytes && !list_staged(list) && list->total <= TCPX_LANE_DATA_MAX &&
	       tcpx_lane_near(&l->tx, tcpx_lane_seq(x->id));
}

static bool
may_go(struct tcpx_lane *l, const struct tcpx_xfer *x, bool known)
{
	uint64_t len = x->payload.list->total;
	struct session *s = l->session;

	if (!fits_frame(s, x) || (!known && !tcpx_lane_near(&l->tx, tcpx_lane_seq(x->id))))
		return false;
	return tcpx_ctrl_room_now(s->control.ctrl, TCPX_LANE_DATA_HEAD + len) &&
	       (known || tcpx_eager_use(&s->lanes.credit, tcpx_eager_cost(len)));
}

int
tcpx_eager_send(struct tcpx_lane *l, struct tcpx_xfer *x, bool known)
{
	uint64_t len = x->payload.list->total;
	struct tcpx_lane_data d = { .message = x->id, .known = known, .len = (uint32_t)len };
	struct session *s = l->session;
	struct tcpx_buf b;
	uint8_t *frame;
	int rc;

	if (!may_go(l, x, known))
		return 0;
	rc = tcpx_ctrl_begin(s->control.ctrl, TCPX_FR_LANE_DATA, TCPX_LANE_DATA_HEAD + len, &frame);
	if (rc == 0) {
		tcpx_buf_init(&b, frame, TCPX_LANE_DATA_HEAD);
		tcpx_lane_data_write(&b, &d);
		rc = tcpx_list_copy_out(x->payload.list, frame + TCPX_LANE_DATA_HEAD, len);
	}
	if (rc) {
		tcpx_eager_unused(&s->lanes.credit, known ? 0 : tcpx_eager_cost(len));
		return rc;
	}
	tcpx_control_commit(s, TCPX_FR_LANE_DATA, TCPX_LANE_DATA_HEAD + len);
	return 1;
}

/* A lane that streams waits for its receives: these will be known before its channels are idle, and what is
 * kept is copied once more. */
bool
tcpx_eager_by_channel(struct tcpx_lane *l, const struct tcpx_xfer *x)
{
	const struct tcpx_list *list = x->payload.list;
	struct session *s = l->session;

	return list->total > TCPX_EAGER_FRAME && list->total <= TCPX_EAGER_MOST &&
	       list->total <= tcpx_launch_lane_chunk(s, x) && s->engine->limit.inline_bytes &&
	       !list_staged(list) && !l->tx.streams &&
	       tcpx_lane_near(&l->tx, tcpx_lane_seq(x->id)) &&
	       tcpx_eager_use(&s->lanes.credit, tcpx_eager_cost(list->total));
}

/* ---- credit of the peer ---- */

static bool
reserve(struct session *s, uint64_t bytes)
{
	if (!tcpx_quota_charge(&s->lanes.pool, bytes))
		return false;
	if (tcpx_kept_charge(s->peer, KEPT_LANES, bytes))
		return true;
	tcpx_quota_give(&s->lanes.pool, bytes);
	return false;
}

static void
unreserve(struct session *s, uint64_t bytes)
{
	if (bytes == 0)
		return; /* perhaps it has no peer yet */
	tcpx_quota_give(&s->lanes.pool, bytes);
	tcpx_kept_give(s->peer, KEPT_LANES, bytes);
}

void
tcpx_eager_begin(struct session *s)
{
	struct tcpx_eager_rx *k = &s->lanes.kept;
	uint64_t window = TCPX_EAGER_FIRST;

	while (!k->window && window >= TCPX_EAGER_LEAST) {
		if (reserve(s, window)) {
			k->window = window;
			tcpx_lane_tell_grant(s, tcpx_eager_grant(k));
		}
		window /= 2;
	}
}

void
tcpx_eager_end(struct session *s)
{
	const struct tcpx_eager_rx *k = &s->lanes.kept;

	unreserve(s, k->window - (k->used - k->taken));
}

void
tcpx_eager_release(struct session *s, uint64_t len)
{
	struct tcpx_eager_rx *k = &s->lanes.kept;
	uint64_t cost = tcpx_eager_cost(len);
	bool due = tcpx_eager_taken(k, cost);

	if (s->state == SESS_FAILED) {
		unreserve(s, cost);
	} else if (due) {
		if (tcpx_eager_short(k, s->lanes.came_ns ? TCPX_LANE_DATA_MAX : 0) && reserve(s, k->window))
			k->window *= 2;
		tcpx_lane_tell_grant(s, tcpx_eager_grant(k));
	}
}

/* ---- messages that are kept ---- */

/* NULL: there is no memory. */
static struct early *
keep(struct tcpx_lane *l, uint64_t seq, uint32_t len)
{
	struct early *m = malloc(sizeof(*m) + len);

	if (m)
		*m = (struct early){ .len = len };
	else
		(void)tcpx_fail(TCPX_SUB_XFER, -ENOMEM, "a message of %u bytes of a lane", len);
	l->kept[seq % TCPX_LANE_SLOTS] = m;
	return m;
}

int
tcpx_eager_keep(struct tcpx_lane *l, const struct tcpx_lane_data *d)
{
	struct early *m = keep(l, tcpx_lane_seq(d->message), d->len);

	if (m)
		memcpy(m->bytes, d->payload, d->len);
	return m ? 0 : -ENOMEM;
}

/* A receive of the lane's own. */
static int
make(struct tcpx_lane *l, uint64_t word, struct early *m)
{
	struct session *s = l->session;
	struct tcpx_list *list = tcpx_list_empty(l->engine, 1);
	struct tcpx_xfer *x = NULL;
	int rc = list ? tcpx_xfer_new(l->engine, &x) : -ENOMEM;

	if (rc) {
		tcpx_list_put(list);
		return rc;
	}
	list->frag[0] = (struct tcpx_frag){ (uintptr_t)m->bytes, m->len };
	list->frag_count = 1;
	list->total = tcpx_frag_sums(list->frag, 1, list->start);
	x->op = TCPX_OP_RECV;
	x->payload.list = list;
	x->payload.chunk = TCPX_LANE_UNIT;
	x->id = word;
	x->total = m->len;
	tcpx_session_get(s);
	x->session = s;
	atomic_fetch_add(&l->refs, 1);
	x->lane = l;
	atomic_store(&x->status, -EAGAIN);
	tcpx_xfer_enter(s, x);
	atomic_store(&x->payload.live, word);
	m->comes = x;
	m->by_channel = true;
	return 0;
}

int
tcpx_eager_begins_here(struct tcpx_lane *l, uint64_t word, uint32_t len, struct tcpx_xfer **x)
{
	uint64_t seq = tcpx_lane_seq(word), cost = tcpx_eager_cost(len);
	struct tcpx_eager_rx *k = &l->session->lanes.kept;
	int rc = tcpx_eager_begins(k, cost);
	struct early *m;

	if (rc)
		return rc;
	m = keep(l, seq, len);
	rc = m ? make(l, word, m) : -ENOMEM;
	if (rc) {
		tcpx_eager_stops(k, cost);
		l->kept[seq % TCPX_LANE_SLOTS] = NULL;
		free(m);
		return rc;
	}
	*x = m->comes;
	return 0;
}

void
tcpx_eager_whole(struct tcpx_lane *l, struct early *m)
{
	struct tcpx_xfer *x = m->comes;

	m->comes = NULL;
	tcpx_eager_stops(&l->session->lanes.kept, tcpx_eager_cost(m->len));
	tcpx_payload_quiesce(l->engine, &x->payload);
	tcpx_chain_remove(&x->table);
	atomic_store(&x->status, TCPX_ECLOSED);
	tcpx_xfer_put(x);
}

struct early *
tcpx_eager_at(struct tcpx_lane *l, uint64_t seq)
{
	return l->kept[seq % TCPX_LANE_SLOTS];
}

struct early *
tcpx_eager_take(struct tcpx_lane *l, uint64_t seq)
{
	struct early *m = tcpx_eager_at(l, seq);

	l->kept[seq % TCPX_LANE_SLOTS] = NULL;
	tcpx_lane_forget(&l->rx, seq);
	return m;
}

void
tcpx_eager_put(struct tcpx_lane *l, struct early *m)
{
	if (m->comes)
		tcpx_eager_whole(l, m);
	else
		tcpx_eager_release(l->session, m->len);
	free(m);
}

void
tcpx_eager_drop(struct tcpx_lane *l, bool all)
{
	uint64_t seq = l->sends ? 0 : l->rx.ring.posted + 1, end = seq + TCPX_LANE_SLOTS;
	bool stays = !all; /* until one is not whole */

	for (; !l->sends && l->rx.kept && seq < end; seq++) {
		const struct early *m = tcpx_eager_at(l, seq);

		stays = stays && m && !m->comes;
		if (m && !stays) /* a grant may fail the session, which drops them, too */
			tcpx_eager_put(l, tcpx_eager_take(l, seq));
	}
}
