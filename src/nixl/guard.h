/* SPDX-License-Identifier: Apache-2.0 */
/* Nothing in NIXL's core catches: no exception may leave a function that it calls. */
#ifndef NIXL_GUARD_H
#define NIXL_GUARD_H

#include <new>

#include "nixl/abi.h"
#include "nixl/codes.h"
#include "nixl/say.h"

/* The status of what @call returns: a code of ours. */
template<class Call> nixlabi::Status
tcpx_nixl_guard(const char *what, Call call) noexcept
{
	try {
		return tcpx_nixl_status(call());
	} catch (const std::bad_alloc &) {
		tcpx_nixl_warn("%s: out of memory", what);
	} catch (...) {
		tcpx_nixl_warn("%s: an unexpected exception", what);
	}
	return nixlabi::BACKEND;
}

#endif
