/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of lanes that have come. */
#include "core/transfer/lane_frames.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "core/context/context.h"
#include "core/session/control.h"
#include "core/session/peer.h"
#include "core/session/receive.h"
#include "core/session/session.h"
#include "core/transfer/eager.h"
#include "core/transfer/lane_tell.h"
#include "core/transfer/refuse.h"

void
tcpx_lanes_opened(struct session *s)
{
	tcpx_chain_each(n, after, &s->lanes.all) {
		tcpx_lane_tell_open(tcpx_container(n, struct tcpx_lane, in_session));
		if (s->state == SESS_FAILED)
			return; /* that has ended all of them */
	}
}

/* The receiver that listens under this key becomes the lane's. False: there is none. */
static bool
bind_listener(struct session *s, const struct tcpx_lane_opening *o)
{
	struct registry *r = &s->engine->registry;
	struct tcpx_lane *found = NULL;

	pthread_mutex_lock(&r->lock);
	for (struct tcpx_tagged *t = tcpx_tags_newest(&r->listening, tcpx_lane_key_tag(o->key)); t && !found;
	     t = tcpx_tags_older(t)) {
		struct tcpx_lane *l = tcpx_container(t, struct tcpx_lane, by_key);

		if (tcpx_bytes_equal(l->key, o->key, sizeof(l->key)))
			found = l;
	}
	if (found) {
		tcpx_tags_remove(&r->listening, &found->by_key);
		tcpx_session_get(s);
		found->session = s;
		tcpx_peer_get(s->peer);
		atomic_fetch_add(&s->peer->handles, 1);
		found->peer = s->peer;
		tcpx_lane_named(found, o->lane);
		atomic_fetch_add(&found->refs, 1);
		tcpx_chain_add(&s->lanes.all, &found->in_session);
		tcpx_lane_stands(found);
	}
	pthread_mutex_unlock(&r->lock);
	return found != NULL;
}

static int
on_open(struct session *s, struct tcpx_buf *b)
{
	struct tcpx_lane_posts answer = { .first = 1 };
	struct tcpx_lane_opening o;
	int rc = tcpx_lane_opening_read(b, &o);

	if (rc)
		return rc;
	if (id_is_ours(s, o.lane) || tcpx_lane_number(o.lane) != s->lanes.opened_there + 1)
		return TCPX_EPROTO;
	s->lanes.opened_there++;
	s->control.spent += OPEN_COST;
	answer.lane = o.lane;
	if (!bind_listener(s, &o)) {
		count_add(&s->engine->count.refused, 1);
		s->control.spent += REFUSE_COST;
		tcpx_refuse_charge(s, REFUSE_COST);
		tcpx_lane_tell_failure(s, o.lane, false, -ENOENT, "no lane is listened for by this key");
		return 0;
	}
	rc = tcpx_ctrl_widen(s->control.ctrl);
	if (rc) {
		tcpx_lane_fail(tcpx_lane_find(s, o.lane), rc, "no memory for messages in frames");
		return 0;
	}
	tcpx_eager_begin(s); /* first: a lane that is ready has its credit */
	tcpx_lane_tell_posts(s, &answer);
	return 0;
}

/* May the peer speak of that lane, as its other end? */
static bool
is_known(const struct session *s, uint64_t word, bool we_send)
{
	return id_is_ours(s, word) == we_send &&
	       tcpx_lane_number(word) <= (we_send ? s->lanes.opened_here : s->lanes.opened_there);
}

static int
on_posts(struct session *s, struct tcpx_buf *b)
{
	struct tcpx_lane_posts p;
	struct tcpx_lane *l;
	int rc = tcpx_lane_posts_read(b, &p);

	if (rc)
		return rc;
	if (!is_known(s, p.lane, true))
		return TCPX_EPROTO;
	l = tcpx_lane_find(s, p.lane);
	if (!l)
		return 0; /* it has ended here */
	if (atomic_load(&l->status) == -EAGAIN)
		tcpx_lane_stands(l);
	rc = atomic_load(&l->status) ? TCPX_EPROTO : /* after LANE_CLOSE */
	     tcpx_lane_announced(&l->tx, p.first, p.len, p.count);
	if (rc)
		return rc;
	tcpx_lane_launch(l);
	return 0;
}

