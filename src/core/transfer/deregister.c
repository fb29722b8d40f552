/* SPDX-License-Identifier: Apache-2.0 */
/* Deregistering a region ends every transfer that uses it. */
#include <stdio.h>

#include "base/random.h"
#include "core/context/context.h"
#include "core/memory/gpu.h"
#include "core/memory/list.h"
#include "core/memory/memory.h"
#include "core/memory/payload.h"
#include "core/memory/region.h"
#include "core/session/control.h"
#include "core/session/session.h"
#include "core/transfer/answer.h"
#include "core/transfer/end.h"
#include "core/transfer/lane.h"
#include "core/transfer/launch.h"
#include "core/transfer/match.h"
#include "core/transfer/transfer.h"

static void
end_queued(struct tcpx_node *queue, uint64_t id, const char *text)
{
	tcpx_chain_each(n, after, queue) {
		struct tcpx_xfer *x = tcpx_container(n, struct tcpx_xfer, queue);

		if (x->payload.list && tcpx_list_names(x->payload.list, id))
			tcpx_xfer_end(x, TCPX_EREGION, text);
	}
}

/* Ends the transfers of one session that use the region; initiators also inform the peer. */
static void
end_users(struct session *s, uint64_t id)
{
	char text[64];
	int i;

	if (s->state == SESS_FAILED)
		return;
	snprintf(text, sizeof(text), "region %#llx deregistered", (unsigned long long)id);
	tcpx_lanes_region_gone(s, id, text);
	if (s->state == SESS_FAILED)
		return;
	s->xfers.launching = true; /* else waiting transfers would move to the table
				  * during these walks */
	for (i = 0; i < SESS_CHAINS; i++)
		tcpx_chain_each(n, after, &s->xfers.bucket[i]) {
			struct tcpx_xfer *x = tcpx_container(n, struct tcpx_xfer, table);

			if (x->lane || !x->payload.list || !tcpx_list_names(x->payload.list, id))
				continue;
			if (x->target)
				tcpx_answer_done(s, x->id, TCPX_EREGION, 0, text, NULL, 0);
			else
				tcpx_control_say_u64(s, TCPX_FR_CANCEL, x->id);
			if (s->state == SESS_FAILED)
				return; /* that has ended all of them */
			tcpx_xfer_end(x, TCPX_EREGION, text);
		}
	for (i = 0; i < CREDIT_KINDS; i++)
		end_queued(&s->xfers.waiting[i], id, text);
	end_queued(&s->xfers.after_event, id, text);
	s->xfers.launching = false;
	tcpx_launch_waiting(s, engine_now(s->engine)); /* flushes, too */
}

int
tcpx_mem_deregister(tcpx_engine *e, uint64_t id)
{
	struct session *s = NULL;
	struct region was = { 0 };
	int rc;

	rc = engine_check(e);
	if (rc)
		return rc;
	rc = tcpx_region_drop(&e->memory->regions, id, &was);
	if (rc || was.imported) /* a name only: transfers that used it go on */
		return rc;
	tcpx_match_region_gone(e, id);
	while ((s = tcpx_session_after(e, s))) {
		pthread_mutex_lock(&s->lock);
		end_users(s, id);
		pthread_mutex_unlock(&s->lock);
	}
	if (was.locked)
		tcpx_gpu_unlock(e, was.addr);
	return 0;
}
