/* SPDX-License-Identifier: Apache-2.0 */
/* How much host memory may still be taken. */
#ifndef MEASURE_PERF_FREE_MEMORY_H
#define MEASURE_PERF_FREE_MEMORY_H

#include <stdint.h>

/* Bytes that the machine and our container both have left; 0: unknown. */
uint64_t perf_free_bytes(void);
/* The same with files below @root, "" for the machine's own. */
uint64_t perf_free_bytes_at(const char *root);

#endif
