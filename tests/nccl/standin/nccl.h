/* SPDX-License-Identifier: Apache-2.0 */
/* What NCCL's plugin headers need of its generated nccl.h, which needs CUDA's. */
#ifndef NCCL_H_
#define NCCL_H_

#include <stddef.h>

/* enums there, of the same size */
typedef int ncclResult_t, ncclDataType_t, ncclRedOp_t;

#endif
