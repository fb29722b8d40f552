/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of a GPU driver that the programs use, by its own names. */
#ifndef COMPAT_DRIVER_H
#define COMPAT_DRIVER_H

#include "compat.h"

#define DRIVER_FUNCTIONS(X)                                                                \
	X(cuInit, (unsigned flags))                                                        \
	X(cuDeviceGetCount, (int *count))                                                  \
	X(cuDeviceGetPCIBusId, (char *text, int len, int device))                          \
	X(cuDevicePrimaryCtxRetain, (void **context, int device))                          \
	X(cuCtxPushCurrent_v2, (void *context))                                            \
	X(cuMemAlloc_v2, (uint64_t *addr, size_t len))                                     \
	X(cuMemFree_v2, (uint64_t addr))                                                   \
	X(cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t len))                    \
	X(cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t len))

#define DRIVER_MEMBER(name, params) int (*name) params;

struct driver {
	DRIVER_FUNCTIONS(DRIVER_MEMBER)
};

int driver_load(struct driver *d, char *why, size_t cap);

#endif
