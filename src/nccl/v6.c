/* SPDX-License-Identifier: Apache-2.0 */
/* ncclNetPlugin_v6: no device handles, sizes are int. */
#define V 6
#include "nccl/table.h"
