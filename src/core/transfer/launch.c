/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening transfers: an OPEN on the control stream, and chunks for the channels. A post above
 * the peer's credit, or before the session is open, waits, in order. So does a post after a
 * GPU event, until it has happened.
 */
#include "core/transfer/launch.h"

#include <errno.h>

#include "core/channel/channel.h"
#include "core/context/context.h"
#include "core/memory/copy.h"
#include "core/memory/gpu.h"
#include "core/memory/list.h"
#include "core/memory/memory.h"
#include "core/memory/payload.h"
#include "core/session/control.h"
#include "core/session/session.h"
#include "core/transfer/end.h"
#include "core/transfer/lane.h"
#include "core/transfer/spread.h"
#include "core/transfer/transfer.h"
#include "core/transfer/turn.h"

#define FRAME_ROOM (TCPX_FRAME_MAX - TCPX_FRAME_HEAD)
#define FRAME_FACTS 128 /* what a frame of an OPEN holds besides list, note and payload: less */

static uint8_t
wire_op(enum tcpx_op op)
{
	return op == TCPX_OP_READ ? TCPX_WIRE_READ :
	       op == TCPX_OP_SEND ? TCPX_WIRE_SEND : TCPX_WIRE_WRITE;
}

/* A small copy from or to a GPU within a call takes as long as a large one, and the caller
 * waits. That is right for a lone message, and wrong for one of many, which share a batch. */
static bool
worth_inline(const struct session *s, const struct tcpx_xfer *x)
{
	bool gpu = list_staged(x->payload.list) || (x->post.remote && list_staged(x->post.remote));

	return !gpu || x->total == 0 || s->xfers.live <= 1;
}

/* Does the payload fit into OPEN, behind note and list? */
static bool
fits_inline(const struct session *s, const struct tcpx_xfer *x, const struct tcpx_buf *b,
	    bool list_done)
{
	return worth_inline(s, x) && x->sends && list_done &&
	       x->total <= x->engine->limit.inline_bytes && x->total + 64 <= tcpx_buf_left(b);
}

static int
put_list(struct session *s, struct tcpx_xfer *x, size_t at)
{
	uint8_t room[FRAME_ROOM];
	struct tcpx_buf b;
	bool done;
	int rc;

	do {
		tcpx_buf_init(&b, room, sizeof(room));
		tcpx_listframe_write(&b, x->id);
		done = tcpx_packed_copy(&x->post.remote->ops, &at, &b);
		tcpx_listframe_finish(&b, !done);
		rc = tcpx_control_put_bulk(s, TCPX_FR_LIST, &b, &x->post.ticket);
		if (rc)
			return rc;
	} while (!done);
	return 0;
}

static int
put_open(struct session *s, struct tcpx_xfer *x)
{
	uint8_t room[FRAME_ROOM], payload[TCPX_NOTE_MAX];
	struct tcpx_buf b;
	size_t at = 0;
	bool done = true, carries = x->note.there && x->op == TCPX_OP_WRITE;
	struct tcpx_open o = {
		.id = x->id, .op = wire_op(x->op), .total = x->total, .chunk = x->payload.chunk,
		.tag = x->post.tag,
		.entry_count = x->post.remote ? (uint32_t)x->post.remote->entry_count : 0,
		.flags = carries ? TCPX_OPEN_NOTE : 0,
		.note = x->note.bytes, .note_len = carries ? (uint16_t)x->note.len : 0,
	};
	int rc;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_open_write(&b, &o);
	if (x->post.remote)
		done = tcpx_packed_copy(&x->post.remote->ops, &at, &b);
	x->post.inlined = fits_inline(s, x, &b, done) &&
		     tcpx_list_copy_out(x->payload.list, payload, x->total) == 0;
	if (x->post.inlined)
		o.flags |= TCPX_OPEN_INLINE;
	if (!done)
		o.flags |= TCPX_OPEN_MORE;
	tcpx_open_finish(&b, o.flags, x->post.inlined ? payload : NULL,
			 x->post.inlined ? (uint16_t)x->total : 0);
	rc = tcpx_control_put_bulk(s, TCPX_FR_OPEN, &b, &x->post.ticket);
	return rc || done ? rc : put_list(s, x, at);
}

/* Of the channels with a known rate; 0: there are none. */
struct pace {
	uint64_t slowest_Bps;
	uint64_t mean_Bps; /* also 0: all go from one NIC to one */
};

