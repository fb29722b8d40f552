/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packing: the device of the transfer's memory copies a chunk to where it is sent from. A
 * message gets its number when its chunk is picked. If the transfer ends before the bytes
 * are packed, the message goes out and names no transfer.
 */
#include "core/channel/pack.h"

#include <string.h>

#include "core/channel/channel.h"
#include "core/channel/connection.h"
#include "core/channel/kind.h"
#include "core/loop/loop.h"
#include "core/memory/batch.h"
#include "core/memory/late.h"
#include "core/memory/list.h"
#include "core/memory/payload.h"
#include "core/memory/staging.h"

/* The message will name no transfer; the receiver drops it. code: why the transfer ends. */
static void
give_up(struct channel *c, struct tx_record *r, int code)
{
	if (code && r->payload)
		above(c)->broken(c, r->payload, r->id, code, "cannot be read");
	if (r->buffer) /* its old content may belong to another peer; a channel's own
		      * slot has one peer */
		memset(r->mem, 0, r->len);
	r->empty = true;
	r->packed = true;
}

void
tcpx_pack_start(struct channel *c, uint64_t seq, struct tx_record *r)
{
	struct payload *p = r->payload;
	struct tcpx_fraglist src = list_frags(p->list);
	struct tcpx_frag to = { (uintptr_t)r->mem, r->len };
	uint64_t start[2] = { 0, r->len };
	struct tcpx_fraglist dst = { &to, start, 1 };
	int rc;

	r->packed = false;
	rc = tcpx_batch_add(&c->client, TCPX_FLOW_PACK, tcpx_copy_place(c, p->list), seq, p,
			    r->id, &src, payload_offset(p, r->chunk), &dst, 0, r->len);
	if (rc)
		give_up(c, r, rc);
}

void
tcpx_pack_done(struct copy_client *client, uint64_t seq, int error)
{
	struct channel *c = tcpx_container(client, struct channel, client);
	struct tx_record *r = c->tx.record && c->chan ? tcpx_tx_record(c, seq) : NULL;

	if (!r) /* closed while its batch was being reported */
		return;
	if (error || !r->payload || atomic_load(&r->payload->live) != r->id)
		give_up(c, r, error);
	r->sum = client->sum;
	r->packed = true;
	if (error && c->kind->slot && tcpx_late_reaches(client, tcpx_near_nic(c)->gpu)) {
		/* new slots, so that transfers of others need not wait for these */
		tcpx_channel_down(c, error, "a late GPU may still write its slots");
		return;
	}
	tcpx_loop_post(c->loop, &c->work);
}
