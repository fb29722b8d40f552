/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's net plugin interface, version 7, and the lists by which a plugin for GPUDirect-TCPX says
 * where payload lies. Written down a second time, by hand, from its description: the project's
 * own declarations and these have to agree, or bytes go astray. */
#ifndef STRANGER_ABI_H
#define STRANGER_ABI_H

#include <assert.h>
#include <stdint.h>
#include <stddef.h>

enum { HANDLE_BYTES = 128, SLOTS = 16, LIST_MAX = 2048, PTR_HOST = 1, PTR_CUDA = 2 };
enum { DEVICE_UNPACK = 1, UNPACK_VERSION = 7 };
enum { LOG_WARN = 2, LOG_ABORT = 4 };

typedef void (*net_logger)(int level, unsigned long flags, const char *file, int line,
			   const char *fmt, ...);

struct net_props {
	char *name;
	char *pci_path;
	uint64_t guid;
	int ptr_support;
	int speed;
	int port;
	float latency;
	int max_comms;
	int max_recvs;
	int device_type;
	int device_version;
};
static_assert(sizeof(struct net_props) == 56, "properties of version 7");

struct device_handle {
	int type;
	int version;
	void *handle;
	size_t size;
	int needs_proxy;
};
static_assert(sizeof(struct device_handle) == 32, "device handle");

struct net_table {
	const char *name;
	int (*init)(net_logger logger);
	int (*devices)(int *count);
	int (*get_properties)(int dev, struct net_props *props);
	int (*listen)(int dev, void *handle, void **listen_comm);
	int (*connect)(int dev, void *handle, void **send_comm, struct device_handle **device);
	int (*accept)(void *listen_comm, void **recv_comm, struct device_handle **device);
	int (*reg_mr)(void *comm, void *data, int size, int type, void **mr);
	int (*reg_mr_dmabuf)(void *comm, void *data, size_t size, int type, uint64_t offset, int fd,
			     void **mr);
	int (*dereg_mr)(void *comm, void *mr);
	int (*isend)(void *comm, void *data, int size, int tag, void *mr, void **request);
	int (*irecv)(void *comm, int n, void **data, int *sizes, int *tags, void **mrs,
		     void **request);
	int (*iflush)(void *comm, int n, void **data, int *sizes, void **mrs, void **request);
	int (*test)(void *request, int *done, int *sizes);
	int (*close_send)(void *comm);
	int (*close_recv)(void *comm);
	int (*close_listen)(void *comm);
	int (*get_device_mr)(void *comm, void *mr, void **device_mr);
	int (*irecv_consumed)(void *comm, int n, void *request);
};
static_assert(sizeof(struct net_table) == 152, "table of version 7");

/* A piece of payload: LEN bytes at SRC in the pool belong DST bytes into the receive's data. */
struct fragment {
	_Alignas(16) uint32_t src;
	uint32_t len;
	uint64_t dst;
};

struct unpack_meta {
	struct fragment list[SLOTS][LIST_MAX];
	uint64_t count[SLOTS];
};
static_assert(sizeof(struct unpack_meta) == 524416, "metadata");

struct unpack_handle {
	struct unpack_meta *meta;
	void *bounce;
	uint64_t head;
};
static_assert(sizeof(struct unpack_handle) == 24, "what the device handle points to");

#endif
