/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All channels of a session connect in parallel. The acceptor listens for each and sends
 * handles, the opener connects, and both send READY with the channels that are up.
 * Channels that do not come within a grace time after the first are left out: the session
 * opens degraded.
 */
#include "core/channel/wiring.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "core/channel/attempt.h"
#include "core/channel/channel.h"
#include "core/channel/connection.h"
#include "core/channel/heal.h"
#include "core/channel/kind.h"
#include "core/channel/pairing.h"
#include "core/channel/ready.h"
#include "core/context/context.h"
#include "core/loop/affinity.h"
#include "core/loop/loop.h"
#include "core/session/control.h"
#include "core/session/handshake.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "core/session/twins.h"

#define GRACE_NS (1000 * TCPX_MS)  /* for the rest of a direction, once its
				    * first channel is up */
#define HOPELESS_NS (100 * TCPX_MS) /* for the peer to say why none of them came */

/* The earlier of two times, of which one that has passed does not count. */
static uint64_t
earlier(uint64_t at_ns, uint64_t due_ns, uint64_t now_ns)
{
	return due_ns > now_ns && due_ns < at_ns ? due_ns : at_ns;
}

/* The time of the next look at unfinished channels: one may be silent for too long, or the
 * grace of a direction be over. */
static uint64_t
next_look(const struct session *s, uint64_t now_ns)
{
	const uint64_t wired_ns[] = { s->hs->tx_wired_ns, s->hs->rx_wired_ns };
	uint64_t at_ns = now_ns + tcpx_attempt_look_ns(s, !s->opener, now_ns - s->hs->wiring_ns);
	uint64_t patience_ns = tcpx_pair_patience_ns(s->hs->answer_ns);

	for (int i = 0; i < 2; i++)
		if (wired_ns[i])
			at_ns = earlier(at_ns, wired_ns[i] + GRACE_NS, now_ns);
	for (uint32_t k = 0; k < 2 * s->chan.count && s->opener; k++) {
		const struct channel *c = (k % 2 ? s->chan.rx : s->chan.tx)[k / 2];

		if (c->state == CHAN_WIRING && c->wiring->connect_state)
			at_ns = earlier(at_ns, c->wiring->try_ns + patience_ns, now_ns);
	}
	return at_ns;
}

/* Channels begin to connect. */
static void
begin(struct session *s)
{
	uint64_t now_ns = engine_now(s->engine);

	s->state = SESS_WIRING;
	s->hs->wiring_ns = now_ns;
	s->hs->look_ns = next_look(s, now_ns);
	s->hs->deadline_ns = now_ns + tcpx_wiring_patience(s);
}

/* A token for each channel and generation. With a secret it comes out of the control
 * connection's keys, so that only the two ends of this session can know it. */
static int
channel_token(struct session *s, const struct tcpx_chan_id *id, uint8_t token[16])
{
	uint8_t room[8];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_buf_put_u8(&b, id->sending_side_is_opener);
	tcpx_buf_put_u16(&b, id->channel);
	tcpx_buf_put_u16(&b, id->generation);
	if (s->engine->secret)
		return tcpx_line_key(&s->control.line, "EXPERIMENTAL tcpx-p2p channel", room, b.pos,
				     token, 16);
	memcpy(token, s->hs->seed, 16);
	for (size_t i = 0; i < b.pos; i++)
		token[i] ^= room[i];
	return 0;
}

/* Makes the i-th channel as HANDLES counts them, forward ones first, with its NICs; it is not
 * connected yet. A spare one rests until there is load. */
