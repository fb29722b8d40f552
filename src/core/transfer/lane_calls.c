/* SPDX-License-Identifier: Apache-2.0 */
/* Public calls of tcpx/tcpx.h on lanes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "core/context/context.h"
#include "core/memory/list.h"
#include "core/memory/payload.h"
#include "core/session/control.h"
#include "core/session/peer.h"
#include "core/session/peer_session.h"
#include "core/session/session.h"
#include "core/transfer/eager.h"
#include "core/transfer/label.h"
#include "core/transfer/lane.h"
#include "core/transfer/lane_tell.h"
#include "core/transfer/transfer.h"
#include "core/transfer/watch.h"

_Static_assert(TCPX_LANE_KEY == TCPX_LANE_KEY_BYTES, "a key travels whole");

static int
make(struct tcpx_engine *e, bool sends, struct tcpx_lane **out)
{
	struct tcpx_lane *l;
	int rc = engine_check(e);

	if (rc)
		return rc;
	if (e->ops->comm)
		return tcpx_fail(TCPX_SUB_XFER, -ENOTSUP, "lanes need a provider of streams: %s has "
				 "none", e->ops->name);
	l = calloc(1, sizeof(*l));
	if (!l)
		return tcpx_fail(TCPX_SUB_XFER, -ENOMEM, "no memory for a lane");
	tcpx_lane_init(l, e, sends);
	*out = l;
	return 0;
}

static void
hand_out(struct tcpx_lane *l, struct tcpx_lane **out)
{
	pthread_mutex_lock(&l->engine->registry.lock);
	tcpx_chain_add(&l->engine->registry.lanes, &l->handle);
	if (!l->sends)
		tcpx_tags_add(&l->engine->registry.listening, &l->by_key, tcpx_lane_key_tag(l->key));
	pthread_mutex_unlock(&l->engine->registry.lock);
	*out = l;
}

int
tcpx_lane_listen(tcpx_engine *e, void *key, tcpx_lane **lane)
{
	struct tcpx_lane *l = NULL;
	int rc = make(e, false, &l);

	if (rc)
		return rc;
	rc = tcpx_random_bytes(l->key, sizeof(l->key));
	if (rc) {
		free(l);
		return rc;
	}
	memcpy(key, l->key, sizeof(l->key));
	hand_out(l, lane);
	return 0;
}

int
tcpx_lane_open(tcpx_peer *p, const void *key, tcpx_lane **lane)
{
	struct tcpx_lane *l = NULL;
	struct session *s;
	int rc = make(p->engine, true, &l);

	if (rc)
		return rc;
	memcpy(l->key, key, sizeof(l->key));
	rc = tcpx_peer_lock_session(p, &s);
	if (rc) {
		free(l);
		return rc;
	}
	tcpx_session_get(s);
	l->session = s;
	rc = tcpx_lane_join(l);
	pthread_mutex_unlock(&s->lock);
	tcpx_session_put(s);
	if (rc) {
		tcpx_lane_put(l);
		return rc;
	}
	tcpx_peer_get(p);
	atomic_fetch_add(&p->handles, 1);
	l->peer = p;
	hand_out(l, lane);
	return 0;
}

int
tcpx_lane_ready(tcpx_lane *l)
{
	int status = atomic_load_explicit(&l->status, memory_order_acquire);

	return status == 0 || status == -EAGAIN ? status : tcpx_fail_known(status, "%s", l->cause);
}

int
tcpx_lane_peer(tcpx_lane *l, tcpx_peer **peer)
{
	bool known = l->sends || atomic_load(&l->status) != -EAGAIN;
	int rc = engine_check(l->engine);

	if (rc || !known)
		return rc ? rc : -EAGAIN;
	tcpx_peer_get(l->peer);
	atomic_fetch_add(&l->peer->handles, 1);
	*peer = l->peer;
	return 0;
}

static int
message(struct tcpx_lane *l, const struct tcpx_desc *piece, struct tcpx_xfer **out)
{
	struct tcpx_list *list;
	struct tcpx_xfer *x;
	int rc = tcpx_list_new(l->engine, piece, 1, false, &list);

	if (rc)
		return rc;
	rc = tcpx_xfer_new(l->engine, &x);
	if (rc) {
		tcpx_list_put(list);
		return rc;
	}
	x->op = l->sends ? TCPX_OP_SEND : TCPX_OP_RECV;
	x->sends = l->sends;
	x->payload.list = list;
	x->user = true;
	tcpx_peer_get(l->peer);
	x->peer = l->peer;
	tcpx_session_get(l->session);
	x->session = l->session;
	atomic_fetch_add(&l->refs, 1);
	x->lane = l;
	*out = x;
	return 0;
}

int
tcpx_lane_post(tcpx_lane *l, uint64_t region, uint64_t offset, uint64_t len, tcpx_xfer **xfer)
{
	struct tcpx_desc piece = { region, offset, len };
	struct tcpx_xfer *x;
	int rc = engine_check(l->engine);

	if (rc == 0)
		rc = tcpx_lane_ready(l);
	if (rc)
		return rc;
	if (atomic_load(&l->engine->stopping))
		return tcpx_fail(TCPX_SUB_XFER, TCPX_ECLOSED, "post on an engine that is closing");
	rc = message(l, &piece, &x);
	if (rc)
		return rc;
	x->times.post_ns = engine_now(l->engine);
	pthread_mutex_lock(&l->session->lock);
	rc = tcpx_lane_ready(l); /* it may have failed meanwhile */
	if (rc == 0) {
		tcpx_watch_posted(x);
		rc = tcpx_lane_enqueue(l, x);
	}
	pthread_mutex_unlock(&l->session->lock);
	if (rc) {
		tcpx_xfer_put(x);
		return rc == TCPX_ELIMIT ? -ENOBUFS : rc;
	}
	count_add(&l->engine->count.xfers_posted, 1);
	tcpx_xfer_hand_out(x);
	*xfer = x;
	return 0;
}

