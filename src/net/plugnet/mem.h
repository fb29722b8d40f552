/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for the channels of a NIC, and entering its GPU: struct tcpx_net_memory of net.h, or
 * host memory without one. */
#ifndef NET_PLUGNET_MEM_H
#define NET_PLUGNET_MEM_H

#include "net/plugnet/plugnet.h"

int tcpx_plugnet_mem_get(const struct tcpx_net *net, const struct tcpx_nic *nic, size_t size,
			 uint8_t **mem);
void tcpx_plugnet_mem_put(const struct tcpx_net *net, const struct tcpx_nic *nic, uint8_t *mem);
/* For set-up only: it may wait for the GPU. */
int tcpx_plugnet_mem_read(const struct tcpx_net *net, const struct tcpx_nic *nic, void *dst,
			  const void *src, size_t len);
int tcpx_plugnet_enter(const struct tcpx_net *net, const struct tcpx_nic *nic);
void tcpx_plugnet_leave(const struct tcpx_net *net, const struct tcpx_nic *nic);

#endif
