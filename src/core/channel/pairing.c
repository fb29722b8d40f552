/* SPDX-License-Identifier: Apache-2.0 */
#include "core/channel/pairing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/channel/attempt.h"
#include "core/channel/kind.h"
#include "core/context/context.h"
#include "core/session/control.h"
#include "core/session/peer.h"
#include "core/session/session.h"

static uint32_t
our_nics(const struct session *s, struct tcpx_pair_nic *nic)
{
	const struct tcpx_engine *e = s->engine;

	for (uint32_t i = 0; i < e->nics.count; i++)
		nic[i] = (struct tcpx_pair_nic){ tcpx_nic_advertised(&e->nics.at[i]), e->nics.at[i].name,
						 e->ops->comm ? 0 : e->nics.at[i].place };
	return e->nics.count;
}

static uint32_t
their_nics(const struct session *s, struct tcpx_pair_nic *nic)
{
	const struct channel_set *set = &s->chan;

	for (uint32_t i = 0; i < set->peer_nic_count; i++)
		nic[i] = (struct tcpx_pair_nic){ set->peer_nic[i].addr, set->peer_nic[i].offer.name,
						 s->engine->ops->comm ? 0 : set->peer_nic[i].offer.rank };
	return set->peer_nic_count;
}

static void
offers_of(const struct channel_set *set, struct tcpx_netmap_offer *offer)
{
	uint32_t i;

	for (i = 0; i < set->peer_nic_count; i++)
		offer[i] = set->peer_nic[i].offer;
}

static void
tell_plan(const struct session *s, const struct tcpx_netmap_text *why)
{
	const char *line, *end;

	for (line = why->text; (end = strchr(line, '\n')); line = end + 1)
		tcpx_info(TCPX_SUB_BOOT, "session with %s: %.*s", s->peer->name,
			  (int)(end - line), line);
}

static bool
by_map(const struct session *s)
{
	return tcpx_channel_kind(s->engine)->slot && s->engine->nics.offer[0].name[0];
}

/* Plans by TCPX_MAP and the PCI bus: of GPUs' slots not every NIC is usable, and not every
 * two reach each other. */
static int
plan_by_map(const struct session *s, struct tcpx_pair *pair, char *reason, size_t cap)
{
	struct tcpx_netmap_channel plan[TCPX_NETMAP_CHANNELS];
	struct tcpx_netmap_offer theirs[TCPX_NICS_MAX];
	struct tcpx_netmap_text why = { .len = 0 };
	const struct tcpx_engine *e = s->engine;
	uint32_t n = e->nics.count, m = s->chan.peer_nic_count, count = s->chan.count, i;
	int rc;

	offers_of(&s->chan, theirs);
	rc = s->opener ? tcpx_netmap_plan(e->nics.offer, n, count, theirs, m, count, plan, &why) :
			 tcpx_netmap_plan(theirs, m, count, e->nics.offer, n, count, plan, &why);
	for (i = 0; (int)i < rc; i++)
		pair[i] = (struct tcpx_pair){ plan[i].near, plan[i].far };
	if (rc < 0)
		snprintf(reason, cap, "%.*s", (int)strcspn(why.text, "\n"), why.text);
	else
		tell_plan(s, &why);
	return rc;
}

int
tcpx_pairing_plan(const struct session *s, struct tcpx_pair *pair, char *reason, size_t cap)
{
	struct tcpx_pair_nic ours[TCPX_NICS_MAX], theirs[TCPX_NICS_MAX];
	uint32_t n, m;

	if (by_map(s))
		return plan_by_map(s, pair, reason, cap);
	n = our_nics(s, ours);
	m = their_nics(s, theirs);
	tcpx_pair_none(ours, n, theirs, m, s->peer->name, reason, cap);
	return s->opener ? tcpx_pair_plan(ours, n, theirs, m, pair, s->chan.count) :
			   tcpx_pair_plan(theirs, m, ours, n, pair, s->chan.count);
}

