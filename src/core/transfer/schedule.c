/* SPDX-License-Identifier: Apache-2.0 */
/* The next chunk of a channel. Channels pull by the rule of proto/sched.h. */
#include "core/transfer/schedule.h"

#include <errno.h>

#include "core/channel/channel.h"
#include "core/channel/kind.h"
#include "core/channel/wake.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/late.h"
#include "core/memory/list.h"
#include "core/memory/payload.h"
#include "core/memory/slots.h"
#include "core/memory/staging.h"
#include "core/session/control.h"
#include "core/session/session.h"
#include "core/transfer/answer.h"
#include "core/transfer/spread.h"
#include "core/transfer/transfer.h"
#include "core/transfer/turn.h"

/* An older rate counts as unknown, so that a channel once slow is tried again. */
#define RATE_AGE_NS (30 * TCPX_SEC)

/* Most messages picked and not yet sent: one being sent, one being packed. Small ones share a
 * launch, so there may be more; and the next launch begins when it can have several. */
#define PACK_AHEAD       2
#define PACK_AHEAD_SMALL 12
#define PACK_TOGETHER    4

static uint32_t
next_of(const struct tcpx_xfer *x)
{
	return x->tx.again_count ? x->tx.again[x->tx.again_count - 1] : x->tx.next_chunk;
}

static uint32_t
next_len(struct tcpx_drr_node *n)
{
	const struct tcpx_xfer *x = turn_of(n);

	return tcpx_chunk_len(x->total, x->payload.chunk, next_of(x));
}

/* TCPX_DIST=rr: strictly in turn, for comparison with the pull rule. If it is another
 * channel's turn, that channel is woken. */
static bool
my_turn(struct session *s, const struct channel *c)
{
	struct channel *turn = NULL;
	uint32_t i;

	for (i = 0; i < s->chan.count; i++) {
		turn = s->chan.tx[s->sched.rr_next];
		if (turn && turn->state == CHAN_UP && tcpx_channel_usable(turn))
			break;
		s->sched.rr_next = (s->sched.rr_next + 1) % s->chan.count;
	}
	if (i < s->chan.count && turn != c)
		tcpx_loop_post(turn->loop, &turn->work);
	return turn == c;
}

static bool
allowed(struct session *s, struct channel *c, uint32_t len, uint64_t now_ns)
{
	bool fresh = now_ns < c->tx.rate.last_ns + RATE_AGE_NS;
	struct tcpx_pull_channel pc = { .outstanding_bytes = c->tx.outstanding_bytes,
					.outstanding = c->tx.outstanding,
					.window = c->window.limit,
					.Bps = fresh ? c->tx.rate.Bps : 0 };
	struct tcpx_pull_session ps = { .queued_bytes = s->sched.queued_bytes,
					.outstanding_bytes = s->sched.outstanding_bytes };
	uint32_t k;

	if (tcpx_window_full(&c->window) || (c->heal.wasted && !c->heal.proven && c->tx.outstanding))
		return false; /* a path that delivered nothing before gets one message to prove it */
	if (s->engine->limit.round_robin)
		return my_turn(s, c);
	for (k = 0; k < s->chan.count; k++)
		if (s->chan.tx[k] && s->chan.tx[k]->state == CHAN_UP)
			ps.Bps += s->chan.tx[k]->tx.rate.Bps;
	return tcpx_pull_allowed(&pc, &ps, len);
}

/* The next chunk as a message's header names it. */
static uint32_t
name_of(const struct tcpx_xfer *x)
{
	uint32_t k = next_of(x);

	if (!x->lane)
		return k;
	return tcpx_lane_chunk(payload_offset(&x->payload, k), k + 1 == x->chunks) |
	       (x->tx.early ? TCPX_LANE_EARLY : 0);
}

/* The chunk leaves the transfer's queue for this channel's window. */
static int
assign(struct session *s, struct channel *c, struct tcpx_xfer *x, uint32_t len, uint64_t now_ns)
{
	struct channel *turn;
	struct tx_record *r;
	uint64_t seq;
	int rc;

	rc = tcpx_window_claim(&c->window, TCPX_EV_PICK, &seq);
	if (rc)
		return rc;
	r = tcpx_tx_record(c, seq);
	if (now_ns < x->times.ready_ns) /* the turn began before the transfer was ready */
		now_ns = x->times.ready_ns;
	*r = (struct tx_record){ .payload = &x->payload, .id = x->id, .chunk = next_of(x), .len = len,
				 .named = name_of(x),
				 .ready_ns = x->times.ready_ns, .taken_ns = now_ns,
				 .mark = tcpx_rate_now(&c->tx.rate, now_ns) };
	tcpx_xfer_get(x);
	if (x->tx.again_count)
		x->tx.again_count--;
	else
		x->tx.next_chunk++;
	x->tx.in_flight++;
	s->sched.queued_bytes -= len;
	s->sched.outstanding_bytes += len;
	if (x->lane && len <= TCPX_CHUNK_LITTLE)
		loop_stay_awake(c->loop, now_ns); /* acknowledgements, or the next one, come soon */
	if (c->tx.outstanding == 0)
		c->tx.since_ns = c->tx.oldest_ns = now_ns;
	c->tx.outstanding_bytes += len;
	c->tx.outstanding++;
	c->figures.in_flight_sum += c->tx.outstanding;
	if (c->tx.outstanding > c->figures.in_flight_max)
		c->figures.in_flight_max = c->tx.outstanding;
	tcpx_turn_charge(s, x, len);
	if (x->tx.again_count == 0 && x->tx.next_chunk == x->chunks)
		tcpx_turn_leave(s, x);
	if (s->engine->limit.round_robin) {
		s->sched.rr_next = (s->sched.rr_next + 1) % s->chan.count;
		(void)my_turn(s, c); /* moves on to a channel that is up: c is, at least */
		turn = s->chan.tx[s->sched.rr_next];
		tcpx_loop_post(turn->loop, &turn->work);
	}
	return 0;
}

