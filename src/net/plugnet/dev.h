/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin's devices of the NICs. */
#ifndef NET_PLUGNET_DEV_H
#define NET_PLUGNET_DEV_H

#include "net/plugnet/plugnet.h"

/* Fills net->dev. A NIC that the plugin lacks has none, which is logged when it is used.
 * -ENOTSUP (logged): it lacks them all. */
TCPX_MUST_CHECK int tcpx_plugnet_find_devs(struct tcpx_net *net);
/* The device of a NIC; -EINVAL (logged), -ENODEV (logged once a NIC). */
int tcpx_plugnet_dev(struct tcpx_net *net, int nic, int *dev);

#endif
