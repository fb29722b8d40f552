/* SPDX-License-Identifier: Apache-2.0 */
/* Where a transfer is stuck: its first chunk that is not in place, and who has it. */
#include "core/transfer/stuck.h"

#include <stdio.h>
#include <string.h>

#include "core/channel/channel.h"
#include "core/channel/connection.h"
#include "core/memory/payload.h"
#include "core/session/session.h"
#include "core/transfer/transfer.h"

/* A walk over the records of a transfer in the windows of its session's channels. */
struct walk {
	struct channel *channel;
	const struct tx_record *record;
	uint32_t next;
	uint64_t seq;
};

static bool
walk_on(struct walk *w, struct session *s, const struct tcpx_xfer *x)
{
	for (;;) {
		while (w->channel && ++w->seq < w->channel->window.next) {
			w->record = tcpx_tx_record(w->channel, w->seq);
			if (w->record->payload == &x->payload && w->record->id == x->id)
				return true;
		}
		if (w->next == s->chan.count)
			return false;
		w->channel = s->chan.tx[w->next++];
		if (w->channel && (w->channel->closed || !w->channel->tx.record))
			w->channel = NULL;
		if (w->channel)
			w->seq = w->channel->window.released;
	}
}

/* The channel in whose window a chunk of the transfer is, and which: the lowest. */
static bool
find_in_windows(struct session *s, const struct tcpx_xfer *x, struct stuck *at)
{
	struct walk w = { .channel = NULL };
	bool found = false;

	while (walk_on(&w, s, x)) {
		if (found && w.record->chunk >= at->chunk)
			continue;
		*at = (struct stuck){ w.record->chunk, w.channel->index, "",
				      "sent, not acknowledged" };
		memcpy(at->nic, tcpx_near_nic(w.channel)->name, sizeof(at->nic));
		found = true;
	}
	return found;
}

uint64_t
tcpx_xfer_held_ns(struct session *s, const struct tcpx_xfer *x)
{
	struct walk w = { .channel = NULL };
	uint64_t first_ns = 0, at_ns;

	while (walk_on(&w, s, x)) {
		at_ns = w.record->taken_ns > w.channel->tx.rate.last_ns ? w.record->taken_ns :
									   w.channel->tx.rate.last_ns;
		if (first_ns == 0 || at_ns < first_ns)
			first_ns = at_ns;
	}
	return first_ns;
}

void
tcpx_xfer_recall(struct session *s, const struct tcpx_xfer *x)
{
	const struct tcpx_list *list = x->payload.list;
	struct walk w = { .channel = NULL };
	struct channel *last = NULL;

	if (!s || !x->sends || !list || !list->lend || s->sums || s->engine->limit.lend == TCPX_LEND_OFF)
		return;
	while (walk_on(&w, s, x)) {
		if (w.channel != last)
			tcpx_channel_recall(w.channel);
		last = w.channel;
	}
}

uint64_t
tcpx_xfer_short_ns(struct session *s, const struct tcpx_xfer *x, uint64_t now_ns)
{
	struct channel *const *c = x->sends ? s->chan.tx : s->chan.rx;
	uint64_t last_ns = 0, at_ns;

	if (x->sends && x->tx.next_chunk == x->chunks && !x->tx.again_count)
		return 0;
	for (uint32_t i = 0; i < s->chan.count; i++) {
		at_ns = c[i] ? atomic_load(&c[i]->client.short_ns) : 0;
		if (at_ns > now_ns) /* it waits, or did so until after this turn's time */
			return now_ns;
		last_ns = at_ns > last_ns ? at_ns : last_ns;
	}
	return last_ns;
}

/* The lowest chunk that no channel holds: given back by a lost channel, or never taken. */
static struct stuck
find_in_queue(const struct tcpx_xfer *x)
{
	struct stuck at = { .chunk = x->tx.next_chunk, .channel = -1,
			    .stage = "queued, taken by no channel" };

	for (uint32_t i = 0; i < x->tx.again_count; i++)
		if (x->tx.again[i] < at.chunk)
			at.chunk = x->tx.again[i];
	if (x->tx.again_count) { /* the newest loss is the one that is remembered */
		at.channel = x->failure.stuck.channel;
		memcpy(at.nic, x->failure.stuck.nic, sizeof(at.nic));
		at.stage = "given back by a lost channel";
	}
	return at;
}

bool
tcpx_xfer_is_owed(const struct tcpx_xfer *x)
{
	return x->sends && !x->target && (x->post.inlined || x->tx.applied == x->chunks);
}

