/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a comm, which is a connection of a NCCL net plugin: queued, tested, and received
 * ones given back. The thread that drives the comm makes every call.
 */
#ifndef NET_PLUGIN_REQ_H
#define NET_PLUGIN_REQ_H

#include <stdint.h>

#include "base/err.h"

struct plug_comm;
struct plug_frag;
struct plug_request;

/* Queues a message; plug_recv() takes one of at most @room bytes. mem lies in the memory that was
 * registered as mhandle. -EAGAIN: the plugin takes no more messages now, or the connection is not
 * up yet. Any other error of the plugin breaks the comm, and every later call returns the same
 * code: TCPX_ECHANNEL (system or remote error), -EPROTO (internal error), -EIO (CUDA error),
 * -EINVAL (invalid argument or use). *req names the message in the calls below. */
TCPX_MUST_CHECK int plug_send(struct plug_comm *c, const void *mem, uint32_t len, int tag,
			      void *mhandle, struct plug_request **req);
TCPX_MUST_CHECK int plug_recv(struct plug_comm *c, void *mem, uint32_t room, int tag,
			      void *mhandle, struct plug_request **req);
/*
 * plug_test - drive the comm and test its oldest request that is not done
 * Return: 0: done. *len is its size; where the caller has to unpack, the sum of its fragments,
 * which fit the room. A send's request is gone; a receive's stays until plug_consumed(). GPU
 * memory that an ordinary plugin wrote has been flushed. -EAGAIN: not done. -EINVAL (logged): not
 * the oldest. Else the code that broke the comm.
 */
TCPX_MUST_CHECK int plug_test(struct plug_comm *c, struct plug_request *req, uint32_t *len);
/* The fragments of a done receive, in the order of the plugin's list. They are checked to cover
 * each byte of [0, len) exactly once. TCPX_EFRAME. frag has PLUG_FRAGS_MAX places. */
TCPX_MUST_CHECK int plug_frags(struct plug_comm *c, const struct plug_request *req,
			       struct plug_frag *frag, uint32_t *count);
/* Gives a done receive back to the plugin: in the order of posting, after the last read of its
 * fragments. The NIC may write to their pages at once. -EINVAL (logged): not the oldest done
 * receive. */
TCPX_MUST_CHECK int plug_consumed(struct plug_comm *c, struct plug_request *req);

#endif
