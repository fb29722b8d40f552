/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL's table of functions of one version. v6.c to v12.c define V and include this. What differs
 * between versions is chosen at the top; the functions below are the same for all.
 */
#include "net/plugin/nccl_net.h"

#include "nccl/comm.h"
#include "nccl/plug.h"
#include "nccl/say.h"

#define GLUE_(a, b) a##b
#define GLUE(a, b)  GLUE_(a, b)

#define TABLE struct GLUE(nccl_net_v, V)
#if V == 10
#define PROPS struct nccl_props_v9
#else
#define PROPS struct GLUE(nccl_props_v, V)
#endif

#if V < 8
#define REG_SIZE int
#else
#define REG_SIZE size_t
#endif
#if V < 9
#define MSG_SIZE int
#else
#define MSG_SIZE size_t
#endif

/* Parameters that only some versions have, each with its comma. */
#if V < 10
#define INIT_PARAMS nccl_logger logger
#elif V == 10
#define INIT_PARAMS nccl_logger logger, nccl_profiler profiler
#else
#define INIT_PARAMS void **ctx, uint64_t comm_id, struct nccl_comm_config *config, \
	nccl_logger logger, nccl_profiler profiler
#endif
#if V < 11
#define CTX
#else
#define CTX void *ctx,
#endif
#if V == 10
#define CONFIG struct nccl_comm_config *config,
#else
#define CONFIG
#endif
#if V < 10
#define EVENT
#define EVENTS
#else
#define EVENT  void *event,
#define EVENTS void **events,
#endif
#if V < 7
#define DEVICE
#else
#define DEVICE , struct nccl_device_handle **device
#endif

#if V < 11
#define GIVE_CONTEXT()
#else
#define GIVE_CONTEXT() \
	(*ctx = result ? NULL : tcpx_nccl_context(tcpx_nccl_communicator(comm_id, config)))
#endif
/* What is known of the communicator when it listens and connects. */
#if V < 11
#define LISTENER tcpx_nccl_communicator(0, NULL)
#else
#define LISTENER tcpx_nccl_of_context(ctx)
#endif
#if V == 10
#define CONNECTOR tcpx_nccl_communicator(0, config)
#else
#define CONNECTOR LISTENER
#endif

static enum nccl_result
init(INIT_PARAMS)
{
	enum nccl_result result = tcpx_nccl_init(logger, V);

	GIVE_CONTEXT();
	return result;
}

#if V < 7
#define COPY_SINCE_7(p, f)
#else
#define COPY_SINCE_7(p, f) ((p)->device_type = (f).device_type)
#endif
#if V < 8
#define COPY_SINCE_8(p, f)
#else
#define COPY_SINCE_8(p, f) ((p)->reg_is_global = (f).reg_is_global)
#endif
#if V < 9
#define COPY_SINCE_9(p, f)
#else
#define COPY_SINCE_9(p, f) \
	((p)->vdevs.count = (f).vdevs.count, (p)->vdevs.devs[0] = (f).vdevs.devs[0], \
	 (p)->max_p2p_bytes = (f).max_p2p_bytes, (p)->max_coll_bytes = (f).max_coll_bytes)
#endif
#if V < 11
#define COPY_SINCE_11(p, f)
#else
#define COPY_SINCE_11(p, f) ((p)->max_multi_request = (f).max_multi_request)
#endif
#if V < 12
#define COPY_SINCE_12(p, f)
#else
#define COPY_SINCE_12(p, f) ((p)->network_id = (f).network_id, (p)->plane_id = (f).plane_id)
#endif

static enum nccl_result
properties(int dev, PROPS *props)
{
	struct nccl_props_v12 full;
	enum nccl_result result = tcpx_nccl_properties(dev, &full);

	if (result)
		return result;
	*props = (PROPS){ .name = full.name, .pci_path = full.pci_path, .guid = full.guid,
			  .ptr_support = full.ptr_support, .speed = full.speed,
			  .port = full.port, .latency = full.latency,
			  .max_comms = full.max_comms, .max_recvs = full.max_recvs };
	COPY_SINCE_7(props, full);
	COPY_SINCE_8(props, full);
	COPY_SINCE_9(props, full);
	COPY_SINCE_11(props, full);
	COPY_SINCE_12(props, full);
	return NCCL_OK;
}

static enum nccl_result
start_listen(CTX int dev, void *handle, void **listen_comm)
{
	return tcpx_nccl_listen(dev, LISTENER, handle, listen_comm);
}

static enum nccl_result
start_connect(CTX int dev, CONFIG void *handle, void **send_comm DEVICE)
{
	return tcpx_nccl_connect(dev, CONNECTOR, handle, send_comm);
}

static enum nccl_result
start_accept(void *listen_comm, void **recv_comm DEVICE)
{
	return tcpx_nccl_accept(listen_comm, recv_comm);
}

static enum nccl_result
reg(void *comm, void *data, REG_SIZE size, int type, void **mhandle)
{
	return tcpx_nccl_reg(comm, data, (size_t)size, type, mhandle);
}

static enum nccl_result
isend(void *comm, void *data, MSG_SIZE size, int tag, void *mhandle, EVENT void **request)
{
	return tcpx_nccl_post(comm, data, (size_t)size, mhandle, request);
}

/* *request may say that completion is optional. It is not: NCCL would use the buffer again while a
 * connection that failed has left bytes of it to come. */
static enum nccl_result
irecv(void *comm, int n, void **data, MSG_SIZE *sizes, int *tags, void **mhandles, EVENTS
      void **request)
{
	if (n != 1)
		return NCCL_INTERNAL_ERROR; /* max_recvs is 1 */
	return tcpx_nccl_post(comm, data[0], (size_t)sizes[0], mhandles[0], request);
}

/* Nothing is in a GPU's memory. */
static enum nccl_result
iflush(void *comm, int n, void **data, int *sizes, void **mhandles, void **request)
{
	*request = NULL;
	return NCCL_INTERNAL_ERROR;
}

__attribute__((visibility("default"))) const TABLE GLUE(ncclNetPlugin_v, V) = {
	.name = "tcpx-p2p",
	.init = init,
	.devices = tcpx_nccl_devices,
	.properties = properties,
	.listen = start_listen,
	.connect = start_connect,
	.accept = start_accept,
	.reg = reg,
	.dereg = tcpx_nccl_dereg,
	.isend = isend,
	.irecv = irecv,
	.iflush = iflush,
	.test = tcpx_nccl_test,
	.close_send = tcpx_nccl_close,
	.close_recv = tcpx_nccl_close,
	.close_listen = tcpx_nccl_close_listen,
#if V >= 11
	.finalize = tcpx_nccl_finalize,
#endif
};
