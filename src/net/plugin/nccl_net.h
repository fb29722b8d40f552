/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The binary interface of NCCL net plugins, v6 to v12: the table behind the symbol
 * ncclNetPlugin_v<N>. It is declared here anew, in our names; order and size of all members are
 * those of NCCL's public headers (github.com/NVIDIA/nccl: src/include/plugin/net/
 * net_v6.h .. net_v12.h, src/include/nccl_device/net_device.h, src/device/network/unpack/
 * unpack_defs.h, src/include/nccl_common.h) and asserted below. A table is only read as its own
 * version.
 */
#ifndef NET_PLUGIN_NCCL_NET_H
#define NET_PLUGIN_NCCL_NET_H

#include <stddef.h>
#include <stdint.h>

#define NCCL_HANDLE_BYTES 128 /* of a listen handle                        */
#define NCCL_V8_SIZE_MAX  (1u << 30) /* most that NCCL gives a plugin of v6 to v8 */

/* Kinds of memory: bits of ptr_support, and the type of regMr(). */
#define NCCL_PTR_HOST   1
#define NCCL_PTR_CUDA   2
#define NCCL_PTR_DMABUF 4

/* A caller of v9 and later may put this into *request before irecv() if it needs no completion.
 * Earlier plugins must find NULL there. */
#define NCCL_OPTIONAL_RECV_COMPLETION ((void *)0x1)

enum nccl_result {
	NCCL_OK,
	NCCL_CUDA_ERROR,
	NCCL_SYSTEM_ERROR,
	NCCL_INTERNAL_ERROR,
	NCCL_INVALID_ARGUMENT,
	NCCL_INVALID_USAGE,
	NCCL_REMOTE_ERROR,
	NCCL_IN_PROGRESS,
	NCCL_RESULT_COUNT
};

enum nccl_log_level {
	NCCL_LOG_NONE,
	NCCL_LOG_VERSION,
	NCCL_LOG_WARN,
	NCCL_LOG_INFO,
	NCCL_LOG_ABORT,
	NCCL_LOG_TRACE
};

#define NCCL_SUBSYS_INIT 0x01ul
#define NCCL_SUBSYS_NET  0x10ul
/* Of warnings: NCCL shows them whatever NCCL_DEBUG_SUBSYS names. */
#define NCCL_SUBSYS_ALL  (~0ul)

/* Plugins call it without a check for NULL. fmt is as for printf(), without newline. */
typedef void (*nccl_logger)(enum nccl_log_level level, unsigned long subsys, const char *file,
			    int line, const char *fmt, ...) __attribute__((format(printf, 5, 6)));

/* v10 and later report their events to it. NULL is not known to be allowed. */
typedef enum nccl_result (*nccl_profiler)(void **event, int type, void *parent,
					  int64_t plugin_id, void *data);

/* ---- device side ------------------------------------------------------------------------ */

enum nccl_device_type {
	NCCL_DEVICE_HOST,
	NCCL_DEVICE_UNPACK,
	NCCL_DEVICE_GIN_PROXY,
	NCCL_DEVICE_GIN_GDAKI,
	NCCL_DEVICE_GIN_GPI
};

#define NCCL_UNPACK_VERSION 7 /* netDeviceVersion of the structures below; no other is known */

/* The same from v7 to v12. The caller of accept() provides it, the plugin fills it in. */
struct nccl_device_handle {
	enum nccl_device_type type;
	int version;
	void *handle;              /* GPU address of a struct nccl_unpack_device, for UNPACK */
	size_t size;               /* of it                                                  */
	int needs_proxy_progress;
};

#define NCCL_UNPACK_SLOTS 16
#define NCCL_UNPACK_FRAGS 2048

/* A fragment: bytes. src_off from bounce_buf, dst_off from the data pointer of irecv(). */
struct nccl_unpack_frag {
	uint32_t src_off;
	uint32_t len;
	uint64_t dst_off;
} __attribute__((aligned(16)));

