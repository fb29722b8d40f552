/* SPDX-License-Identifier: Apache-2.0 */
/* The shim's own warnings; what the library has to say, it says itself. */
#ifndef NIXL_SAY_H
#define NIXL_SAY_H

/* One line on standard error, the way of NIXL's own log. */
void tcpx_nixl_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
