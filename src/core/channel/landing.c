/* SPDX-License-Identifier: Apache-2.0 */
/* A receiving channel's state of landed messages. */
#include "core/channel/landing.h"

#include <errno.h>

#include "core/channel/channel.h"
#include "core/channel/kind.h"
#include "core/loop/loop.h"
#include "core/memory/payload.h"
#include "core/memory/staging.h"

struct rx_record *
tcpx_landing_record(struct channel *c, uint64_t seq)
{
	return &c->rx.landing[seq & (c->window.size - 1)];
}

void
tcpx_landing_let_go(struct channel *c, struct rx_record *r)
{
	if (r->buffer)
		tcpx_staging_put(c->loop, r->buffer);
	if (r->payload)
		above(c)->put(r->payload);
	*r = (struct rx_record){ 0 };
}

/* Gives back, oldest first, every slot whose message is in place. A dead connection takes
 * none back, but its messages are in place all the same, and the fence must count them.
 * (Sent again, such a chunk would come twice, and cost the next channel, too.) */
static int
release_spent(struct channel *c)
{
	uint64_t seq;
	int rc = 0, step = 0;

	while (step == 0 && (seq = tcpx_window_oldest(&c->window)) != 0 &&
	       tcpx_window_state(&c->window, seq) == TCPX_SLOT_SPENT &&
	       !tcpx_landing_record(c, seq)->unsettled) {
		if (rc == 0)
			rc = c->kind->release(c, seq);
		step = tcpx_window_step(&c->window, seq, TCPX_EV_RELEASE);
		if (step == 0)
			c->rx.acks.due.applied = seq;
		if (c->rx.acks.due.received < c->rx.acks.due.applied)
			c->rx.acks.due.received = c->rx.acks.due.applied;
	}
	return rc ? rc : step;
}

int
tcpx_landing_placed(struct channel *c, struct rx_record *r)
{
	c->rx.acks.unsent_bytes += r->len;
	tcpx_landing_let_go(c, r);
	return release_spent(c);
}

void
tcpx_landing_wait(struct channel *c, uint64_t seq, struct rx_record *r)
{
	struct rx_record *own = tcpx_landing_record(c, seq);

	if (r->buffer) /* it serves others */
		tcpx_staging_put(c->loop, r->buffer);
	r->buffer = NULL;
	if (own != r) {
		*own = *r;
		*r = (struct rx_record){ 0 };
	}
	own->unsettled = true;
	c->rx.unsettled++;
}

int
tcpx_landing_settle(struct channel *c)
{
	uint64_t seq;
	int rc = 0;

	if (c->rx.unsettled)
		c->rx.parked = PARK_NOT;
	for (seq = c->window.released + 1; rc == 0 && c->rx.unsettled && seq < c->window.next; seq++) {
		struct rx_record *r = tcpx_landing_record(c, seq);

		if (!r->unsettled || !above(c)->settled(c, r))
			continue;
		c->rx.unsettled--;
		rc = tcpx_landing_placed(c, r);
	}
	return rc == 0 && c->rx.unsettled ? -EAGAIN : rc;
}

void
tcpx_landing_forget(struct channel *c, uint64_t seq)
{
	tcpx_landing_let_go(c, tcpx_landing_record(c, seq));
}

void
tcpx_landing_drop(struct channel *c)
{
	if (c->rx.open.buffer)
		tcpx_staging_put(c->loop, c->rx.open.buffer);
	if (c->rx.open.payload) {
		above(c)->missed(c, &c->rx.open, false);
		above(c)->put(c->rx.open.payload);
	}
	c->rx.open = (struct rx_record){ 0 };
}