static int
make(struct session *s, uint32_t i, const struct tcpx_pair *pair, bool spare)
{
	uint32_t k = i % s->chan.count;
	bool backward = i >= s->chan.count;
	bool sending = backward != s->opener;
	uint32_t near = s->opener ? pair->near : pair->far;
	uint32_t far = s->opener ? pair->far : pair->near;
	struct channel *c;
	int rc;

	rc = tcpx_channel_new(s, (uint16_t)k, sending, backward, &c);
	if (rc)
		return rc;
	c->near_nic = (int)near;
	c->far_nic = (int)far;
	c->planned = (struct tcpx_pair){ (uint16_t)near, (uint16_t)far };
	c->spare = c->rested = spare;
	c->client.sums = s->sums && c->kind->heads && tcpx_near_nic(c)->gpu != TCPX_ON_HOST;
	tcpx_bind_nic(c->loop, near);
	tcpx_attempt_identify(c);
	*(sending ? &s->chan.tx[k] : &s->chan.rx[k]) = c;
	return channel_token(s, &c->wiring->id, c->wiring->id.token);
}

static int
make_all(struct session *s, const struct tcpx_pair *pair, uint32_t pairs)
{
	uint32_t i;
	int rc = 0;

	if (s->chan.narrows && pairs < s->chan.count)
		s->chan.spares = s->chan.count - pairs;
	for (i = 0; i < 2 * s->chan.count && rc == 0; i++)
		rc = make(s, i, &pair[i % s->chan.count],
			  i % s->chan.count >= s->chan.count - s->chan.spares);
	return rc;
}

/* The i-th channel as HANDLES counts them. */
static struct channel *
counted(struct session *s, uint32_t i)
{
	bool backward = i >= s->chan.count;

	return (backward != s->opener ? s->chan.tx : s->chan.rx)[i % s->chan.count];
}

/* Listens for this side's channels, those that rest too, and sends HANDLES. */
static int
put_handles(struct session *s)
{
	uint8_t room[TCPX_FRAME_MAX - TCPX_FRAME_HEAD];
	struct tcpx_handles h;
	struct tcpx_buf b;
	struct channel *c;
	uint32_t i;

	memset(&h, 0, sizeof(h));
	memcpy(h.token, s->resume.token, sizeof(h.token));
	memcpy(h.seed, s->hs->seed, sizeof(h.seed));
	h.count = (uint16_t)(2 * s->chan.count);
	for (i = 0; i < h.count; i++) {
		c = counted(s, i);
		h.far_nic[i] = (uint16_t)c->near_nic;
		if (!tcpx_attempt_listens(c))
			continue;
		h.usable[i] = tcpx_attempt_listen(c, h.handle[i]) == 0;
	}
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_handles_write(&b, &h);
	return tcpx_control_put(s, TCPX_FR_HANDLES, &b);
}

/* Stores the peer's handles: these channels can be connected now, or when there is load. */
static void
take_handles(struct session *s, const struct tcpx_handles *h)
{
	struct channel *c;
	uint32_t i;

	for (i = 0; i < h->count; i++) {
		c = counted(s, i);
		if (tcpx_attempt_listens(c))
			continue;
		memcpy(c->wiring->handle, h->handle[i], sizeof(c->wiring->handle));
		c->wiring->usable = c->wiring->used = h->usable[i];
	}
}

int
tcpx_wiring_listen(struct session *s)
{
	struct tcpx_pair pair[TCPX_CHANNELS_MAX];
	char reason[256];
	int rc;

	rc = tcpx_pairing_plan(s, pair, reason, sizeof(reason));
	if (rc < 0) {
		tcpx_session_fail(s, rc, "%s", reason);
		return 0;
	}
	rc = make_all(s, pair, (uint32_t)rc);
	if (rc)
		return rc;
	begin(s);
	tcpx_session_add_timer(s, s->hs->look_ns);
	return put_handles(s);
}

