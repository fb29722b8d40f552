/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that arrive on the control stream. */
#ifndef CORE_SESSION_RECEIVE_H
#define CORE_SESSION_RECEIVE_H

#include <stdint.h>

#include "core/loop/loop.h"

void tcpx_control_ready(struct source *src, unsigned ready, uint64_t now_ns);

#endif
