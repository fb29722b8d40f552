/* SPDX-License-Identifier: Apache-2.0 */
/* Waits until no thread touches the memory of an ending transfer. */
#include "core/memory/payload.h"

#include <sched.h>

#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/batch.h"

void
tcpx_payload_quiesce(struct tcpx_engine *e, struct payload *p)
{
	uint32_t i;

	atomic_store(&p->live, 0);
	for (i = 0; i < e->loop_count; i++)
		while (atomic_load(&e->loop[i].gate) == p)
			sched_yield();
	while (atomic_load(&p->batched) > 0)
		for (i = 0; i < e->loop_count; i++)
			tcpx_batches_finish(&e->loop[i]);
}
