/* SPDX-License-Identifier: Apache-2.0 */
/* The providers that the library has. An engine finds its own by name. */
#ifndef NET_REGISTRY_H
#define NET_REGISTRY_H

#include "net/net.h"

extern const struct tcpx_net_ops tcpx_net_sock;   /* plain TCP         */
extern const struct tcpx_net_ops tcpx_net_plugin; /* a NCCL net plugin */

/* The provider of that name, "sock" or "tcpx"; NULL: there is none. */
const struct tcpx_net_ops *tcpx_net_find(const char *name);
/* The name of the provider that TCPX_PROVIDER @provider and TCPX_PLUGIN_PATH @plugin mean:
 * "auto" is the plugin if one is named, else plain TCP. */
const char *tcpx_net_name(const char *provider, const char *plugin);
/* How payload is sent, in words: auto, copy, splice, msg_zerocopy; "?" for another value. */
const char *tcpx_lend_name(enum tcpx_lend lend);

#endif