/* In page-locked host memory that the GPU can read. cnt[slot] is written last. */
struct nccl_unpack_meta {
	struct nccl_unpack_frag mem[NCCL_UNPACK_SLOTS][NCCL_UNPACK_FRAGS];
	uint64_t cnt[NCCL_UNPACK_SLOTS];
};

/* In GPU memory. */
struct nccl_unpack_device {
	struct nccl_unpack_meta *meta;
	void *bounce_buf;
	uint64_t head; /* (uint64_t)-1 at first: the consumer increments before it uses it */
};

/* ---- properties of a device ------------------------------------------------------------- */

#define NCCL_VDEVS_V9  4
#define NCCL_VDEVS_V12 8

struct nccl_props_v6 {
	char *name;
	char *pci_path;
	uint64_t guid;
	int ptr_support;
	int speed; /* Mb/s */
	int port;
	float latency;
	int max_comms;
	int max_recvs;
};

struct nccl_props_v7 {
	char *name;
	char *pci_path;
	uint64_t guid;
	int ptr_support;
	int speed;
	int port;
	float latency;
	int max_comms;
	int max_recvs;
	enum nccl_device_type device_type;
	int device_version;
};

struct nccl_props_v8 {
	char *name;
	char *pci_path;
	uint64_t guid;
	int ptr_support;
	int reg_is_global;
	int speed;
	int port;
	float latency;
	int max_comms;
	int max_recvs;
	enum nccl_device_type device_type;
	int device_version;
};

struct nccl_vdevs_v9 {
	int count;
	int devs[NCCL_VDEVS_V9];
};

/* v10 has the same. */
struct nccl_props_v9 {
	char *name;
	char *pci_path;
	uint64_t guid;
	int ptr_support;
	int reg_is_global;
	int force_flush;
	int speed;
	int port;
	float latency;
	int max_comms;
	int max_recvs;
	enum nccl_device_type device_type;
	int device_version;
	struct nccl_vdevs_v9 vdevs;
	size_t max_p2p_bytes;
	size_t max_coll_bytes;
};

struct nccl_props_v11 {
	char *name;
	char *pci_path;
	uint64_t guid;
	int ptr_support;
	int reg_is_global;
	int force_flush;
	int speed;
	int port;
	float latency;
	int max_comms;
	int max_recvs;
	enum nccl_device_type device_type;
	int device_version;
	struct nccl_vdevs_v9 vdevs;
	size_t max_p2p_bytes;
	size_t max_coll_bytes;
	int max_multi_request;
};

struct nccl_vdevs_v12 {
	int count;
	int devs[NCCL_VDEVS_V12];
};

struct nccl_props_v12 {
	char *name;
	char *pci_path;
	uint64_t guid;
	int ptr_support;
	int reg_is_global;
	int force_flush;
	int speed;
	int port;
	float latency;
	int max_comms;
	int max_recvs;
	enum nccl_device_type device_type;
	int device_version;
	struct nccl_vdevs_v12 vdevs;
	size_t max_p2p_bytes;
	size_t max_coll_bytes;
	int max_multi_request;
	int16_t network_id; /* -1 unknown */
	int16_t plane_id;   /* -1 unknown */
};

/* ---- tables of functions ---------------------------------------------------------------- */

#define NCCL_TRAFFIC_CLASS_UNDEF (-1)

/* connect() of v10 takes it, init() of v11 and v12. */
struct nccl_comm_config {
	int traffic_class;
};

struct nccl_comm_attr {
	int32_t peers_max, peers_min, flows_max, flows_min; /* -1 unknown */
};

struct nccl_net_attr {
	struct nccl_comm_attr send, recv;
	uint32_t op, algo, proto;
};

/* The same in all versions; accept() from v7 on. */
typedef enum nccl_result (*nccl_accept_fn)(void *listen_comm, void **recv_comm,
					   struct nccl_device_handle **device);
