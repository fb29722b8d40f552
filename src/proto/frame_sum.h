/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of a session that sums (TCPX_CHECKSUM). The length must be trusted before the rest of a
 * frame has come: so bytes 5 to 7 are a sum of the head, and the check at its end is the CRC32C of
 * the whole frame without itself. Frames of the handshake are never summed.
 */
#ifndef PROTO_FRAME_SUM_H
#define PROTO_FRAME_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"

bool tcpx_frame_is_summed(uint8_t type);
/* Sums the frame at @frame, which is whole. */
void tcpx_frame_sum(uint8_t *frame, size_t len);
/* As tcpx_frame_head_read(); and TCPX_EDATA where the head, or the frame if all of it is there, is not
 * as it was sent. */
int tcpx_frame_sum_read(const uint8_t *src, size_t have, struct tcpx_frame_head *out);

#endif
