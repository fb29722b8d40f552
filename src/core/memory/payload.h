/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a transfer, and its accesses. */
#ifndef CORE_MEMORY_PAYLOAD_H
#define CORE_MEMORY_PAYLOAD_H

#include <stdatomic.h>
#include <stdint.h>

#include "core/memory/list.h"

#define CORE_IOV      256        /* pieces in one socket call            */
#define CORE_CALL_MAX (1u << 20) /* bytes in one socket call: bounds the gate */

/* A channel's view of a transfer. */
struct payload {
	_Atomic uint64_t live;    /* the transfer's id while its memory may be touched, else
				   * 0: checked again in the gate */
	_Atomic uint32_t batched; /* device copies in flight that touch its memory            */
	uint32_t chunk;           /* bytes                                                    */
	struct tcpx_list *list;   /* local memory, owned reference                            */
};

static inline uint64_t
payload_offset(const struct payload *p, uint32_t chunk)
{
	return (uint64_t)chunk * p->chunk;
}

/* live := 0, then waits until no gate and no batch holds it. Any lock may be held. */
void tcpx_payload_quiesce(struct tcpx_engine *e, struct payload *p);

#endif
