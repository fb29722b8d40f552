/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-way ordered pipes of messages between processes: all that the plugin asks of the library.
 * The n-th message sent meets the n-th receive. Results are codes of tcpx/err.h; -EAGAIN means
 * "not yet"; nothing waits. A hub may be used by any thread, a pipe by one at a time.
 */
#ifndef NCCL_PIPE_H
#define NCCL_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tcpx/tcpx.h"

#define PIPE_TICKET_BYTES 120
#define PIPE_WHY_BYTES    300

#define PIPE_COMM_ID      (UINT64_MAX >> 8)

/* The one that a pipe belongs to. */
struct communicator {
	uint64_t id;        /* the last 14 digits of its number; 0: not known            */
	uint32_t weight;    /* of its pipes, as of tcpx_lane_weight()                    */
};

struct hub;         /* this process's engine                                       */
struct pipe_listen; /* where peers' pipes arrive                                   */
struct pipe;        /* one end                                                     */

/* The NICs that a hub would use. @count as of tcpx_query_nics(). */
int tcpx_nccl_hub_nics(struct tcpx_nic_info *out, size_t *count);
int tcpx_nccl_hub_open(struct hub **hub);

/* Memory that messages come from and go to, as tcpx_mem_register(). */
int tcpx_nccl_hub_register(struct hub *hub, void *addr, size_t len, uint64_t *region);
void tcpx_nccl_hub_deregister(struct hub *hub, uint64_t region);

/* Fills a ticket by which another process, or this one, sends here, once. */
int tcpx_nccl_pipe_listen(struct hub *hub, struct communicator of,
			  uint8_t ticket[PIPE_TICKET_BYTES], struct pipe_listen **listen);
/* The receiving end, once its sender is there. -EAGAIN: it is not, or was accepted already. */
int tcpx_nccl_pipe_accept(struct pipe_listen *listen, struct pipe **pipe);
void tcpx_nccl_pipe_listen_close(struct pipe_listen *listen);

/* Begins to connect; the sending end. -EINVAL: no ticket. @why as of tcpx_nccl_pipe_test(). */
int tcpx_nccl_pipe_connect(struct hub *hub, struct communicator of,
			   const uint8_t ticket[PIPE_TICKET_BYTES], struct pipe **pipe, char *why);
/* 0 once messages can be posted, -EAGAIN before, or why they never will. */
int tcpx_nccl_pipe_ready(struct pipe *pipe);

/* Posts a message: a send or a receive, by the pipe's end. -ENOBUFS: TCPX_LANE_OPEN are open.
 * TCPX_ERANGE: it leaves its region. */
int tcpx_nccl_pipe_post(struct pipe *pipe, uint64_t region, uint64_t offset, uint64_t len,
			tcpx_xfer **message);
/* 0: the message is whole at its receiver, and *len is the length of a receive. After 0 or a
 * failure it is gone; @why, of PIPE_WHY_BYTES, says why it failed. */
int tcpx_nccl_pipe_test(struct pipe *pipe, tcpx_xfer *message, uint64_t *len, char *why);
/* Ends it. After the return no byte of its memory is read or written. */
void tcpx_nccl_pipe_drop(tcpx_xfer *message);
/* In any state; messages that have not ended fail, and are dropped afterwards. */
void tcpx_nccl_pipe_close(struct pipe *pipe);

bool tcpx_nccl_pipe_sends(const struct pipe *pipe);
/* The other end, for people. */
const char *tcpx_nccl_pipe_peer(const struct pipe *pipe);

#endif