typedef enum nccl_result (*nccl_dmabuf_fn)(void *comm, void *data, size_t size, int type,
					   uint64_t offset, int fd, void **mhandle);
typedef enum nccl_result (*nccl_flush_fn)(void *recv_comm, int n, void **data, int *sizes,
					  void **mhandles, void **request);

struct nccl_net_v6 {
	const char *name;
	enum nccl_result (*init)(nccl_logger logger);
	enum nccl_result (*devices)(int *count);
	enum nccl_result (*properties)(int dev, struct nccl_props_v6 *props);
	enum nccl_result (*listen)(int dev, void *handle, void **listen_comm);
	enum nccl_result (*connect)(int dev, void *handle, void **send_comm);
	enum nccl_result (*accept)(void *listen_comm, void **recv_comm);
	enum nccl_result (*reg)(void *comm, void *data, int size, int type, void **mhandle);
	nccl_dmabuf_fn reg_dmabuf;
	enum nccl_result (*dereg)(void *comm, void *mhandle);
	enum nccl_result (*isend)(void *send_comm, void *data, int size, int tag, void *mhandle,
				  void **request);
	enum nccl_result (*irecv)(void *recv_comm, int n, void **data, int *sizes, int *tags,
				  void **mhandles, void **request);
	nccl_flush_fn iflush;
	enum nccl_result (*test)(void *request, int *done, int *sizes);
	enum nccl_result (*close_send)(void *send_comm);
	enum nccl_result (*close_recv)(void *recv_comm);
	enum nccl_result (*close_listen)(void *listen_comm);
};

struct nccl_net_v7 {
	const char *name;
	enum nccl_result (*init)(nccl_logger logger);
	enum nccl_result (*devices)(int *count);
	enum nccl_result (*properties)(int dev, struct nccl_props_v7 *props);
	enum nccl_result (*listen)(int dev, void *handle, void **listen_comm);
	enum nccl_result (*connect)(int dev, void *handle, void **send_comm,
				    struct nccl_device_handle **device);
	nccl_accept_fn accept;
	enum nccl_result (*reg)(void *comm, void *data, int size, int type, void **mhandle);
	nccl_dmabuf_fn reg_dmabuf;
	enum nccl_result (*dereg)(void *comm, void *mhandle);
	enum nccl_result (*isend)(void *send_comm, void *data, int size, int tag, void *mhandle,
				  void **request);
	enum nccl_result (*irecv)(void *recv_comm, int n, void **data, int *sizes, int *tags,
				  void **mhandles, void **request);
	nccl_flush_fn iflush;
	enum nccl_result (*test)(void *request, int *done, int *sizes);
	enum nccl_result (*close_send)(void *send_comm);
	enum nccl_result (*close_recv)(void *recv_comm);
	enum nccl_result (*close_listen)(void *listen_comm);
	enum nccl_result (*device_mr)(void *comm, void *mhandle, void **device_mhandle);
	enum nccl_result (*consumed)(void *recv_comm, int n, void *request);
};

/* v7 with regMr(size_t). */
struct nccl_net_v8 {
	const char *name;
	enum nccl_result (*init)(nccl_logger logger);
	enum nccl_result (*devices)(int *count);
	enum nccl_result (*properties)(int dev, struct nccl_props_v8 *props);
	enum nccl_result (*listen)(int dev, void *handle, void **listen_comm);
	enum nccl_result (*connect)(int dev, void *handle, void **send_comm,
				    struct nccl_device_handle **device);
	nccl_accept_fn accept;
	enum nccl_result (*reg)(void *comm, void *data, size_t size, int type, void **mhandle);
	nccl_dmabuf_fn reg_dmabuf;
	enum nccl_result (*dereg)(void *comm, void *mhandle);
	enum nccl_result (*isend)(void *send_comm, void *data, int size, int tag, void *mhandle,
				  void **request);
	enum nccl_result (*irecv)(void *recv_comm, int n, void **data, int *sizes, int *tags,
				  void **mhandles, void **request);
	nccl_flush_fn iflush;
	enum nccl_result (*test)(void *request, int *done, int *sizes);
	enum nccl_result (*close_send)(void *send_comm);
	enum nccl_result (*close_recv)(void *recv_comm);
	enum nccl_result (*close_listen)(void *listen_comm);
	enum nccl_result (*device_mr)(void *comm, void *mhandle, void **device_mhandle);
	enum nccl_result (*consumed)(void *recv_comm, int n, void *request);
};

