/* SPDX-License-Identifier: Apache-2.0 */
#include "core/session/half_open.h"

#include <stdlib.h>

#include "base/admit.h"
#include "core/context/context.h"
#include "core/session/accept.h"
#include "core/session/session.h"

static struct handshake *
of_node(struct tcpx_node *n)
{
	return tcpx_container(n, struct handshake, half_open);
}

/* The session that goes; NULL: none, or no memory to look. */
static struct session *
victim(const struct listeners *all, uint64_t spare_ns, uint64_t now_ns)
{
	struct tcpx_admit_guest *guest = calloc(all->half_open_count, sizeof(*guest));
	struct session *s = NULL;
	uint32_t n = 0;
	int k = -1;

	if (!guest)
		return NULL;
	tcpx_chain_each(node, after, &all->half_open)
		guest[n++] = (struct tcpx_admit_guest){ .from = of_node(node)->session->from,
			.since_ns = of_node(node)->session->health.start_ns };
	k = tcpx_admit_victim(guest, n, spare_ns, now_ns);
	tcpx_chain_each(node2, after2, &all->half_open)
		if (k-- == 0)
			s = of_node(node2)->session;
	free(guest);
	return s;
}

void
tcpx_half_open_room(struct tcpx_engine *e, uint64_t now_ns)
{
	const struct listeners *all = e->listeners;
	struct session *s = NULL;
	uint32_t count = all->half_open_count;

	if (count && count >= all->half_open_max)
		s = victim(all, e->limit.handshake_ns / 2, now_ns);
	if (!s)
		return;
	tcpx_half_open_remove(s);
	count_add(&e->count.refused, 1);
	pthread_mutex_lock(&s->lock);
	tcpx_session_fail(s, TCPX_ELIMIT, "handshake not done after %llu ms, and %u others are in it; at "
			  "most %u may be", (unsigned long long)((now_ns - s->health.start_ns) / TCPX_MS),
			  count - 1, all->half_open_max);
	pthread_mutex_unlock(&s->lock);
}

void
tcpx_half_open_add(struct session *s, const struct tcpx_addr *from)
{
	struct listeners *all = s->engine->listeners;

	s->hs->session = s;
	s->from = *from;
	tcpx_chain_add(&all->half_open, &s->hs->half_open);
	all->half_open_count++;
}

void
tcpx_half_open_remove(struct session *s)
{
	if (!s->hs || !tcpx_node_linked(&s->hs->half_open))
		return;
	tcpx_chain_remove(&s->hs->half_open);
	s->engine->listeners->half_open_count--;
}
