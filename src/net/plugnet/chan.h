/* SPDX-License-Identifier: Apache-2.0 */
/* A channel of the tcpx provider: making it over a comm, closing it. For setup.c and the table. */
#ifndef NET_PLUGNET_CHAN_H
#define NET_PLUGNET_CHAN_H

#include "net/plugnet/plugnet.h"

/* Makes a channel with its slots over @comm and owns the comm; a failure closes it. Enters the
 * GPU itself. */
int tcpx_plugnet_chan_new(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
			  struct plug_comm *comm, bool sending, struct tcpx_chan **chan);
/* The contract is in net.h. */
void tcpx_plugnet_chan_close(struct tcpx_chan *c);

#endif
