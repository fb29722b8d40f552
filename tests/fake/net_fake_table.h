/* SPDX-License-Identifier: Apache-2.0 */
/* The table of net_fake.c, in the shape of the version it is built for. */

#if FAKE_VERSION <= 9
#define fake_start fake_init
#elif FAKE_VERSION == 10
static enum nccl_result
fake_start(nccl_logger logger, nccl_profiler profiler)
{
	return profiler ? fake_init(logger) : NCCL_INVALID_ARGUMENT;
}
#else
static int context;

static enum nccl_result
fake_start(void **ctx, uint64_t comm_id, struct nccl_comm_config *config, nccl_logger logger,
	   nccl_profiler profiler)
{
	*ctx = &context;
	return profiler && config->traffic_class == -1 ? fake_init(logger)
						       : NCCL_INVALID_ARGUMENT;
}

static enum nccl_result
fake_finalize(void *ctx)
{
	CALLED(NET_FAKE_FINALIZE);
	return ctx == &context ? NCCL_OK : wrong("finalize of another context");
}
#endif

#if FAKE_VERSION <= 10
#define fake_listen_on fake_listen
#else
static enum nccl_result
fake_listen_on(void *ctx, int dev, void *handle, void **listen_comm)
{
	return ctx == &context ? fake_listen(dev, handle, listen_comm) : wrong("no context");
}
#endif

#if FAKE_VERSION == 6
#define fake_connect_to fake_connect

static enum nccl_result
fake_accept_one(void *listen_comm, void **recv_comm)
{
	return fake_accept(listen_comm, recv_comm, NULL);
}
#else
#define fake_accept_one fake_accept
#if FAKE_VERSION <= 9
static enum nccl_result
fake_connect_to(int dev, void *handle, void **send_comm, struct nccl_device_handle **device)
{
	return device ? fake_connect(dev, handle, send_comm) : NCCL_INVALID_ARGUMENT;
}
#elif FAKE_VERSION == 10
static enum nccl_result
fake_connect_to(int dev, struct nccl_comm_config *config, void *handle, void **send_comm,
		struct nccl_device_handle **device)
{
	return device && config->traffic_class == -1 ? fake_connect(dev, handle, send_comm)
						     : NCCL_INVALID_ARGUMENT;
}
#else
static enum nccl_result
fake_connect_to(void *ctx, int dev, void *handle, void **send_comm,
		struct nccl_device_handle **device)
{
	return device && ctx == &context ? fake_connect(dev, handle, send_comm)
					 : NCCL_INVALID_ARGUMENT;
}
#endif

static enum nccl_result
consumed(struct comm *c, void *request)
{
	if (c->consumed == c->done || request != &c->ring[c->consumed % RING])
		return wrong("consumed out of order");
	c->consumed++;
	return NCCL_OK;
}

static enum nccl_result
fake_consumed(void *recv_comm, int n, void *request)
{
	CALLED(NET_FAKE_CONSUMED);
	return n == 1 ? consumed(recv_comm, request) : wrong("a group is consumed");
}
#endif

#if FAKE_VERSION <= 9
static enum nccl_result
fake_isend(void *comm, void *data, msg_size size, int tag, void *mhandle, void **request)
{
	return post(comm, true, data, (size_t)size, mhandle, request);
}

/* Before v7 nothing is consumed: what is tested is free. */
static enum nccl_result
fake_irecv(void *comm, int n, void **data, msg_size *sizes, int *tags, void **mhandles,
	   void **request)
{
	struct comm *c = comm;

	if (FAKE_VERSION == 6)
		c->consumed = c->done;
	return n == 1 ? post(c, false, data[0], (size_t)sizes[0], mhandles[0], request)
		      : wrong("a group is received");
}
#else
static enum nccl_result
fake_isend(void *comm, void *data, msg_size size, int tag, void *mhandle, void *event,
	   void **request)
{
	return post(comm, true, data, size, mhandle, request);
}

static enum nccl_result
fake_irecv(void *comm, int n, void **data, msg_size *sizes, int *tags, void **mhandles,
	   void **events, void **request)
{
	return n == 1 && events ? post(comm, false, data[0], sizes[0], mhandles[0], request)
				: wrong("a group is received");
}
#endif

TABLE SYMBOL = {
	.name = NAME,
	.init = fake_start,
	.devices = fake_devices,
	.properties = fake_properties,
	.listen = fake_listen_on,
	.connect = fake_connect_to,
	.accept = fake_accept_one,
	.reg = fake_reg,
	.dereg = fake_dereg,
	.isend = fake_isend,
	.irecv = fake_irecv,
	.iflush = fake_iflush,
	.test = fake_test,
	.close_send = fake_close,
	.close_recv = fake_close,
	.close_listen = fake_close_listen,
#if FAKE_VERSION >= 7
	.consumed = fake_consumed,
#endif
#if FAKE_VERSION >= 11
	.finalize = fake_finalize,
#endif
};
