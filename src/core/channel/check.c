/* SPDX-License-Identifier: Apache-2.0 */
#include "core/channel/check.h"

#include "core/channel/channel.h"
#include "core/channel/heal.h"
#include "core/channel/kind.h"
#include "core/channel/width.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/session/connect.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "proto/path.h"

#define LOOKS 24 /* in a stall deadline, while messages are in flight */

static bool
is_up(const struct channel *c)
{
	return c && c->state == CHAN_UP;
}

/* What a channel is measured against. */
static struct tcpx_path_others
others_of(const struct session *s, const struct channel *c)
{
	struct tcpx_path_others o = { .bytes = s->sched.queued_bytes + s->sched.outstanding_bytes };
	uint32_t i;

	for (i = 0; i < s->chan.count; i++) {
		const struct channel *other = s->chan.tx[i];

		if (other == c || !is_up(other))
			continue;
		o.Bps += other->tx.rate.Bps;
		if (other->tx.moved_ns > o.moved_ns)
			o.moved_ns = other->tx.moved_ns;
		if (other->tx.outstanding == 0)
			o.alive_ns = s->health.heard_ns;
	}
	return o;
}

static void
give_up(struct channel *c, bool *why)
{
	*why = true;
	count_add(&c->session->engine->healing.suspected, 1);
	tcpx_loop_post(c->loop, &c->work);
}

void
tcpx_channels_leave(struct session *s, int near, int far)
{
	for (uint32_t i = 0; i < s->chan.count; i++) {
		struct channel *c = s->chan.tx[i];

		if (is_up(c) && !c->tx.outstanding && c->near_nic == near && (far < 0 || c->far_nic == far))
			give_up(c, &c->fence.beside);
	}
}

/* What stands on a NIC that is down goes to others at once, if there are any: else a connection may
 * outlive a short fault, and nothing would carry its chunks. */
static void
leave_nics(struct channel *const *c, uint32_t count, const struct nics *nics)
{
	bool others = false;

	for (uint32_t i = 0; i < count; i++)
		others |= is_up(c[i]) && !atomic_load(&nics->down[c[i]->near_nic]);
	for (uint32_t i = 0; i < count && others; i++) {
		if (!is_up(c[i]) || !atomic_load(&nics->down[c[i]->near_nic]))
			continue;
		c[i]->fence.cut_off = true;
		tcpx_loop_post(c[i]->loop, &c[i]->work);
	}
}

/* Channels between the two NICs go on with packets of @packet bytes at most: those that are
 * made, and those that send and swallow the larger ones. */
void
tcpx_channels_shrink(struct session *s, int near, int far, uint16_t packet, uint32_t swallowed)
{
	struct channel *const *const sides[] = { s->chan.tx, s->chan.rx };

	for (uint32_t i = 0; i < 2 * s->chan.count; i++) {
		struct channel *c = sides[i % 2][i / 2];

		if (!c || c->near_nic != near || c->far_nic != far)
			continue;
		c->heal.proven = true; /* its next connection is another one: at once */
		if (!c->packet || c->packet > packet)
			c->packet = packet;
		if (!swallowed || !c->sending || !is_up(c) || c->fence.swallowed)
			continue;
		c->fence.swallowed = swallowed;
		tcpx_loop_post(c->loop, &c->work);
	}
}

/* Do only small packets pass? Then the channel goes on with smaller ones. */
static bool
carries_small_ones(struct session *s, const struct channel *c, const struct tcpx_net_way *way,
		   uint64_t now_ns)
{
	uint64_t heard_ns = s->health.heard_ns < now_ns ? now_ns - s->health.heard_ns : 0;
	struct tcpx_packet oldest = { way->packet, way->resent, way->stuck_ns, heard_ns, way->carried,
				      s->control.up && tcpx_control_nic(s) == c->near_nic };
	uint16_t packet = tcpx_path_carries(&oldest, s->engine->limit.stall_ns);

	if (!packet)
		return false;
	tcpx_warn(TCPX_SUB_CHAN, "session with %s: packets of %u bytes do not pass from %s (MTU %u) to "
		  "%s there, small ones do: its channels go on with %u at most; set the MTU of both ends "
		  "to that of the path", s->peer->name, way->packet, tcpx_near_nic(c)->name, way->mtu,
		  tcpx_far_nic(c)->name, packet);
	s->health.warned_ns = now_ns;
	count_add(&s->engine->healing.suspected, 1);
	tcpx_channels_shrink(s, c->near_nic, c->far_nic, packet, way->packet);
	return true;
}

