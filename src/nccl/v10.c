/* SPDX-License-Identifier: Apache-2.0 */
/* ncclNetPlugin_v10: a configuration and a profiler, which are not used. */
#define V 10
#include "nccl/table.h"
