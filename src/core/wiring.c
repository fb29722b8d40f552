/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All channels of a session connect in parallel: the acceptor listens for each and sends
 * handles, the opener connects, both say READY with what stands. Channels that do not
 * come within a grace time after the first are left out: the session opens degraded.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/bind.h"
#include "core/core.h"

#define POLL_NS  (200 * 1000ull)   /* between looks at unfinished channels      */
#define GRACE_NS (1000 * TCPX_MS)  /* for the rest of a direction, once its first has come */

uint64_t
tcpx_wiring_patience(const struct tcpx_engine *e)
{
	return e->limit.handshake_ns + (e->ops->setup_ns ? e->ops->setup_ns(e->net) : 0);
}

/* Channels are being made. */
static void
begin(struct session *s)
{
	uint64_t now_ns = engine_now(s->engine);

	s->state = SESS_WIRING;
	s->deadline_ns = now_ns + tcpx_wiring_patience(s->engine);
}

/* A token of its own for each channel; with a secret, nobody without it can make one. */
static void
channel_token(const struct session *s, bool backward, uint16_t k, uint8_t token[16])
{
	uint8_t room[64], mac[32];
	struct tcpx_buf b;

	memcpy(token, s->token, 16);
	token[14] ^= (uint8_t)(backward ? 0x80 : 0);
	token[15] ^= (uint8_t)k;
	if (!s->engine->auth)
		return;
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_buf_put_u8(&b, 'C');
	tcpx_buf_put_u64(&b, s->id);
	tcpx_buf_put_bytes(&b, token, 16);
	tcpx_buf_put_bytes(&b, s->nonce, 0);
	tcpx_auth_mac(s->engine->auth, room, b.pos, mac);
	memcpy(token, mac, 16);
}

static void
offers_of(const struct tcpx_hello *h, struct tcpx_netmap_offer *offer)
{
	uint32_t i;

	for (i = 0; i < h->nic_count; i++) {
		offer[i] = (struct tcpx_netmap_offer){ .network = h->nic[i].network,
						       .usable = h->nic[i].usable,
						       .relayed = h->nic[i].relayed,
						       .gpu = h->nic[i].gpu };
		memcpy(offer[i].name, h->nic[i].name, sizeof(offer[i].name));
	}
}

static void
tell_plan(const struct session *s, const struct tcpx_netmap_text *why)
{
	const char *line, *end;

	for (line = why->text; (end = strchr(line, '\n')); line = end + 1)
		tcpx_info(TCPX_SUB_BOOT, "session with %s: %.*s", s->peer_hello.name,
			  (int)(end - line), line);
}

/* Where slots are GPUs', not every NIC is of use, and not every two go together. */
static int
plan_by_map(const struct session *s, struct tcpx_pair *pair, char *reason, size_t cap)
{
	struct tcpx_netmap_channel plan[TCPX_NETMAP_CHANNELS];
	struct tcpx_netmap_offer theirs[TCPX_NICS_MAX];
	struct tcpx_netmap_text why = { .len = 0 };
	const struct tcpx_engine *e = s->engine;
	uint32_t n = e->nic_count, m = s->peer_hello.nic_count, i;
	int rc;

	offers_of(&s->peer_hello, theirs);
	rc = s->opener ? tcpx_netmap_plan(e->offer, n, s->channels, theirs, m, s->channels, plan,
					  &why) :
			 tcpx_netmap_plan(theirs, m, s->channels, e->offer, n, s->channels, plan,
					  &why);
	for (i = 0; (int)i < rc; i++)
		pair[i] = (struct tcpx_pair){ plan[i].near, plan[i].far };
	if (rc < 0)
		snprintf(reason, cap, "%.*s", (int)strcspn(why.text, "\n"), why.text);
	else
		tell_plan(s, &why);
	return rc;
}

