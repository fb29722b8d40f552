/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of a plain connection. */
#ifndef CORE_CHANNEL_STREAM_H
#define CORE_CHANNEL_STREAM_H

#include "core/channel/kind.h"

extern const struct channel_kind tcpx_stream_kind;

#endif
