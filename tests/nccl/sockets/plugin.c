/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the sockets plugin, v11 and v12, and its lines in NCCL's log. */
#include <stdarg.h>
#include <stdio.h>

#include "sockets.h"

#define SUBSYS_ALL (~0ul)

static nccl_logger say;

void
sockets_log_to(nccl_logger logger)
{
	say = logger;
}

void
sockets_warn(const char *fmt, ...)
{
	char line[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (say)
		say(NCCL_LOG_WARN, SUBSYS_ALL, __FILE__, __LINE__, "NET/sockets: %s", line);
}

static enum nccl_result
init(void **ctx, uint64_t comm_id, struct nccl_comm_config *config, nccl_logger logger,
     nccl_profiler profiler)
{
	*ctx = &say;
	sockets_log_to(logger);
	return NCCL_OK;
}

static enum nccl_result
finalize(void *ctx)
{
	return NCCL_OK;
}

#define PROPERTIES(dev, nic) \
	.name = (char *)(nic)->name, .guid = (uint64_t)(dev) + 1, .ptr_support = NCCL_PTR_HOST, \
	.speed = (nic)->mbps, .max_comms = 65536, .max_recvs = 1, .vdevs = { 1, { dev } }, \
	.max_p2p_bytes = 1 << 30, .max_coll_bytes = 1 << 30, .max_multi_request = 1

static enum nccl_result
properties_v11(int dev, struct nccl_props_v11 *props)
{
	const struct nic *nic = sockets_nic(dev);

	if (!nic)
		return NCCL_INVALID_ARGUMENT;
	*props = (struct nccl_props_v11){ PROPERTIES(dev, nic) };
	return NCCL_OK;
}

static enum nccl_result
properties_v12(int dev, struct nccl_props_v12 *props)
{
	const struct nic *nic = sockets_nic(dev);

	if (!nic)
		return NCCL_INVALID_ARGUMENT;
	*props = (struct nccl_props_v12){ PROPERTIES(dev, nic), .network_id = -1, .plane_id = -1 };
	return NCCL_OK;
}

/* It connects by the NIC that the handle's address is reached by. */
static enum nccl_result
dial(void *ctx, int dev, void *handle, void **comm, struct nccl_device_handle **device)
{
	return sockets_connect(handle, comm);
}

static enum nccl_result
take(void *listen_comm, void **comm, struct nccl_device_handle **device)
{
	return sockets_accept(listen_comm, comm);
}

static enum nccl_result
reg(void *comm, void *data, size_t size, int type, void **mhandle)
{
	*mhandle = comm;
	return type == NCCL_PTR_HOST ? NCCL_OK : NCCL_INTERNAL_ERROR;
}

static enum nccl_result
dereg(void *comm, void *mhandle)
{
	return NCCL_OK;
}

static enum nccl_result
isend(void *comm, void *data, size_t size, int tag, void *mhandle, void *event, void **request)
{
	return sockets_post(comm, data, size, request);
}

static enum nccl_result
irecv(void *comm, int n, void **data, size_t *sizes, int *tags, void **mhandles, void **events,
      void **request)
{
	return n == 1 ? sockets_post(comm, data[0], sizes[0], request) : NCCL_INTERNAL_ERROR;
}

static enum nccl_result
iflush(void *comm, int n, void **data, int *sizes, void **mhandles, void **request)
{
	return NCCL_INTERNAL_ERROR;
}

#define TABLE(v) \
	__attribute__((visibility("default"))) const struct nccl_net_v##v ncclNetPlugin_v##v = { \
		.name = "sockets", .init = init, .devices = sockets_devices, \
		.properties = properties_v##v, .listen = sockets_listen, .connect = dial, \
		.accept = take, .reg = reg, .dereg = dereg, .isend = isend, .irecv = irecv, \
		.iflush = iflush, .test = sockets_test, .close_send = sockets_close, \
		.close_recv = sockets_close, .close_listen = sockets_close_listen, .finalize = finalize, \
	}

TABLE(11);
TABLE(12);
