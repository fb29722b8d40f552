/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The busy channels of a poller: those with an outstanding message or an event to report. Also
 * the deadline and the end of a channel. A dead channel makes no call on its comm except to
 * close it.
 */
#include "net/plugnet/busy.h"

void
tcpx_plugnet_poller_moved(struct tcpx_poller *p, uint64_t now_ns)
{
	p->moved_ns = now_ns;
	p->nap_ns = PLUGNET_NAP_MIN_NS;
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
	tcpx_plugnet_chan_relist(c);
	return 0;
}

int
tcpx_plugnet_chan_die(struct tcpx_chan *c, int code)
{
	if (!c->dead)
		c->dead = code;
	tcpx_plugnet_chan_relist(c);
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
	tcpx_plugnet_chan_relist(c);
}

bool
tcpx_plugnet_chan_late(struct tcpx_chan *c, uint64_t seq, uint64_t now_ns)
{
	uint64_t limit_ms = c->net->deadline_ns / TCPX_MS;

	if (now_ns - c->since_ns <= c->net->deadline_ns)
		return false;
	/* the plugin reports nothing when a data connection of its own breaks */
	tcpx_plugnet_chan_die(c, tcpx_fail(TCPX_SUB_NET, TCPX_ECHANNEL,
		"channel %u on %s: message %llu %s within %llu ms", c->channel, c->nic->name,
		(unsigned long long)seq,
		c->sending ? "has not left" : "was announced and has not come",
		(unsigned long long)limit_ms));
	return true;
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
tcpx_plugnet_chan_relist(struct tcpx_chan *c)
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