/* reason: why there is no pair. */
static int
plan_pairs(const struct session *s, struct tcpx_pair *pair, char *reason, size_t cap)
{
	struct tcpx_pair_nic ours[TCPX_NICS_MAX], theirs[TCPX_NICS_MAX];
	const struct tcpx_engine *e = s->engine;
	uint32_t i, n = e->nic_count, m = s->peer_hello.nic_count;

	if (s->engine->ops->caps & TCPX_NET_OWN_SLOTS && e->offer[0].name[0])
		return plan_by_map(s, pair, reason, cap);
	snprintf(reason, cap, "no NIC here has an address family in common with one of the peer's");
	for (i = 0; i < n; i++) {
		ours[i].family = e->nic[i].addr.family;
		ours[i].prefix = e->nic[i].addr.prefix;
		memcpy(ours[i].ip, e->nic[i].addr.ip, 16);
	}
	for (i = 0; i < m; i++)
		theirs[i] = s->peer_hello.nic[i].addr;
	return s->opener ? tcpx_pair_plan(ours, n, theirs, m, pair, s->channels) :
			   tcpx_pair_plan(theirs, m, ours, n, pair, s->channels);
}

/* Which side of a channel listens. The other connects, with the handle it is sent. */
static bool
listens(const struct channel *c)
{
	const struct session *s = c->session;

	return s->engine->ops->caps & TCPX_NET_RECEIVER_LISTENS ? !c->sending : !s->opener;
}

/* Makes channel k of one direction with its NICs; it is not connected yet. */
static int
make(struct session *s, uint32_t k, bool backward, const struct tcpx_pair *pair,
     struct channel **out)
{
	bool sending = backward != s->opener;
	uint32_t near = s->opener ? pair->near : pair->far;
	uint32_t far = s->opener ? pair->far : pair->near;
	struct channel *c;
	int rc;

	rc = tcpx_channel_new(s, (uint16_t)k, sending, backward, &c);
	if (rc)
		return rc;
	c->near_nic = (int)near;
	c->gpu = s->engine->nic[near].gpu;
	tcpx_bind_nic(c->loop, near);
	memcpy(c->near_name, s->engine->nic[near].name, sizeof(c->near_name));
	memcpy(c->far_name, s->peer_hello.nic[far].name, sizeof(c->far_name));
	c->id.session = s->id;
	c->id.channel = (uint16_t)k;
	c->id.generation = c->generation;
	c->id.sending_side_is_opener = !backward;
	channel_token(s, backward, (uint16_t)k, c->id.token);
	*(sending ? &s->tx[k] : &s->rx[k]) = c;
	*out = c;
	return 0;
}

/* The i-th channel as HANDLES counts them: forward ones first. */
static struct channel *
counted(struct session *s, uint32_t i)
{
	bool backward = i >= s->channels;

	return (backward != s->opener ? s->tx : s->rx)[i % s->channels];
}

/* Listens for what this side listens for and tells the peer. */
static int
put_handles(struct session *s)
{
	uint8_t room[TCPX_FRAME_MAX - TCPX_FRAME_HEAD];
	struct tcpx_handles h;
	struct tcpx_buf b;
	struct channel *c;
	uint32_t i;

	memset(&h, 0, sizeof(h));
	memcpy(h.token, s->token, sizeof(h.token));
	h.count = (uint16_t)(2 * s->channels);
	for (i = 0; i < h.count; i++) {
		c = counted(s, i);
		h.far_nic[i] = (uint16_t)c->near_nic;
		if (!listens(c))
			continue;
		h.usable[i] = s->engine->ops->chan_listen(s->engine->net, c->near_nic, &c->id,
							  h.handle[i], &c->listener) == 0;
		c->usable = h.usable[i];
	}
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_handles_write(&b, &h);
	return tcpx_control_put(s, TCPX_FR_HANDLES, &b);
}

/* What the peer listens for can be connected to now. */
static void
take_handles(struct session *s, const struct tcpx_handles *h)
{
	struct channel *c;
	uint32_t i;

	for (i = 0; i < h->count; i++) {
		c = counted(s, i);
		if (listens(c))
			continue;
		memcpy(c->handle, h->handle[i], sizeof(c->handle));
		c->usable = h->usable[i];
	}
}