static struct pace
pace_of(const struct session *s)
{
	const struct channel *first = NULL;
	struct pace p = { 0 };
	uint64_t sum = 0;
	uint32_t known = 0;
	bool nics = false;

	for (uint32_t k = 0; k < s->chan.count; k++) {
		const struct channel *c = s->chan.tx[k];

		if (!c || c->state != CHAN_UP || !c->tx.rate.Bps)
			continue;
		first = first ? first : c;
		nics |= c->near_nic != first->near_nic || c->far_nic != first->far_nic;
		if (known++ == 0 || c->tx.rate.Bps < p.slowest_Bps)
			p.slowest_Bps = c->tx.rate.Bps;
		sum += c->tx.rate.Bps;
	}
	p.mean_Bps = nics ? sum / known : 0;
	return p;
}

/* A staged transfer below this size ends sooner with few threads than with all, which take
 * turns at the GPU's copy engine and at the caches. */
#define CROWD_BYTES  (32u << 20)

/* Where both send, the CPUs have no time for more chunks. */
#define ONE_WAY_NS TCPX_MS

bool
tcpx_launch_is_one_way(const struct session *s)
{
	uint64_t now_ns = engine_now(s->engine);

	return now_ns > s->health.rx_progress_ns + ONE_WAY_NS && now_ns > s->lanes.came_ns + ONE_WAY_NS;
}

/*
 * A chunk of staged memory costs two copies to start and to notice. So transfers that are
 * open together are cut as if they were one: together they keep all channels busy (16 of 1
 * MiB queued: 12.4 GB/s when each was cut for itself, 21.3 so; of 4 MiB: 15.9 and 31.3).
 */
static uint32_t
chunk_of(const struct session *s, const struct tcpx_xfer *x)
{
	bool staged = list_staged(x->payload.list) || (x->post.remote && list_staged(x->post.remote));
	uint32_t min = staged ? TCPX_CHUNK_STAGED_MIN : TCPX_CHUNK_MIN;
	uint32_t max = staged ? TCPX_CHUNK_STAGED_MAX : TCPX_CHUNK_MAX;
	uint32_t channels = x->sends ? s->chan.tx_up : s->chan.rx_up;
	uint64_t bytes = x->payload.list->total;
	struct pace pace = { 0 };
	bool several;

	if (x->lane)
		bytes += s->sched.queued_bytes + s->sched.outstanding_bytes;
	else if (staged)
		bytes += s->xfers.live_bytes;
	several = x->sends && bytes > min;
	if (several)
		pace = pace_of(s);
	if (x->lane && !staged) {
		bytes = tcpx_chunk_lane(bytes, channels, several && tcpx_launch_is_one_way(s));
		pace.slowest_Bps = tcpx_chunk_lane_Bps(pace.slowest_Bps, pace.mean_Bps);
	}
	if (s->engine->limit.chunk || max > s->chan.chunk_max)
		max = s->chan.chunk_max;
	if (staged && bytes < CROWD_BYTES && channels > SPREAD_FEW_CHANNELS)
		channels = SPREAD_FEW_CHANNELS;
	return tcpx_chunk_size(bytes, channels, min, max, s->engine->limit.chunk,
			       pace.slowest_Bps);
}

uint32_t
tcpx_launch_lane_chunk(const struct session *s, const struct tcpx_xfer *x)
{
	uint32_t chunk = chunk_of(s, x);

	return chunk - chunk % TCPX_LANE_UNIT;
}

/* The waiting chain's reference becomes the table's. True: the channel that picks its first
 * chunk will write its OPEN, with others', while copies are in flight. */
static bool
launch(struct session *s, struct tcpx_xfer *x, uint64_t now_ns)
{
	int rc;

	x->id = ++s->xfers.opened_here | (s->opener ? 0 : ID_OF_ACCEPTOR);
	tcpx_xfer_shape(x, x->payload.list->total, chunk_of(s, x));
	s->credit.used_xfers[xfer_kind(x)]++;
	s->credit.used_list += x->post.list_bytes;
	tcpx_xfer_insert(s, x, now_ns);
	if (x->chunks == UINT32_MAX) {
		tcpx_xfer_end(x, TCPX_ELIMIT, "too many chunks; raise TCPX_CHUNK");
		return false;
	}
	rc = x->sends ? 0 : tcpx_xfer_map(x);
	if (rc == 0)
		rc = put_open(s, x);
	if (!x->post.inlined) /* else its memory has been read already */
		atomic_store(&x->payload.live, x->id);
	if (rc) /* the peer may have half a list: later operations would be ambiguous */
		tcpx_session_fail(s, rc, "%s", "control stream cannot take an operation");
	else if (x->op == TCPX_OP_WRITE && !x->post.inlined)
		tcpx_spread_chunks(s, x);
	return rc == 0 && tcpx_turn_has(x) && list_staged(x->payload.list);
}

