/* SPDX-License-Identifier: Apache-2.0 */
/* Unpredictable bytes: keys, nonces, incarnations. */
#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>

/* Fills @dst from the kernel. 0 or -errno (logged). Any thread. */
int tcpx_random_bytes(void *dst, size_t len) __attribute__((warn_unused_result));

#endif
