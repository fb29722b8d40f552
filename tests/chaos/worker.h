/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One process of a run of chaos: an engine, and transfers of all kinds with all others until the
 * parent says stop. It judges bytes; the parent judges codes and times.
 */
#ifndef CHAOS_WORKER_H
#define CHAOS_WORKER_H

#include "chaos/area.h"

/* Life @life of host @me, in its network namespace already; an exit code. */
int chaos_worker(struct chaos_area *area, unsigned me, uint32_t life);

#endif
