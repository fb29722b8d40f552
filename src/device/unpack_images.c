/* SPDX-License-Identifier: Apache-2.0 */
/* Built without nvcc: the driver compiles the kernels and caches the result. */
#include "device/launch.h"

const void *const tcpx_unpack_images[] = { tcpx_unpack_ptx, NULL };
