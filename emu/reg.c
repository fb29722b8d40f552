/* SPDX-License-Identifier: Apache-2.0 */
/* Registrations. GPU memory must be what a dma-buf can hold: whole, aligned pages. */
#include "emu/reg.h"

#include <pthread.h>
#include <stdlib.h>

#include "emu/gpu.h"
#include "emu/bounds.h"
#include "emu/say.h"

enum nccl_result
emu_reg_new(struct emu_reg **list, void *data, int size, int type, void **mhandle)
{
	struct emu_reg *r;

	if (type != NCCL_PTR_CUDA && type != NCCL_PTR_HOST)
		return emu_refuse("reg-type", "regMr: type %d: allowed are 1 (host) and 2 (CUDA)",
				  type);
	if (type == NCCL_PTR_CUDA) {
		if ((uintptr_t)data % EMU_PAGE)
			return emu_refuse("reg-align", "regMr: data not aligned: %p is no "
					  "multiple of 4096", data);
		if (size <= 0 || (unsigned)size % EMU_PAGE)
			return emu_refuse("reg-size", "regMr: size %d is no multiple of 4096 from "
					  "4096 to 2147479552", size);
		if (!emu_gpu_owns(data, (size_t)size))
			return emu_refuse("reg-kind", "regMr: %p, %d bytes, is not memory of a GPU",
					  data, size);
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		return NCCL_SYSTEM_ERROR;
	*r = (struct emu_reg){ .next = *list, .base = data, .size = (size_t)size,
			       .gpu = type == NCCL_PTR_CUDA, .live = true };
	*list = r;
	*mhandle = r;
	return NCCL_OK;
}

struct emu_reg *
emu_reg_find(struct emu_reg *list, const void *mhandle)
{
	for (; list; list = list->next) {
		if (list == mhandle)
			return list->live ? list : NULL;
	}
	return NULL;
}

enum nccl_result
emu_reg_drop(struct emu_reg *list, void *mhandle)
{
	struct emu_reg *r = emu_reg_find(list, mhandle);

	if (!r)
		return emu_misuse("dereg-unknown", "deregMr: %p is no registration of this comm",
				  mhandle);
	if (r->used)
		return emu_misuse("dereg-busy", "deregMr: %u requests still use %p, %zu bytes",
				  r->used, (void *)r->base, r->size);
	r->live = false;
	return NCCL_OK;
}

/* Registrations of closed comms. */
static struct {
	pthread_mutex_t lock;
	struct emu_reg *list;
} orphans = { .lock = PTHREAD_MUTEX_INITIALIZER };

void
emu_reg_orphan_all(struct emu_reg **list)
{
	while (*list) {
		struct emu_reg *r = *list;

		*list = r->next;
		if (!r->live) {
			free(r);
			continue;
		}
		pthread_mutex_lock(&orphans.lock);
		r->next = orphans.list;
		orphans.list = r;
		pthread_mutex_unlock(&orphans.lock);
	}
}

bool
emu_reg_drop_orphan(const void *mhandle)
{
	struct emu_reg **at, *r;

	pthread_mutex_lock(&orphans.lock);
	for (at = &orphans.list; *at && *at != mhandle; at = &(*at)->next)
		;
	r = *at;
	if (r)
		*at = r->next;
	pthread_mutex_unlock(&orphans.lock);
	free(r);
	return r != NULL;
}