int
tcpx_wiring_listen(struct session *s)
{
	struct tcpx_pair pair[TCPX_CHANNELS_MAX];
	struct channel *c;
	char reason[256];
	uint32_t i, k;
	int rc;

	rc = plan_pairs(s, pair, reason, sizeof(reason));
	if (rc < 0) {
		tcpx_session_fail(s, rc, "%s", reason);
		return 0;
	}
	for (i = 0; i < 2 * s->channels; i++) {
		k = i % s->channels;
		rc = make(s, k, i >= s->channels, &pair[k], &c);
		if (rc)
			return rc;
	}
	begin(s);
	tcpx_session_add_timer(s, engine_now(s->engine) + POLL_NS);
	return put_handles(s);
}

int
tcpx_wiring_connect(struct session *s, const struct tcpx_handles *h)
{
	struct tcpx_pair pair[TCPX_CHANNELS_MAX];
	struct channel *c;
	char reason[256];
	uint32_t i, k;
	int rc;

	rc = plan_pairs(s, pair, reason, sizeof(reason));
	if (rc < 0)
		return rc;
	memcpy(s->token, h->token, sizeof(s->token));
	for (i = 0; i < h->count; i++) {
		k = i % s->channels;
		rc = make(s, k, i >= s->channels, &pair[k], &c);
		if (rc)
			return rc;
	}
	take_handles(s, h);
	rc = s->engine->ops->caps & TCPX_NET_RECEIVER_LISTENS ? put_handles(s) : 0;
	if (rc)
		return rc;
	begin(s);
	tcpx_wiring_step(s, engine_now(s->engine));
	return 0;
}

int
tcpx_wiring_answered(struct session *s, const struct tcpx_handles *h)
{
	if (s->answered)
		return TCPX_EPROTO;
	s->answered = true;
	take_handles(s, h);
	tcpx_wiring_step(s, engine_now(s->engine));
	return 0;
}

/* One more look at one unfinished channel. */
static void
try_channel(struct session *s, struct channel *c)
{
	const struct tcpx_net_ops *ops = s->engine->ops;
	uint64_t *wired_ns = c->sending ? &s->tx_wired_ns : &s->rx_wired_ns;
	struct tcpx_chan *chan;
	int rc;

	if (!c->usable || c->state != CHAN_WIRING)
		return;
	if (!listens(c))
		rc = ops->chan_connect(s->engine->net, c->near_nic, &c->id, c->handle, c->sending,
				       &c->connect_state, &chan);
	else
		rc = ops->chan_accept(c->listener, c->sending, &chan);
	if (rc == 0)
		rc = tcpx_channel_up(c, chan);
	if (rc == 0 && *wired_ns == 0)
		*wired_ns = engine_now(s->engine);
	if (rc != 0 && rc != -EAGAIN)
		c->usable = false;
}

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

static uint32_t
undecided(struct channel *const *chan, uint32_t count)
{
	uint32_t k, n = 0;

	for (k = 0; k < count; k++)
		n += chan[k]->usable && chan[k]->state == CHAN_WIRING;
	return n;
}

static int
put_ready(struct session *s)
{
	uint8_t room[32];
	struct tcpx_readiness r = {
		.forward_up = up_bits(s->opener ? s->tx : s->rx, s->channels),
		.backward_up = up_bits(s->opener ? s->rx : s->tx, s->channels) };
	struct tcpx_buf b;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_ready_write(&b, &r);
	return tcpx_control_put(s, TCPX_FR_READY, &b);
}

/* Nothing more is waited for. A direction waits for its rest once its first has come: where a
 * plugin makes connections one direction may stand seconds before the other, whose receiving
 * side is still setting up its NIC. */
