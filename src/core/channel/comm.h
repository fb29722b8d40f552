/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of a plugin's comm. */
#ifndef CORE_CHANNEL_COMM_H
#define CORE_CHANNEL_COMM_H

#include "core/channel/kind.h"

extern const struct channel_kind tcpx_comm_kind;

#endif
