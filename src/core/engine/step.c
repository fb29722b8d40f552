/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/step.h"

#include "core/context/context.h"
#include "core/loop/loop.h"

static void
hold(struct loop *l)
{
	pthread_mutex_lock(&l->lease.lock);
	atomic_store_explicit(&l->lease.stepper, pthread_self(), memory_order_relaxed);
	atomic_store_explicit(&l->lease.stepping, true, memory_order_release);
}

static void
let_go(struct loop *l)
{
	atomic_store_explicit(&l->lease.stepping, false, memory_order_release);
	pthread_mutex_unlock(&l->lease.lock);
}

void
tcpx_engine_turn(struct tcpx_engine *e, int64_t timeout_ns)
{
	uint32_t i;

	for (i = 0; i < e->loop_count; i++) {
		if (!e->loop[i].poller)
			continue;
		hold(&e->loop[i]);
		tcpx_loop_step(&e->loop[i], i ? 0 : timeout_ns);
		let_go(&e->loop[i]);
	}
}

void
tcpx_engine_step(struct tcpx_engine *e)
{
	tcpx_engine_turn(e, 0);
}

uint64_t
tcpx_engine_timer(struct tcpx_engine *e)
{
	uint64_t at_ns = UINT64_MAX;
	uint32_t i;

	for (i = 0; i < e->loop_count; i++) {
		if (atomic_load(&e->loop[i].queue.any) || atomic_load(&e->loop[i].queue.any_ahead))
			return 0;
		if (e->loop[i].timer_ns < at_ns)
			at_ns = e->loop[i].timer_ns;
	}
	return at_ns;
}
