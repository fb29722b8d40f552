/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A net plugin that completes everything and moves nothing: what NCCL itself can do with host
 * pointers is the ceiling of any net. The data is wrong, of course. NCCL_PROTO=Simple is needed: the
 * GPU waits for flags in the data of other protocols. NULL_DEVICES (8) of NULL_MBPS (50000) each.
 */
#include <stdio.h>
#include <stdlib.h>

#include "net/plugin/nccl_net.h"

#define DEVICES_MAX 64

struct null_request {
	int size;
};

static char names[DEVICES_MAX][16];

static int
number(const char *name, int otherwise)
{
	const char *text = getenv(name);

	return text && atoi(text) > 0 ? atoi(text) : otherwise;
}

static enum nccl_result
null_init(void **ctx, uint64_t comm_id, struct nccl_comm_config *config, nccl_logger logger,
	  nccl_profiler profiler)
{
	*ctx = names;
	return NCCL_OK;
}

static enum nccl_result
null_finalize(void *ctx)
{
	return NCCL_OK;
}

static enum nccl_result
null_devices(int *count)
{
	*count = number("NULL_DEVICES", 8);
	if (*count > DEVICES_MAX)
		*count = DEVICES_MAX;
	return NCCL_OK;
}

static enum nccl_result
null_properties(int dev, struct nccl_props_v11 *props)
{
	snprintf(names[dev], sizeof(names[dev]), "null%d", dev);
	*props = (struct nccl_props_v11){
		.name = names[dev], .guid = (uint64_t)dev + 1, .ptr_support = NCCL_PTR_HOST,
		.reg_is_global = 1, .speed = number("NULL_MBPS", 50000), .port = 1, .latency = 20,
		.max_comms = 65536, .max_recvs = 1, .vdevs = { 1, { dev } },
		.max_p2p_bytes = 1 << 30, .max_coll_bytes = 1 << 30, .max_multi_request = 1,
	};
	return NCCL_OK;
}

/* All comms and all memory are one. */
static enum nccl_result
null_listen(void *ctx, int dev, void *handle, void **listen_comm)
{
	*listen_comm = names;
	return NCCL_OK;
}

static enum nccl_result
null_connect(void *ctx, int dev, void *handle, void **comm, struct nccl_device_handle **device)
{
	*comm = names;
	return NCCL_OK;
}

static enum nccl_result
null_accept(void *listen_comm, void **comm, struct nccl_device_handle **device)
{
	*comm = names;
	return NCCL_OK;
}

static enum nccl_result
null_reg(void *comm, void *data, size_t size, int type, void **mhandle)
{
	*mhandle = names;
	return NCCL_OK;
}

static enum nccl_result
null_dereg(void *comm, void *mhandle)
{
	return NCCL_OK;
}

static enum nccl_result
post(size_t size, void **request)
{
	struct null_request *r = malloc(sizeof(*r));

	if (r)
		r->size = (int)size;
	*request = r;
	return NCCL_OK;
}

static enum nccl_result
null_isend(void *comm, void *data, size_t size, int tag, void *mhandle, void *event, void **request)
{
	return post(size, request);
}

static enum nccl_result
null_irecv(void *comm, int n, void **data, size_t *sizes, int *tags, void **mhandles, void **events,
	   void **request)
{
	return post(sizes[0], request);
}

static enum nccl_result
null_flush(void *comm, int n, void **data, int *sizes, void **mhandles, void **request)
{
	*request = NULL;
	return NCCL_OK;
}

static enum nccl_result
null_test(void *request, int *done, int *size)
{
	struct null_request *r = request;

	*done = 1;
	if (size)
		*size = r->size;
	free(r);
	return NCCL_OK;
}

static enum nccl_result
null_close(void *comm)
{
	return NCCL_OK;
}

__attribute__((visibility("default"))) const struct nccl_net_v11 ncclNetPlugin_v11 = {
	.name = "null", .init = null_init, .devices = null_devices, .properties = null_properties,
	.listen = null_listen, .connect = null_connect, .accept = null_accept, .reg = null_reg,
	.dereg = null_dereg, .isend = null_isend, .irecv = null_irecv, .iflush = null_flush,
	.test = null_test, .close_send = null_close, .close_recv = null_close,
	.close_listen = null_close, .finalize = null_finalize,
};