static bool
grace_over(const struct session *s, uint64_t now_ns)
{
	bool tx = undecided(s->tx, s->channels) == 0 ||
		  (s->tx_wired_ns && now_ns >= s->tx_wired_ns + GRACE_NS);
	bool rx = undecided(s->rx, s->channels) == 0 ||
		  (s->rx_wired_ns && now_ns >= s->rx_wired_ns + GRACE_NS);

	return tx && rx;
}

/* Gives up what has not come; closes what the peer does not have. */
static void
drop_missing(struct session *s, struct channel **chan, uint64_t peer_bits, uint32_t *up)
{
	const struct tcpx_net_ops *ops = s->engine->ops;
	uint32_t k;

	*up = 0;
	for (k = 0; k < s->channels; k++) {
		struct channel *c = chan[k];

		if (c->listener) {
			ops->chan_listener_close(c->listener);
			c->listener = NULL;
		}
		if (c->connect_state)
			ops->chan_connect_cancel(s->engine->net, &c->connect_state);
		if (c->state == CHAN_UP && (peer_bits >> k & 1)) {
			(*up)++;
			continue;
		}
		c->state = CHAN_DOWN;
		tcpx_loop_post(c->loop, &c->work); /* which closes it */
	}
}

static void
finish(struct session *s, uint64_t now_ns)
{
	uint64_t forward = s->ready.forward_up, backward = s->ready.backward_up;

	drop_missing(s, s->tx, s->opener ? forward : backward, &s->tx_up);
	drop_missing(s, s->rx, s->opener ? backward : forward, &s->rx_up);
	if (s->tx_up == 0 || s->rx_up == 0) {
		tcpx_session_fail(s, TCPX_ENOCHANNEL, "none of %u channels could connect",
				  s->channels);
		return;
	}
	if (s->engine->limit.strict_nics && (s->tx_up < s->channels || s->rx_up < s->channels)) {
		tcpx_session_fail(s, TCPX_ENOCHANNEL,
				  "%u of %u channels could not connect, and TCPX_STRICT_NICS is set",
				  s->channels - (s->tx_up < s->rx_up ? s->tx_up : s->rx_up),
				  s->channels);
		return;
	}
	tcpx_session_opened(s, now_ns);
}

/* No channel of a direction stands or will: there is no need to wait for the other. */
static bool
is_hopeless(const struct session *s)
{
	if (!s->opener && !s->answered && s->engine->ops->caps & TCPX_NET_RECEIVER_LISTENS)
		return false; /* what can be connected to is not known yet */
	return (undecided(s->tx, s->channels) == 0 && up_bits(s->tx, s->channels) == 0) ||
	       (undecided(s->rx, s->channels) == 0 && up_bits(s->rx, s->channels) == 0);
}

/* What the opener says stands must stand here before the acceptor answers. */
static bool
has_all(const struct session *s)
{
	return (up_bits(s->rx, s->channels) & s->ready.forward_up) == s->ready.forward_up &&
	       (up_bits(s->tx, s->channels) & s->ready.backward_up) == s->ready.backward_up;
}

void
tcpx_wiring_step(struct session *s, uint64_t now_ns)
{
	uint32_t k;

	if (s->state == SESS_WIRING) {
		for (k = 0; k < s->channels; k++) {
			try_channel(s, s->tx[k]);
			try_channel(s, s->rx[k]);
		}
		if (is_hopeless(s)) {
			tcpx_session_fail(s, TCPX_ENOCHANNEL, "none of %u channels could connect",
					  s->channels);
			return;
		}
		if (s->opener && grace_over(s, now_ns)) {
			s->state = SESS_READY;
			if (put_ready(s) != 0)
				return;
		} else if (!s->opener && s->accepted_ready &&
			   (has_all(s) || grace_over(s, now_ns))) {
			s->state = SESS_READY;
			if (put_ready(s) != 0)
				return;
			finish(s, now_ns);
			return;
		}
	}
	if (s->state == SESS_READY && s->opener && s->accepted_ready) {
		finish(s, now_ns);
		return;
	}
	tcpx_session_add_timer(s, now_ns + POLL_NS);
	tcpx_control_flush(s);
}
