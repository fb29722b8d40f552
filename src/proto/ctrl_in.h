/* SPDX-License-Identifier: Apache-2.0 */
/* What comes by a control stream: see proto/ctrl.h. */
#ifndef PROTO_CTRL_IN_H
#define PROTO_CTRL_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"

struct tcpx_ctrl; /* not thread-safe */

/* Frames of more than TCPX_FRAME_MAX bytes may come; before, they are TCPX_EPROTO. 0 or -ENOMEM. */
int tcpx_ctrl_widen(struct tcpx_ctrl *c);
/* room(): space for incoming bytes, at least 1 unless complete frames wait. arrived(): how
 * many bytes came. */
size_t tcpx_ctrl_room(struct tcpx_ctrl *c, uint8_t **data);
void tcpx_ctrl_arrived(struct tcpx_ctrl *c, size_t len);
/*
 * The next complete frame: *head and *payload (borrowed until the next call of room(), also by a cut).
 * Repeated numbers are dropped and ACK frames are handled inside. Before the session is
 * open, numbered frames are returned too.
 * Return: 1; 0 none complete; TCPX_EPROTO: garbage, or a gap in the numbers; TCPX_EDATA (not
 * logged): a summed frame arrived changed, and nothing behind it counts.
 */
int tcpx_ctrl_next(struct tcpx_ctrl *c, struct tcpx_frame_head *head, const uint8_t **payload);

/* Highest number received in order. */
uint64_t tcpx_ctrl_received(const struct tcpx_ctrl *c);
/* An ACK falls due: 256 KiB or 64 frames were received since the last one. */
bool tcpx_ctrl_ack_due(const struct tcpx_ctrl *c);
/* Something was received since the last ACK was put. */
bool tcpx_ctrl_ack_owed(const struct tcpx_ctrl *c);
int tcpx_ctrl_put_ack(struct tcpx_ctrl *c);

#endif
