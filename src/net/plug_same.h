/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the wrappers of all versions say alike. It is compiled once for each version, on that
 * version's own types: before including it, TABLE names its table and PROPS its properties.
 */
#include "net/plug_abi.h"

static const char *
name(const void *table)
{
	const TABLE *t = table;

	return t->name;
}

static enum nccl_result
devices(const void *table, int *count)
{
	const TABLE *t = table;

	return t->devices(count);
}

static void
facts_init(struct plug_facts *facts, const PROPS *props)
{
	*facts = (struct plug_facts){
		.name = props->name,
		.pci_path = props->pci_path,
		.ptr_support = props->ptr_support,
		.speed = props->speed,
		.max_recvs = props->max_recvs,
		.device_type = NCCL_DEVICE_HOST,
		.size_max = NCCL_V8_SIZE_MAX,
	};
}

static enum nccl_result
dereg(const void *table, void *comm, void *mhandle)
{
	const TABLE *t = table;

	return t->dereg(comm, mhandle);
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

#define PLUG_NEEDS                                                                     \
	{ "init", offsetof(TABLE, init), true },                                       \
	{ "devices", offsetof(TABLE, devices), true },                                 \
	{ "getProperties", offsetof(TABLE, properties), true },                        \
	{ "listen", offsetof(TABLE, listen), true },                                   \
	{ "connect", offsetof(TABLE, connect), true },                                 \
	{ "accept", offsetof(TABLE, accept), true },                                   \
	{ "regMr", offsetof(TABLE, reg), true },                                       \
	{ "deregMr", offsetof(TABLE, dereg), true },                                   \
	{ "isend", offsetof(TABLE, isend), true },                                     \
	{ "irecv", offsetof(TABLE, irecv), true },                                     \
	{ "iflush", offsetof(TABLE, iflush), false },                                  \
	{ "test", offsetof(TABLE, test), true },                                       \
	{ "closeSend", offsetof(TABLE, close_send), true },                            \
	{ "closeRecv", offsetof(TABLE, close_recv), true },                            \
	{ "closeListen", offsetof(TABLE, close_listen), true }

#define PLUG_SAME                                                                      \
	.need = need, .need_count = sizeof(need) / sizeof(need[0]), .name = name,      \
	.devices = devices, .dereg = dereg, .iflush = iflush, .flushes = flushes,      \
	.test = test, .close_send = close_send, .close_recv = close_recv,              \
	.close_listen = close_listen
