/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which chunk a channel sends next, and whom a session tells that it has chunks: channels
 * pull by the rule of proto/sched.h.
 */
#include "core/core.h"

/* A rate older than this is taken as unknown, so that a channel once slow is tried again. */
#define RATE_AGE_NS (30 * TCPX_SEC)

/* Messages taken and not yet sent: one on its way out, one being packed; small ones share a
 * launch, so there may be more. */
#define PACK_AHEAD       2
#define PACK_AHEAD_SMALL 12

uint64_t
tcpx_tx_queued(const struct tcpx_xfer *x)
{
	uint64_t taken = (uint64_t)x->next_chunk * x->chunk, sum;
	uint32_t i;

	sum = taken < x->total ? x->total - taken : 0;
	for (i = 0; i < x->again_count; i++)
		sum += tcpx_chunk_len(x->total, x->chunk, x->again[i]);
	return sum;
}

static uint32_t
next_of(const struct tcpx_xfer *x)
{
	return x->again_count ? x->again[x->again_count - 1] : x->next_chunk;
}

static uint32_t
next_len(struct tcpx_drr_node *n)
{
	struct tcpx_xfer *x = tcpx_container(n, struct tcpx_xfer, drr);

	return tcpx_chunk_len(x->total, x->chunk, next_of(x));
}

void
tcpx_tx_kick_all(struct session *s)
{
	uint32_t k;

	for (k = 0; k < s->channels; k++)
		if (s->tx[k] && s->tx[k]->state == CHAN_UP)
			tcpx_loop_post(s->tx[k]->loop, &s->tx[k]->work);
}

/* Rousing a thread that sleeps takes the one that does it 5 to 25 us on a virtual machine:
 * whoever has chunks for many rouses two, and each of these, with its first, two more. */
#define ROUSE_MAX 2

void
tcpx_tx_kick(struct session *s, uint32_t want)
{
	uint32_t i, roused = 0;

	s->kick_more = 0;
	for (i = 0; i < s->channels && want > 0; i++) {
		struct channel *c = s->tx[(s->next_kick + i) % s->channels];

		if (!c || c->state != CHAN_UP)
			continue;
		want--;
		if (c->outstanding == 0 && atomic_load(&c->loop->asleep) && ++roused > ROUSE_MAX)
			s->kick_more++;
		else
			tcpx_loop_post(c->loop, &c->work);
	}
}

/* TCPX_DIST=rr: strictly by turn, for comparison with the pull rule. Whose turn it is
 * must know, whoever asks. */
static bool
my_turn(struct session *s, const struct channel *c)
{
	struct channel *turn = NULL;
	uint32_t i;

	for (i = 0; i < s->channels; i++) {
		turn = s->tx[s->rr_next];
		if (turn && turn->state == CHAN_UP)
			break;
		s->rr_next = (s->rr_next + 1) % s->channels;
	}
	if (i < s->channels && turn != c)
		tcpx_loop_post(turn->loop, &turn->work);
	return turn == c;
}

static bool
allowed(struct session *s, struct channel *c, uint32_t len, uint64_t now_ns)
{
	bool fresh = now_ns < c->rate.last_ns + RATE_AGE_NS;
	struct tcpx_pull_channel pc = { .outstanding_bytes = c->outstanding_bytes,
					.outstanding = c->outstanding,
					.window = c->window.limit,
					.Bps = fresh ? c->rate.Bps : 0 };
	struct tcpx_pull_session ps = { .queued_bytes = s->queued_bytes,
					.outstanding_bytes = s->outstanding_bytes };
	uint32_t k;

	if (tcpx_window_full(&c->window))
		return false;
	if (s->engine->limit.round_robin)
		return my_turn(s, c);
	for (k = 0; k < s->channels; k++)
		if (s->tx[k] && s->tx[k]->state == CHAN_UP)
			ps.Bps += s->tx[k]->rate.Bps;
	return tcpx_pull_allowed(&pc, &ps, len);
}

