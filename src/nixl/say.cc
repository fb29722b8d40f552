/* SPDX-License-Identifier: Apache-2.0 */
#include "nixl/say.h"

#include <cstdarg>
#include <cstdio>

void
tcpx_nixl_warn(const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	std::vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	std::fprintf(stderr, "TCPX WARN NIXL %s\n", text);
}