static bool
may_launch(const struct session *s, const struct tcpx_xfer *x)
{
	return s->state == SESS_OPEN && s->credit.used_xfers[xfer_kind(x)] < s->credit.xfers &&
	       s->credit.used_list + x->post.list_bytes <= s->credit.list;
}

/* The peer grants less than its list needs: it would wait for ever. */
static bool
never_fits(const struct session *s, const struct tcpx_xfer *x)
{
	return s->state == SESS_OPEN && x->post.list_bytes > s->credit.list;
}

/* The first that may be opened, or must end, of any kind; NULL: none. */
static struct tcpx_xfer *
next_waiting(struct session *s)
{
	for (int kind = 0; kind < CREDIT_KINDS; kind++) {
		struct tcpx_node *n = tcpx_chain_first(&s->xfers.waiting[kind]);
		struct tcpx_xfer *x = n ? tcpx_container(n, struct tcpx_xfer, queue) : NULL;

		if (x && (may_launch(s, x) || never_fits(s, x)))
			return x;
	}
	return NULL;
}

/* At most so many bytes of frames open it. */
static size_t
frames_of(const struct tcpx_xfer *x)
{
	size_t list = x->post.remote ? x->post.remote->ops.pos : 0;
	size_t frames = 2 + list / (FRAME_ROOM - TCPX_NOTE_MAX);

	if (x->sends && x->payload.list->total <= x->engine->limit.inline_bytes)
		list += x->payload.list->total;
	return list + (x->note.there ? x->note.len : 0) + frames * FRAME_FACTS;
}

/* 0: there is room for its frames; -EAGAIN: it waits for that; or why it has ended. */
static int
make_room(struct session *s, struct tcpx_xfer *x, uint64_t now_ns)
{
	int rc = tcpx_ctrl_bulk_room(s->control.ctrl, frames_of(x));

	if (never_fits(s, x)) {
		tcpx_xfer_end(x, TCPX_ELIMIT, "its list is larger than what the peer takes "
			      "(TCPX_CREDIT_LIST_BYTES there)");
		return TCPX_ELIMIT;
	}
	if (rc == -EAGAIN)
		tcpx_control_wants_room(s, now_ns);
	else if (rc)
		tcpx_xfer_end(x, rc, rc == TCPX_ELIMIT ? "its list is larger than what this engine "
			      "keeps for a peer (TCPX_PEER_MEMORY, TCPX_PEERS_MEMORY)" :
			      "no memory for its list");
	return rc;
}

void
tcpx_launch_waiting(struct session *s, uint64_t now_ns)
{
	bool any = false, later = true;
	struct tcpx_xfer *x;
	int rc;

	if (s->xfers.launching)
		return;
	s->xfers.launching = true;
	while ((x = next_waiting(s)) && (rc = make_room(s, x, now_ns)) != -EAGAIN) {
		if (rc)
			continue; /* it has ended */
		tcpx_chain_remove(&x->queue);
		any = true;
		later &= launch(s, x, now_ns);
	}
	s->xfers.launching = false;
	if (!any || !later)
		tcpx_control_flush(s);
}

static void
post_events(struct session *s)
{
	struct gpus *g = &s->engine->memory->gpus;
	int rc;

	s->xfers.launching = true; /* else the end of one could remove others during this walk */
	tcpx_chain_each(n, after, &s->xfers.after_event) {
		struct tcpx_xfer *x = tcpx_container(n, struct tcpx_xfer, queue);

		rc = g->ops->event(g->dev, x->post.event);
		if (rc == -EAGAIN)
			continue;
		x->post.event = NULL;
		atomic_fetch_sub(&s->engine->registry.after_event, 1);
		if (rc) {
			tcpx_xfer_end(x, rc, "the event it was posted after has failed");
			continue;
		}
		tcpx_chain_remove(n);
		tcpx_chain_add(&s->xfers.waiting[xfer_kind(x)], n);
	}
	s->xfers.launching = false;
	tcpx_launch_waiting(s, engine_now(s->engine));
}

void
tcpx_launch_after_events(struct tcpx_engine *e)
{
	if (!atomic_load(&e->registry.after_event))
		return;
	tcpx_chain_each(n, after, &e->registry.served) {
		struct session *s = tcpx_container(n, struct session, in_loop);

		pthread_mutex_lock(&s->lock);
		post_events(s);
		pthread_mutex_unlock(&s->lock);
	}
}
