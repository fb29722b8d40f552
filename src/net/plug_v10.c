/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin interface v10: a configuration for each connect(), events for a profiler. */
#define TABLE struct nccl_net_v10
#define PROPS struct nccl_props_v9
#include "net/plug_same.h"

static enum nccl_result
init(const void *table, void **ctx, nccl_logger logger, nccl_profiler profiler)
{
	const TABLE *t = table;

	*ctx = NULL;
	return t->init(logger, profiler);
}

static enum nccl_result
properties(const void *table, int dev, struct plug_facts *facts)
{
	const TABLE *t = table;
	PROPS props = { 0 };
	enum nccl_result result = t->properties(dev, &props);

	facts_init(facts, &props);
	facts->device_type = props.device_type;
	facts->device_version = props.device_version;
	facts->size_max = props.max_p2p_bytes;
	return result;
}

static enum nccl_result
start_listen(const void *table, void *ctx, int dev, void *handle, void **listen_comm)
{
	const TABLE *t = table;

	return t->listen(dev, handle, listen_comm);
}

static enum nccl_result
start_connect(const void *table, void *ctx, int dev, void *handle, void **send_comm)
{
	struct nccl_comm_config config = { NCCL_TRAFFIC_CLASS_UNDEF };
	struct nccl_device_handle *device = NULL;
	const TABLE *t = table;

	return t->connect(dev, &config, handle, send_comm, &device);
}

static enum nccl_result
start_accept(const void *table, void *listen_comm, void **recv_comm,
	     struct nccl_device_handle **device)
{
	const TABLE *t = table;

	return t->accept(listen_comm, recv_comm, device);
}

static enum nccl_result
reg(const void *table, void *comm, void *data, size_t size, int type, void **mhandle)
{
	const TABLE *t = table;

	return t->reg(comm, data, size, type, mhandle);
}

static enum nccl_result
isend(const void *table, void *comm, void *data, size_t size, int tag, void *mhandle,
      void **request)
{
	const TABLE *t = table;

	return t->isend(comm, data, size, tag, mhandle, NULL, request);
}

static enum nccl_result
irecv(const void *table, void *comm, void *data, size_t size, int tag, void *mhandle,
      void **request)
{
	const TABLE *t = table;
	void *event = NULL;

	return t->irecv(comm, 1, &data, &size, &tag, &mhandle, &event, request);
}

static enum nccl_result
consumed(const void *table, void *comm, void *request)
{
	const TABLE *t = table;

	return t->consumed ? t->consumed(comm, 1, request) : NCCL_OK;
}

static bool
consumes(const void *table)
{
	const TABLE *t = table;

	return t->consumed != NULL;
}

static const struct plug_need need[] = {
	PLUG_NEEDS,
	{ "irecvConsumed", offsetof(TABLE, consumed), false },
};

const struct plug_abi plug_abi_v10 = {
	PLUG_SAME,
	.version = 10,
	.symbol = "ncclNetPlugin_v10",
	.reg_max = SIZE_MAX,
	.requests = 16,
	.init = init,
	.properties = properties,
	.listen = start_listen,
	.connect = start_connect,
	.accept = start_accept,
	.reg = reg,
	.isend = isend,
	.irecv = irecv,
	.consumed = consumed,
	.consumes = consumes,
};
