/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin: what all versions of NCCL's table call, in the shape of the newest. The n-th isend()
 * of a send comm meets the n-th irecv() of its receive comm; tags are not read.
 */
#ifndef NCCL_PLUG_H
#define NCCL_PLUG_H

#include <pthread.h>
#include <stddef.h>

#include "nccl/device.h"
#include "nccl/pipe.h"
#include "nccl/region.h"

struct comm;

/* What there is of this plugin in the process. */
struct plug {
	pthread_mutex_t lock;
	unsigned users;         /* communicators, from v11 on                          */
	nccl_logger logger;     /* of the last that began                              */
	struct device *device;  /* made once                                           */
	size_t device_count;
	struct hub *hub;        /* from the first listen() or connect() on              */
	struct comm *dialing;   /* send comms that NCCL does not have yet               */
	struct regions regions;
};

/* @table: the version of the table that NCCL calls by. */
enum nccl_result tcpx_nccl_init(nccl_logger logger, int table);
/* Of one communicator. Up to v10 nobody calls it. */
enum nccl_result tcpx_nccl_finalize(void *ctx);
/* A communicator by its number, as NCCL's log has it (0: not known), and its trafficClass, which has no
 * other meaning for NCCL: the weight of its connections. @config may be NULL. */
struct communicator tcpx_nccl_communicator(uint64_t comm_id, const struct nccl_comm_config *config);
/* The same as a context, which is never NULL, and back. */
void *tcpx_nccl_context(struct communicator c);
struct communicator tcpx_nccl_of_context(const void *ctx);
enum nccl_result tcpx_nccl_devices(int *count);
enum nccl_result tcpx_nccl_properties(int dev, struct nccl_props_v12 *props);

/* The plugin with a hub; NULL: there is none, and a line in the log says why. */
struct plug *tcpx_nccl_plug(void);
/* A code of ours as a result. */
enum nccl_result tcpx_nccl_result(int code);

#endif
