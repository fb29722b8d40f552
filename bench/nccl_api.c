/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two tables: names of functions, and their places in struct nccl_api. The libraries stay
 * loaded until the process ends.
 */
#include "nccl_api.h"

#include <dlfcn.h>
#include <string.h>

#define PLACE(member) offsetof(struct nccl_api, member)

static const struct symbol {
	const char *name;
	size_t place;
} nccl_symbols[] = {
	{ "ncclGetVersion", PLACE(nccl_version) },   { "ncclGetUniqueId", PLACE(nccl_id) },
	{ "ncclCommInitRank", PLACE(nccl_init) },    { "ncclSend", PLACE(nccl_send) },
	{ "ncclRecv", PLACE(nccl_recv) },            { "ncclGroupStart", PLACE(nccl_group_start) },
	{ "ncclAllReduce", PLACE(nccl_all_reduce) }, { "ncclAllGather", PLACE(nccl_all_gather) },
	{ "ncclReduceScatter", PLACE(nccl_reduce_scatter) },
	{ "ncclGroupEnd", PLACE(nccl_group_end) },   { "ncclCommDestroy", PLACE(nccl_destroy) },
	{ "ncclGetErrorString", PLACE(nccl_strerror) }, { NULL, 0 }
}, cuda_symbols[] = {
	{ "cuInit", PLACE(init) },                   { "cuDeviceGet", PLACE(device) },
	{ "cuDevicePrimaryCtxSetFlags_v2", PLACE(set_flags) },
	{ "cuDevicePrimaryCtxRetain", PLACE(retain) }, { "cuCtxSetCurrent", PLACE(set_current) },
	{ "cuMemAlloc_v2", PLACE(alloc) },           { "cuMemFree_v2", PLACE(free) },
	{ "cuMemHostAlloc", PLACE(alloc_host) },     { "cuMemFreeHost", PLACE(free_host) },
	{ "cuMemcpyHtoD_v2", PLACE(to_gpu) },        { "cuMemcpyDtoH_v2", PLACE(to_host) },
	{ "cuMemcpyHtoDAsync_v2", PLACE(to_gpu_async) },
	{ "cuMemcpyDtoHAsync_v2", PLACE(to_host_async) },
	{ "cuMemsetD8_v2", PLACE(fill) },            { "cuStreamCreate", PLACE(stream) },
	{ "cuStreamSynchronize", PLACE(sync) },      { "cuEventCreate", PLACE(event) },
	{ "cuEventRecord", PLACE(record) },          { "cuEventElapsedTime", PLACE(elapsed) },
	{ NULL, 0 }
};

static const char *
load(struct nccl_api *api, const char *library, const struct symbol *symbols)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_GLOBAL);

	if (!handle)
		return dlerror();
	for (; symbols->name; symbols++) {
		void *function = dlsym(handle, symbols->name);

		if (!function)
			return dlerror();
		memcpy((char *)api + symbols->place, &function, sizeof(function));
	}
	return NULL;
}

const char *
nccl_api_load(struct nccl_api *api, const char *nccl, const char *cuda)
{
	const char *why = load(api, cuda, cuda_symbols);

	return why ? why : load(api, nccl, nccl_symbols);
}
