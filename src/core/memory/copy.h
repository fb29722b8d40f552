/* SPDX-License-Identifier: Apache-2.0 */
/* Small copies between a list and host memory. */
#ifndef CORE_MEMORY_COPY_H
#define CORE_MEMORY_COPY_H

#include <stdint.h>

#include "core/memory/list.h"

/* Done when the call returns. The caller makes sure that the memory may be touched. At most
 * GPU_SMALL_MAX bytes of GPU memory. */
int tcpx_list_copy_in(const struct tcpx_list *l, const uint8_t *src, uint64_t len);
int tcpx_list_copy_out(const struct tcpx_list *l, uint8_t *dst, uint64_t len);
/* Of a list whose memory could not be touched: the region, and what is wrong with it. */
void tcpx_list_fault(const struct tcpx_list *l, char *text, size_t cap);

#endif