/* May one more message be picked? Payload straight from user memory is picked when it can
 * be sent; payload to be packed, a little earlier. */
static bool
room_ahead(struct channel *c, const struct tcpx_xfer *x, uint32_t len)
{
	uint64_t ahead = c->window.next - c->tx.send_seq;

	if (!c->kind->packs(x->payload.list))
		return ahead == 0;
	if (len > STAGING_SMALL_BYTES)
		return ahead < PACK_AHEAD;
	return ahead < (c->loop->copies.waiting ? PACK_AHEAD_SMALL : PACK_AHEAD_SMALL - PACK_TOGETHER);
}

static bool
is_opened(const struct session *s, const struct tcpx_xfer *x)
{
	return x->post.ticket <= tcpx_ctrl_bulk_written(s->control.ctrl);
}

/* A chunk to be packed may be picked before its OPEN is written, but not sent. */
static bool
may_go(const struct session *s, const struct channel *c, const struct tcpx_xfer *x)
{
	return is_opened(s, x) || c->kind->packs(x->payload.list);
}

/* The transfer of the next chunk; flushes its OPEN if that must go first. */
static struct tcpx_drr_node *
next_in_turn(struct session *s, struct channel *c)
{
	struct tcpx_drr_node *n = NULL;

	if (s->state == SESS_OPEN && c->state == CHAN_UP)
		n = tcpx_drr_peek(&s->sched.drr, next_len);
	if (!n || may_go(s, c, turn_of(n)))
		return n;
	tcpx_control_flush(s);
	return s->state == SESS_OPEN ? tcpx_drr_peek(&s->sched.drr, next_len) : NULL;
}

/* Does the payload need a staging buffer? A channel may have slots of its own. */
static bool
wants_staging(const struct channel *c, const struct tcpx_xfer *x)
{
	return c->kind->packs(x->payload.list) && !c->kind->slot;
}

/* Assigns the newest message the memory of its payload until it is sent. */
static void
place_payload(struct channel *c, struct tx_record *r, struct staging_buffer *buffer, bool staged)
{
	r->staged = staged;
	r->buffer = buffer;
	if (buffer)
		r->mem = buffer->mem;
	else if (staged)
		r->mem = c->kind->slot(c, c->window.next - 1);
}

/* A transfer of a GPU that is late keeps no other waiting. */
static bool
end_if_late(struct session *s, struct channel *c, struct tcpx_xfer *x)
{
	if (!c->kind->packs(x->payload.list) ||
	    !tcpx_late_at(s->engine, tcpx_copy_place(c, x->payload.list)))
		return false;
	tcpx_answer_unusable(s, x, -EIO, "cannot be read");
	return true;
}

struct tx_record *
tcpx_schedule_pick(struct channel *c, uint64_t now_ns)
{
	struct session *s = c->session;
	struct tx_record *r = NULL;
	struct tcpx_drr_node *n;
	struct staging_buffer *buffer = NULL;
	struct tcpx_xfer *x;
	uint32_t len;

	pthread_mutex_lock(&s->lock);
	c->tx.called = false;
	do
		n = next_in_turn(s, c);
	while (n && end_if_late(s, c, turn_of(n)));
	if (n && !tcpx_channel_usable(c)) {
		if (tcpx_slots_wait(&c->client))
			tcpx_channels_wake_usable(s); /* once: else channels could wake each other for ever */
	} else if (n) {
		x = turn_of(n);
		len = next_len(n);
		if (!may_go(s, c, x))
			s->control.chunks_wait = true; /* no chunk before its OPEN is in the kernel */
		else if (tcpx_spread_keeps_off(s, c, x))
			(void)tcpx_spread_one(s, x);
		else if (room_ahead(c, x, len) && allowed(s, c, len, now_ns) &&
			 (!wants_staging(c, x) || (buffer = tcpx_staging_get(&c->client, TCPX_FLOW_PACK,
						tcpx_copy_place(c, x->payload.list), len))) &&
			 assign(s, c, x, len, now_ns) == 0)
			r = tcpx_tx_record(c, c->window.next - 1);
		if (r) {
			place_payload(c, r, buffer, c->kind->packs(x->payload.list));
			r->open_ticket = is_opened(s, x) ? 0 : x->post.ticket;
		} else if (buffer) {
			tcpx_staging_put(c->loop, buffer);
		}
		if (s->sched.wake_more)
			tcpx_channels_wake(s, s->chan.count);
	} else {
		s->sched.wake_more = 0;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}
