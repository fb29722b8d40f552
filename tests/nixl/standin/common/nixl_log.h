/* SPDX-License-Identifier: Apache-2.0 */
/* Found before NIXL's own, which needs Abseil. Nothing here is ever called. */
#ifndef TESTS_NIXL_LOG_H
#define TESTS_NIXL_LOG_H

#include <iostream>

#define NIXL_ERROR     std::cerr
#define NIXL_WARN      std::cerr
#define NIXL_INFO      std::cerr
#define NIXL_DEBUG     std::cerr
#define NIXL_TRACE     std::cerr
#define NIXL_ASSERT(x) ((void)sizeof(!(x)))

#endif
