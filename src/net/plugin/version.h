/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The wrappers of one version of the plugin interface. v6.c to v12.c define V and include this,
 * so each compiles it with its own types. Differences between versions are chosen at the top;
 * the functions below are the same for all.
 */
#include "net/plugin/abi.h"

#define GLUE_(a, b) a##b
#define GLUE(a, b)  GLUE_(a, b)
#define TEXT_(a)    #a
#define TEXT(a)     TEXT_(a)

#define TABLE struct GLUE(nccl_net_v, V)
#if V == 10
#define PROPS struct nccl_props_v9
#else
#define PROPS struct GLUE(nccl_props_v, V)
#endif

/* Arguments that only some versions have, each with its comma. */
#if V == 6
#define DEVICE(d)
#else
#define DEVICE(d) , d
#endif
#if V < 10
#define INIT_ARGS(ctx, config) logger
#define EVENT(e)
#elif V == 10
#define INIT_ARGS(ctx, config) logger, profiler
#define EVENT(e)               e,
#else
#define INIT_ARGS(ctx, config) ctx, COMM_ID, config, logger, profiler
#define EVENT(e)               e,
#endif
#if V == 10
#define CONFIG(c) c,
#else
#define CONFIG(c)
#endif
#if V < 11
#define CTX(c)
#else
#define CTX(c) c,
#endif

/* Sizes of a region and of a message. */
#if V < 8
#define REG_SIZE int
#define REG_MAX  INT32_MAX
#else
#define REG_SIZE size_t
#define REG_MAX  SIZE_MAX
#endif
#if V < 9
#define MSG_SIZE       int
#define MSG_MAX(props) NCCL_V8_SIZE_MAX
#else
#define MSG_SIZE       size_t
#define MSG_MAX(props) (props).max_p2p_bytes
#endif

#define COMM_ID 0 /* we are one communicator */

static const char *
name(const void *table)
{
	const TABLE *t = table;

	return t->name;
}

static enum nccl_result
init(const void *table, void **ctx, nccl_logger logger, nccl_profiler profiler)
{
	struct nccl_comm_config config = { NCCL_TRAFFIC_CLASS_UNDEF };
	const TABLE *t = table;

	(void)config;
	*ctx = NULL;
	return t->init(INIT_ARGS(ctx, &config));
}

static enum nccl_result
devices(const void *table, int *count)
{
	const TABLE *t = table;

	return t->devices(count);
}

#if V == 6
static void
device_facts(struct plug_facts *facts, const PROPS *props)
{
	facts->device_type = NCCL_DEVICE_HOST;
}
#else
static void
device_facts(struct plug_facts *facts, const PROPS *props)
{
	facts->device_type = props->device_type;
	facts->device_version = props->device_version;
}
#endif

static enum nccl_result
properties(const void *table, int dev, struct plug_facts *facts)
{
	const TABLE *t = table;
	PROPS props = { 0 };
	enum nccl_result result = t->properties(dev, &props);

	*facts = (struct plug_facts){
		.name = props.name,
		.pci_path = props.pci_path,
		.ptr_support = props.ptr_support,
		.speed = props.speed,
		.max_recvs = props.max_recvs,
		.size_max = MSG_MAX(props),
	};
	device_facts(facts, &props);
	return result;
}

static enum nccl_result
start_listen(const void *table, void *ctx, int dev, void *handle, void **listen_comm)
{
	const TABLE *t = table;

	return t->listen(CTX(ctx) dev, handle, listen_comm);
}

static enum nccl_result
start_connect(const void *table, void *ctx, int dev, void *handle, void **send_comm)
{
	struct nccl_comm_config config = { NCCL_TRAFFIC_CLASS_UNDEF };
	struct nccl_device_handle *device = NULL;
	const TABLE *t = table;

	(void)config;
	(void)device;
	return t->connect(CTX(ctx) dev, CONFIG(&config) handle, send_comm DEVICE(&device));
}

static enum nccl_result
start_accept(const void *table, void *listen_comm, void **recv_comm,
	     struct nccl_device_handle **device)
{
	const TABLE *t = table;

	return t->accept(listen_comm, recv_comm DEVICE(device));
}