/* Sizes of isend() and irecv() are size_t from here on; those of iflush() and test() stay int. */
struct nccl_net_v9 {
	const char *name;
	enum nccl_result (*init)(nccl_logger logger);
	enum nccl_result (*devices)(int *count);
	enum nccl_result (*properties)(int dev, struct nccl_props_v9 *props);
	enum nccl_result (*listen)(int dev, void *handle, void **listen_comm);
	enum nccl_result (*connect)(int dev, void *handle, void **send_comm,
				    struct nccl_device_handle **device);
	nccl_accept_fn accept;
	enum nccl_result (*reg)(void *comm, void *data, size_t size, int type, void **mhandle);
	nccl_dmabuf_fn reg_dmabuf;
	enum nccl_result (*dereg)(void *comm, void *mhandle);
	enum nccl_result (*isend)(void *send_comm, void *data, size_t size, int tag,
				  void *mhandle, void **request);
	enum nccl_result (*irecv)(void *recv_comm, int n, void **data, size_t *sizes, int *tags,
				  void **mhandles, void **request);
	nccl_flush_fn iflush;
	enum nccl_result (*test)(void *request, int *done, int *sizes);
	enum nccl_result (*close_send)(void *send_comm);
	enum nccl_result (*close_recv)(void *recv_comm);
	enum nccl_result (*close_listen)(void *listen_comm);
	enum nccl_result (*device_mr)(void *comm, void *mhandle, void **device_mhandle);
	enum nccl_result (*consumed)(void *recv_comm, int n, void *request);
	enum nccl_result (*make_vdevice)(int *dev, struct nccl_vdevs_v9 *vdevs);
};

struct nccl_net_v10 {
	const char *name;
	enum nccl_result (*init)(nccl_logger logger, nccl_profiler profiler);
	enum nccl_result (*devices)(int *count);
	enum nccl_result (*properties)(int dev, struct nccl_props_v9 *props);
	enum nccl_result (*listen)(int dev, void *handle, void **listen_comm);
	enum nccl_result (*connect)(int dev, struct nccl_comm_config *config, void *handle,
				    void **send_comm, struct nccl_device_handle **device);
	nccl_accept_fn accept;
	enum nccl_result (*reg)(void *comm, void *data, size_t size, int type, void **mhandle);
	nccl_dmabuf_fn reg_dmabuf;
	enum nccl_result (*dereg)(void *comm, void *mhandle);
	enum nccl_result (*isend)(void *send_comm, void *data, size_t size, int tag,
				  void *mhandle, void *event, void **request);
	enum nccl_result (*irecv)(void *recv_comm, int n, void **data, size_t *sizes, int *tags,
				  void **mhandles, void **events, void **request);
	nccl_flush_fn iflush;
	enum nccl_result (*test)(void *request, int *done, int *sizes);
	enum nccl_result (*close_send)(void *send_comm);
	enum nccl_result (*close_recv)(void *recv_comm);
	enum nccl_result (*close_listen)(void *listen_comm);
	enum nccl_result (*device_mr)(void *comm, void *mhandle, void **device_mhandle);
	enum nccl_result (*consumed)(void *recv_comm, int n, void *request);
	enum nccl_result (*make_vdevice)(int *dev, struct nccl_vdevs_v9 *vdevs);
};

