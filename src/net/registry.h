/* SPDX-License-Identifier: Apache-2.0 */
/* The providers that the library has. An engine finds its own by name. */
#ifndef NET_REGISTRY_H
#define NET_REGISTRY_H

#include "net/net.h"

extern const struct tcpx_net_ops tcpx_net_sock;   /* plain TCP         */
extern const struct tcpx_net_ops tcpx_net_plugin; /* a NCCL net plugin */

/* The provider of that name, "sock" or "tcpx"; NULL: there is none. */
const struct tcpx_net_ops *tcpx_net_find(const char *name);
/* How payload is sent, in words: auto, copy, splice, msg_zerocopy; "?" for another value. */
const char *tcpx_lend_name(enum tcpx_lend lend);

#endif
