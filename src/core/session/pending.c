/* SPDX-License-Identifier: Apache-2.0 */
#include "core/session/pending.h"

#include <errno.h>
#include <stdlib.h>

#include "base/admit.h"
#include "core/session/accept.h"
#include "proto/frame.h"

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
tcpx_pending_waiter(const struct pending_conn *g)
{
	tcpx_chain_each(n, after, &g->loop->engine->listeners->pending) {
		struct pending_conn *other = tcpx_container(n, struct pending_conn, node);

		if (other != g && other->hello && other->rival.older == g->rival.older)
			return other;
	}
	return NULL;
}

bool
tcpx_pending_is_first(const struct pending_conn *g)
{
	tcpx_chain_each(n, after, &g->loop->engine->listeners->pending) {
		const struct pending_conn *other = tcpx_container(n, struct pending_conn, node);

		if (other == g)
			break;
		if (other->hello && !other->let_in && tcpx_addr_same_host(&other->from, &g->from))
			return false;
	}
	return true;
}

static void
free_pending(struct deferred *deferred)
{
	free(tcpx_container(deferred, struct pending_conn, deferred));
}

void
tcpx_pending_close(struct pending_conn *g)
{
	struct loop *l = g->loop;

	tcpx_line_close(&g->line, l->engine->ops);
	tcpx_rival_forget(&g->rival);
	free(g->hello);
	tcpx_ctrl_free(g->ctrl);
	g->source.on_ready = NULL;
	tcpx_chain_remove(&g->node);
	l->engine->listeners->pending_count--;
	tcpx_loop_defer_free(l, &g->deferred, free_pending);
}

void
tcpx_pending_refuse(struct pending_conn *g, int code, const char *why, const char *words)
{
	const struct tcpx_engine *e = g->loop->engine;
	bool known = !e->secret || (g->line.seal && tcpx_line_proven(&g->line));
	uint8_t room[256];
	struct tcpx_buf b;
	char from[64];

	tcpx_addr_format(&g->from, from, sizeof(from));
	if (g->started && g->start.kind == TCPX_START_ASK) { /* the code is the answer */
		tcpx_debug(TCPX_SUB_BOOT, "connection from %s is answered: %s", from, why);
	} else {
		(void)tcpx_fail(TCPX_SUB_BOOT, code, "connection from %s turned away: %s", from, why);
		count_add(&g->loop->engine->count.refused, 1);
	}
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_refuse_write(&b, code, known ? words : "", known ? g->wait_ms : 0);
	if (g->line.seal && !known)
		(void)tcpx_line_send(&g->line, e->ops, NULL, 0); /* TLS says it */
	else if (!b.bad && tcpx_ctrl_put_raw(g->ctrl, TCPX_FR_REFUSE, room, b.pos) == 0)
		(void)tcpx_line_flush(&g->line, e->ops, g->ctrl);
	tcpx_pending_close(g);
}

void
tcpx_pending_turn_away(struct pending_conn *g, int code, const char *why)
{
	tcpx_pending_refuse(g, code, why, why);
}