static int
connect_all(struct session *s, const struct tcpx_handles *h)
{
	struct tcpx_pair pair[TCPX_CHANNELS_MAX];
	char reason[256];
	int rc;

	rc = tcpx_pairing_plan(s, pair, reason, sizeof(reason));
	if (rc < 0)
		return rc;
	memcpy(s->resume.token, h->token, sizeof(s->resume.token));
	memcpy(s->hs->seed, h->seed, sizeof(s->hs->seed));
	rc = make_all(s, pair, (uint32_t)rc);
	if (rc)
		return rc;
	take_handles(s, h);
	rc = tcpx_attempt_both_listen(s) ? put_handles(s) : 0;
	if (rc)
		return rc;
	begin(s);
	tcpx_wiring_step(s, engine_now(s->engine));
	return 0;
}

static int
answered(struct session *s, const struct tcpx_handles *h)
{
	if (s->hs->handles_came || !tcpx_attempt_both_listen(s))
		return TCPX_EPROTO;
	s->hs->handles_came = true;
	take_handles(s, h);
	tcpx_wiring_step(s, engine_now(s->engine));
	return 0;
}

int
tcpx_wiring_handles(struct session *s, const struct tcpx_handles *h)
{
	return s->opener ? connect_all(s, h) : answered(s, h);
}

/* Ends an attempt that goes no further: the channel takes another pair of NICs, or none for
 * now. */
static void
leave_pair(struct channel *c, int rc)
{
	bool moved = tcpx_pairing_failed(c, rc);

	if (!moved && rc == -ETIMEDOUT)
		return; /* its answer may be late */
	c->wiring->usable = c->wiring->asked = false;
	if (!moved)
		return;
	tcpx_channel_unwire(c);
	tcpx_heal_ask(c);
}

/* A step of an attempt. 0; -EAGAIN; why it failed: -ETIMEDOUT: the path is silent, so far. */
static int
attempt(struct channel *c, uint64_t now_ns)
{
	struct chan_wiring *w = c->wiring;
	enum tcpx_pair_verdict verdict;
	int rc;

	if (w->tries == 0) {
		w->tries = 1;
		w->try_ns = now_ns;
	}
	rc = tcpx_attempt_step(c);
	verdict = rc == -EAGAIN ? tcpx_pairing_judge(c, now_ns) : TCPX_PAIR_WAIT;
	if (verdict == TCPX_PAIR_SILENT)
		return -ETIMEDOUT;
	if (verdict == TCPX_PAIR_WAIT)
		return rc;
	tcpx_channel_unwire(c);
	w->tries++;
	w->try_ns = now_ns;
	return tcpx_attempt_step(c);
}

/* Tries an unfinished channel again. */
static void
try_channel(struct session *s, struct channel *c, uint64_t now_ns)
{
	uint64_t *wired_ns = c->sending ? &s->hs->tx_wired_ns : &s->hs->rx_wired_ns;
	int rc;

	if (c->state != CHAN_WIRING || channel_rests(c))
		return;
	if (c->wanted)
		tcpx_heal_listen(c, now_ns);
	if (!c->wiring->usable && !c->wiring->used && !c->wiring->tries++ && !tcpx_attempt_listens(c))
		leave_pair(c, -EADDRNOTAVAIL); /* HANDLES says that the peer cannot listen there */
	if (!c->wiring->usable)
		return;
	rc = attempt(c, now_ns);
	if (rc == 0 && *wired_ns == 0)
		*wired_ns = engine_now(s->engine);
	if (rc == 0)
		tcpx_pairing_found(c, 0);
	else if (rc != -EAGAIN && tcpx_attempt_listens(c))
		c->wiring->usable = false;
	else if (rc != -EAGAIN)
		leave_pair(c, rc);
}

/* Counts the channels that may still come, also by a pair that they have just taken. */
static uint32_t
undecided(struct channel *const *chan, uint32_t count)
{
	uint32_t k, n = 0;

	for (k = 0; k < count; k++)
		n += chan[k]->state == CHAN_WIRING && !channel_rests(chan[k]) &&
		     (chan[k]->wiring->usable || chan[k]->wiring->asked);
	return n;
}

/* Is the wait over? A direction waits for its rest once its first channel is up. With a
 * plugin one direction may be up seconds before the other, whose receiving side still
 * sets up its NIC. */
