/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbered control stream, without its connection. Frames get a number as they
 * enter the log. The log keeps them until they are acknowledged, and repeats them after
 * a resume. Numbers already received are dropped. Urgent frames (acknowledgements,
 * fences, answers) enter the log at once. Bulk frames (OPEN, LIST, NOTE) wait in a
 * queue while TCPX_CTRL_AHEAD bytes of the log are unwritten, so an urgent frame never
 * stands behind a long list.
 */
#ifndef PROTO_CTRL_H
#define PROTO_CTRL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/quota.h"
#include "proto/ctrl_in.h"
#include "proto/frame.h"

#define TCPX_CTRL_AHEAD (32u << 10) /* unwritten log bytes above which bulk frames wait */
#define TCPX_CTRL_LOG   (1u << 20)  /* unacknowledged bytes above which bulk frames wait */
#define TCPX_CTRL_MAX   (4u << 20)  /* ... above which an urgent frame is TCPX_ELIMIT  */
#define TCPX_CTRL_QUEUE (16u << 20) /* bytes of waiting bulk frames: more is TCPX_ELIMIT */
#define TCPX_CTRL_RAW   (64u << 10) /* bytes of unwritten raw frames: more is TCPX_ELIMIT */

int tcpx_ctrl_new(struct tcpx_ctrl **out);
void tcpx_ctrl_free(struct tcpx_ctrl *c);
/* From now on frames are summed, those that come too, as in proto/frame_sum.h. */
void tcpx_ctrl_sum(struct tcpx_ctrl *c);

/* Adds a numbered frame; the payload is copied. -ENOMEM, TCPX_ELIMIT. */
int tcpx_ctrl_put(struct tcpx_ctrl *c, uint8_t type, const void *payload, size_t len);
/* The same in two steps, for a payload that is written where it belongs: the frame counts once it is
 * committed, and no other is put in between. */
int tcpx_ctrl_begin(struct tcpx_ctrl *c, uint8_t type, size_t len, uint8_t **payload);
void tcpx_ctrl_commit(struct tcpx_ctrl *c, uint8_t type, size_t len);
/* Adds a bulk frame. *ticket (may be NULL) counts bulk frames from 1. */
int tcpx_ctrl_put_bulk(struct tcpx_ctrl *c, uint8_t type, const void *payload, size_t len,
		       uint64_t *ticket);
/* Adds an unnumbered frame of this connection. It is written before any
 * frame not yet begun. */
int tcpx_ctrl_put_raw(struct tcpx_ctrl *c, uint8_t type, const void *payload, size_t len);
/* All bulk frames up to this ticket have been written whole, to some connection. */
uint64_t tcpx_ctrl_bulk_written(const struct tcpx_ctrl *c);

/*
 * The next bytes to write; 0 if none. *data is borrowed until written(), cut() or the next
 * pending(); no other call moves it. written() then reports how many of them the connection
 * took; 0 is allowed.
 */
size_t tcpx_ctrl_pending(struct tcpx_ctrl *c, const uint8_t **data);
void tcpx_ctrl_written(struct tcpx_ctrl *c, size_t len);

/* The peer has everything up to @number: drops it from the log. 0 or TCPX_EPROTO. */
int tcpx_ctrl_acknowledge(struct tcpx_ctrl *c, uint64_t number);
/* The connection broke. Unread bytes, half-written frames and raw frames are dropped. If
 * the stream had begun, only raw frames are written until resume(). */
void tcpx_ctrl_cut(struct tcpx_ctrl *c);
/* A new connection: the peer has everything up to peer_received; the log is repeated from
 * there. TCPX_EPROTO: that is below what the peer acknowledged, or above what was written. */
int tcpx_ctrl_resume(struct tcpx_ctrl *c, uint64_t peer_received);
/* Room for bulk frames of @len bytes together, which are put next. 0; -EAGAIN: not before others have
 * gone, or the quota has room; TCPX_ELIMIT: never; -ENOMEM. None is logged. */
int tcpx_ctrl_bulk_room(struct tcpx_ctrl *c, size_t len);
/* Is there room for a numbered frame of @len bytes that goes ahead of the bulk, as there would be for one
 * of these? Its memory is there then. */
bool tcpx_ctrl_room_now(struct tcpx_ctrl *c, size_t len);
/* Is there memory for a frame of @len bytes, and for short ones behind it? */
bool tcpx_ctrl_carries(struct tcpx_ctrl *c, size_t len);
/* Does so much wait that the peer cannot have read what it could? */
bool tcpx_ctrl_is_unread(const struct tcpx_ctrl *c);
/* Does anything wait to be written? */
bool tcpx_ctrl_waits(const struct tcpx_ctrl *c);
/* Bulk frames may be written. After pending(): and memory was short, which it may find later. */
bool tcpx_ctrl_bulk_due(const struct tcpx_ctrl *c);
/* From now on its queues are charged: a frame above the quota is TCPX_ELIMIT. Before the first
 * frame is put. Borrowed. */
void tcpx_ctrl_charge(struct tcpx_ctrl *c, struct tcpx_quota *quota);
/* Bytes of memory: buffers, and queues that no quota is charged for. */
size_t tcpx_ctrl_memory(const struct tcpx_ctrl *c);

#endif
