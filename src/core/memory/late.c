/* SPDX-License-Identifier: Apache-2.0 */
#include "core/memory/late.h"

#include <errno.h>

#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/gpu.h"
#include "core/memory/memory.h"

#define LOOKS_MIN 8 /* before a device is late */

void
tcpx_late_moved(struct late_watch *w, uint64_t now_ns)
{
	*w = (struct late_watch){ .looked_ns = now_ns };
}

bool
tcpx_late_look(struct late_watch *w, uint64_t patience_ns, uint64_t now_ns)
{
	uint64_t part_ns = now_ns > w->looked_ns ? now_ns - w->looked_ns : 0;

	if (part_ns > patience_ns / LOOKS_MIN)
		part_ns = patience_ns / LOOKS_MIN;
	w->quiet_ns += part_ns;
	w->looked_ns = now_ns;
	return patience_ns && w->quiet_ns >= patience_ns / LOOKS_MIN * LOOKS_MIN;
}

uint64_t
tcpx_late_patience(const struct tcpx_engine *e)
{
	return e->limit.stall_ns / 2;
}

bool
tcpx_late_is(const struct tcpx_engine *e, enum tcpx_flow flow, int place)
{
	return atomic_load_explicit(&e->memory->late[flow][place + 1], memory_order_relaxed) > 0;
}

static bool
batches_late(const struct tcpx_engine *e, int place)
{
	return tcpx_late_is(e, TCPX_FLOW_PACK, place) || tcpx_late_is(e, TCPX_FLOW_UNPACK, place);
}

void
tcpx_late_small(struct gpus *g, const struct small_copy *c)
{
	g->stuck = *c;
	atomic_store(&g->stuck_on, c->place + 1);
}

bool
tcpx_late_small_still(struct gpus *g)
{
	if (g->stuck.queue && g->ops->poll(g->stuck.queue, g->stuck.ticket) != -EAGAIN)
		tcpx_late_small(g, &(struct small_copy){ .place = TCPX_ON_HOST });
	return g->stuck.queue != NULL;
}

static bool
small_late(struct gpus *g, int place)
{
	if (place == TCPX_ON_HOST || atomic_load(&g->stuck_on) != place + 1)
		return false;
	if (pthread_mutex_trylock(&g->small_lock) == 0) { /* else another thread looks or copies */
		(void)tcpx_late_small_still(g);
		pthread_mutex_unlock(&g->small_lock);
	}
	return atomic_load(&g->stuck_on) == place + 1;
}

bool
tcpx_late_at(const struct tcpx_engine *e, int place)
{
	return batches_late(e, place) || small_late(&e->memory->gpus, place);
}

bool
tcpx_late_marked(const struct tcpx_engine *e, int place)
{
	return batches_late(e, place) ||
	       (place != TCPX_ON_HOST && atomic_load(&e->memory->gpus.stuck_on) == place + 1);
}

bool
tcpx_late_reaches(const struct copy_client *c, int but)
{
	uint32_t late = atomic_load_explicit(&c->late, memory_order_relaxed);

	for (int p = 0; late >> p; p++)
		if (late >> p & 1 && p != but && batches_late(c->loop->engine, p))
			return true;
	return false;
}

void
tcpx_late_count(struct tcpx_engine *e, enum tcpx_flow flow, int place, int change)
{
	int before = atomic_fetch_add(&e->memory->late[flow][place + 1], change);

	if (before == 0)
		tcpx_warn(TCPX_SUB_DEV, "GPU %d has finished no copy for %llu ms: transfers of its "
			  "memory end with EIO until it does", place,
			  (unsigned long long)(tcpx_late_patience(e) / TCPX_MS));
	else if (before + change == 0)
		tcpx_info(TCPX_SUB_DEV, "GPU %d copies again", place);
}

bool
tcpx_late_any(const struct tcpx_engine *e)
{
	for (int f = 0; f < TCPX_FLOWS; f++)
		for (int p = 0; p < CORE_PLACES; p++)
			if (atomic_load(&e->memory->late[f][p]) > 0)
				return true;
	return false;
}