/* A path that swallows what is sent is noticed while the others still carry: its chunks go to
 * them as soon as the peer has fenced it. */
static void
look_at_path(struct session *s, struct channel *c, uint64_t now_ns)
{
	struct tcpx_path_others others;
	struct tcpx_path path = { .since_ns = c->tx.since_ns, .oldest_ns = c->tx.oldest_ns,
				  .known = c->tx.rate.Bps != 0 };
	struct tcpx_net_way way = { .quiet_ns = 0 };

	if (c->tx.outstanding == 0 || c->fence.silent || c->fence.swallowed || !c->chan || !c->kind->under_way)
		return;
	tcpx_session_add_timer(s, now_ns + s->engine->limit.stall_ns / LOOKS);
	if (c->kind->under_way(c, &way) <= 0) {
		c->tx.clear_ns = now_ns;
		return;
	}
	if (carries_small_ones(s, c, &way, now_ns))
		return;
	path.clear_ns = c->tx.clear_ns;
	path.heard_ns = now_ns - way.quiet_ns;
	others = others_of(s, c);
	if (tcpx_path_is_lost(&path, &others, s->engine->limit.stall_ns, now_ns)) {
		tcpx_channels_leave(s, c->near_nic, c->far_nic);
		give_up(c, &c->fence.silent);
	} else if (tcpx_path_due_ns(&path, s->engine->limit.stall_ns) > now_ns) {
		tcpx_session_add_timer(s, tcpx_path_due_ns(&path, s->engine->limit.stall_ns));
	}
}

/* False: the session has failed. */
static bool
look_at_fence(struct session *s, const struct channel *c, uint64_t now_ns)
{
	uint64_t due_ns = c->fence.down_ns + s->engine->limit.stall_ns;

	if (now_ns >= due_ns) {
		tcpx_session_fail(s, TCPX_ESTALLED, "channel %u on %s: peer did not fence it",
				  c->index, tcpx_near_nic(c)->name);
		return false;
	}
	tcpx_session_add_timer(s, due_ns);
	return true;
}

/* Where nothing moves, lost channels do not wait for long: after the stall deadline the transfers of
 * this direction end, or the session. */
static void
hurry(struct session *s, struct channel *const *c, uint64_t progress_ns, uint64_t now_ns)
{
	uint64_t stall_ns = s->engine->limit.stall_ns;

	if (!s->health.dying_ns && (!session_busy(s) || now_ns < progress_ns + stall_ns / 8))
		return;
	for (uint32_t i = 0; i < s->chan.count; i++)
		if (c[i] && c[i]->state == CHAN_WIRING && !channel_rests(c[i]))
			tcpx_heal_urgent(&c[i]->heal, stall_ns, now_ns);
}

void
tcpx_channels_check(struct session *s, uint64_t now_ns)
{
	const struct nics *nics = &s->engine->nics;
	uint32_t i;

	if (atomic_load(&nics->one_down)) {
		leave_nics(s->chan.tx, s->chan.count, nics);
		leave_nics(s->chan.rx, s->chan.count, nics);
	}
	if (s->control.silent_nic && s->control.up && !s->control.resuming) {
		tcpx_channels_leave(s, s->control.silent_nic - 1, -1);
		s->control.silent_nic = 0;
	}
	hurry(s, s->chan.tx, s->health.tx_progress_ns, now_ns);
	hurry(s, s->chan.rx, s->health.rx_progress_ns, now_ns);
	for (i = 0; i < s->chan.count; i++) {
		struct channel *c = s->chan.tx[i];

		if (is_up(c))
			look_at_path(s, c, now_ns);
		else if (c && c->state == CHAN_FENCING && !look_at_fence(s, c, now_ns))
			return;
	}
	tcpx_width_check(s, now_ns);
	if (s->state == SESS_OPEN)
		tcpx_heal_all(s, now_ns);
}

void
tcpx_channels_late(struct session *s, const struct pause *p)
{
	uint32_t i;

	for (i = 0; i < s->chan.count; i++) {
		struct channel *c = s->chan.tx[i];

		if (!c)
			continue;
		pause_skip(&c->fence.down_ns, p);
		c->tx.clear_ns = p->end_ns;
	}
}
