/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacking: from the landed message, in the fragments of a provider or a staging buffer, into
 * the transfer's memory. The place of that memory decides which device copies. A message is
 * acknowledged after the copy out of it is done, and in order.
 */
#include "core/channel/unpack.h"

#include <errno.h>
#include <stdlib.h>

#include "core/channel/channel.h"
#include "core/channel/connection.h"
#include "core/channel/landing.h"
#include "core/context/context.h"
#include "core/memory/batch.h"
#include "core/memory/list.h"
#include "core/memory/payload.h"
#include "core/memory/staging.h"
#include "core/session/session.h"

#define FEW_FRAGS 64

/* Room for this many fragments; the channel keeps it, so no chunk allocates
 * in the long run. */
static int
room_for(struct channel *c, uint32_t frags)
{
	uint32_t cap = c->rx.frag_cap ? c->rx.frag_cap : FEW_FRAGS;
	struct tcpx_frag *frag;
	uint64_t *start;

	while (cap < frags)
		cap *= 2;
	if (cap == c->rx.frag_cap)
		return 0;
	frag = realloc(c->rx.frag, cap * sizeof(*frag));
	if (frag)
		c->rx.frag = frag;
	start = realloc(c->rx.frag_start, (cap + 1) * sizeof(*start));
	if (start)
		c->rx.frag_start = start;
	if (!frag || !start)
		return -ENOMEM;
	c->rx.frag_cap = cap;
	return 0;
}

static int
add(struct channel *c, const struct tcpx_landed *msg, struct rx_record *r)
{
	struct tcpx_fraglist dst = list_frags(r->payload->list), src;
	uint32_t i, n = msg->frag_count;
	int rc = room_for(c, n);

	if (rc)
		return rc;
	for (i = 0; i < n; i++)
		c->rx.frag[i] = (struct tcpx_frag){ (uintptr_t)msg->frag[i].iov_base,
						 msg->frag[i].iov_len };
	src = (struct tcpx_fraglist){ c->rx.frag, c->rx.frag_start, n };
	if (tcpx_frag_sums(c->rx.frag, n, c->rx.frag_start) != r->len)
		return TCPX_EFRAME; /* fragments must cover the message exactly */
	return tcpx_batch_add(&c->client, TCPX_FLOW_UNPACK, tcpx_copy_place(c, r->payload->list),
			      msg->head.seq, r->payload, r->id, &src, 0, &dst,
			      payload_offset(r->payload, r->chunk), r->len);
}

int
tcpx_unpack_add(struct channel *c, const struct tcpx_landed *msg, struct rx_record *r)
{
	int rc = 0;

	if (!r->payload) {
		rc = tcpx_window_step(&c->window, msg->head.seq, TCPX_EV_PLACED);
		return rc ? rc : tcpx_landing_placed(c, r);
	}
	*tcpx_landing_record(c, msg->head.seq) = *r;
	rc = tcpx_window_step(&c->window, msg->head.seq, TCPX_EV_LAUNCH);
	if (rc == 0)
		rc = add(c, msg, r);
	if (rc)
		tcpx_landing_let_go(c, tcpx_landing_record(c, msg->head.seq));
	*r = (struct rx_record){ 0 };
	return rc;
}

/* The message is in place, or its transfer has ended. @rc: as of applied(). */
static int
settle(struct channel *c, uint64_t seq, struct rx_record *r, int rc)
{
	bool waits = rc == 1;

	if (rc == 0 || waits)
		rc = tcpx_window_step(&c->window, seq, TCPX_EV_UNPACKED);
	if (rc == 0 && waits)
		tcpx_landing_wait(c, seq, r);
	else if (rc == 0)
		return tcpx_landing_placed(c, r);
	if (rc == 0)
		return 0;
	tcpx_landing_let_go(c, r);
	return rc;
}

/*
 * What GPUs sum counts after all before it, which another GPU may unpack: behind a message that
 * arrived changed the fence counts none, so none there may be in place.
 */
static int
apply_in_turn(struct channel *c, uint64_t now_ns)
{
	struct rx_record *r;
	uint64_t seq;
	int rc = 0;

	while (rc == 0 && (seq = tcpx_window_oldest(&c->window)) != 0) {
		r = tcpx_landing_record(c, seq);
		if (!r->unpacked)
			break;
		rc = settle(c, seq, r, above(c)->applied(c, r, now_ns));
	}
	return rc;
}

/* The channel goes down with this code. */
static int
refuse_changed(struct channel *c, struct rx_record *r, uint64_t now_ns)
{
	struct tcpx_head h = { .xfer = r->id, .chunk = r->chunk, .sum = r->sum };

	above(c)->corrupt(c, r, &h, c->client.sum, now_ns);
	tcpx_landing_let_go(c, r);
	return TCPX_EDATA;
}

void
tcpx_unpack_done(struct copy_client *client, uint64_t seq, int error, uint64_t now_ns)
{
	struct channel *c = tcpx_container(client, struct channel, client);
	struct rx_record *r = c->rx.landing ? tcpx_landing_record(c, seq) : NULL;
	int rc = 0;

	if (!r) /* closed while its batch was being reported */
		return;
	if (!c->chan) {
		tcpx_landing_let_go(c, r);
		return;
	}
	count_add(&c->session->engine->count.unpack_ns, now_ns - r->landed_ns);
	if (error) {
		above(c)->broken(c, r->payload, r->id, error, "cannot be written");
		above(c)->missed(c, r, true);
		rc = settle(c, seq, r, !above(c)->settled(c, r));
	} else if (!client->sums) {
		rc = settle(c, seq, r, above(c)->applied(c, r, now_ns));
	} else if (client->summed && client->sum != r->sum) {
		rc = refuse_changed(c, r, now_ns);
	} else {
		r->unpacked = true;
	}
	if (rc == 0 && client->sums)
		rc = apply_in_turn(c, now_ns);
	if (rc)
		tcpx_channel_down(c, rc, "");
}
