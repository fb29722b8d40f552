/* SPDX-License-Identifier: Apache-2.0 */
#include "core/transfer/refuse.h"

#include <stdio.h>

#include "core/channel/channel.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/copy.h"
#include "core/memory/list.h"
#include "core/memory/payload.h"
#include "core/session/receive.h"
#include "core/session/session.h"
#include "core/transfer/answer.h"

/* The part of the stall deadline for which a peer waits at most: not yet a silence. */
#define TOLL_PART 32

void
tcpx_xfer_known(struct session *s, uint64_t id)
{
	uint32_t i;

	s->xfers.opened_there = id & ~ID_OF_ACCEPTOR;
	for (i = 0; i < s->chan.count; i++)
		if (s->chan.rx[i] && s->chan.rx[i]->rx.parked)
			tcpx_loop_post(s->chan.rx[i]->loop, &s->chan.rx[i]->work);
}

void
tcpx_refuse_charge(struct session *s, uint32_t entries)
{
	uint64_t now_ns = engine_now(s->engine);

	tcpx_toll_charge(&s->control.toll, entries, s->engine->limit.stall_ns / TOLL_PART, now_ns);
}

void
tcpx_refuse(struct session *s, uint64_t id, int code, const char *text)
{
	count_add(&s->engine->count.refused, 1);
	s->control.spent += REFUSE_COST;
	tcpx_refuse_charge(s, REFUSE_COST);
	tcpx_xfer_known(s, id);
	tcpx_answer_done(s, id, code, 0, text, NULL, 0);
}

void
tcpx_refuse_list(struct session *s, uint64_t id, int code, uint32_t entries)
{
	char why[TCPX_TEXT_MAX], text[TCPX_TEXT_MAX];

	snprintf(why, sizeof(why), "%s", tcpx_err_text(code));
	if (code == TCPX_EKEY || code == TCPX_ERANGE || code == TCPX_EREGION)
		tcpx_err_last(why, sizeof(why)); /* which region, and what it allows */
	tcpx_refuse_charge(s, entries);
	snprintf(text, sizeof(text), "refused by the target: %.*s", (int)sizeof(text) - 32, why);
	tcpx_refuse(s, id, code, text);
}

void
tcpx_refuse_memory(struct session *s, uint64_t id, int code, const char *done,
		   const struct tcpx_list *l)
{
	char text[TCPX_TEXT_MAX], where[80];

	tcpx_list_fault(l, where, sizeof(where));
	snprintf(text, sizeof(text), "target's memory cannot be %s: %s", done, where);
	tcpx_refuse(s, id, code, text);
}