#define SHORT "waits for staging buffers, which other sessions hold"

static bool
one_is_short(struct channel *const *c, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (c[i] && tcpx_staging_is_short(&c[i]->client))
			return true;
	return false;
}

struct stuck
tcpx_xfer_locate(struct session *s, const struct tcpx_xfer *x)
{
	struct stuck at = { .channel = -1 };

	if (!s) {
		at.stage = x->op == TCPX_OP_RECV ? "waits for its send" : "queued";
	} else if (tcpx_node_linked(&x->queue) && tcpx_node_linked(&x->table)) {
		at.chunk = x->chunks;
		at.stage = "all here, the note waits for room at the peer";
	} else if (tcpx_node_linked(&x->queue)) {
		at.stage = x->post.event ? "waits for the event it was posted after" :
			   s->state == SESS_OPEN ? "waits for credit" : "waits for the session";
	} else if (x->op == TCPX_OP_SEND && x->times.ready_ns == 0) {
		at.stage = "waits for its receive";
	} else if (tcpx_xfer_is_owed(x)) {
		at.chunk = x->chunks;
		at.stage = "all sent, not answered";
	} else if (!x->sends) {
		while (at.chunk < x->rx.map.count && tcpx_chunkmap_get(&x->rx.map, (uint32_t)at.chunk))
			at.chunk++;
		at.stage = one_is_short(s->chan.rx, s->chan.count) ? SHORT : "not arrived";
	} else if (!x->tx.in_flight || !find_in_windows(s, x, &at)) {
		at = find_in_queue(x);
		if (one_is_short(s->chan.tx, s->chan.count))
			at.stage = SHORT;
	}
	return at;
}

static void
name_path(const struct session *s, const struct channel *c, char *buf, size_t cap)
{
	struct tcpx_addr here = tcpx_near_nic(c)->addr, there = s->chan.peer_nic[c->far_nic].addr;
	char from[64], to[64];

	here.port = there.port = 0;
	tcpx_addr_format(&here, from, sizeof(from));
	tcpx_addr_format(&there, to, sizeof(to));
	snprintf(buf, cap, ": channel %u, %s %s to %s %s%s", c->index, tcpx_near_nic(c)->name, from,
		 tcpx_far_nic(c)->name, there.family ? to : "",
		 c->packet ? ", whose path passes small packets only" : "");
}

/* The channels that a missing chunk may come by: what each does. */
static void
name_sources(const struct session *s, char *buf, size_t cap)
{
	static const char *const names[] = { [CHAN_WIRING] = "wiring", [CHAN_UP] = "up",
					     [CHAN_FENCING] = "fencing", [CHAN_DOWN] = "down" };
	static const char *const waits[] = { [PARK_OPEN] = "waits for OPEN",
					     [PARK_LANE] = "waits for the sender of an ended lane" };
	size_t at = 0;

	for (uint32_t i = 0; i < s->chan.count && at < cap; i++) {
		const struct channel *c = s->chan.rx[i];
		uint8_t parked = c ? atomic_load(&c->rx.parked) : PARK_NOT;

		if (c)
			at += (size_t)snprintf(buf + at, cap - at, "%s %u %s", at ? "," : ": channels",
					       i, parked ? waits[parked] : names[atomic_load(&c->state)]);
	}
}

void
tcpx_xfer_name(uint64_t id, char *buf, size_t cap)
{
	if (tcpx_lane_is(id))
		snprintf(buf, cap, "message %llu of lane %u", (unsigned long long)tcpx_lane_seq(id),
			 tcpx_lane_number(id));
	else
		snprintf(buf, cap, "transfer %llu", (unsigned long long)(id & ~ID_OF_ACCEPTOR));
}

void
tcpx_xfer_describe(struct session *s, const struct tcpx_xfer *x, char *buf, size_t cap)
{
	struct stuck at = tcpx_xfer_locate(s, x);
	char path[240] = "", name[XFER_NAME];

	if (at.channel >= 0 && s->chan.tx[at.channel])
		name_path(s, s->chan.tx[at.channel], path, sizeof(path));
	else if (s && !x->sends && tcpx_node_linked(&x->table))
		name_sources(s, path, sizeof(path));
	tcpx_xfer_name(x->id, name, sizeof(name));
	snprintf(buf, cap, "%s: %u of %u chunks in place, %llu %s%s", name,
		 x->sends ? x->tx.applied : x->rx.map.set, x->chunks, (unsigned long long)at.chunk,
		 at.stage, path);
}
