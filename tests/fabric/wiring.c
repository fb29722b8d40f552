/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How scripted channels come up. A handle holds the number of the listener that wrote
 * it; a listener gives one channel, to the first caller that shows the same identity.
 */
#include "fabric/inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a handle holds. */
struct handle {
	uint64_t number;
	struct tcpx_addr addr;
};
_Static_assert(sizeof(struct handle) <= TCPX_HANDLE_BYTES, "a handle must fit");

static int
check_role(const struct tcpx_chan_id *id, bool opener, bool sending)
{
	if (sending == (opener == (id->sending_side_is_opener != 0)))
		return 0;
	return tcpx_fail(TCPX_SUB_NET, -EINVAL, "channel %u: %s side as %s", id->channel,
			 opener ? "opening" : "accepting", sending ? "sender" : "receiver");
}

/* Of a comm the sending side has connected, the other has listened. */
static int
check_comm(const struct tcpx_chan_id *id, bool right)
{
	return right ? 0 : tcpx_fail(TCPX_SUB_NET, -EINVAL, "channel %u: the wrong side listens",
				     id->channel);
}

static bool
same_id(const struct tcpx_chan_id *a, const struct tcpx_chan_id *b)
{
	return a->session == b->session && a->channel == b->channel &&
	       a->generation == b->generation &&
	       a->sending_side_is_opener == b->sending_side_is_opener &&
	       !memcmp(a->token, b->token, sizeof(a->token));
}

static int
chan_new(struct tcpx_net *net, struct loop_link *l, int side, bool sending,
	 struct tcpx_chan **chan)
{
	struct tcpx_chan *c = calloc(1, sizeof(*c));

	if (!c)
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "a scripted channel");
	tcpx_end_init(&c->end, net, l, side);
	c->sending = sending;
	l->net[side] = net;
	*chan = c;
	return 0;
}

int
tcpx_loop_chan_listen(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
		      uint8_t handle[TCPX_HANDLE_BYTES], struct tcpx_chan_listener **cl)
{
	struct tcpx_fabric *f = net->fabric;
	struct tcpx_chan_listener *l;
	struct handle h;

	if (nic < 0 || nic >= (int)net->nic_count)
		return tcpx_fail(TCPX_SUB_NET, -EINVAL, "expect a channel on NIC %d of %u",
				 nic, net->nic_count);
	l = calloc(1, sizeof(*l));
	if (!l)
		return tcpx_fail(TCPX_SUB_NET, -ENOMEM, "a scripted channel listener");
	l->net = net;
	l->id = *id;
	l->handle = ++f->next_handle;
	tcpx_chain_add(&f->chan_listeners, &l->node);
	net->live++;

	memset(&h, 0, sizeof(h));
	h.number = l->handle;
	h.addr = net->nics[nic].addr;
	memset(handle, 0, TCPX_HANDLE_BYTES);
	memcpy(handle, &h, sizeof(h));
	*cl = l;
	return 0;
}

/* A caller that went away before it was accepted makes room for the next. */
static void
forget_dead_caller(struct tcpx_chan_listener *cl)
{
	if (cl->link && (tcpx_link_dead(cl->link, 1) || !cl->link->open[0])) {
		tcpx_link_close(cl->link, 1);
		cl->link = NULL;
	}
}

int
tcpx_loop_chan_accept(struct tcpx_chan_listener *cl, bool sending, struct tcpx_chan **chan)
{
	int rc = cl->net->comm ? check_comm(&cl->id, !sending) :
				 check_role(&cl->id, false, sending);

	if (rc)
		return rc;
	forget_dead_caller(cl);
	if (!cl->link || tcpx_link_up(cl->link))
		return -EAGAIN;
	rc = chan_new(cl->net, cl->link, 1, sending, chan);
	if (rc)
		return rc;
	cl->link->accepted = true;
	cl->link->fabric->activity++;
	cl->link = NULL;
	cl->used = true;
	return 0;
}

void
tcpx_loop_chan_listener_close(struct tcpx_chan_listener *cl)
{
	if (cl->link) {
		tcpx_link_break(cl->link, 1);
		tcpx_link_close(cl->link, 1);
	}
	tcpx_chain_remove(&cl->node);
	cl->net->live--;
	free(cl);
}

static struct tcpx_chan_listener *
find_listener(struct tcpx_fabric *f, uint64_t number)
{
	for (struct tcpx_node *n = f->chan_listeners.next; n != &f->chan_listeners;
	     n = n->next) {
		struct tcpx_chan_listener *cl =
			tcpx_container(n, struct tcpx_chan_listener, node);

		if (cl->handle == number)
			return cl;
	}
	return NULL;
}

static int
start_connect(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
	      const uint8_t handle[TCPX_HANDLE_BYTES], struct loop_link **out)
{
	struct tcpx_chan_listener *cl;
	struct loop_link *l;
	struct handle h;
	int rc;

	memcpy(&h, handle, sizeof(h));
	rc = tcpx_link_new(net, TCPX_FABRIC_DATA, nic, &h.addr, &l);
	if (rc)
		return rc;
	l->sender = net->comm || id->sending_side_is_opener ? 0 : 1;
	l->session = id->session;
	if (net->comm) {
		rc = tcpx_slotring_new(&l->ring);
		if (rc) {
			tcpx_link_close(l, 0);
			return rc;
		}
	}
	*out = l;
	if (l->refused)
		return 0;
	cl = find_listener(net->fabric, h.number);
	if (cl)
		forget_dead_caller(cl);
	if (!cl) {
		l->refused = -ECONNREFUSED;
	} else if (cl->link || cl->used || !same_id(&cl->id, id)) {
		l->refused = TCPX_ECHANNEL;
	} else {
		cl->link = l;
		l->open[1] = true;
	}
	return 0;
}

int
tcpx_loop_chan_connect(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
		       const uint8_t handle[TCPX_HANDLE_BYTES], bool sending, void **state,
		       struct tcpx_chan **chan)
{
	struct loop_link *l = *state;
	int rc = net->comm ? check_comm(id, sending) : check_role(id, true, sending);

	if (!rc && !l) {
		rc = start_connect(net, nic, id, handle, &l);
		if (!rc) {
			net->live++;
			*state = l;
		}
	}
	if (rc)
		return rc;
	rc = tcpx_link_up(l);
	if (rc == -EAGAIN)
		return rc;
	if (!rc && tcpx_link_dead(l, 0))
		rc = TCPX_ECHANNEL;
	if (!rc)
		rc = chan_new(net, l, 0, sending, chan);
	if (rc) {
		tcpx_loop_chan_connect_cancel(net, state);
		return rc;
	}
	net->live--;
	*state = NULL;
	return 0;
}

void
tcpx_loop_chan_connect_cancel(struct tcpx_net *net, void **state)
{
	if (!*state)
		return;
	tcpx_link_close(*state, 0);
	net->live--;
	*state = NULL;
}

int
tcpx_loop_chan_watch(struct tcpx_chan *c, struct tcpx_poller *p, void *owner,
		     unsigned interest)
{
	return tcpx_end_watch(&c->end, p, owner, interest);
}

void
tcpx_loop_chan_close(struct tcpx_chan *c)
{
	tcpx_loop_chan_promise(c, false);
	tcpx_end_close(&c->end);
	free(c);
}