static struct tcpx_pair
pair_of(const struct channel *c)
{
	return (struct tcpx_pair){ (uint16_t)c->near_nic, (uint16_t)c->far_nic };
}

static void
learn(struct tcpx_pair_search *search, const struct channel *c)
{
	if (!c)
		return;
	tcpx_pair_search_join(search, pair_of(c), c->sending);
	if (c->connected)
		tcpx_pair_search_found(search, pair_of(c), 0);
}

/* Returns the session's search, made at the first failure, which most sessions never see. */
static struct tcpx_pair_search *
search_of(struct session *s)
{
	struct tcpx_pair_nic ours[TCPX_NICS_MAX], theirs[TCPX_NICS_MAX];
	uint32_t n, m;

	if (s->chan.search)
		return s->chan.search;
	n = our_nics(s, ours);
	m = their_nics(s, theirs);
	s->chan.search = tcpx_pair_search_new(ours, n, theirs, m);
	for (uint32_t k = 0; s->chan.search && k < s->chan.count; k++) {
		learn(s->chan.search, s->chan.tx[k]);
		learn(s->chan.search, s->chan.rx[k]);
	}
	return s->chan.search;
}

void
tcpx_pairing_found(struct channel *c, int code)
{
	struct tcpx_pair_search *search = code ? search_of(c->session) : c->session->chan.search;

	if (search)
		tcpx_pair_search_found(search, pair_of(c), code);
}

/* True: no channel of its direction connects. */
static bool
none_connects(const struct channel *c)
{
	const struct session *s = c->session;

	if (s->hs)
		return (c->sending ? s->hs->tx_wired_ns : s->hs->rx_wired_ns) == 0;
	return (c->sending ? s->chan.tx_up : s->chan.rx_up) == 0;
}

bool
tcpx_pairing_move(struct channel *c)
{
	struct session *s = c->session;
	struct tcpx_pair was = pair_of(c), to;

	if (!s->chan.search || s->engine->ops->comm ||
	    !tcpx_pair_search_failed(s->chan.search, was))
		return false;
	if (!tcpx_pair_search_next(s->chan.search, was, c->sending, none_connects(c), &to))
		to = c->planned;
	if (to.near == was.near && to.far == was.far)
		return false;
	tcpx_pair_search_leave(s->chan.search, was, c->sending);
	tcpx_pair_search_join(s->chan.search, to, c->sending);
	c->connected = false;
	c->near_nic = to.near;
	c->far_nic = to.far;
	tcpx_info(TCPX_SUB_CHAN, "channel %u (%s) to %s: %s to %s does not connect; %s to %s is tried",
		  c->index, c->sending ? "sending" : "receiving", s->peer->name,
		  s->engine->nics.at[was.near].name, s->chan.peer_nic[was.far].offer.name,
		  tcpx_near_nic(c)->name, tcpx_far_nic(c)->name);
	return true;
}

/* True: the code blames the path, and no lack of memory or descriptors here. */
static bool
is_of_path(int code)
{
	return tcpx_err_group_of(code) == TCPX_GROUP_SYSTEM && code != -ENOMEM && code != -EMFILE &&
	       code != -ENFILE && code != -ENOBUFS;
}

bool
tcpx_pairing_failed(struct channel *c, int code)
{
	tcpx_pairing_found(c, code);
	return is_of_path(code) && tcpx_pairing_move(c);
}

enum tcpx_pair_verdict
tcpx_pairing_judge(const struct channel *c, uint64_t now_ns)
{
	const struct session *s = c->session;
	const struct tcpx_net_ops *ops = s->engine->ops;
	const struct chan_wiring *w = c->wiring;

	if (!s->hs || !ops->chan_connect_heard || !w->connect_state || tcpx_attempt_listens(c) ||
	    ops->chan_connect_heard(w->connect_state))
		return TCPX_PAIR_WAIT;
	return tcpx_pair_judge(w->try_ns, w->tries,
			       s->chan.search && tcpx_pair_search_stands(s->chan.search, pair_of(c)),
			       tcpx_pair_patience_ns(s->hs->answer_ns), now_ns);
}

