/* SPDX-License-Identifier: Apache-2.0 */
/* ncclNetPlugin_v11: contexts. */
#define V 11
#include "nccl/table.h"
