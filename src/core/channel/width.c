/* SPDX-License-Identifier: Apache-2.0 */
#include "core/channel/width.h"

#include "core/channel/channel.h"
#include "core/channel/connection.h"
#include "core/context/context.h"
#include "core/session/control.h"
#include "core/session/peer.h"
#include "core/session/session.h"

#define GENERATIONS (UINT16_MAX / 2) /* then a direction stays wide: the rest is for lost ones */

static uint64_t
waiting(const struct session *s)
{
	return s->sched.queued_bytes + s->sched.outstanding_bytes;
}

void
tcpx_width_load(struct session *s, uint64_t bytes, uint64_t now_ns)
{
	struct channel_set *set = &s->chan;

	if (!set->narrows || !tcpx_load_is_high(&set->load, bytes, waiting(s),
						s->engine->limit.wide_bytes, now_ns))
		return;
	if (!set->tx_wide && !set->loaded)
		tcpx_session_wake_loop(s);
	set->loaded = true;
}

static void
say(struct session *s, bool wide)
{
	uint8_t room[1];
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_info(TCPX_SUB_CHAN, "%s for %s: of %u channels to it %u are wanted", wide ? "load" : "no load",
		  s->peer->name, s->chan.count, s->chan.count - session_resting(s, true));
	tcpx_buf_put_u8(&b, wide);
	tcpx_control_say(s, TCPX_FR_WIDTH, &b);
	tcpx_control_flush_later(s);
}

/* The rest of its attempt is dropped; its next has another generation. */
static void
leave_off(struct channel *c)
{
	c->rested = true;
	c->wanted = 0;
	if (c->state != CHAN_WIRING || !c->wiring)
		return;
	tcpx_channel_unwire(c);
	c->wiring->usable = c->wiring->asked = false;
	c->wiring->try_ns = 0;
}

/* May it be closed without a fence that has chunks to give back? Only where its pair's first stands. */
static bool
may_rest(const struct channel *c)
{
	if (!c->spare)
		return c->state == CHAN_UP;
	return c->generation < GENERATIONS &&
	       (c->state == CHAN_WIRING || (c->state == CHAN_UP && c->tx.outstanding == 0));
}

static bool
may_narrow(const struct session *s, uint64_t now_ns)
{
	if (!s->control.up || s->control.resuming ||
	    !tcpx_load_is_gone(&s->chan.load, waiting(s), s->health.tx_progress_ns,
			       s->engine->limit.narrow_ns, now_ns))
		return false;
	for (uint32_t k = 0; k < s->chan.count; k++)
		if (!may_rest(s->chan.tx[k]))
			return false;
	return true;
}

static void
narrow(struct session *s)
{
	s->chan.tx_wide = s->chan.loaded = false;
	say(s, false);
	for (uint32_t k = 0; k < s->chan.count && s->state == SESS_OPEN; k++) {
		struct channel *c = s->chan.tx[k];

		if (!c->spare)
			continue;
		leave_off(c);
		if (c->state == CHAN_UP)
			tcpx_channel_rest(c);
	}
}

void
tcpx_width_check(struct session *s, uint64_t now_ns)
{
	struct channel_set *set = &s->chan;

	if (!set->narrows)
		return;
	if (!set->tx_wide && set->loaded) {
		set->tx_wide = true;
		say(s, true);
	} else if (set->tx_wide && may_narrow(s, now_ns)) {
		narrow(s);
	}
}

int
tcpx_width_said(struct session *s, bool wide)
{
	struct channel_set *set = &s->chan;

	if (!set->narrows || set->rx_wide == wide)
		return TCPX_EPROTO;
	set->rx_wide = wide;
	for (uint32_t k = 0; k < set->count && !wide; k++)
		if (set->rx[k]->spare)
			leave_off(set->rx[k]);
	tcpx_session_wake_loop(s);
	return 0;
}
