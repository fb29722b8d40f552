/* SPDX-License-Identifier: Apache-2.0 */
#include "core/transfer/move.h"

#include "core/context/context.h"
#include "core/memory/list.h"
#include "core/session/control.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "core/transfer/end.h"
#include "core/transfer/lane.h"
#include "core/transfer/launch.h"
#include "core/transfer/transfer.h"

/* Others read x->session under the lock of the queues, to find the lock of the session. */
static void
enter(struct tcpx_xfer *x, struct session *to)
{
	struct session *s = x->session;

	tcpx_session_get(to);
	(void)tcpx_peer_lock_queues(x->peer);
	x->session = to;
	tcpx_peer_unlock_queues(x->peer);
	tcpx_session_put(s);
}

/* A region may have been deregistered by one who has looked at @to before. */
static void
move(struct tcpx_node *chain, struct session *to, struct tcpx_node *end)
{
	tcpx_chain_each(n, after, chain) {
		struct tcpx_xfer *x = tcpx_container(n, struct tcpx_xfer, queue);

		tcpx_chain_remove(n);
		enter(x, to);
		tcpx_chain_add(end, n);
		if (tcpx_list_check(x->payload.list) != 0)
			tcpx_xfer_end(x, TCPX_EREGION, "region deregistered");
	}
}

void
tcpx_xfers_move(struct session *s, struct session *to)
{
	bool launching = to->xfers.launching;

	to->xfers.launching = true; /* else the end of one would open others during this walk */
	for (int i = 0; i < CREDIT_KINDS; i++)
		move(&s->xfers.waiting[i], to, &to->xfers.waiting[i]);
	move(&s->xfers.after_event, to, &to->xfers.after_event);
	to->xfers.launching = launching;
	tcpx_session_used(to);
	tcpx_launch_waiting(to, engine_now(to->engine));
}

void
tcpx_lanes_move(struct session *s, struct session *to)
{
	struct registry *r = &s->engine->registry;

	tcpx_chain_each(n, after, &s->lanes.all) {
		struct tcpx_lane *l = tcpx_container(n, struct tcpx_lane, in_session);

		tcpx_chain_remove(n);
		tcpx_session_get(to);
		pthread_mutex_lock(&r->lock);
		l->session = to;
		pthread_mutex_unlock(&r->lock);
		tcpx_session_put(s);
		if (tcpx_lane_join(l) != 0)
			tcpx_lane_end(l, TCPX_ELIMIT, "the session takes no more lanes");
		tcpx_lane_put(l); /* the other session's */
	}
}

struct session *
tcpx_xfer_lock_session(struct tcpx_xfer *x)
{
	struct session *s;
	bool here;

	do {
		(void)tcpx_peer_lock_queues(x->peer);
		s = x->session;
		if (s)
			tcpx_session_get(s);
		tcpx_peer_unlock_queues(x->peer);
		if (!s)
			return NULL;
		pthread_mutex_lock(&s->lock);
		here = x->session == s;
		if (!here) {
			pthread_mutex_unlock(&s->lock);
			tcpx_session_put(s);
		}
	} while (!here);
	return s;
}