static enum nccl_result
reg(const void *table, void *comm, void *data, size_t size, int type, void **mhandle)
{
	const TABLE *t = table;

	return t->reg(comm, data, (REG_SIZE)size, type, mhandle);
}

static enum nccl_result
dereg(const void *table, void *comm, void *mhandle)
{
	const TABLE *t = table;

	return t->dereg(comm, mhandle);
}

static enum nccl_result
isend(const void *table, void *comm, void *data, size_t size, int tag, void *mhandle,
      void **request)
{
	const TABLE *t = table;

	return t->isend(comm, data, (MSG_SIZE)size, tag, mhandle, EVENT(NULL) request);
}

static enum nccl_result
irecv(const void *table, void *comm, void *data, size_t size, int tag, void *mhandle,
      void **request)
{
	const TABLE *t = table;
	MSG_SIZE bytes = (MSG_SIZE)size;
	void *event = NULL;

	(void)event;
	return t->irecv(comm, 1, &data, &bytes, &tag, &mhandle, EVENT(&event) request);
}

static enum nccl_result
iflush(const void *table, void *comm, void *data, int size, void *mhandle, void **request)
{
	const TABLE *t = table;

	return t->iflush(comm, 1, &data, &size, &mhandle, request);
}

static bool
flushes(const void *table)
{
	const TABLE *t = table;

	return t->iflush != NULL;
}

static enum nccl_result
test(const void *table, void *request, int *done, int *size)
{
	const TABLE *t = table;

	return t->test(request, done, size);
}

#if V == 6
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
#else
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
#endif

static enum nccl_result
close_send(const void *table, void *comm)
{
	const TABLE *t = table;

	return t->close_send(comm);
}

static enum nccl_result
close_recv(const void *table, void *comm)
{
	const TABLE *t = table;

	return t->close_recv(comm);
}

static enum nccl_result
close_listen(const void *table, void *comm)
{
	const TABLE *t = table;

	return t->close_listen(comm);
}

#if V >= 11
static enum nccl_result
finalize(const void *table, void *ctx)
{
	const TABLE *t = table;

	return t->finalize ? t->finalize(ctx) : NCCL_OK;
}
#endif

static const struct plug_need need[] = {
	{ "init", offsetof(TABLE, init), true },
	{ "devices", offsetof(TABLE, devices), true },
	{ "getProperties", offsetof(TABLE, properties), true },
	{ "listen", offsetof(TABLE, listen), true },
	{ "connect", offsetof(TABLE, connect), true },
	{ "accept", offsetof(TABLE, accept), true },
	{ "regMr", offsetof(TABLE, reg), true },
	{ "deregMr", offsetof(TABLE, dereg), true },
	{ "isend", offsetof(TABLE, isend), true },
	{ "irecv", offsetof(TABLE, irecv), true },
	{ "iflush", offsetof(TABLE, iflush), false },
	{ "test", offsetof(TABLE, test), true },
	{ "closeSend", offsetof(TABLE, close_send), true },
	{ "closeRecv", offsetof(TABLE, close_recv), true },
	{ "closeListen", offsetof(TABLE, close_listen), true },
#if V >= 7
	{ "irecvConsumed", offsetof(TABLE, consumed), false },
#endif
#if V >= 11
	{ "finalize", offsetof(TABLE, finalize), false },
#endif
};

const struct plug_abi GLUE(plug_abi_v, V) = {
	.version = V,
	.symbol = "ncclNetPlugin_v" TEXT(V),
	.need = need,
	.need_count = sizeof(need) / sizeof(need[0]),
	.reg_max = REG_MAX,
	.requests = V == 6 ? 8 : 16,
	.name = name,
	.init = init,
	.devices = devices,
	.properties = properties,
	.listen = start_listen,
	.connect = start_connect,
	.accept = start_accept,
	.reg = reg,
	.dereg = dereg,
	.isend = isend,
	.irecv = irecv,
	.iflush = iflush,
	.flushes = flushes,
	.test = test,
	.consumed = consumed,
	.consumes = consumes,
	.close_send = close_send,
	.close_recv = close_recv,
	.close_listen = close_listen,
#if V >= 11
	.finalize = finalize,
#endif
};
