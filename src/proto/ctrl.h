/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbered control stream without a connection under it: frames are numbered as they
 * enter the log, kept until acknowledged, and repeated after a resume; numbers already
 * seen are dropped. Urgent frames (acks, fences, answers) enter the log at once; bulk
 * frames (opens, lists, notes) wait in a queue while the log holds TCPX_CTRL_AHEAD bytes
 * not yet written, so that an urgent frame is never behind a long list.
 */
#ifndef PROTO_CTRL_H
#define PROTO_CTRL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"

#define TCPX_CTRL_AHEAD (32u << 10) /* unsent log bytes above which bulk frames wait   */
#define TCPX_CTRL_LOG   (1u << 20)  /* unacknowledged bytes above which bulk frames wait */
#define TCPX_CTRL_MAX   (4u << 20)  /* ... above which an urgent frame is TCPX_ELIMIT  */
#define TCPX_CTRL_QUEUE (16u << 20) /* bytes of waiting bulk frames: more is TCPX_ELIMIT */
#define TCPX_CTRL_RAW   (64u << 10) /* bytes of unwritten raw frames: more is TCPX_ELIMIT */

struct tcpx_ctrl; /* not thread-safe */

int tcpx_ctrl_new(struct tcpx_ctrl **out);
void tcpx_ctrl_free(struct tcpx_ctrl *c);

/* Adds a numbered frame; the payload is copied. -ENOMEM, TCPX_ELIMIT. */
int tcpx_ctrl_put(struct tcpx_ctrl *c, uint8_t type, const void *payload, size_t len);
/* Adds a bulk frame. *ticket (may be NULL) counts bulk frames from 1. */
int tcpx_ctrl_put_bulk(struct tcpx_ctrl *c, uint8_t type, const void *payload, size_t len,
		       uint64_t *ticket);
/* Adds an unnumbered frame of this connection, written before anything not yet begun. */
int tcpx_ctrl_put_raw(struct tcpx_ctrl *c, uint8_t type, const void *payload, size_t len);
/* All bulk frames up to this ticket are wholly written (to some connection). */
uint64_t tcpx_ctrl_bulk_written(const struct tcpx_ctrl *c);

/*
 * The next bytes to write; 0 if none. *data is borrowed until written(), cut() or the
 * next pending(): whatever is put, taken or acknowledged meanwhile does not move it.
 * written() then says how many of them the connection took; 0 is allowed.
 */
size_t tcpx_ctrl_pending(struct tcpx_ctrl *c, const uint8_t **data);
void tcpx_ctrl_written(struct tcpx_ctrl *c, size_t len);

/* Room for incoming bytes (at least 1 unless frames wait to be taken), then how many came. */
size_t tcpx_ctrl_room(struct tcpx_ctrl *c, uint8_t **data);
void tcpx_ctrl_arrived(struct tcpx_ctrl *c, size_t len);
/*
 * Takes the next frame: *head and *payload (borrowed until the next call of room()).
 * Handles numbers: repeated ones are dropped, ACK frames are used up inside. Until the
 * session stands, numbered frames are handed out too.
 * Return: 1; 0 none complete; TCPX_EPROTO: garbage, or a gap in the numbers.
 */
int tcpx_ctrl_take(struct tcpx_ctrl *c, struct tcpx_frame_head *head, const uint8_t **payload);

/* Highest number received in order. */
uint64_t tcpx_ctrl_received(const struct tcpx_ctrl *c);
/* True when the peer should be told (32 KiB or 64 frames since it was last told); told():
 * an ACK frame has just been put. */
bool tcpx_ctrl_ack_due(const struct tcpx_ctrl *c);
/* True when anything was received since the peer was last told. */
bool tcpx_ctrl_ack_owed(const struct tcpx_ctrl *c);
int tcpx_ctrl_put_ack(struct tcpx_ctrl *c);

/* The connection broke: forget what was read and not taken, half-written frames and raw
 * frames. If the stream had begun, only raw frames are written until resume(). */
void tcpx_ctrl_cut(struct tcpx_ctrl *c);
/* A new connection: the peer has everything up to peer_received; repeat from there on.
 * TCPX_EPROTO when that is below what it acknowledged or above what was written. */
int tcpx_ctrl_resume(struct tcpx_ctrl *c, uint64_t peer_received);
/* Bytes held (log, queue, buffers). */
size_t tcpx_ctrl_memory(const struct tcpx_ctrl *c);

#endif