/* The chunk leaves the transfer's queue for this channel's window. */
static int
assign(struct session *s, struct channel *c, struct tcpx_xfer *x, uint32_t len, uint64_t now_ns)
{
	struct tx_record *r;
	uint64_t seq;
	int rc;

	rc = tcpx_window_post(&c->window, TCPX_EV_TAKE, &seq);
	if (rc)
		return rc;
	r = tcpx_tx_record(c, seq);
	*r = (struct tx_record){ .xfer = x, .id = x->id, .chunk = next_of(x), .len = len,
				 .ready_ns = x->ready_ns, .taken_ns = now_ns,
				 .mark = tcpx_rate_take(&c->rate, now_ns) };
	tcpx_xfer_get(x);
	if (x->again_count)
		x->again_count--;
	else
		x->next_chunk++;
	x->in_flight++;
	s->queued_bytes -= len;
	s->outstanding_bytes += len;
	c->outstanding_bytes += len;
	c->outstanding++;
	c->in_flight_sum += c->outstanding;
	if (c->outstanding > c->in_flight_max)
		c->in_flight_max = c->outstanding;
	tcpx_drr_charge(&s->drr, &x->drr, len);
	if (x->again_count == 0 && x->next_chunk == x->chunks)
		tcpx_drr_remove(&s->drr, &x->drr);
	if (s->engine->limit.round_robin) {
		s->rr_next = (s->rr_next + 1) % s->channels;
		(void)my_turn(s, c); /* moves on to one that is up: c is, at least */
		tcpx_loop_post(s->tx[s->rr_next]->loop, &s->tx[s->rr_next]->work);
	}
	return 0;
}

/* May one more message be taken? What goes straight from user memory is taken when it can
 * be sent; what must be packed first, a little earlier. */
static bool
room_ahead(struct channel *c, const struct tcpx_xfer *x, uint32_t len)
{
	uint64_t ahead = c->window.next - c->send_seq;

	if (!engine_packs(x->engine, x->list))
		return ahead == 0;
	return ahead < (len <= SLOT_SMALL_BYTES ? PACK_AHEAD_SMALL : PACK_AHEAD);
}

static bool
is_opened(const struct session *s, const struct tcpx_xfer *x)
{
	return x->open_ticket <= tcpx_ctrl_bulk_written(s->ctrl);
}

/* What is packed first may be taken before its OPEN has gone, but not sent. */
static bool
may_go(const struct session *s, const struct tcpx_xfer *x)
{
	return is_opened(s, x) || engine_packs(x->engine, x->list);
}

/* Whose chunk is next; its OPEN is pushed out if it must have gone. */
static struct tcpx_drr_node *
next_in_turn(struct session *s, struct channel *c)
{
	struct tcpx_drr_node *n = NULL;

	if (s->state == SESS_OPEN && c->state == CHAN_UP)
		n = tcpx_drr_peek(&s->drr, next_len);
	if (!n || may_go(s, tcpx_container(n, struct tcpx_xfer, drr)))
		return n;
	tcpx_control_flush(s);
	return s->state == SESS_OPEN ? tcpx_drr_peek(&s->drr, next_len) : NULL;
}

/* A slot of ours: the provider may have its own. */
static bool
wants_slot(const struct tcpx_xfer *x)
{
	return engine_packs(x->engine, x->list) &&
	       !(x->engine->ops->caps & TCPX_NET_OWN_SLOTS);
}

/* The newest message's payload will lie there until it is sent. */
static void
place_payload(struct channel *c, struct tx_record *r, struct slot *slot, bool staged)
{
	r->staged = staged;
	r->slot = slot;
	if (slot)
		r->mem = slot->mem;
	else if (staged)
		r->mem = c->session->engine->ops->chan_slot(c->chan, c->window.next - 1);
}

