/* SPDX-License-Identifier: Apache-2.0 */
/* How much host memory may still be taken. */
#ifndef TOOL_PERF_FREE_H
#define TOOL_PERF_FREE_H

#include <stdint.h>

/* Bytes that the machine and our container both have left; 0: unknown. */
uint64_t perf_free_bytes(void);
/* The same with files below @root, "" for the machine's own. */
uint64_t perf_free_bytes_at(const char *root);

#endif
