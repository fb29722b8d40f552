/* SPDX-License-Identifier: Apache-2.0 */
/* The registrations of the process. GPU memory must be what a dma-buf can hold: whole, aligned pages. */
#include "emu/reg.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "emu/gpu.h"
#include "emu/bounds.h"
#include "emu/say.h"

static struct {
	pthread_mutex_t lock;
	struct emu_reg *list;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

enum nccl_result
emu_reg_new(const struct emu_nic *nic, void *data, int size, int type, void **mhandle)
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
		/* host memory that stands for a GPU's must be there at least */
		if (!data || !emu_gpu_owns(data, (size_t)size) ||
		    (emu_gpu_direct(EMU_DEVICE) && msync(data, (size_t)size, MS_ASYNC)))
			return emu_refuse("reg-kind", "regMr: %p, %d bytes, is not memory of a GPU",
					  data, size);
	}
	r = calloc(1, sizeof(*r));
	if (!r)
		return NCCL_SYSTEM_ERROR;
	r->nic = nic;
	r->base = data;
	r->size = (size_t)size;
	r->gpu = type == NCCL_PTR_CUDA;
	pthread_mutex_lock(&all.lock);
	r->next = all.list;
	all.list = r;
	pthread_mutex_unlock(&all.lock);
	*mhandle = r;
	return NCCL_OK;
}

struct emu_reg *
emu_reg_use(const struct emu_nic *nic, const void *mhandle)
{
	struct emu_reg *r;

	pthread_mutex_lock(&all.lock);
	for (r = all.list; r && (r != mhandle || r->nic != nic); r = r->next)
		;
	if (r)
		r->used++;
	pthread_mutex_unlock(&all.lock);
	return r;
}

void
emu_reg_unuse(struct emu_reg *r)
{
	pthread_mutex_lock(&all.lock);
	r->used--;
	pthread_mutex_unlock(&all.lock);
}

enum nccl_result
emu_reg_drop(const void *mhandle)
{
	enum nccl_result result = NCCL_OK;
	struct emu_reg **at, *r;

	if (!mhandle)
		return NCCL_OK; /* as by the real plugin */
	pthread_mutex_lock(&all.lock);
	for (at = &all.list; *at && *at != mhandle; at = &(*at)->next)
		;
	r = *at;
	if (!r)
		result = emu_misuse("dereg-unknown", "deregMr: %p is no registration", mhandle);
	else if (r->used)
		result = emu_misuse("dereg-busy", "deregMr: %u requests still use %p, %zu bytes",
				    r->used, (void *)r->base, r->size);
	else
		*at = r->next;
	pthread_mutex_unlock(&all.lock);
	if (!result)
		free(r);
	return result;
}
