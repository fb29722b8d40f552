/* SPDX-License-Identifier: Apache-2.0 */
/* ncclNetPlugin_v8: regions of any size. */
#define V 8
#include "nccl/table.h"
