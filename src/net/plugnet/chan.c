/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making and closing a channel of either direction: its comm, its slots and their registration.
 */
#include <errno.h>
#include <stdlib.h>

#include "net/plugin/mem.h"
#include "net/plugnet/busy.h"
#include "net/plugnet/chan.h"
#include "net/plugnet/mem.h"
#include "net/plugnet/recv.h"

#define DEVICE_BYTES 24

static int
make_tables(struct tcpx_chan *c)
{
	if (c->sending)
		return 0;
	c->rx.iov = calloc((size_t)c->net->window * PLUG_FRAGS_MAX, sizeof(*c->rx.iov));
	c->rx.frag = calloc(PLUG_FRAGS_MAX, sizeof(*c->rx.frag));
	if (c->rx.iov && c->rx.frag)
		return 0;
	return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "fragment lists of channel %u", c->channel);
}

/* Makes and registers the slots; a receiving channel posts a receive for each. */
static int
make_ready(struct tcpx_chan *c)
{
	uint8_t device[DEVICE_BYTES];
	size_t size;
	int rc;

	c->slots = c->sending ? 2 * c->net->window : c->net->window;
	c->slot_bytes = (c->net->chunk + PLUGNET_PAGE - 1) / PLUGNET_PAGE * PLUGNET_PAGE;
	size = (size_t)c->slots * c->slot_bytes;
	rc = make_tables(c);
	if (rc == 0)
		rc = tcpx_plugnet_mem_get(c->net, c->nic, size, &c->mem);
	if (rc == 0 && !c->sending && plug_comm_unpacks(c->comm)) {
		rc = tcpx_plugnet_mem_read(c->net, c->nic, device, plug_comm_device(c->comm),
					   sizeof(device));
		if (rc == 0)
			plug_comm_device_is(c->comm, device);
	}
	if (rc)
		return rc;
	rc = tcpx_plugnet_enter(c->net, c->nic);
	if (rc)
		return rc;
	rc = plug_reg(c->comm, c->mem, size, c->nic->gpu >= 0, &c->mhandle);
	if (rc == 0 && !c->sending)
		rc = tcpx_plugnet_recv_post(c);
	tcpx_plugnet_leave(c->net, c->nic);
	return rc;
}

int
tcpx_plugnet_chan_new(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
		      struct plug_comm *comm, bool sending, struct tcpx_chan **out)
{
	struct tcpx_chan *c = calloc(1, sizeof(*c));
	int rc;

	if (!c) {
		plug_comm_close(comm);
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "channel %u", id->channel);
	}
	c->net = net;
	c->comm = comm;
	c->nic = &net->nics[nic];
	c->channel = id->channel;
	c->generation = id->generation;
	c->sending = sending;
	tcpx_node_init(&c->in_busy);
	rc = make_ready(c);
	if (rc) {
		tcpx_plugnet_chan_close(c);
		return rc;
	}
	*out = c;
	return 0;
}

/* Closes also when the GPU cannot be entered. The registration ends with the comm, whose
 * messages may still be on their way. */
void
tcpx_plugnet_chan_close(struct tcpx_chan *c)
{
	bool entered;

	if (!c)
		return;
	tcpx_chain_remove(&c->in_busy);
	entered = tcpx_plugnet_enter(c->net, c->nic) == 0;
	plug_comm_close(c->comm);
	if (entered)
		tcpx_plugnet_leave(c->net, c->nic);
	if (c->mem)
		tcpx_plugnet_mem_put(c->net, c->nic, c->mem);
	free(c->rx.iov);
	free(c->rx.frag);
	free(c);
}
