/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channel set-up. The receiving side listens, since its GPU and NIC decide where payload can
 * land. A handle comes from the plugin and serves for one comm. The plugin's connections cannot
 * carry a token, so only the network can protect its ports.
 */
#include <errno.h>
#include <stdlib.h>

#include "net/plugnet/chan.h"
#include "net/plugnet/dev.h"
#include "net/plugnet/mem.h"
#include "net/plugnet/setup.h"

_Static_assert(PLUG_HANDLE_BYTES == TCPX_HANDLE_BYTES, "handles travel unchanged");

/* A chan_connect that has not finished. */
struct dial {
	const struct tcpx_nic *nic;
	struct plug_comm *comm;
};

/* The receiving side listens, the sending side connects. */
static int
wrong_way(const struct tcpx_chan_id *id, const char *does)
{
	return tcpx_fail(TCPX_SUB_NET, -EINVAL, "channel %u: %s side cannot do that: who receives "
			 "listens, who sends connects", id->channel, does);
}

int
tcpx_plugnet_chan_listen(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
			 uint8_t handle[TCPX_HANDLE_BYTES], struct tcpx_chan_listener **out)
{
	struct tcpx_chan_listener *cl;
	int rc, dev;

	rc = tcpx_plugnet_dev(net, nic, &dev);
	if (rc)
		return rc;
	cl = calloc(1, sizeof(*cl));
	if (!cl)
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "channel %u", id->channel);
	cl->net = net;
	cl->nic = nic;
	cl->id = *id;
	rc = tcpx_plugnet_enter(net, &net->nics[nic]);
	if (rc == 0) {
		rc = plug_listen(net->plug, dev, handle, &cl->listen);
		tcpx_plugnet_leave(net, &net->nics[nic]);
	}
	if (rc) {
		free(cl);
		return rc;
	}
	*out = cl;
	return 0;
}

int
tcpx_plugnet_chan_accept(struct tcpx_chan_listener *cl, bool sending, struct tcpx_chan **out)
{
	const struct tcpx_nic *nic = &cl->net->nics[cl->nic];
	struct plug_comm *comm;
	int rc;

	if (sending)
		return wrong_way(&cl->id, "the sending");
	if (cl->used)
		return tcpx_fail(TCPX_SUB_NET, TCPX_ESTATE, "channel %u was accepted before",
				 cl->id.channel);
	rc = tcpx_plugnet_enter(cl->net, nic);
	if (rc)
		return rc;
	rc = plug_accept(cl->listen, &comm);
	tcpx_plugnet_leave(cl->net, nic);
	if (rc == -EAGAIN)
		return rc;
	cl->used = true;
	if (rc)
		return rc;
	return tcpx_plugnet_chan_new(cl->net, cl->nic, &cl->id, comm, false, out);
}

void
tcpx_plugnet_chan_listener_close(struct tcpx_chan_listener *cl)
{
	bool entered;

	if (!cl)
		return;
	entered = tcpx_plugnet_enter(cl->net, &cl->net->nics[cl->nic]) == 0;
	plug_listen_close(cl->listen);
	if (entered)
		tcpx_plugnet_leave(cl->net, &cl->net->nics[cl->nic]);
	free(cl);
}

static void
dial_free(void **state)
{
	free(*state);
	*state = NULL;
}

int
tcpx_plugnet_chan_connect(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
			  const uint8_t handle[TCPX_HANDLE_BYTES], bool sending, void **state,
			  struct tcpx_chan **out)
{
	struct plug_comm *comm;
	struct dial *d = *state;
	int rc, dev;

	if (!sending)
		return wrong_way(id, "the receiving");
	rc = tcpx_plugnet_dev(net, nic, &dev);
	if (rc)
		return rc;
	if (!d) {
		d = calloc(1, sizeof(*d));
		if (!d)
			return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "channel %u", id->channel);
		d->nic = &net->nics[nic];
		*state = d;
	}
	rc = tcpx_plugnet_enter(net, d->nic);
	if (rc == 0) {
		rc = plug_connect(net->plug, dev, handle, &d->comm);
		tcpx_plugnet_leave(net, d->nic);
		if (rc == -EAGAIN)
			return rc;
	} else if (d->comm) {
		plug_connect_cancel(&d->comm);
	}
	comm = d->comm;
	dial_free(state);
	return rc ? rc : tcpx_plugnet_chan_new(net, nic, id, comm, true, out);
}

void
tcpx_plugnet_chan_connect_cancel(struct tcpx_net *net, void **state)
{
	struct dial *d = *state;
	bool entered;

	if (!d)
		return;
	entered = tcpx_plugnet_enter(net, d->nic) == 0;
	plug_connect_cancel(&d->comm);
	if (entered)
		tcpx_plugnet_leave(net, d->nic);
	dial_free(state);
}
