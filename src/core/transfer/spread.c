/* SPDX-License-Identifier: Apache-2.0 */
/* Which channels a session wakes for its chunks: few threads for little, all of them for much. */
#include "core/transfer/spread.h"

#include "core/channel/wake.h"
#include "core/channel/width.h"
#include "core/context/context.h"
#include "core/loop/lease.h"
#include "core/loop/loop.h"
#include "core/memory/list.h"
#include "core/memory/staging.h"
#include "core/session/session.h"
#include "core/transfer/turn.h"

/* Messages up to here gather on one loop even when its channels are full: waking another
 * thread would cost more than they do. (64 queued, by one loop and by all: 16 KiB 2.2 and
 * 1.6 GB/s, 64 KiB 3.3 and 4.9.) */
#define GATHER_ALWAYS (16u << 10)

/* Is it all that the session has to send, and small? */
static bool
is_lone(const struct session *s, const struct tcpx_xfer *x)
{
	return x->total <= TCPX_LANE_LARGE &&
	       s->sched.queued_bytes + s->sched.outstanding_bytes == x->total;
}

bool
tcpx_spread_others(const struct session *s, struct channel *const *chan)
{
	for (uint32_t i = 0; i < s->chan.count; i++)
		if (chan[i] && chan[i]->state == CHAN_UP && chan[i]->loop != s->loop)
			return true;
	return false;
}

bool
tcpx_spread_keeps_off(const struct session *s, const struct channel *c, const struct tcpx_xfer *x)
{
	if (!x->lane || x->total <= GATHER_ALWAYS || c->loop != s->loop || is_lone(s, x) ||
	    s->engine->limit.round_robin || !tcpx_lease_is_lent(c->loop))
		return false;
	return tcpx_spread_others(s, s->chan.tx);
}

/* Is it one of many small messages of staged memory? */
static bool
is_small_staged(const struct tcpx_xfer *x)
{
	return list_staged(x->payload.list) && x->chunks == 1 && x->total <= STAGING_SMALL_BYTES;
}

/* While a session has no more than this under way, its lanes' messages go to the same channels, whose
 * threads have just run. (All-reduces between two H100s of 128 and 512 KiB: 151 and 273 us in
 * place of 184 and 326; one of 2 MiB, with 1 MiB under way, takes 601 in place of 538.) */
#define LITTLE_BYTES (512u << 10)

/* Where the search for an idle channel begins. */
static uint32_t
first_choice(const struct session *s, const struct tcpx_xfer *x)
{
	bool little = s->sched.queued_bytes + s->sched.outstanding_bytes <= LITTLE_BYTES;

	return x->lane && little ? 0 : s->sched.next_wake;
}

/* A channel that was woken for another chunk, and has not picked it yet, is not idle for a lane's: messages
 * come in pairs. (256 KiB in two, between two H100s: 88 us in place of 112.) */
static bool
is_idle(const struct channel *c, const struct tcpx_xfer *x)
{
	return c->tx.outstanding == 0 && !(x->lane && c->tx.called);
}

/* Threads stay awake for a while after small chunks of lanes, and those that sleep take 5 to 25 us to wake: the
 * next small one goes to one that is awake, if there is any. (1 MiB between two H100s: 1.06 times as fast
 * for 0.82 of the CPU time.) After large ones, one that is awake is busy. */
static bool
prefers_awake(const struct tcpx_xfer *x)
{
	return x->lane && (x->total <= TCPX_CHUNK_LITTLE || x->payload.chunk <= TCPX_CHUNK_LITTLE);
}

static struct channel *
idle_channel(struct session *s, const struct tcpx_xfer *x)
{
	uint32_t first = first_choice(s, x);
	struct channel *asleep = NULL;

	for (uint32_t i = 0; i < s->chan.count; i++) {
		struct channel *c = s->chan.tx[(first + i) % s->chan.count];

		if (!c || c->state != CHAN_UP || !is_idle(c, x) || tcpx_spread_keeps_off(s, c, x))
			continue;
		if (!prefers_awake(x) || !atomic_load(&c->loop->asleep))
			return c;
		asleep = asleep ? asleep : c;
	}
	return asleep;
}

/* A single chunk needs one channel: an idle one, best of the control streams' loop, since a
 * thread that waits for the transfer runs that. Small ones of staged memory gather there
 * even when it is busy: they share copies, answers and calls. (Spread over four loops they
 * took a quarter longer and three times the CPU time.) */
static struct channel *
one_channel(struct session *s, const struct tcpx_xfer *x)
{
	bool gathers = is_small_staged(x) || (x->lane && x->total <= GATHER_ALWAYS);
	struct channel *full = NULL;

	for (uint32_t i = 0; i < s->chan.count; i++) {
		struct channel *c = s->chan.tx[i];

		if (!c || c->state != CHAN_UP || c->loop != s->loop || tcpx_spread_keeps_off(s, c, x))
			continue;
		if (gathers ? c->tx.outstanding < s->chan.window : is_idle(c, x))
			return c;
		full = gathers && x->total <= GATHER_ALWAYS ? c : NULL;
	}
	return full ? full : idle_channel(s, x); /* a full one picks it after acknowledgements */
}

bool
tcpx_spread_one(struct session *s, const struct tcpx_xfer *x)
{
	struct channel *c = one_channel(s, x);

	if (c) {
		c->tx.called = true;
		tcpx_loop_post(c->loop, &c->work);
	}
	return c != NULL;
}

/* The few chunks of a lane's message go to idle channels at once: a thread that is woken takes as long
 * to wake the next. (512 KiB in four chunks, between two H100s: 106 us in place of 161.) */
#define AT_ONCE 4

/* False: none is idle, or there are chunks for many. */
static bool
call_idle(struct session *s, const struct tcpx_xfer *x)
{
	bool few = x->chunks == 1 || (x->lane && x->chunks <= AT_ONCE && !list_staged(x->payload.list));
	uint32_t called = 0;

	while (few && called < x->chunks && tcpx_spread_one(s, x))
		called++;
	return called > 0;
}

void
tcpx_spread_chunks(struct session *s, struct tcpx_xfer *x)
{
	uint32_t want;

	x->times.ready_ns = engine_now(s->engine);
	tcpx_width_load(s, x->total, x->times.ready_ns);
	s->sched.queued_bytes += x->total;
	tcpx_turn_join(s, x);
	/* staged, each picks two: one is packed while the other is sent */
	want = x->chunks;
	if (list_staged(x->payload.list) && want > SPREAD_FEW_CHANNELS)
		want = (want + 1) / 2;
	if (!call_idle(s, x))
		tcpx_channels_wake(s, want);
	/* the next transfer's go to other channels, or a queue of transfers of few chunks would
	 * leave the rest idle; a lone transfer's to those that were just awake */
	if (s->chan.count && (want == 1 || s->sched.outstanding_bytes ||
			      (list_staged(x->payload.list) && s->xfers.live > 1)))
		s->sched.next_wake = (s->sched.next_wake + want) % s->chan.count;
}
