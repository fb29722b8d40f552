/* SPDX-License-Identifier: Apache-2.0 */
/* A data connection: what its sending and its receiving side share. */
#ifndef NET_SOCK_CHAN_H
#define NET_SOCK_CHAN_H

#include "net/net.h"
#include "net/sock/poller.h"
#include "net/sock/recv.h"
#include "net/sock/send.h"

struct tcpx_chan {
	struct tcpx_net *net;
	int fd;
	bool sending;
	int dead; /* the code that ended it; every call returns it */
	bool closed; /* the peer closed it in order     */
	int lowat; /* SO_RCVLOWAT as set; 0: never */
	uint64_t session;
	uint16_t channel, generation;
	struct tcpx_sock_watch watch;
	struct tcpx_sock_tx tx;
	struct tcpx_sock_rx rx;
};

/* Owns fd from now on, also when it fails. */
int tcpx_sock_chan_new(struct tcpx_net *net, const struct tcpx_chan_id *id, int fd,
		       bool sending, struct tcpx_chan **chan);
/* Every call checks this first: 0, the code that ended it, or TCPX_ESTATE for the wrong
 * direction. */
int tcpx_sock_chan_check(struct tcpx_chan *c, bool sending);
/* The result of a system call that returned n <= 0: -EAGAIN, or the channel is dead. */
int tcpx_sock_chan_io(struct tcpx_chan *c, ssize_t n);
int tcpx_sock_chan_watch(struct tcpx_chan *c, struct tcpx_poller *p, void *owner,
			 unsigned interest);
bool tcpx_sock_chan_closed(const struct tcpx_chan *c);
void tcpx_sock_chan_far(struct tcpx_chan *c, struct tcpx_addr *at);
void tcpx_sock_chan_close(struct tcpx_chan *c);
int tcpx_sock_chan_stats(struct tcpx_chan *c, struct tcpx_channel_info *info);
int tcpx_sock_chan_under_way(struct tcpx_chan *c, struct tcpx_net_way *way);

#endif
