/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A turn of a receiving channel: its kind receives, then the sender gets acknowledgements. A
 * message names its transfer and chunk; this engine, never the wire, decides where its bytes
 * go. For a transfer not yet opened the channel waits for OPEN. For an ended one the bytes go
 * to a sink.
 */
#include "core/channel/receiver.h"

#include <errno.h>

#include "core/channel/channel.h"
#include "core/channel/connection.h"
#include "core/channel/kind.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/batch.h"
#include "core/session/session.h"

#define ACK_BYTES    (256u << 10) /* limit of applied, not yet acknowledged bytes  */

static void
acknowledge(struct channel *c, bool force)
{
	struct rx_acks *acks = &c->rx.acks;
	int rc;

	if ((acks->due.applied == acks->sent.applied && acks->due.received == acks->sent.received) ||
	    !c->chan || (!force && acks->unsent_bytes < ACK_BYTES))
		return;
	rc = c->kind->acknowledge(c);
	if (rc == 0) {
		acks->sent = acks->due;
		acks->unsent_bytes = 0;
		acks->sender_waits = false;
	}
	tcpx_channel_watch(c, rc == -EAGAIN ? TCPX_READABLE | TCPX_WRITABLE : TCPX_READABLE);
}

void
tcpx_receiver_step(struct channel *c, uint64_t now_ns)
{
	bool was_held = c->rx.held;
	int rc;

	c->rx.held = false;
	rc = c->kind->receive(c, now_ns);
	if (rc && rc != -EAGAIN) {
		tcpx_channel_down(c, rc, "");
		return;
	}
	if (c->rx.held) {
		acknowledge(c, true);
		tcpx_channel_watch(c, c->interest & TCPX_WRITABLE);
		return;
	}
	if (was_held)
		tcpx_channel_watch(c, TCPX_READABLE);
	if (c->rx.acks.sender_waits)
		tcpx_batches_launch(c->loop); /* the GPU copies while the
					       * acknowledgement is sent */
	if (c->kind->in_place) {
		/* skip "received" for small messages: the "applied" that follows at once
		 * implies it */
		if (c->rx.acks.sender_waits || c->rx.acks.due.applied != c->rx.acks.sent.applied)
			acknowledge(c, true);
		if (rc == 0) /* the provider may hold the next header */
			tcpx_loop_post(c->loop, &c->work);
	} else {
		acknowledge(c, rc == -EAGAIN);
	}
}

void
tcpx_receiver_acknowledge(struct copy_client *client)
{
	acknowledge(tcpx_container(client, struct channel, client), true);
}
