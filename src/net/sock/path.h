/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel knows of a connection's way to the other end. */
#ifndef NET_SOCK_PATH_H
#define NET_SOCK_PATH_H

#include <stdint.h>

/* Are bytes under way that the other end's kernel has not acknowledged, though it takes more? 1, and
 * for how long nothing has come from there; 0; or the system's code. Any thread. */
int tcpx_sock_under_way(int fd, uint64_t *quiet_ns);

#endif
