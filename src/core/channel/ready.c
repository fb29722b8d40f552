/* SPDX-License-Identifier: Apache-2.0 */
#include "core/channel/ready.h"

#include "core/channel/channel.h"
#include "core/channel/connection.h"
#include "core/channel/pairing.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/session/control.h"
#include "core/session/handshake.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "core/session/twins.h"

static uint64_t
up_bits(struct channel *const *chan, uint32_t count)
{
	uint64_t bits = 0;
	uint32_t k;

	for (k = 0; k < count; k++)
		if (chan[k] && chan[k]->state == CHAN_UP)
			bits |= 1ull << k;
	return bits;
}

int
tcpx_ready_put(struct session *s)
{
	uint8_t room[32];
	struct tcpx_readiness r = {
		.forward_up = up_bits(s->opener ? s->chan.tx : s->chan.rx, s->chan.count),
		.backward_up = up_bits(s->opener ? s->chan.rx : s->chan.tx, s->chan.count) };
	struct tcpx_buf b;

	s->hs->said = r;
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_ready_write(&b, &r);
	return tcpx_control_put(s, TCPX_FR_READY, &b);
}

/* The opener has said READY, and so has the acceptor: a connection that broke between the two is one
 * of an open session, which the peer has to hear of. */
static bool
broke_since(const struct session *s, const struct channel *c, uint64_t said, uint64_t peer_bits)
{
	return s->opener && c->state == CHAN_DOWN && (said & peer_bits) >> c->index & 1;
}

/* Gives up channels that did not come; closes those that the peer lacks. */
static void
drop_missing(struct session *s, struct channel **chan, uint64_t said, uint64_t peer_bits,
	     uint32_t *up)
{
	uint32_t k;

	*up = 0;
	for (k = 0; k < s->chan.count; k++) {
		struct channel *c = chan[k];

		bool both = peer_bits >> k & 1;

		if (channel_rests(c))
			continue;
		c->fence.broke = broke_since(s, c, said, peer_bits);
		tcpx_channel_wired(c);
		c->state = c->fence.broke || (both && c->state == CHAN_UP) ? CHAN_UP : CHAN_DOWN;
		*up += c->state == CHAN_UP;
		if (c->state == CHAN_DOWN || c->fence.broke)
			tcpx_loop_post(c->loop, &c->work); /* which closes it, or says that it is lost */
	}
}

static void
warn_missing(const struct session *s, struct channel *const *chan, const char *what)
{
	uint32_t i, k, missing;
	char tried[256];

	for (i = 0; i < s->engine->nics.count; i++) {
		missing = 0;
		for (k = 0; k < s->chan.count; k++)
			missing += chan[k] && chan[k]->near_nic == (int)i &&
				   chan[k]->state != CHAN_UP && !channel_rests(chan[k]);
		if (!missing)
			continue;
		tcpx_pairing_list_nic(s, i, tried, sizeof(tried));
		tcpx_warn(TCPX_SUB_CHAN, "session to %s is degraded: %u %s channels on NIC %s could not "
			  "connect%s%s%s; the others carry all", s->peer->name, missing, what,
			  s->engine->nics.at[i].name, tried[0] ? " (to " : "", tried, tried[0] ? ")" : "");
	}
}

void
tcpx_ready_finish(struct session *s, uint64_t now_ns)
{
	const struct tcpx_readiness *they = &s->hs->ready, *we = &s->hs->said;
	struct channel_set *set = &s->chan;
	uint32_t up, wanted = set->count - set->spares;
	char tried[400];

	drop_missing(s, set->tx, s->opener ? we->forward_up : we->backward_up,
		     s->opener ? they->forward_up : they->backward_up, &set->tx_up);
	drop_missing(s, set->rx, s->opener ? we->backward_up : we->forward_up,
		     s->opener ? they->backward_up : they->forward_up, &set->rx_up);
	up = set->tx_up < set->rx_up ? set->tx_up : set->rx_up;
	tcpx_pairing_list(s, tried, sizeof(tried));
	if ((!set->tx_up && !s->hs->tx_wired_ns) || (!set->rx_up && !s->hs->rx_wired_ns)) {
		tcpx_session_fail(s, TCPX_ENOCHANNEL, "none of %u channels could connect%s",
				  s->chan.count, tried);
		return;
	}
	if (s->engine->limit.strict_nics && up < wanted) {
		tcpx_session_fail(s, TCPX_ENOCHANNEL,
				  "%u of %u channels could not connect, and TCPX_STRICT_NICS is set%s",
				  wanted - up, wanted, tried);
		return;
	}
	if (set->tx_up)
		warn_missing(s, set->tx, "sending");
	if (set->rx_up)
		warn_missing(s, set->rx, "receiving");
	tcpx_handshake_done(s, now_ns);
	tcpx_session_check_alive(s, now_ns);
	tcpx_twins_stir(s);
}

/* Before the acceptor answers, it needs all channels of the opener's READY. */
bool
tcpx_ready_has_all(const struct session *s)
{
	const struct tcpx_readiness *theirs = &s->hs->ready;

	return !(theirs->forward_up & ~up_bits(s->chan.rx, s->chan.count)) &&
	       !(theirs->backward_up & ~up_bits(s->chan.tx, s->chan.count));
}
