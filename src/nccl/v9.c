/* SPDX-License-Identifier: Apache-2.0 */
/* ncclNetPlugin_v9: messages of any size. */
#define V 9
#include "nccl/table.h"
