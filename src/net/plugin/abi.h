/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One version of the plugin interface as a table of functions that all versions share. v6.c to
 * v12.c define one each. The first argument is the table that the library exports; only the
 * wrappers of its own version read it.
 */
#ifndef NET_PLUGIN_ABI_H
#define NET_PLUGIN_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/plugin/nccl_net.h"

/* A function in the table, by its NCCL name. */
struct plug_need {
	const char *name;
	size_t offset;
	bool required;
};

/* The properties of a device that are used here; those that a version lacks are as NCCL sets
 * them. */
struct plug_facts {
	const char *name;     /* the plugin's, may be NULL                            */
	const char *pci_path; /* likewise                                             */
	int ptr_support, speed, max_recvs;
	enum nccl_device_type device_type;
	int device_version;
	uint64_t size_max;    /* of one isend() or irecv(); 0 unknown                 */
};

struct plug_abi {
	int version;
	const char *symbol;
	const struct plug_need *need;
	size_t need_count;
	uint64_t reg_max;   /* largest regMr()                                        */
	uint32_t requests;  /* that a comm of this version takes at once             */

	const char *(*name)(const void *table);
	/* ctx stays NULL before v11. */
	enum nccl_result (*init)(const void *table, void **ctx, nccl_logger logger,
				 nccl_profiler profiler);
	/* NULL before v11. */
	enum nccl_result (*finalize)(const void *table, void *ctx);
	enum nccl_result (*devices)(const void *table, int *count);
	enum nccl_result (*properties)(const void *table, int dev, struct plug_facts *facts);
	enum nccl_result (*listen)(const void *table, void *ctx, int dev, void *handle,
				   void **listen_comm);
	enum nccl_result (*connect)(const void *table, void *ctx, int dev, void *handle,
				    void **send_comm);
	/* *device NULL: no unpacking is wanted. */
	enum nccl_result (*accept)(const void *table, void *listen_comm, void **recv_comm,
				   struct nccl_device_handle **device);
	enum nccl_result (*reg)(const void *table, void *comm, void *data, size_t size, int type,
				void **mhandle);
	enum nccl_result (*dereg)(const void *table, void *comm, void *mhandle);
	enum nccl_result (*isend)(const void *table, void *comm, void *data, size_t size, int tag,
				  void *mhandle, void **request);
	/* A group of one. */
	enum nccl_result (*irecv)(const void *table, void *comm, void *data, size_t size, int tag,
				  void *mhandle, void **request);
	/* *request NULL afterwards: there is nothing to flush. */
	enum nccl_result (*iflush)(const void *table, void *comm, void *data, int size,
				   void *mhandle, void **request);
	bool (*flushes)(const void *table);
	enum nccl_result (*test)(const void *table, void *request, int *done, int *size);
	/* Does nothing before v7, and where a plugin has no irecvConsumed(). */
	enum nccl_result (*consumed)(const void *table, void *comm, void *request);
	bool (*consumes)(const void *table);
	enum nccl_result (*close_send)(const void *table, void *comm);
	enum nccl_result (*close_recv)(const void *table, void *comm);
	enum nccl_result (*close_listen)(const void *table, void *comm);
};

extern const struct plug_abi plug_abi_v6, plug_abi_v7, plug_abi_v8, plug_abi_v9, plug_abi_v10,
	plug_abi_v11, plug_abi_v12;

#endif
