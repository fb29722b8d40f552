/* SPDX-License-Identifier: Apache-2.0 */
/* ncclNetPlugin_v12: as v11, with wider properties. */
#define V 12
#include "nccl/table.h"
