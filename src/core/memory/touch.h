/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The application's host memory, touched by system calls: where it is not mapped, or its file has
 * become shorter, a call fails and no signal is raised.
 */
#ifndef CORE_MEMORY_TOUCH_H
#define CORE_MEMORY_TOUCH_H

#include <stdbool.h>
#include <stddef.h>

#include "device/device.h"

/* Is all of it mapped, whatever it maps? Reads and fills no page; its cost is that of the
 * number of mappings. */
bool tcpx_memory_mapped(const void *addr, size_t len);
/* Copies between @buf and memory of the application: PACK into @buf, UNPACK out of it.
 * 0, or -EFAULT (not logged), a part may have been copied then. */
int tcpx_memory_copy(enum tcpx_flow flow, void *at, void *buf, size_t len);

#endif