struct tx_record *
tcpx_tx_take(struct channel *c, uint64_t now_ns)
{
	struct session *s = c->session;
	struct tx_record *r = NULL;
	struct tcpx_drr_node *n;
	struct slot *slot = NULL;
	struct tcpx_xfer *x;
	uint32_t len;

	pthread_mutex_lock(&s->lock);
	n = next_in_turn(s, c);
	if (n) {
		x = tcpx_container(n, struct tcpx_xfer, drr);
		len = next_len(n);
		if (!may_go(s, x))
			s->chunks_wait = true; /* no chunk before its OPEN is in the kernel */
		else if (room_ahead(c, x, len) && allowed(s, c, len, now_ns) &&
			 (!wants_slot(x) || (slot = tcpx_slot_get(c, TCPX_FLOW_PACK, len))) &&
			 assign(s, c, x, len, now_ns) == 0)
			r = tcpx_tx_record(c, c->window.next - 1);
		if (r) {
			place_payload(c, r, slot, engine_packs(x->engine, x->list));
			r->open_ticket = is_opened(s, x) ? 0 : x->open_ticket;
		} else if (slot) {
			tcpx_slot_put(c->loop, slot);
		}
		if (s->kick_more)
			tcpx_tx_kick(s, s->channels);
	} else {
		s->kick_more = 0;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

/* ---- whom to tell ---- */

/* Gathered messages up to here wait for the one loop even when its channels are full: to wake
 * another thread would cost more than they do. (64 queued, by one loop and by all: 16 KiB 2.2 and
 * 1.6 GB/s, 64 KiB 3.3 and 4.9.) */
#define GATHER_ALWAYS (16u << 10)

/* One of many small messages of staged memory. */
bool
tcpx_xfer_gathers(const struct tcpx_xfer *x)
{
	return list_staged(x->list) && x->chunks == 1 && x->total <= SLOT_SMALL_BYTES;
}

/* A single chunk needs one channel: one with nothing to do, best of the loop that runs the
 * control streams, since whoever waits for the transfer runs that. Small ones of staged
 * memory gather there even when it is busy: they share copies, answers and calls. (Spread
 * over four loops they took a quarter longer and three times the CPU time.) */
static struct channel *
one_channel(struct session *s, const struct tcpx_xfer *x)
{
	bool gather = tcpx_xfer_gathers(x);
	struct channel *c, *other = NULL, *full = NULL;
	uint32_t i;

	for (i = 0; i < s->channels; i++) {
		c = s->tx[i];
		if (c && c->state == CHAN_UP && c->loop == s->loop) {
			if (gather ? c->outstanding < s->window : c->outstanding == 0)
				return c;
			full = gather && x->total <= GATHER_ALWAYS ? c : NULL;
		}
		c = s->tx[(s->next_kick + i) % s->channels];
		if (c && c->state == CHAN_UP && c->outstanding == 0 && !other)
			other = c;
	}
	return full ? full : other; /* a full one takes it when others are acknowledged */
}

void
tcpx_post_ready(struct session *s, struct tcpx_xfer *x)
{
	struct channel *c = x->chunks == 1 ? one_channel(s, x) : NULL;
	uint32_t want;

	x->ready_ns = engine_now(s->engine);
	s->queued_bytes += x->total;
	tcpx_drr_add(&s->drr, &x->drr);
	/* staged, each takes two: one is packed while the other is sent */
	want = list_staged(x->list) && x->chunks > POST_FEW_CHANNELS ? (x->chunks + 1) / 2 :
								      x->chunks;
	if (c)
		tcpx_loop_post(c->loop, &c->work);
	else
		tcpx_tx_kick(s, want);
	/* the next one's go to others; a lone transfer's to those that have just been awake */
	if (s->channels && (want == 1 || (list_staged(x->list) && s->live > 1)))
		s->next_kick = (s->next_kick + want) % s->channels;
}
