/* SPDX-License-Identifier: Apache-2.0 */
/* NIXL's code for each of ours. */
#ifndef NIXL_CODES_H
#define NIXL_CODES_H

#include "nixl/abi.h"

nixlabi::Status tcpx_nixl_status(int code);

#endif
