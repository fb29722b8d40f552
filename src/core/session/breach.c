/* SPDX-License-Identifier: Apache-2.0 */
#include "core/session/breach.h"

#include <string.h>

#include "core/context/context.h"
#include "core/session/accept.h"
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

uint64_t
tcpx_breach_over(const struct tcpx_engine *e, const struct tcpx_addr *from, uint64_t incarnation,
		 uint64_t now_ns)
{
	const struct breach_table *t = &e->listeners->breaches;

	for (uint32_t i = 0; i < BREACH_ADDRS; i++)
		if (is_at(&t->at[i].from, from))
			return tcpx_breach_until(&t->at[i].made, incarnation, e->limit.breach_ns,
						 now_ns);
	return 0;
}
