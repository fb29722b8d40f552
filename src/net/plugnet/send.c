/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sending. The plugin takes a message in its slot as a whole and completes messages in order. A
 * completed message has left: the peer's kernel has it.
 */
#include <errno.h>

#include "net/plugnet/busy.h"
#include "net/plugnet/send.h"

static uint8_t *
slot_of(const struct tcpx_chan *c, uint64_t seq)
{
	return c->mem + seq % c->slots * c->slot_bytes;
}

void *
tcpx_plugnet_chan_slot(struct tcpx_chan *c, uint64_t seq)
{
	if (c->sending && seq > c->tx.sent && seq <= c->tx.left + c->slots)
		return slot_of(c, seq);
	tcpx_fail(TCPX_SUB_NET, TCPX_ESTATE, "channel %u: slot of message %llu; sent are %llu, "
		  "left have %llu, slots are %u", c->channel, (unsigned long long)seq,
		  (unsigned long long)c->tx.sent, (unsigned long long)c->tx.left, c->slots);
	return NULL;
}

bool
tcpx_plugnet_send_look(struct tcpx_chan *c, uint64_t now_ns)
{
	bool moved = false;
	uint32_t len;
	int rc;

	if (c->dead)
		return false;
	while (c->tx.sent > c->tx.left) {
		rc = plug_test(c->comm, c->req[(c->tx.left + 1) % c->slots], &len);
		if (rc && rc != -EAGAIN) {
			tcpx_plugnet_chan_die(c, rc);
			return true;
		}
		if (rc == -EAGAIN && c->fresh == 0)
			break;
		if (c->fresh)
			c->fresh--;
		if (rc)
			continue;
		c->tx.left++;
		c->since_ns = now_ns;
		moved = true;
	}
	if (c->tx.sent > c->tx.left)
		tcpx_plugnet_chan_late(c, c->tx.left + 1, now_ns);
	return moved;
}

int
tcpx_plugnet_chan_send(struct tcpx_chan *c, const struct tcpx_head *head)
{
	uint64_t now_ns = tcpx_clock_now(c->net->clock), seq = head->seq;
	int rc;

	if (c->dead)
		return c->dead;
	if (!c->sending || seq != c->tx.sent + 1 || head->len > c->net->chunk)
		return tcpx_plugnet_chan_die(c, tcpx_fail(TCPX_SUB_NET, TCPX_EFRAME, "channel %u: "
			"message %llu of %u bytes to be sent; the next is %llu, of %u at most",
			c->channel, (unsigned long long)seq, head->len,
			(unsigned long long)c->tx.sent + 1, c->net->chunk));
	if (c->tx.sent - c->tx.left >= c->net->window)
		tcpx_plugnet_send_look(c, now_ns);
	if (c->dead)
		return c->dead;
	if (c->tx.sent - c->tx.left >= c->net->window)
		return -EAGAIN;
	rc = plug_send(c->comm, slot_of(c, seq), head->len, c->channel, c->mhandle,
		       &c->req[seq % c->slots]);
	c->tx.refused = rc == -EAGAIN;
	if (rc)
		return rc == -EAGAIN ? rc : tcpx_plugnet_chan_die(c, rc);
	if (c->tx.sent == c->tx.left)
		c->since_ns = now_ns;
	c->tx.sent = seq;
	tcpx_plugnet_chan_begin(c, now_ns);
	tcpx_plugnet_send_look(c, now_ns); /* the plugin begins to send in test() */
	return c->dead;
}

int
tcpx_plugnet_chan_ended(struct tcpx_chan *c)
{
	return c->dead;
}