/* Its session, locked, with a reference; NULL: none. It may move until that is open. */
static struct session *
lock_session(struct tcpx_lane *l)
{
	struct registry *r = &l->engine->registry;
	struct session *s;
	bool here;

	do {
		pthread_mutex_lock(&r->lock);
		s = l->session;
		if (s)
			tcpx_session_get(s);
		pthread_mutex_unlock(&r->lock);
		if (!s)
			return NULL;
		pthread_mutex_lock(&s->lock);
		here = l->session == s;
		if (!here) {
			pthread_mutex_unlock(&s->lock);
			tcpx_session_put(s);
		}
	} while (!here);
	return s;
}

int
tcpx_lane_weight(tcpx_lane *l, uint32_t weight)
{
	int rc = engine_check(l->engine);
	struct session *s;

	if (rc)
		return rc;
	if (!l->sends)
		return tcpx_fail(TCPX_SUB_XFER, -EINVAL, "the weight of a lane is its sender's");
	if (!weight || weight > TCPX_LANE_WEIGHT_MAX)
		return tcpx_fail(TCPX_SUB_XFER, -EINVAL, "weight %u of a lane: 1 to %d", weight,
				 TCPX_LANE_WEIGHT_MAX);
	s = lock_session(l);
	l->turn.drr.weight = weight;
	pthread_mutex_unlock(&s->lock);
	tcpx_session_put(s);
	return 0;
}

/* A lane that listens may get its session meanwhile: then the label belongs under that one's lock. */
int
tcpx_lane_label(tcpx_lane *l, const char *text)
{
	struct registry *r = &l->engine->registry;
	int rc = engine_check(l->engine);
	struct session *s;
	bool given;

	if (rc == 0)
		rc = tcpx_label_check(text);
	if (rc)
		return rc;
	do {
		s = lock_session(l);
		pthread_mutex_lock(&r->lock);
		given = l->session == s;
		if (given)
			tcpx_label_give(l, text);
		pthread_mutex_unlock(&r->lock);
		if (s) {
			pthread_mutex_unlock(&s->lock);
			tcpx_session_put(s);
		}
	} while (!given);
	return 0;
}

/* With its session, which is locked. */
static void
close_open(struct tcpx_lane *l, struct session *s)
{
	const struct tcpx_lane_ring *r = l->sends ? &l->tx.ring : &l->rx.ring;

	tcpx_eager_drop(l, true);
	if (atomic_load(&l->status) == 0 && r->done == r->posted) {
		if (!l->ends_as && !l->sends)
			tcpx_lane_tell_done(s, l->word, &l->rx.ring);
		if (!l->ends_as)
			tcpx_lane_tell_close(s, l->word);
		tcpx_lane_end(l, TCPX_ECLOSED, "closed");
	} else {
		tcpx_lane_fail(l, TCPX_ECANCELED, l->sends ? "closed by its sender" :
							     "closed by its receiver");
	}
	tcpx_control_flush(s);
	pthread_mutex_unlock(&s->lock);
	tcpx_session_put(s);
}

void
tcpx_lane_close(tcpx_lane *l)
{
	struct session *s;

	if (!l || !engine_is_here(l->engine))
		return;
	pthread_mutex_lock(&l->engine->registry.lock);
	tcpx_chain_remove(&l->handle); /* nobody finds it any more */
	tcpx_tags_remove(&l->engine->registry.listening, &l->by_key);
	pthread_mutex_unlock(&l->engine->registry.lock);
	s = lock_session(l);
	if (s)
		close_open(l, s);
	if (l->peer)
		tcpx_peer_free(l->peer);
	tcpx_lane_put(l);
}
