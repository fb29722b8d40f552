/* SPDX-License-Identifier: Apache-2.0 */
/* Channel set-up of the tcpx provider: operations of its table; the contracts are in net.h. */
#ifndef NET_PLUGNET_SETUP_H
#define NET_PLUGNET_SETUP_H

#include "net/plugnet/plugnet.h"

int tcpx_plugnet_chan_listen(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
			     uint8_t handle[TCPX_HANDLE_BYTES],
			     struct tcpx_chan_listener **cl);
int tcpx_plugnet_chan_accept(struct tcpx_chan_listener *cl, bool sending,
			     struct tcpx_chan **chan);
void tcpx_plugnet_chan_listener_close(struct tcpx_chan_listener *cl);
int tcpx_plugnet_chan_connect(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
			      const uint8_t handle[TCPX_HANDLE_BYTES], bool sending,
			      void **state, struct tcpx_chan **chan);
void tcpx_plugnet_chan_connect_cancel(struct tcpx_net *net, void **state);

#endif