struct nccl_net_v11 {
	const char *name;
	enum nccl_result (*init)(void **ctx, uint64_t comm_id, struct nccl_comm_config *config,
				 nccl_logger logger, nccl_profiler profiler);
	enum nccl_result (*devices)(int *count);
	enum nccl_result (*properties)(int dev, struct nccl_props_v11 *props);
	enum nccl_result (*listen)(void *ctx, int dev, void *handle, void **listen_comm);
	enum nccl_result (*connect)(void *ctx, int dev, void *handle, void **send_comm,
				    struct nccl_device_handle **device);
	nccl_accept_fn accept;
	enum nccl_result (*reg)(void *comm, void *data, size_t size, int type, void **mhandle);
	nccl_dmabuf_fn reg_dmabuf;
	enum nccl_result (*dereg)(void *comm, void *mhandle);
	enum nccl_result (*isend)(void *send_comm, void *data, size_t size, int tag,
				  void *mhandle, void *event, void **request);
	enum nccl_result (*irecv)(void *recv_comm, int n, void **data, size_t *sizes, int *tags,
				  void **mhandles, void **events, void **request);
	nccl_flush_fn iflush;
	enum nccl_result (*test)(void *request, int *done, int *sizes);
	enum nccl_result (*close_send)(void *send_comm);
	enum nccl_result (*close_recv)(void *recv_comm);
	enum nccl_result (*close_listen)(void *listen_comm);
	enum nccl_result (*device_mr)(void *comm, void *mhandle, void **device_mhandle);
	enum nccl_result (*consumed)(void *recv_comm, int n, void *request);
	enum nccl_result (*make_vdevice)(int *dev, struct nccl_vdevs_v9 *vdevs);
	enum nccl_result (*finalize)(void *ctx);
	enum nccl_result (*set_attr)(void *ctx, struct nccl_net_attr *attr);
};

/* v11 with more properties and wider virtual devices. */
struct nccl_net_v12 {
	const char *name;
	enum nccl_result (*init)(void **ctx, uint64_t comm_id, struct nccl_comm_config *config,
				 nccl_logger logger, nccl_profiler profiler);
	enum nccl_result (*devices)(int *count);
	enum nccl_result (*properties)(int dev, struct nccl_props_v12 *props);
	enum nccl_result (*listen)(void *ctx, int dev, void *handle, void **listen_comm);
	enum nccl_result (*connect)(void *ctx, int dev, void *handle, void **send_comm,
				    struct nccl_device_handle **device);
	nccl_accept_fn accept;
	enum nccl_result (*reg)(void *comm, void *data, size_t size, int type, void **mhandle);
	nccl_dmabuf_fn reg_dmabuf;
	enum nccl_result (*dereg)(void *comm, void *mhandle);
	enum nccl_result (*isend)(void *send_comm, void *data, size_t size, int tag,
				  void *mhandle, void *event, void **request);
	enum nccl_result (*irecv)(void *recv_comm, int n, void **data, size_t *sizes, int *tags,
				  void **mhandles, void **events, void **request);
	nccl_flush_fn iflush;
	enum nccl_result (*test)(void *request, int *done, int *sizes);
	enum nccl_result (*close_send)(void *send_comm);
	enum nccl_result (*close_recv)(void *recv_comm);
	enum nccl_result (*close_listen)(void *listen_comm);
	enum nccl_result (*device_mr)(void *comm, void *mhandle, void **device_mhandle);
	enum nccl_result (*consumed)(void *recv_comm, int n, void *request);
	enum nccl_result (*make_vdevice)(int *dev, struct nccl_vdevs_v12 *vdevs);
	enum nccl_result (*finalize)(void *ctx);
	enum nccl_result (*set_attr)(void *ctx, struct nccl_net_attr *attr);
};

