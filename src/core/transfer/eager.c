/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small messages of lanes. The control stream numbers, keeps and repeats them, so a send is over when
 * its frame is put. What a peer may have kept here is reserved before it is granted: a message that
 * comes always finds its room.
 */
#include "core/transfer/eager.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"
#include "core/memory/copy.h"
#include "core/memory/list.h"
#include "core/session/control.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "core/transfer/lane_tell.h"
#include "core/transfer/transfer.h"

/* ---- sending ---- */

static bool
may_go(struct tcpx_lane *l, const struct tcpx_xfer *x, bool known)
{
	const struct tcpx_list *list = x->payload.list;
	struct session *s = l->session;

	return list->total <= TCPX_LANE_DATA_MAX && s->engine->limit.inline_bytes && !list_staged(list) &&
	       (known || tcpx_lane_near(&l->tx, tcpx_lane_seq(x->id))) &&
	       tcpx_ctrl_room_now(s->control.ctrl, TCPX_LANE_DATA_HEAD + list->total) &&
	       (known || tcpx_eager_use(&s->lanes.credit, tcpx_eager_cost(list->total)));
}

int
tcpx_eager_send(struct tcpx_lane *l, struct tcpx_xfer *x, bool known)
{
	uint64_t len = x->payload.list->total;
	struct tcpx_lane_data d = { .message = x->id, .known = known, .len = (uint16_t)len };
	uint8_t room[TCPX_LANE_DATA_HEAD + TCPX_LANE_DATA_MAX];
	struct session *s = l->session;
	struct tcpx_buf b;
	int rc;

	if (!may_go(l, x, known))
		return 0;
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_lane_data_write(&b, &d);
	rc = tcpx_list_copy_out(x->payload.list, room + b.pos, len);
	if (rc) {
		s->lanes.credit.used -= known ? 0 : tcpx_eager_cost(len);
		return rc;
	}
	b.pos += len;
	rc = tcpx_control_put(s, TCPX_FR_LANE_DATA, &b);
	if (rc)
		tcpx_session_fail(s, rc, "%s", "control stream cannot take a message");
	return rc ? rc : 1;
}

/* ---- credit of the peer ---- */

static bool
reserve(struct session *s, uint64_t bytes)
{
	if (!tcpx_quota_charge(&s->lanes.pool, bytes))
		return false;
	if (tcpx_quota_charge(&s->peer->kept, bytes))
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
	tcpx_quota_give(&s->peer->kept, bytes);
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
		if (tcpx_eager_short(k) && reserve(s, k->window))
			k->window *= 2;
		tcpx_lane_tell_grant(s, tcpx_eager_grant(k));
	}
}

/* ---- messages that are kept ---- */

int
tcpx_eager_keep(struct tcpx_lane *l, const struct tcpx_lane_data *d)
{
	struct early *m = malloc(sizeof(*m) + d->len);

	if (!m)
		return tcpx_fail(TCPX_SUB_XFER, -ENOMEM, "a message of %u bytes of a lane", d->len);
	m->len = d->len;
	memcpy(m->bytes, d->payload, d->len);
	tcpx_chain_add(&l->kept, &m->node);
	return 0;
}

struct early *
tcpx_eager_take(struct tcpx_lane *l)
{
	struct tcpx_node *n = tcpx_chain_first(&l->kept);

	if (!n)
		return NULL;
	tcpx_chain_remove(n);
	return tcpx_container(n, struct early, node);
}

void
tcpx_eager_put(struct tcpx_lane *l, struct early *m)
{
	tcpx_eager_release(l->session, m->len);
	free(m);
}

void
tcpx_eager_drop(struct tcpx_lane *l)
{
	struct early *m;

	while ((m = tcpx_eager_take(l))) /* a grant may fail the session, which drops them, too */
		tcpx_eager_put(l, m);
}
