/* SPDX-License-Identifier: Apache-2.0 */
/* Comms, their memory and their requests. *comm or *request NULL without an error: not yet. */
#ifndef NCCL_COMM_H
#define NCCL_COMM_H

#include <stddef.h>
#include <stdint.h>

#include "nccl/pipe.h"
#include "net/plugin/nccl_net.h"

struct comm;
struct plug;

enum nccl_result tcpx_nccl_listen(int dev, struct communicator of, void *handle,
				  void **listen_comm);
/* NCCL calls it with the same handle until there is a comm: it keeps its state there. */
enum nccl_result tcpx_nccl_connect(int dev, struct communicator of, void *handle,
				   void **send_comm);
enum nccl_result tcpx_nccl_accept(void *listen_comm, void **recv_comm);
enum nccl_result tcpx_nccl_close_listen(void *listen_comm);
/* A send or a receive comm, in any state: its requests end. */
enum nccl_result tcpx_nccl_close(void *comm);
/* Takes those out that dial and that nobody has asked for since the last call. plug.lock held. */
struct comm *tcpx_nccl_comm_left(struct plug *plug);
void tcpx_nccl_comm_drop_all(struct comm *first);

enum nccl_result tcpx_nccl_reg(void *comm, void *data, size_t size, int type, void **mhandle);
enum nccl_result tcpx_nccl_dereg(void *comm, void *mhandle);

enum nccl_result tcpx_nccl_post(void *comm, void *data, size_t size, void *mhandle, void **request);
/* *size: of the message; it may be NULL. A request that is done is gone. */
enum nccl_result tcpx_nccl_test(void *request, int *done, int *size);

#endif
