/* SPDX-License-Identifier: Apache-2.0 */
/* The peer's frames about channels of an open session. lock held. */
#ifndef CORE_CHANNEL_FRAMES_H
#define CORE_CHANNEL_FRAMES_H

#include <stdint.h>

#include "base/buf.h"

struct session;

/* 0, or TCPX_EPROTO. */
int tcpx_channel_frame(struct session *s, uint8_t type, struct tcpx_buf *payload);

#endif
