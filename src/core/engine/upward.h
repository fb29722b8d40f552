/* SPDX-License-Identifier: Apache-2.0 */
/* Every call from a room of the core to one above it. */
#ifndef CORE_ENGINE_UPWARD_H
#define CORE_ENGINE_UPWARD_H

#include "core/context/context.h"

extern const struct upward tcpx_upward;

#endif
