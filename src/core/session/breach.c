/* SPDX-License-Identifier: Apache-2.0 */
#include "core/session/breach.h"

#include <stdio.h>
#include <string.h>

#include "core/context/context.h"
#include "core/session/accept.h"
#include "core/session/handshake.h"
#include "core/session/peer.h"
#include "core/session/session.h"

static const struct tcpx_addr no_addr;

static struct breach_row *
find(struct breach_row row[BREACH_ROWS], uint64_t incarnation, const struct tcpx_addr *from)
{
	for (uint32_t i = 0; i < BREACH_ROWS; i++)
		if (row[i].made.count && row[i].incarnation == incarnation &&
		    tcpx_addr_same_host(&row[i].from, from))
			return &row[i];
	return NULL;
}

/* The oldest makes room. */
static void
add(struct breach_row row[BREACH_ROWS], uint64_t incarnation, const struct tcpx_addr *from, uint64_t now_ns)
{
	struct breach_row *r = find(row, incarnation, from);

	if (!r) {
		r = &row[0];
		for (uint32_t i = 1; i < BREACH_ROWS; i++)
			if (row[i].made.newest_ns < r->made.newest_ns)
				r = &row[i];
		*r = (struct breach_row){ .incarnation = incarnation, .from = *from };
	}
	tcpx_breach(&r->made, now_ns);
}

void
tcpx_breach_ended(const struct session *s, int code, uint64_t now_ns)
{
	struct breach_table *t = &s->engine->listeners->breaches;

	if (s->opener || s->state != SESS_OPEN || (code != TCPX_EPROTO && code != TCPX_EFRAME))
		return;
	add(t->peer, s->peer->incarnation, &no_addr, now_ns);
	add(t->addr, 0, &s->from, now_ns);
}

int
tcpx_breach_check(const struct tcpx_engine *e, uint64_t incarnation, uint64_t now_ns, struct tcpx_refusal *no)
{
	const struct breach_row *r = find(e->listeners->breaches.peer, incarnation, &no_addr);
	uint64_t until_ns = r ? tcpx_breach_until(&r->made, e->limit.breach_ns, now_ns) : 0;

	if (until_ns == 0)
		return 0;
	no->wait_ms = (uint32_t)((until_ns - now_ns) / TCPX_MS + 1);
	snprintf(no->why, sizeof(no->why), "its sessions broke the protocol: again in %u ms", no->wait_ms);
	snprintf(no->answer, sizeof(no->answer), "%.*s", TCPX_TEXT_MAX - 1, no->why);
	return TCPX_ELIMIT;
}

uint64_t
tcpx_breach_turn_of(const struct tcpx_engine *e, const struct tcpx_addr *from, uint64_t now_ns)
{
	const struct breach_row *r = find(e->listeners->breaches.addr, 0, from);

	return r ? tcpx_breach_turn(&r->made, r->let_in_ns, e->limit.breach_ns, now_ns) : 0;
}

void
tcpx_breach_let_in(struct tcpx_engine *e, const struct tcpx_addr *from, uint64_t now_ns)
{
	struct breach_row *r = find(e->listeners->breaches.addr, 0, from);

	if (r)
		r->let_in_ns = now_ns;
}
