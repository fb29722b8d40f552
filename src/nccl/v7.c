/* SPDX-License-Identifier: Apache-2.0 */
/* ncclNetPlugin_v7: device handles, which stay empty here. */
#define V 7
#include "nccl/table.h"
