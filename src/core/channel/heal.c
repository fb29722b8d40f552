/* SPDX-License-Identifier: Apache-2.0 */
#include "core/channel/heal.h"

#include <errno.h>
#include <string.h>

#include "base/random.h"
#include "core/channel/attempt.h"
#include "core/channel/channel.h"
#include "core/channel/connection.h"
#include "core/channel/kind.h"
#include "core/channel/pairing.h"
#include "core/context/context.h"
#include "core/loop/affinity.h"
#include "core/loop/loop.h"
#include "core/session/control.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "proto/path.h"

static void
put(struct session *s, uint8_t type, struct tcpx_buf *b)
{
	tcpx_control_say(s, type, b);
	tcpx_control_flush_later(s);
}

static uint64_t
attempt_end_ns(const struct channel *c)
{
	return c->wiring->try_ns + (c->rested ? TCPX_REST_ATTEMPT_NS : TCPX_HEAL_ATTEMPT_NS);
}

/* The attempt is under way. */
static void
look_later(struct channel *c, uint64_t now_ns)
{
	uint64_t at_ns = now_ns + tcpx_attempt_look_ns(c->session, tcpx_attempt_listens(c),
						       now_ns - c->wiring->try_ns);
	uint64_t end_ns = attempt_end_ns(c);

	if (!tcpx_attempt_listens(c) && at_ns > end_ns)
		at_ns = end_ns;
	tcpx_session_add_timer(c->session, at_ns);
}

/* ---- the side that connects ---- */

void
tcpx_heal_ask(struct channel *c)
{
	struct tcpx_chan_event ev = { .backward = c->backward, .channel = c->index,
				      .seq = tcpx_pairing_said(c) };
	uint8_t room[64];
	struct tcpx_buf b;

	if (c->wiring->used && c->generation == UINT16_MAX)
		return;
	c->generation += c->wiring->used;
	c->wiring->used = true;
	c->wiring->usable = false;
	c->wiring->tries = 0;
	ev.generation = c->generation;
	tcpx_attempt_identify(c);
	c->wiring->asked = true;
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_chan_event_write(&b, &ev);
	put(c->session, TCPX_FR_CHANNEL_ASK, &b);
}

/* The attempt has failed. A handle that may have been used is not used again. */
static void
failed(struct channel *c, int rc, uint64_t now_ns)
{
	tcpx_channel_unwire(c);
	tcpx_heal_failed(&c->heal, now_ns);
	c->wiring->try_ns = 0;
	if (tcpx_pairing_failed(c, rc == -EAGAIN ? -ETIMEDOUT : rc) || rc == TCPX_ECHANNEL ||
	    tcpx_attempt_both_listen(c->session))
		c->wiring->usable = c->wiring->asked = false;
}

/* Connects a step further. */
static int
connect_step(struct channel *c, uint64_t now_ns)
{
	int rc;

	if (!c->wiring->usable && c->wiring->asked)
		return -EAGAIN; /* the answer comes when it comes: its frame is not lost */
	if (now_ns < c->heal.at_ns) {
		tcpx_session_add_timer(c->session, c->heal.at_ns);
		return -EAGAIN;
	}
	if (!c->wiring->usable || (c->wiring->try_ns == 0 && tcpx_pairing_move(c))) {
		tcpx_heal_ask(c);
		return -EAGAIN;
	}
	if (c->wiring->try_ns == 0)
		c->wiring->try_ns = now_ns;
	rc = tcpx_attempt_step(c);
	if (rc == -EAGAIN && now_ns < attempt_end_ns(c)) {
		look_later(c, now_ns);
		return rc;
	}
	if (rc) {
		failed(c, rc, now_ns);
		tcpx_session_add_timer(c->session, c->heal.at_ns);
	}
	return rc;
}

/* Nothing else wakes the session during the handshake. */
static void
look_now(struct session *s)
{
	if (s->hs)
		s->hs->look_ns = engine_now(s->engine);
	tcpx_session_wake_loop(s);
}

void
tcpx_heal_handle(struct session *s, const struct tcpx_chan_handle *h)
{
	struct channel *c = h->backward == s->opener ? s->chan.rx[h->channel] : s->chan.tx[h->channel];

	if (!c || c->state != CHAN_WIRING || c->generation != h->generation || !c->wiring->asked ||
	    tcpx_attempt_listens(c))
		return;
	c->wiring->usable = h->usable;
	c->wiring->asked = h->usable;
	if (h->usable) {
		memcpy(c->wiring->handle, h->handle, sizeof(c->wiring->handle));
		memcpy(c->wiring->id.token, h->token, sizeof(h->token));
	} else if (!tcpx_pairing_failed(c, -EADDRNOTAVAIL) || !s->hs) {
		tcpx_heal_failed(&c->heal, engine_now(s->engine));
	} else {
		tcpx_heal_ask(c);
	}
	look_now(s);
}

/* ---- the side that listens ---- */

static void
answer(struct channel *c, bool usable, const uint8_t *handle)
{
	struct tcpx_chan_handle h = { .backward = c->backward, .channel = c->index,
				      .generation = c->generation, .usable = usable };
	uint8_t room[TCPX_HANDLE_MAX + 64];
	struct tcpx_buf b;

	if (usable) {
		memcpy(h.handle, handle, sizeof(h.handle));
		memcpy(h.token, c->wiring->id.token, sizeof(h.token));
	}
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_chan_handle_write(&b, &h);
	put(c->session, TCPX_FR_CHANNEL_HANDLE, &b);
}

