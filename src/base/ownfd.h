/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets of this process alone. A forked child closes its copies at once: with a copy open
 * somewhere, the kernel closes no connection when this process is killed, and no peer notices.
 */
#ifndef BASE_OWNFD_H
#define BASE_OWNFD_H

/* A descriptor just made. One of 65536 and more is left to the child. Any thread. */
void tcpx_ownfd_add(int fd);
/* close() of such a descriptor. */
void tcpx_ownfd_close(int fd);

#endif
