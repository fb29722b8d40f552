/* SPDX-License-Identifier: Apache-2.0 */
/* The listeners on this host; the contract is in net.h. */
#ifndef NET_SOCK_LISTENS_H
#define NET_SOCK_LISTENS_H

#include "base/addr.h"

int tcpx_sock_listens(const struct tcpx_addr *at);

#endif
