/* SPDX-License-Identifier: Apache-2.0 */
/* The kind of a plugin's comm, and of channels whose messages land in slots but are in band. */
#ifndef CORE_CHANNEL_COMM_H
#define CORE_CHANNEL_COMM_H

#include "core/channel/kind.h"

extern const struct channel_kind tcpx_comm_kind;
/* Headers and acknowledgements in band, no send slots: no provider of the library. */
extern const struct channel_kind tcpx_landing_kind;

#endif