#define NIC_BITS 8

uint64_t
tcpx_pairing_said(const struct channel *c)
{
	if (c->session->engine->ops->comm)
		return 0;
	return 1 + ((uint64_t)c->near_nic << NIC_BITS | (uint64_t)c->far_nic);
}

int
tcpx_pairing_read(const struct session *s, uint64_t said, struct tcpx_pair *pair)
{
	uint64_t ours = (said - 1) & ((1u << NIC_BITS) - 1), theirs = (said - 1) >> NIC_BITS;

	if (!said || s->engine->ops->comm || ours >= s->engine->nics.count ||
	    theirs >= s->chan.peer_nic_count)
		return TCPX_EPROTO;
	*pair = (struct tcpx_pair){ (uint16_t)ours, (uint16_t)theirs };
	return 0;
}

/* The address that this side dials for the pair; without a port while it dials no channel
 * there. */
static struct tcpx_addr
dialled(const struct session *s, uint32_t near, uint32_t far)
{
	const struct tcpx_net_ops *ops = s->engine->ops;
	struct tcpx_addr at = s->chan.peer_nic[far].addr, to;

	at.port = 0;
	for (uint32_t k = 0; k < 2 * s->chan.count && ops->chan_target; k++) {
		const struct channel *c = (k % 2 ? s->chan.rx : s->chan.tx)[k / 2];

		if (!c || !c->wiring || tcpx_attempt_listens(c) || c->near_nic != (int)near ||
		    c->far_nic != (int)far)
			continue;
		ops->chan_target(c->wiring->handle, &to);
		if (to.family)
			return to;
	}
	return at;
}

void
tcpx_pairing_list_nic(const struct session *s, uint32_t near, char *text, size_t cap)
{
	struct tcpx_pair_nic theirs[TCPX_NICS_MAX];

	text[0] = '\0';
	for (uint32_t i = their_nics(s, theirs); i-- > 0;)
		theirs[i].addr = dialled(s, near, i);
	if (s->chan.search)
		(void)tcpx_pair_search_list(s->chan.search, near, theirs, text, cap);
}

/* Lists the channels that the peer connects: nothing else is known of its attempts. */
static void
list_awaited(const struct session *s, uint32_t near, char *text, size_t cap)
{
	size_t len = 0;

	text[0] = '\0';
	for (uint32_t k = 0; k < 2 * s->chan.count && len < cap; k++) {
		const struct channel *c = (k % 2 ? s->chan.rx : s->chan.tx)[k / 2];

		if (c && c->near_nic == (int)near && c->state != CHAN_UP && !channel_rests(c) &&
		    !strstr(text, tcpx_far_nic(c)->name))
			len += (size_t)snprintf(text + len, cap - len, "%s%s: none came", len ? "; " : "",
						tcpx_far_nic(c)->name);
	}
}

/* True: the peer was reached at an address that it does not name as its own. */
static bool
is_translated(const struct session *s)
{
	struct tcpx_addr at = tcpx_control_dialled(s);

	for (uint32_t i = 0; i < s->chan.peer_nic_count; i++)
		if (tcpx_addr_same_host(&s->chan.peer_nic[i].addr, &at))
			return false;
	return s->opener;
}

void
tcpx_pairing_list(const struct session *s, char *text, size_t cap)
{
	char tried[256];
	size_t len = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < s->engine->nics.count && len < cap; i++) {
		tcpx_pairing_list_nic(s, i, tried, sizeof(tried));
		if (!tried[0] && !s->chan.search)
			list_awaited(s, i, tried, sizeof(tried));
		if (tried[0])
			len += (size_t)snprintf(text + len, cap - len, "%s%s to %s", len ? ", " : ": ",
						s->engine->nics.at[i].name, tried);
	}
	if (len && len < cap && is_translated(s))
		len += (size_t)snprintf(text + len, cap - len,
					"; behind an address translation set TCPX_ADVERTISE there");
	if (len >= cap && cap > 4)
		memcpy(text + cap - 4, "...", 4);
}
