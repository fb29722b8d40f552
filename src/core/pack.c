/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From where a chunk lies to where it is sent from: a staging slot is filled by the device
 * of the transfer's memory. The number of a message is given when its chunk is taken: if the
 * transfer ends before its bytes are packed, the message goes out without meaning.
 */
#include <errno.h>
#include <string.h>

#include "core/core.h"

/* The message will name no transfer; the receiver drops it. code: why the transfer ends. */
static void
give_up(struct channel *c, struct tx_record *r, int code)
{
	if (code && r->xfer)
		tcpx_serve_broken(c->session, r->xfer, r->id, code, "cannot be read");
	if (r->slot) /* what it held may be no business of this peer's; a channel's own slot is */
		memset(r->mem, 0, r->len);
	r->empty = true;
	r->packed = true;
}

void
tcpx_pack_start(struct channel *c, uint64_t seq, struct tx_record *r)
{
	struct tcpx_xfer *x = r->xfer;
	struct tcpx_fraglist src = list_frags(x->list);
	struct tcpx_frag to = { (uintptr_t)r->mem, r->len };
	uint64_t start[2] = { 0, r->len };
	struct tcpx_fraglist dst = { &to, start, 1 };
	int rc;

	r->packed = false;
	rc = tcpx_batch_add(c, TCPX_FLOW_PACK, tcpx_copy_place(c, x->list), seq, x, r->id, &src,
			    (uint64_t)r->chunk * x->chunk, &dst, 0, r->len);
	if (rc)
		give_up(c, r, rc);
}

void
tcpx_pack_done(struct channel *c, uint64_t seq, int error)
{
	struct tx_record *r = c->tx && c->chan ? tcpx_tx_record(c, seq) : NULL;

	if (!r) /* closed while its batch was being reported */
		return;
	if (error || !r->xfer || atomic_load(&r->xfer->live) != r->id)
		give_up(c, r, error);
	r->packed = true;
	tcpx_loop_post(c->loop, &c->work);
}
