/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both directions of a channel share: its slots, when it is looked at, its deadline and
 * its end. A channel that has died makes no more calls on its comm but to close it.
 */
#include <errno.h>
#include <stdlib.h>

#include "net/tcpx.h"

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

/* Slots, their registration, and on a receiving channel a receive for each. */
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

/* A failure to enter the GPU changes nothing: what was made has to go. The registration goes
 * with the comm, whose messages may still be on their way. */
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

int
tcpx_plugnet_chan_stats(struct tcpx_chan *c, struct tcpx_chan_stats *stats)
{
	(void)c;
	*stats = (struct tcpx_chan_stats){ .incoming_cpu = -1 }; /* the plugin's sockets are its own */
	return 0;
}

int
tcpx_plugnet_chan_watch(struct tcpx_chan *c, struct tcpx_poller *p, void *owner,
			unsigned interest)
{
	if (c->poller && c->poller != p)
		return tcpx_fail(TCPX_SUB_NET, TCPX_ESTATE, "watch of channel %u in a second "
				 "poller: one for its life", c->channel);
	c->poller = p;
	c->owner = owner;
	c->interest = interest;
	tcpx_plugnet_chan_mind(c);
	return 0;
}

int
tcpx_plugnet_chan_die(struct tcpx_chan *c, int code)
{
	if (!c->dead)
		c->dead = code;
	tcpx_plugnet_chan_mind(c);
	return c->dead;
}

static bool
outstanding(const struct tcpx_chan *c)
{
	return c->sending ? c->tx.sent > c->tx.left : c->rx.headed > c->rx.landed;
}

void
tcpx_plugnet_chan_begin(struct tcpx_chan *c, uint64_t now_ns)
{
	c->fresh++;
	if (c->poller)
		tcpx_plugnet_poller_moved(c->poller, now_ns);
	tcpx_plugnet_chan_mind(c);
}

bool
tcpx_plugnet_chan_late(struct tcpx_chan *c, uint64_t seq, uint64_t now_ns)
{
	uint64_t limit_ms = c->net->deadline_ns / TCPX_MS;

	if (now_ns - c->since_ns <= c->net->deadline_ns)
		return false;
	/* the plugin says nothing when a data connection of its own breaks */
	tcpx_plugnet_chan_die(c, tcpx_fail(TCPX_SUB_NET, TCPX_ECHANNEL,
		"channel %u on %s: message %llu %s within %llu ms", c->channel, c->nic->name,
		(unsigned long long)seq,
		c->sending ? "has not left" : "was announced and has not come",
		(unsigned long long)limit_ms));
	return true;
}

bool
tcpx_plugnet_chan_look(struct tcpx_chan *c, uint64_t now_ns)
{
	if (c->dead || !outstanding(c))
		return false;
	return c->sending ? tcpx_plugnet_send_look(c, now_ns) : tcpx_plugnet_recv_look(c, now_ns);
}

unsigned
tcpx_plugnet_chan_ready(const struct tcpx_chan *c, bool slept)
{
	bool room = c->tx.sent - c->tx.left < c->net->window && (slept || !c->tx.refused);
	bool here = c->rx.landed > c->rx.given;

	if (c->dead)
		return c->interest ? TCPX_BROKEN : 0;
	return c->interest & (c->sending ? room ? TCPX_WRITABLE : 0 : here ? TCPX_READABLE : 0);
}

void
tcpx_plugnet_chan_mind(struct tcpx_chan *c)
{
	bool busy = c->poller && ((!c->dead && outstanding(c)) ||
				  tcpx_plugnet_chan_ready(c, true));

	if (busy == tcpx_node_linked(&c->in_busy))
		return;
	if (busy)
		tcpx_chain_add(&c->poller->busy, &c->in_busy);
	else
		tcpx_chain_remove(&c->in_busy);
}
