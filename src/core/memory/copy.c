/* SPDX-License-Identifier: Apache-2.0 */
/* Small copies between a list and host memory, within a call. */
#include "core/memory/copy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/memory/gpu.h"
#include "core/memory/late.h"
#include "core/memory/list.h"
#include "core/memory/memory.h"
#include "core/memory/payload.h"
#include "core/memory/touch.h"

/* Waits for the copy: a few microseconds. lock held. */
static int
copy_small(struct gpus *g, enum tcpx_flow flow, const struct tcpx_list *l, uint64_t len)
{
	uint64_t wait_ns = tcpx_late_patience(l->engine);
	struct tcpx_queue *q = g->small[flow][l->place];
	struct tcpx_copy copy[CORE_IOV];
	struct tcpx_fraglist list = list_frags(l);
	struct tcpx_fragpos pos = { 0, 0 };
	struct tcpx_frag frag[CORE_IOV];
	uint64_t done = 0, part, ticket;
	size_t i, n;
	int rc = 0;

	while (rc == 0 && done < len) {
		n = tcpx_frag_next(&list, &pos, len - done, frag, CORE_IOV, &part);
		for (i = 0; i < n; i++) {
			uint64_t ours = (uintptr_t)g->scratch + done;

			copy[i] = flow == TCPX_FLOW_PACK ?
					  (struct tcpx_copy){ frag[i].addr, ours, frag[i].len } :
					  (struct tcpx_copy){ ours, frag[i].addr, frag[i].len };
			done += frag[i].len;
		}
		do {
			rc = g->ops->copy(q, copy, n, &ticket);
		} while (rc == -EAGAIN); /* nothing is in flight: there will be room */
		if (rc == 0)
			rc = g->ops->finish(q, ticket, wait_ns);
	}
	if (rc != -EAGAIN)
		return rc;
	tcpx_late_small(g, &(struct small_copy){ q, ticket, l->place });
	tcpx_warn(TCPX_SUB_DEV, "GPU %d has not finished a small copy for %llu ms: transfers of its "
		  "memory end with EIO until it does", l->place, (unsigned long long)(wait_ns / TCPX_MS));
	return -EIO;
}

/* Memory that its owner keeps mapped, by promise: a system call would take three times as long. */
static void
copy_mapped(enum tcpx_flow flow, const struct tcpx_list *l, uint8_t *buf, uint64_t len)
{
	uint64_t part;
	uint32_t i;

	for (i = 0; i < l->frag_count && len > 0; i++, buf += part, len -= part) {
		void *addr = (void *)(uintptr_t)l->frag[i].addr;

		part = l->frag[i].len < len ? l->frag[i].len : len;
		memcpy(flow == TCPX_FLOW_PACK ? buf : addr, flow == TCPX_FLOW_PACK ? addr : buf, part);
	}
}

/* TCPX_FLOW_UNPACK: buf into the list; PACK: the list into buf. */
static int
copy_list(enum tcpx_flow flow, const struct tcpx_list *l, uint8_t *buf, uint64_t len)
{
	struct gpus *g = &l->engine->memory->gpus;
	int rc;

	if (len == 0)
		return 0;
	if (l->mapped) {
		copy_mapped(flow, l, buf, len);
		return 0;
	}
	if (!list_staged(l))
		return tcpx_touch_copy(&l->engine->memory->touch, flow, l->frag, l->frag_count, buf,
				       len);
	if (len > GPU_SMALL_MAX)
		return -EINVAL;
	pthread_mutex_lock(&g->small_lock);
	rc = tcpx_late_small_still(g) || tcpx_late_at(l->engine, l->place) ? -EIO : 0;
	if (rc == 0 && flow == TCPX_FLOW_UNPACK)
		memcpy(g->scratch, buf, len);
	if (rc == 0)
		rc = copy_small(g, flow, l, len);
	if (rc == 0 && flow == TCPX_FLOW_PACK)
		memcpy(buf, g->scratch, len);
	pthread_mutex_unlock(&g->small_lock);
	return rc;
}

int
tcpx_list_copy_in(const struct tcpx_list *l, const uint8_t *src, uint64_t len)
{
	return copy_list(TCPX_FLOW_UNPACK, l, (uint8_t *)(uintptr_t)src, len); /* only read */
}

int
tcpx_list_copy_out(const struct tcpx_list *l, uint8_t *dst, uint64_t len)
{
	return copy_list(TCPX_FLOW_PACK, l, dst, len);
}

void
tcpx_list_fault(const struct tcpx_list *l, char *text, size_t cap)
{
	struct region g;
	bool mapped;
	uint32_t i;

	snprintf(text, cap, "one of %u regions", l->region_count);
	for (i = 0; i < l->region_count; i++) {
		if (tcpx_region_get(&l->engine->memory->regions, l->region_id[i], &g) != 0)
			continue;
		mapped = list_staged(l) || tcpx_memory_mapped(g.addr, g.len);
		if (mapped && l->region_count > 1)
			continue;
		snprintf(text, cap, "region %#llx at %p, %llu bytes%s", (unsigned long long)g.id,
			 (void *)g.addr, (unsigned long long)g.len, mapped ? "" : ", not mapped");
		return;
	}
}
