/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the tcpx provider: channels over a NCCL net plugin. A channel is one comm; its
 * headers and acknowledgements travel by control frames. Control streams are those of the
 * sock provider, and a poller wraps one of its: a comm has no fd, it is looked at only while
 * something of it is outstanding. Whoever runs a poller makes every call on its channels.
 */
#ifndef NET_TCPX_H
#define NET_TCPX_H

#include <stdatomic.h>

#include "base/chain.h"
#include "net/net.h"
#include "net/plug.h"

#define PLUGNET_WINDOW      PLUG_REQUESTS /* messages in flight a channel                  */
#define PLUGNET_CHUNK       (512u << 10)  /* where neither side says one                   */
/* Half of a receive's fragment list, should every page be full: the rest is for odd cuts. */
#define PLUGNET_CHUNK_MAX   (PLUG_FRAGS_MAX / 2 * 4096u)
#define PLUGNET_PAGE        4096u
#define PLUGNET_DEADLINE_NS (10 * TCPX_SEC)
#define PLUGNET_NO_DEV      (-1)

struct tcpx_net {
	struct tcpx_net *sock; /* the sock provider's, for control streams and pollers */
	struct plug *plug;
	const struct tcpx_nic *nics; /* borrowed */
	uint32_t nic_count;
	int dev[TCPX_NET_NICS];      /* of the plugin, or PLUGNET_NO_DEV */
	atomic_bool lacks[TCPX_NET_NICS]; /* no device: it has been said */
	const struct tcpx_clock *clock;
	const struct tcpx_net_memory *memory; /* NULL: host memory only */
	uint32_t chunk;  /* bytes of the largest message */
	uint32_t window; /* messages in flight a channel */
	uint64_t deadline_ns;
	char terms[128];
};

struct tcpx_poller {
	struct tcpx_net *net;
	struct tcpx_poller *sock;
	struct tcpx_node busy; /* channels with something to look for or to tell */
	atomic_bool woken;     /* a wake that no wait has answered yet */
	uint64_t moved_ns;     /* when something last did */
	int64_t nap_ns;        /* of the last sleep between looks */
};

/* One expected comm of a receiving channel. */
struct tcpx_chan_listener {
	struct tcpx_net *net;
	int nic;
	struct tcpx_chan_id id;
	struct plug_listen *listen;
	bool used; /* it accepts once */
};

/* What a receiving channel knows of the messages in its window; index: seq % window. */
struct plugnet_rx {
	uint64_t posted;   /* receives given to the plugin, ever           */
	uint64_t headed;   /* newest header told                           */
	uint64_t landed;   /* newest that is here as a whole               */
	uint64_t given;    /* newest handed to the core                    */
	uint64_t released; /* newest given back                            */
	struct tcpx_head head[PLUGNET_WINDOW];
	struct iovec *iov; /* PLUG_FRAGS_MAX for each place in the window  */
	uint32_t iov_count[PLUGNET_WINDOW];
	struct plug_frag *frag; /* PLUG_FRAGS_MAX: one message's, as it lands */
};

struct plugnet_tx {
	uint64_t sent; /* newest message given to the plugin              */
	uint64_t left; /* newest that has left: the plugin is through     */
	bool refused;  /* the plugin did not take one though it has room */
};

struct tcpx_chan {
	struct tcpx_net *net;
	struct plug_comm *comm;
	const struct tcpx_nic *nic;
	uint16_t channel, generation;
	bool sending;
	int dead;          /* the code that ended it, then given to every call */
	struct tcpx_poller *poller; /* NULL: not watched yet */
	struct tcpx_node in_busy;
	void *owner;
	unsigned interest;
	/* One registration of whole slots. A sender has two windows of them: the peer may
	 * acknowledge a message before the plugin here says that it has left, and what is
	 * acknowledged a window ago has left, because at most a window is with the plugin. */
	uint8_t *mem;
	uint32_t slots, slot_bytes;
	void *mhandle;
	struct plug_request *req[2 * PLUGNET_WINDOW]; /* index: seq % slots */
	uint32_t fresh;    /* requests that the plugin may not have begun: a look each does it */
	uint64_t since_ns; /* the oldest outstanding message is waited for */
	struct plugnet_rx rx;
	struct plugnet_tx tx;
};

/* tcpx_dev.c: fills net->dev. A NIC that the plugin lacks has none: said when it is used. */
void tcpx_plugnet_find_devs(struct tcpx_net *net);
/* The device of a NIC; -EINVAL (logged), -ENODEV (logged once a NIC). */
int tcpx_plugnet_dev(struct tcpx_net *net, int nic, int *dev);

/* tcpx_mem.c: memory of a NIC's channels, and its GPU as the current one. */
int tcpx_plugnet_mem_get(const struct tcpx_net *net, const struct tcpx_nic *nic, size_t size,
			 uint8_t **mem);
