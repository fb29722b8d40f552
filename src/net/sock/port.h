/* SPDX-License-Identifier: Apache-2.0 */
/* The accepting side of channel set-up; the contracts are in net.h. */
#ifndef NET_SOCK_PORT_H
#define NET_SOCK_PORT_H

#include <pthread.h>

#include "net/net.h"
#include "net/sock/poller.h"
#include "net/sock/wire.h"

#define TCPX_SOCK_PENDING 256 /* most unidentified connections of a NIC */

/* A pending connection: it has five seconds to send its preamble. */
struct tcpx_sock_pending {
	int fd;
	uint32_t got; /* bytes of it */
	uint64_t deadline_ns;
	struct tcpx_addr from;
	uint8_t bytes[TCPX_SOCK_PREAMBLE_BYTES + 1]; /* one more byte shows a sender of too many */
};

struct tcpx_sock_port {
	struct tcpx_net *net;
	const struct tcpx_nic *nic;
	pthread_mutex_t lock; /* guards everything below, and the listeners in the list */
	int fd;               /* -1 until the first channel is expected */
	int set;              /* epoll: fd and the pending ones, so that a look costs one call */
	struct tcpx_sock_inner inner;
	struct tcpx_poller *poller; /* watches the set; NULL: none does */
	uint64_t rest_until_ns; /* without descriptors: fd is not looked at; 0: it is */
	uint64_t stepped_ns, swept_ns;
	int spare;            /* closed for a moment when no descriptor is left */
	struct tcpx_addr addr;
	struct tcpx_chan_listener *expected;
	struct tcpx_sock_pending *pending;
	uint32_t pending_count, room;
	uint64_t refused;      /* connections, ever */
	uint64_t refused_logged; /* of these, in the log */
	uint64_t logged_ns;
};

struct tcpx_chan_listener {
	struct tcpx_chan_listener *next;
	struct tcpx_sock_port *port;
	struct tcpx_chan_id id;
	int fd;    /* the identified connection; -1 before it came and after it was taken */
	bool used; /* a token is good once */
	void *owner; /* who hears of its connection; NULL: nobody */
};

int tcpx_sock_ports_open(struct tcpx_net *net);
void tcpx_sock_ports_close(struct tcpx_net *net);
int tcpx_sock_chan_listen(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
			  uint8_t handle[TCPX_HANDLE_BYTES], struct tcpx_chan_listener **cl);
int tcpx_sock_chan_accept(struct tcpx_chan_listener *cl, bool sending,
			  struct tcpx_chan **chan);
int tcpx_sock_chan_listener_watch(struct tcpx_chan_listener *cl, struct tcpx_poller *poller,
				  void *owner);
void tcpx_sock_chan_listener_close(struct tcpx_chan_listener *cl);

#endif
