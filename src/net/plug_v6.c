/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin interface v6: no device side, sizes are int. */
#define TABLE struct nccl_net_v6
#define PROPS struct nccl_props_v6
#include "net/plug_same.h"

static enum nccl_result
init(const void *table, void **ctx, nccl_logger logger, nccl_profiler profiler)
{
	const TABLE *t = table;

	*ctx = NULL;
	return t->init(logger);
}

static enum nccl_result
properties(const void *table, int dev, struct plug_facts *facts)
{
	const TABLE *t = table;
	PROPS props = { 0 };
	enum nccl_result result = t->properties(dev, &props);

	facts_init(facts, &props);
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
	const TABLE *t = table;

	return t->connect(dev, handle, send_comm);
}

static enum nccl_result
start_accept(const void *table, void *listen_comm, void **recv_comm,
	     struct nccl_device_handle **device)
{
	const TABLE *t = table;

	return t->accept(listen_comm, recv_comm);
}

static enum nccl_result
reg(const void *table, void *comm, void *data, size_t size, int type, void **mhandle)
{
	const TABLE *t = table;

	return t->reg(comm, data, (int)size, type, mhandle);
}

static enum nccl_result
isend(const void *table, void *comm, void *data, size_t size, int tag, void *mhandle,
      void **request)
{
	const TABLE *t = table;

	return t->isend(comm, data, (int)size, tag, mhandle, request);
}

static enum nccl_result
irecv(const void *table, void *comm, void *data, size_t size, int tag, void *mhandle,
      void **request)
{
	const TABLE *t = table;
	int bytes = (int)size;

	return t->irecv(comm, 1, &data, &bytes, &tag, &mhandle, request);
}

static enum nccl_result
consumed(const void *table, void *comm, void *request)
{
	return NCCL_OK;
}

static bool
consumes(const void *table)
{
	return false;
}

static const struct plug_need need[] = {
	PLUG_NEEDS,
};

const struct plug_abi plug_abi_v6 = {
	PLUG_SAME,
	.version = 6,
	.symbol = "ncclNetPlugin_v6",
	.reg_max = INT32_MAX,
	.requests = 8,
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
