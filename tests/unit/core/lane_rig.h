/* SPDX-License-Identifier: Apache-2.0 */
/* A lane from anna to bert, what is posted on it, and memory at both ends. */
#ifndef UNIT_CORE_LANE_RIG_H
#define UNIT_CORE_LANE_RIG_H

#include "rig.h"

struct session;

#define MIB (1u << 20)

struct pipe {
	struct rig rig;
	tcpx_lane *tx, *rx;
};

/* Two engines with @room bytes of memory each, and a lane that is ready. */
void pipe_begin(struct pipe *p, const char *const *sender, const char *const *receiver, size_t room);
void pipe_end(struct pipe *p);
/* Another lane, where both ends are closed. */
void pipe_open(struct pipe *p);
void close_tx(struct pipe *p);
void close_rx(struct pipe *p);
/* Until the lane is ready, or has failed with @code. */
void wait_ready(tcpx_lane *l, int code);
tcpx_xfer *post_send(struct pipe *p, size_t off, size_t len);
tcpx_xfer *post_recv(struct pipe *p, size_t off, size_t len);
void end_with(tcpx_xfer *x, int code);

/* Bert's session, in which the lane has come. No reference. */
struct session *session_of(struct pipe *p);
/* Until anna has that much credit. */
void wait_credit(struct pipe *p, uint64_t bytes);
/* Until bert has that many bytes of credit in use. */
void wait_kept(struct pipe *p, uint64_t bytes);

/* cmocka set-up and teardown, with PIPE_ROOM bytes. */
#define PIPE_ROOM (8 * MIB)
int pipe_setup(void **state);
int pipe_teardown(void **state);

#endif
