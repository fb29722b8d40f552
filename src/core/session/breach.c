/* SPDX-License-Identifier: Apache-2.0 */
#include "core/session/breach.h"

#include <stdio.h>
#include <string.h>

#include "core/context/context.h"
#include "core/session/accept.h"
#include "core/session/handshake.h"
#include "core/session/peer.h"
#include "core/session/session.h"

static bool
is_at(const struct tcpx_addr *a, const struct tcpx_addr *b)
{
	return a->family == b->family && memcmp(a->ip, b->ip, sizeof(a->ip)) == 0;
}

void
tcpx_breach_ended(const struct session *s, int code, uint64_t now_ns)
{
	struct breach_table *t = &s->engine->listeners->breaches;
	uint32_t i, k = 0;

	if (s->opener || s->state != SESS_OPEN || (code != TCPX_EPROTO && code != TCPX_EFRAME))
		return;
	for (i = 0; i < BREACH_ADDRS && !is_at(&t->at[i].from, &s->from); i++)
		if (t->at[i].made.newest_ns < t->at[k].made.newest_ns)
			k = i;
	if (i < BREACH_ADDRS)
		k = i;
	else
		t->at[k].made = (struct tcpx_breaches){ .count = 0 };
	t->at[k].from = s->from;
	tcpx_breach(&t->at[k].made, s->peer->incarnation, now_ns);
}

int
tcpx_breach_check(const struct tcpx_engine *e, const struct tcpx_addr *from, uint64_t incarnation,
		  uint64_t now_ns, struct tcpx_refusal *no)
{
	const struct breach_table *t = &e->listeners->breaches;
	uint64_t until_ns = 0;

	for (uint32_t i = 0; i < BREACH_ADDRS; i++)
		if (is_at(&t->at[i].from, from))
			until_ns = tcpx_breach_until(&t->at[i].made, incarnation, e->limit.breach_ns, now_ns);
	if (until_ns == 0)
		return 0;
	snprintf(no->why, sizeof(no->why), "sessions from there broke the protocol: again in %llu ms",
		 (unsigned long long)((until_ns - now_ns) / TCPX_MS + 1));
	snprintf(no->answer, sizeof(no->answer), "%.*s", TCPX_TEXT_MAX - 1, no->why);
	return TCPX_ELIMIT;
}
