/* SPDX-License-Identifier: Apache-2.0 */
/* The payload of the message being sent that the socket has not taken yet. */
#ifndef NET_SOCK_PAYLOAD_H
#define NET_SOCK_PAYLOAD_H

#include "net/net.h"

#define TCPX_SOCK_IOV            128 /* most pieces of one system call */

/* The first unsent pieces of m's payload, or filler when m is abandoned. */
int tcpx_sock_payload(const struct tcpx_tx_msg *m, struct iovec *v, int max, size_t *bytes);

/* Removes that many bytes from the front of m's pieces. */
void tcpx_sock_payload_use(struct tcpx_tx_msg *m, size_t bytes);

#endif
