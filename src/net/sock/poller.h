/* SPDX-License-Identifier: Apache-2.0 */
/* What a loop sleeps in, and what is watched there. */
#ifndef NET_SOCK_POLLER_H
#define NET_SOCK_POLLER_H

#include "net/net.h"

/* One fd in a poller. */
struct tcpx_sock_watch {
	struct tcpx_poller *poller; /* NULL: not watched */
	void *owner;
	unsigned interest;
};

/* What the provider itself watches: ready() runs within the wait. */
struct tcpx_sock_inner {
	void (*ready)(struct tcpx_sock_inner *inner);
};

int tcpx_sock_poller_open(struct tcpx_net *net, struct tcpx_poller **poller);
void tcpx_sock_poller_close(struct tcpx_poller *p);
int tcpx_sock_poller_wait(struct tcpx_poller *p, struct tcpx_net_event *events, int max,
			  int64_t timeout_ns);
void tcpx_sock_poller_wake(struct tcpx_poller *p);
int tcpx_sock_poller_watch_fd(struct tcpx_poller *p, int fd, void *owner);
/* Of an fd that only one poller watches; taken out by closing it, or by the third. The second reports
 * each change once: what is ready and not used up keeps nobody awake. */
int tcpx_sock_poller_inner(struct tcpx_poller *p, int fd, struct tcpx_sock_inner *inner);
int tcpx_sock_poller_edges(struct tcpx_poller *p, int fd, void *owner);
void tcpx_sock_poller_drop(struct tcpx_poller *p, int fd);
/* This watched fd has just received and is likely to receive again. Only the thread that
 * waits in p calls this. */
void tcpx_sock_poller_hot(struct tcpx_poller *p, int fd, const struct tcpx_sock_watch *w);
/* A stream watched here has sent, and its peer may answer at once. From any thread. */
void tcpx_sock_poller_asked(struct tcpx_poller *p);
int tcpx_sock_watch_set(struct tcpx_sock_watch *w, int fd, struct tcpx_poller *p,
			void *owner, unsigned interest);
/* No later wait returns the owner. Call it before close(fd): a forked child may hold the
 * descriptor, too. */
void tcpx_sock_watch_drop(struct tcpx_sock_watch *w, int fd);

#endif