static int
on_fail(struct session *s, struct tcpx_buf *b)
{
	struct tcpx_lane_failure f;
	struct tcpx_lane *l;
	int rc = tcpx_lane_failure_read(b, &f);

	if (rc)
		return rc;
	if (!is_known(s, f.lane, !f.sending))
		return TCPX_EPROTO;
	l = tcpx_lane_find(s, f.lane);
	if (l)
		tcpx_lane_end(l, f.code, f.text);
	if (f.sending)
		tcpx_lanes_wake_held(s);
	else /* the receiver may go on: no send waits for an acknowledgement any more */
		tcpx_lane_tell_close(s, f.lane);
	return 0;
}

static int
on_close(struct session *s, uint64_t word)
{
	struct tcpx_lane *l = tcpx_lane_find(s, word);
	bool we_send = id_is_ours(s, word);

	if (tcpx_lane_seq(word) || !tcpx_lane_is(word) || !is_known(s, word, we_send))
		return TCPX_EPROTO;
	if (l && we_send)
		tcpx_lane_refused(l);
	else if (l)
		tcpx_lane_end(l, TCPX_ECLOSED, "closed by its sender");
	if (!we_send)
		tcpx_lanes_wake_held(s);
	return 0;
}

static int
on_done(struct session *s, struct tcpx_buf *b)
{
	struct tcpx_lane_progress p;
	struct tcpx_lane *l;
	int rc = tcpx_lane_progress_read(b, &p);

	if (rc)
		return rc;
	if (!is_known(s, p.lane, true))
		return TCPX_EPROTO;
	l = tcpx_lane_find(s, p.lane);
	return l ? tcpx_lane_done(l, &p) : 0;
}

/* One for a lane that has ended here goes nowhere. */
static int
on_data(struct session *s, struct tcpx_buf *b)
{
	struct tcpx_lane_data d;
	struct tcpx_lane *l;
	int rc = tcpx_lane_data_read(b, &d);

	if (rc == 0 && !is_known(s, d.message, false))
		rc = TCPX_EPROTO;
	if (rc == 0 && !d.known)
		rc = tcpx_eager_arrived(&s->lanes.kept, tcpx_eager_cost(d.len));
	if (rc)
		return rc;
	if (d.len > TCPX_EAGER_FRAME)
		s->lanes.came_ns = engine_now(s->engine);
	l = tcpx_lane_find(s, d.message);
	if (l && atomic_load(&l->status) == 0)
		return tcpx_lane_arrived(l, &d);
	if (!d.known)
		tcpx_eager_release(s, d.len);
	return 0;
}

/* Messages that waited for it may go. */
static int
on_grant(struct session *s, uint64_t total)
{
	int rc = s->lanes.opened_here ? tcpx_eager_granted(&s->lanes.credit, total) : TCPX_EPROTO;

	if (rc == 0)
		tcpx_lanes_launch(s);
	return rc;
}

int
tcpx_lane_frame(struct session *s, uint8_t type, struct tcpx_buf *b)
{
	switch (type) {
	case TCPX_FR_LANE_OPEN:
		return on_open(s, b);
	case TCPX_FR_LANE_POST:
		return on_posts(s, b);
	case TCPX_FR_LANE_FAIL:
		return on_fail(s, b);
	case TCPX_FR_LANE_DATA:
		return on_data(s, b);
	case TCPX_FR_LANE_DONE:
		return on_done(s, b);
	case TCPX_FR_LANE_GRANT:
		return tcpx_buf_left(b) == 8 ? on_grant(s, tcpx_buf_get_u64(b)) : TCPX_EPROTO;
	default:
		return tcpx_buf_left(b) == 8 ? on_close(s, tcpx_buf_get_u64(b)) : TCPX_EPROTO;
	}
}