/* The pair of NICs that the peer asked for. */
static void
take_pair(struct channel *c)
{
	struct tcpx_pair pair;

	if (!c->wanted_pair || tcpx_pairing_read(c->session, c->wanted_pair, &pair) != 0)
		return;
	c->near_nic = pair.near;
	c->far_nic = pair.far;
	c->wanted_pair = 0;
	tcpx_bind_nic(c->loop, pair.near);
}

void
tcpx_heal_listen(struct channel *c, uint64_t now_ns)
{
	uint8_t handle[TCPX_HANDLE_BYTES] = { 0 };
	int rc;

	take_pair(c);
	tcpx_channel_unwire(c);
	c->generation = c->wanted;
	c->wanted = 0;
	c->wiring->try_ns = now_ns;
	tcpx_attempt_identify(c);
	rc = tcpx_random_bytes(c->wiring->id.token, sizeof(c->wiring->id.token));
	if (rc == 0)
		rc = tcpx_attempt_listen(c, handle);
	answer(c, rc == 0, handle);
}

static int
listen_step(struct channel *c, uint64_t now_ns)
{
	int rc;

	if (c->wanted)
		tcpx_heal_listen(c, now_ns);
	if (c->session->state != SESS_OPEN || !c->wiring->listener)
		return -EAGAIN;
	if (c->wiring->try_ns == 0) /* it rested */
		c->wiring->try_ns = now_ns;
	rc = tcpx_attempt_step(c);
	if (rc && rc != -EAGAIN) {
		tcpx_channel_unwire(c);
		answer(c, false, NULL);
	} else if (rc) {
		look_later(c, now_ns);
	}
	return rc;
}

/* The peer asks for a later generation than the one that stands here: it never had that one, or its
 * FENCED would have come first. So it has taken nothing over, and will answer no CHANNEL_DOWN of it. */
static void
never_stood_there(struct channel *c)
{
	if (!c->sending)
		c->fence.asked = true;
	else if (!c->fence.done)
		c->fence.done = true; /* fence.last is 0 */
	tcpx_loop_post(c->loop, &c->work);
}

int
tcpx_heal_asked(struct session *s, const struct tcpx_chan_event *ev)
{
	struct channel *c = ev->backward == s->opener ? s->chan.rx[ev->channel] :
							s->chan.tx[ev->channel];
	struct tcpx_pair pair;

	if (ev->seq && tcpx_pairing_read(s, ev->seq, &pair) != 0)
		return TCPX_EPROTO;
	if (!c || !tcpx_attempt_listens(c) || ev->generation < c->generation || channel_rests(c))
		return 0;
	if (ev->generation > c->generation && !c->closed &&
	    (c->state == CHAN_UP || c->state == CHAN_FENCING))
		never_stood_there(c);
	c->wanted = ev->generation; /* an old connection may still be closing */
	c->wanted_pair = ev->seq;
	look_now(s);
	return 0;
}

/* ---- both ---- */

static void
came_up(struct channel *c)
{
	struct session *s = c->session;

	tcpx_channel_wired(c);
	tcpx_pairing_found(c, 0);
	(*(c->sending ? &s->chan.tx_up : &s->chan.rx_up))++;
	if (s->chan.tx_up && s->chan.rx_up)
		s->health.dying_ns = 0;
	count_add(&s->engine->healing.healed, !c->rested);
	tcpx_log(c->rested ? TCPX_LOG_DEBUG : TCPX_LOG_INFO, TCPX_SUB_CHAN,
		 "channel %u (%s) on %s to %s of %s stands%s: %u of %u", c->index,
		 c->sending ? "sending" : "receiving", tcpx_near_nic(c)->name,
		 tcpx_far_nic(c)->name, s->peer->name, c->rested ? "" : " again",
		 c->sending ? s->chan.tx_up : s->chan.rx_up, s->chan.count);
	c->rested = false;
	tcpx_loop_post(c->loop, &c->work);
}

static void
step(struct channel *c, uint64_t now_ns)
{
	int rc;

	if (!c || c->state != CHAN_WIRING || !c->wiring || c->session->state != SESS_OPEN)
		return;
	if (c->wanted)
		take_pair(c); /* the NIC that it had may be the one that is down */
	if (channel_rests(c) || atomic_load(&c->session->engine->nics.down[c->near_nic]))
		return;
	rc = tcpx_attempt_listens(c) ? listen_step(c, now_ns) : connect_step(c, now_ns);
	if (rc == 0)
		came_up(c);
}

void
tcpx_heal_all(struct session *s, uint64_t now_ns)
{
	uint32_t i;

	for (i = 0; i < s->chan.count; i++) {
		step(s->chan.tx[i], now_ns);
		step(s->chan.rx[i], now_ns);
	}
}

/* One whose connection delivered nothing waits on: its path may pass handshakes alone. */
static void
hurry(struct channel *c, uint64_t now_ns)
{
	if (!c || c->state != CHAN_WIRING || c->heal.wasted > 1 || channel_rests(c))
		return;
	c->heal.failed = 0;
	c->heal.at_ns = now_ns;
	if (c->wiring->try_ns)
		c->wiring->try_ns = now_ns; /* looks are frequent again */
	if (!tcpx_attempt_listens(c) && c->wiring->connect_state)
		tcpx_channel_unwire(c); /* its SYN may be repeated seconds from now */
}

void
tcpx_heal_hurry(struct session *s, uint64_t now_ns)
{
	uint32_t i;

	if (s->state != SESS_OPEN ||
	    (s->chan.tx_up == s->chan.count && s->chan.rx_up == s->chan.count &&
	     !atomic_load(&s->engine->nics.one_down)))
		return;
	for (i = 0; i < s->chan.count; i++) {
		hurry(s->chan.tx[i], now_ns);
		hurry(s->chan.rx[i], now_ns);
	}
	tcpx_session_wake_loop(s);
}
