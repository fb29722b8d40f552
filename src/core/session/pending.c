/* SPDX-License-Identifier: Apache-2.0 */
#include "core/session/pending.h"

#include <errno.h>

#include "base/admit.h"
#include "core/session/accept.h"

#define SPARE_NS (50 * TCPX_MS) /* to introduce oneself, however many there are */
#define RESERVE  4 /* one place in so many is for those that have, or may have, a session */

struct pending_conn *
tcpx_pending_victim(struct tcpx_engine *e, uint64_t now_ns)
{
	struct tcpx_admit_guest guest[PENDING_MAX];
	struct pending_conn *g, *of[PENDING_MAX];
	uint32_t n = 0, kept = 0;
	int victim;

	tcpx_chain_each(node, after, &e->listeners->pending) {
		g = of[n] = tcpx_container(node, struct pending_conn, node);
		guest[n] = (struct tcpx_admit_guest){ g->from, g->since_ns, g->known || g->hello };
		kept += guest[n++].known;
	}
	/* anybody can say so: beyond their share they wait like all others */
	for (uint32_t i = 0; i < n && kept > e->listeners->pending_max / RESERVE; i++)
		guest[i].known = false;
	victim = tcpx_admit_victim(guest, n, SPARE_NS, now_ns);
	return victim < 0 ? NULL : of[victim];
}

bool
tcpx_pending_is_given_up(const struct pending_conn *g)
{
	uint8_t byte;

	return g->loop->engine->ops->stream_recv(g->line.stream, &byte, sizeof(byte)) != -EAGAIN;
}

struct pending_conn *
tcpx_pending_waiter(struct tcpx_engine *e, const struct session *older)
{
	tcpx_chain_each(n, after, &e->listeners->pending) {
		struct pending_conn *g = tcpx_container(n, struct pending_conn, node);

		if (g->hello && g->rival.older == older)
			return g;
	}
	return NULL;
}