void tcpx_plugnet_mem_put(const struct tcpx_net *net, const struct tcpx_nic *nic, uint8_t *mem);
/* Set-up only: it may wait for the GPU. */
int tcpx_plugnet_mem_read(const struct tcpx_net *net, const struct tcpx_nic *nic, void *dst,
			  const void *src, size_t len);
int tcpx_plugnet_enter(const struct tcpx_net *net, const struct tcpx_nic *nic);
void tcpx_plugnet_leave(const struct tcpx_net *net, const struct tcpx_nic *nic);

/* tcpx_ctrl.c: the sock provider's, passed on. */
int tcpx_plugnet_listen(struct tcpx_net *net, const struct tcpx_addr *addr,
			struct tcpx_addr *bound, struct tcpx_listener **listener);
int tcpx_plugnet_listener_watch(struct tcpx_listener *l, struct tcpx_poller *p, void *owner);
int tcpx_plugnet_accept(struct tcpx_listener *l, struct tcpx_stream **stream,
			struct tcpx_addr *from);
void tcpx_plugnet_listener_close(struct tcpx_listener *l);
int tcpx_plugnet_connect(struct tcpx_net *net, int nic, const struct tcpx_addr *to,
			 struct tcpx_stream **stream);
int tcpx_plugnet_stream_watch(struct tcpx_stream *s, struct tcpx_poller *p, void *owner,
			      unsigned interest);
ssize_t tcpx_plugnet_stream_send(struct tcpx_stream *s, const void *data, size_t len);
ssize_t tcpx_plugnet_stream_recv(struct tcpx_stream *s, void *data, size_t len);
int tcpx_plugnet_stream_up(struct tcpx_stream *s);
void tcpx_plugnet_stream_close(struct tcpx_stream *s);

/* tcpx_poller.c */
int tcpx_plugnet_poller_open(struct tcpx_net *net, struct tcpx_poller **poller);
void tcpx_plugnet_poller_close(struct tcpx_poller *p);
int tcpx_plugnet_poller_wait(struct tcpx_poller *p, struct tcpx_event *events, int max,
			     int64_t timeout_ns);
void tcpx_plugnet_poller_wake(struct tcpx_poller *p);
int tcpx_plugnet_poller_watch_fd(struct tcpx_poller *p, int fd, void *owner);
/* Something new to look for: it looks without sleeping for a while. */
void tcpx_plugnet_poller_moved(struct tcpx_poller *p, uint64_t now_ns);

/* tcpx_wire.c: channel set-up */
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

/* tcpx_chan.c: what both directions share */
/* Takes the comm over; after a failure it is closed. The GPU is entered inside. */
int tcpx_plugnet_chan_new(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
			  struct plug_comm *comm, bool sending, struct tcpx_chan **chan);
void tcpx_plugnet_chan_close(struct tcpx_chan *c);
int tcpx_plugnet_chan_watch(struct tcpx_chan *c, struct tcpx_poller *p, void *owner,
			    unsigned interest);
int tcpx_plugnet_chan_stats(struct tcpx_chan *c, struct tcpx_chan_stats *stats);
/* It is dead of this; returns the code. The caller has logged why. */
int tcpx_plugnet_chan_die(struct tcpx_chan *c, int code);
/* Something of it became outstanding. */
void tcpx_plugnet_chan_begin(struct tcpx_chan *c, uint64_t now_ns);
/* Its oldest outstanding message, seq, has been waited for too long: it dies. */
bool tcpx_plugnet_chan_late(struct tcpx_chan *c, uint64_t seq, uint64_t now_ns);
/* Into the poller's list or out of it, as it has become. */
void tcpx_plugnet_chan_mind(struct tcpx_chan *c);
/* Drives the comm; whether a message has landed or left. */
bool tcpx_plugnet_chan_look(struct tcpx_chan *c, uint64_t now_ns);
/* What it has to tell; slept: time has passed since it was last asked. */
unsigned tcpx_plugnet_chan_ready(const struct tcpx_chan *c, bool slept);

/* tcpx_send.c, tcpx_recv.c */
int tcpx_plugnet_chan_send(struct tcpx_chan *c, struct tcpx_tx_msg *m);
void *tcpx_plugnet_chan_slot(struct tcpx_chan *c, uint64_t seq);
int tcpx_plugnet_chan_acked(struct tcpx_chan *c, struct tcpx_ack *ack);
bool tcpx_plugnet_send_look(struct tcpx_chan *c, uint64_t now_ns);
int tcpx_plugnet_chan_head(struct tcpx_chan *c, const struct tcpx_head *head);
int tcpx_plugnet_chan_recv_msg(struct tcpx_chan *c, struct tcpx_landed *msg);
int tcpx_plugnet_chan_release(struct tcpx_chan *c, uint64_t seq);
/* Posts what may be posted. 0, or what killed the channel. */
int tcpx_plugnet_recv_post(struct tcpx_chan *c);
bool tcpx_plugnet_recv_look(struct tcpx_chan *c, uint64_t now_ns);

#endif
