/* SPDX-License-Identifier: Apache-2.0 */
/* Which transfer has made no progress for too long, and what that costs. */
#include "core/transfer/deadline.h"

#include <stdio.h>

#include "core/channel/channel.h"
#include "core/context/context.h"
#include "core/memory/payload.h"
#include "core/session/control.h"
#include "core/transfer/answer.h"
#include "core/transfer/end.h"
#include "core/transfer/stuck.h"
#include "core/transfer/transfer.h"
#include "proto/health.h"

/* Only the target's answer lacks, and the control stream could bring it. */
static bool
is_owed(const struct session *s, const struct tcpx_xfer *x)
{
	return tcpx_xfer_is_owed(x) && s->control.line.stream && !s->control.resuming;
}

static enum tcpx_stall
judge(struct session *s, const struct tcpx_xfer *x, uint64_t now_ns)
{
	uint64_t limit_ns = s->engine->limit.stall_ns;
	struct tcpx_stall_facts f = { .own_ns = x->times.progress_ns,
				      .way_ns = x->sends ? s->health.tx_progress_ns :
							   s->health.rx_progress_ns,
				      .owed = is_owed(s, x),
				      .short_ns = tcpx_xfer_short_ns(s, x, now_ns) };

	if (tcpx_node_linked(&x->queue)) { /* all is here: its note waits for room at the peer */
		tcpx_session_add_timer(s, f.own_ns + limit_ns);
		return now_ns >= f.own_ns + limit_ns ? TCPX_STALL_XFER : TCPX_STALL_NONE;
	}
	/* a send waits for its receive without a limit, and a lane's receive for its send, whose
	 * side judges it */
	if (x->lane && !x->sends)
		return TCPX_STALL_NONE;
	if (x->op == TCPX_OP_SEND && x->times.ready_ns == 0)
		return TCPX_STALL_NONE;
	if (now_ns >= f.own_ns + limit_ns && x->tx.in_flight)
		f.held_ns = tcpx_xfer_held_ns(s, x);
	if (f.own_ns + limit_ns > now_ns)
		tcpx_session_add_timer(s, f.own_ns + limit_ns);
	else if (f.short_ns + limit_ns > now_ns)
		tcpx_session_add_timer(s, f.short_ns + limit_ns);
	return tcpx_stall_judge(&f, limit_ns, now_ns);
}

/* Channels that have brought something lately. */
static uint32_t
moving(struct channel *const *c, uint32_t count, uint64_t since_ns)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += c[i] && c[i]->state == CHAN_UP &&
		       (c[i]->sending ? c[i]->tx.rate.last_ns : c[i]->figures.moved_ns) >= since_ns;
	return sum;
}

static void
end_session(struct session *s, struct tcpx_xfer *x, uint64_t now_ns)
{
	uint64_t limit_ns = s->engine->limit.stall_ns, since_ns = now_ns - limit_ns;
	char what[160];

	count_add(&s->engine->count.stalls, 1);
	tcpx_xfer_describe(s, x, what, sizeof(what));
	tcpx_session_fail(s, TCPX_ESTALLED, "%s; nothing moved for %llu ms; %u + %u channels moved lately, "
			  "control %s", what, (unsigned long long)(limit_ns / TCPX_MS),
			  moving(s->chan.tx, s->chan.count, since_ns),
			  moving(s->chan.rx, s->chan.count, since_ns),
			  s->control.line.stream ? "up" : "cut");
}

/* The others go on. */
static void
end_one(struct session *s, struct tcpx_xfer *x)
{
	char what[140], text[192];

	count_add(&s->engine->count.stalls, 1);
	tcpx_xfer_describe(s, x, what, sizeof(what));
	snprintf(text, sizeof(text), "%s; stuck for %llu ms, while others moved", what,
		 (unsigned long long)(s->engine->limit.stall_ns / TCPX_MS));
	(void)tcpx_fail(TCPX_SUB_XFER, TCPX_ESTALLED, "%s", text);
	tcpx_answer_fail(s, x, TCPX_ESTALLED, what, text);
	tcpx_control_flush(s);
}

void
tcpx_xfers_check(struct session *s, uint64_t now_ns)
{
	for (int i = 0; i < SESS_CHAINS; i++)
		tcpx_chain_each(n, after, &s->xfers.bucket[i]) {
			struct tcpx_xfer *x = tcpx_container(n, struct tcpx_xfer, table);
			enum tcpx_stall stall = judge(s, x, now_ns);

			if (stall == TCPX_STALL_NONE)
				continue;
			if (stall == TCPX_STALL_SESSION)
				end_session(s, x, now_ns);
			else
				end_one(s, x);
			tcpx_session_add_timer(s, now_ns); /* for the rest: the chains have changed */
			return;
		}
}

void
tcpx_xfers_late(struct session *s, const struct pause *p)
{
	for (int i = 0; i < SESS_CHAINS; i++)
		tcpx_chain_each(n, after, &s->xfers.bucket[i])
			pause_skip(&tcpx_container(n, struct tcpx_xfer, table)->times.progress_ns, p);
}