/* ---- sizes and offsets on 64-bit systems, which such plugins are built for -------------- */

#define NCCL_SIZE(type, bytes) \
	_Static_assert(sizeof(struct type) == (bytes), #type " has " #bytes " bytes")
#define NCCL_AT(type, field, bytes) \
	_Static_assert(offsetof(struct type, field) == (bytes), #type "." #field " at " #bytes)

NCCL_SIZE(nccl_device_handle, 32);
NCCL_AT(nccl_device_handle, handle, 8);
NCCL_AT(nccl_device_handle, needs_proxy_progress, 24);
NCCL_SIZE(nccl_unpack_frag, 16);
NCCL_AT(nccl_unpack_frag, dst_off, 8);
NCCL_SIZE(nccl_unpack_meta, 524416);
NCCL_AT(nccl_unpack_meta, cnt, 524288);
NCCL_SIZE(nccl_unpack_device, 24);
NCCL_AT(nccl_unpack_device, bounce_buf, 8);
NCCL_AT(nccl_unpack_device, head, 16);

NCCL_SIZE(nccl_props_v6, 48);
NCCL_AT(nccl_props_v6, ptr_support, 24);
NCCL_AT(nccl_props_v6, max_recvs, 44);
NCCL_SIZE(nccl_props_v7, 56);
NCCL_AT(nccl_props_v7, ptr_support, 24);
NCCL_AT(nccl_props_v7, speed, 28);
NCCL_AT(nccl_props_v7, latency, 36);
NCCL_AT(nccl_props_v7, max_recvs, 44);
NCCL_AT(nccl_props_v7, device_type, 48);
NCCL_AT(nccl_props_v7, device_version, 52);
NCCL_SIZE(nccl_props_v8, 64);
NCCL_AT(nccl_props_v8, speed, 32);
NCCL_AT(nccl_props_v8, device_type, 52);
NCCL_SIZE(nccl_props_v9, 104);
NCCL_AT(nccl_props_v9, speed, 36);
NCCL_AT(nccl_props_v9, device_type, 56);
NCCL_AT(nccl_props_v9, vdevs, 64);
NCCL_AT(nccl_props_v9, max_p2p_bytes, 88);
NCCL_SIZE(nccl_props_v11, 112);
NCCL_AT(nccl_props_v11, max_multi_request, 104);
NCCL_SIZE(nccl_props_v12, 128);
NCCL_AT(nccl_props_v12, max_p2p_bytes, 104);
NCCL_AT(nccl_props_v12, max_multi_request, 120);
NCCL_AT(nccl_props_v12, plane_id, 126);

NCCL_SIZE(nccl_net_v6, 136);
NCCL_AT(nccl_net_v6, test, 104);
NCCL_AT(nccl_net_v6, close_listen, 128);
NCCL_SIZE(nccl_net_v7, 152);
NCCL_AT(nccl_net_v7, reg, 56);
NCCL_AT(nccl_net_v7, isend, 80);
NCCL_AT(nccl_net_v7, test, 104);
NCCL_AT(nccl_net_v7, consumed, 144);
NCCL_SIZE(nccl_net_v8, 152);
NCCL_AT(nccl_net_v8, consumed, 144);
NCCL_SIZE(nccl_net_v9, 160);
NCCL_AT(nccl_net_v9, consumed, 144);
NCCL_AT(nccl_net_v9, make_vdevice, 152);
NCCL_SIZE(nccl_net_v10, 160);
NCCL_AT(nccl_net_v10, make_vdevice, 152);
NCCL_SIZE(nccl_net_v11, 176);
NCCL_AT(nccl_net_v11, finalize, 160);
NCCL_AT(nccl_net_v11, set_attr, 168);
NCCL_SIZE(nccl_net_v12, 176);
NCCL_AT(nccl_net_v12, set_attr, 168);
NCCL_SIZE(nccl_net_attr, 44);

#endif