static bool
grace_over(const struct session *s, uint64_t now_ns)
{
	bool tx = undecided(s->chan.tx, s->chan.count) == 0 ||
		  (s->hs->tx_wired_ns && now_ns >= s->hs->tx_wired_ns + GRACE_NS);
	bool rx = undecided(s->chan.rx, s->chan.count) == 0 ||
		  (s->hs->rx_wired_ns && now_ns >= s->hs->rx_wired_ns + GRACE_NS);

	return tx && rx;
}

/* A direction has had no channel and will have none: waiting is pointless. One that has lost all
 * opens them again, as in an open session. */
static bool
is_hopeless(const struct session *s)
{
	const struct channel_set *set = &s->chan;

	if (!s->opener && !s->hs->handles_came && tcpx_attempt_both_listen(s))
		return false; /* the peer's handles are not known yet */
	return (!s->hs->tx_wired_ns && undecided(set->tx, set->count) == 0) ||
	       (!s->hs->rx_wired_ns && undecided(set->rx, set->count) == 0);
}

/* A peer that closes refuses channels first, and its control stream says why a moment later. */
static void
give_up_hope(struct session *s, uint64_t now_ns)
{
	char tried[400];

	if (s->hs->hopeless_ns == 0)
		s->hs->hopeless_ns = now_ns;
	s->hs->look_ns = s->hs->hopeless_ns + HOPELESS_NS;
	tcpx_pairing_list(s, tried, sizeof(tried));
	if (now_ns >= s->hs->look_ns && tcpx_control_may_wire_again(s, now_ns))
		tcpx_control_start_over(s, now_ns, "no channel could connect");
	else if (now_ns >= s->hs->look_ns)
		tcpx_session_fail(s, TCPX_ENOCHANNEL, "none of %u channels could connect%s", s->chan.count,
				  tried);
	else
		tcpx_session_add_timer(s, s->hs->look_ns);
}

void
tcpx_wiring_step(struct session *s, uint64_t now_ns)
{
	uint32_t k;

	if (s->state == SESS_WIRING) {
		for (k = 0; k < s->chan.count; k++) {
			try_channel(s, s->chan.tx[k], now_ns);
			try_channel(s, s->chan.rx[k], now_ns);
		}
		if (s->state != SESS_WIRING)
			return;
		if (is_hopeless(s)) {
			give_up_hope(s, now_ns);
			return;
		}
		s->hs->hopeless_ns = 0;
		if (s->opener && grace_over(s, now_ns) && tcpx_twins_let_ready(s)) {
			s->state = SESS_READY;
			if (tcpx_ready_put(s) != 0)
				return;
		} else if (!s->opener && s->hs->ready_came &&
			   (tcpx_ready_has_all(s) || grace_over(s, now_ns)) && tcpx_twins_let_ready(s)) {
			s->state = SESS_READY;
			if (tcpx_ready_put(s) != 0)
				return;
			tcpx_ready_finish(s, now_ns);
			return;
		}
	}
	if (s->state == SESS_READY && s->opener && s->hs->ready_came) {
		tcpx_ready_finish(s, now_ns);
		return;
	}
	s->hs->look_ns = next_look(s, now_ns);
	tcpx_session_add_timer(s, s->hs->look_ns);
	tcpx_control_flush(s);
}

void
tcpx_wiring_overdue(struct session *s, uint64_t patience_ns)
{
	unsigned long long ms = patience_ns / TCPX_MS;
	char tried[400];

	tcpx_pairing_list(s, tried, sizeof(tried));
	if (s->chan.search)
		tcpx_session_fail(s, TCPX_ENOCHANNEL, "too few of %u channels could connect within %llu ms%s",
				  s->chan.count, ms, tried);
	else
		tcpx_session_fail(s, TCPX_ETIMEDOUT, "handshake: no channels within %llu ms%s", ms, tried);
}
