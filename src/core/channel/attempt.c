/* SPDX-License-Identifier: Apache-2.0 */
#include "core/channel/attempt.h"

#include <errno.h>

#include "core/channel/channel.h"
#include "core/channel/connection.h"
#include "core/channel/kind.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/session/session.h"
#include "proto/path.h"

bool
tcpx_attempt_both_listen(const struct session *s)
{
	return tcpx_channel_kind(s->engine)->receiver_listens;
}

bool
tcpx_attempt_listens(const struct channel *c)
{
	return tcpx_attempt_both_listen(c->session) ? !c->sending : !c->session->opener;
}

void
tcpx_attempt_identify(struct channel *c)
{
	struct tcpx_chan_id *id = &c->wiring->id;

	id->session = c->session->id;
	id->channel = c->index;
	id->generation = c->generation;
	id->sending_side_is_opener = !c->backward;
}

int
tcpx_attempt_listen(struct channel *c, uint8_t handle[TCPX_HANDLE_BYTES])
{
	const struct tcpx_engine *e = c->session->engine;
	int rc = e->ops->chan_listen(e->net, c->near_nic, &c->wiring->id, handle,
				     &c->wiring->listener);

	if (rc == 0 && e->ops->chan_listener_watch)
		rc = e->ops->chan_listener_watch(c->wiring->listener, c->session->loop->poller,
						 c->session);
	c->wiring->usable = rc == 0;
	return rc;
}

/* A path that delivered nothing may pass small packets alone, as its sender perhaps did not
 * notice. */
static uint16_t
packet_max(const struct channel *c)
{
	return c->packet || !c->heal.wasted ? c->packet : TCPX_PACKET_ANY;
}

int
tcpx_attempt_step(struct channel *c)
{
	const struct tcpx_engine *e = c->session->engine;
	struct chan_wiring *w = c->wiring;
	struct tcpx_chan *chan;
	int rc;

	w->id.packet = packet_max(c);
	if (tcpx_attempt_listens(c))
		rc = e->ops->chan_accept(w->listener, c->sending, &chan);
	else
		rc = e->ops->chan_connect(e->net, c->near_nic, &w->id, w->handle, c->sending,
					  &w->connect_state, &chan);
	if (rc == -EAGAIN && w->connect_state && e->ops->chan_connect_watch &&
	    e->ops->chan_connect_watch(e->net, w->connect_state, c->session->loop->poller,
				       &c->session->dials) != 0)
		return TCPX_ECHANNEL;
	return rc ? rc : tcpx_channel_up(c, chan);
}

/* What the provider reports is an event of the session. */
uint64_t
tcpx_attempt_look_ns(const struct session *s, bool listens, uint64_t running_ns)
{
	const struct tcpx_net_ops *ops = s->engine->ops;
	bool reports = listens ? (bool)ops->chan_listener_watch : (bool)ops->chan_connect_watch;

	return reports ? TCPX_LOOK_MAX_NS : tcpx_heal_look_ns(running_ns);
}
