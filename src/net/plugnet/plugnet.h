/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the tcpx provider share; no other code includes it. The provider moves
 * payload through a NCCL net plugin. A channel is one comm, which is a connection of the plugin;
 * its headers and acknowledgements travel as control frames. Control streams are those of the
 * sock provider, and a poller wraps one of its pollers. A comm has no fd, so it is polled while a
 * message of it is outstanding. The thread that runs a poller makes every call on its channels.
 */
#ifndef NET_PLUGNET_PLUGNET_H
#define NET_PLUGNET_PLUGNET_H

#include <stdatomic.h>

#include "base/chain.h"
#include "net/net.h"
#include "net/plugin/comm.h"
#include "net/plugin/frag.h"
#include "net/plugin/plug.h"
#include "net/plugin/req.h"

#define PLUGNET_WINDOW      PLUG_REQUESTS /* most messages in flight on a channel          */
#define PLUGNET_CHUNK       (512u << 10)  /* where neither side sets one                   */
/* Full pages fill half of the fragment list of a receive; the rest is for smaller fragments. */
#define PLUGNET_CHUNK_MAX   (PLUG_FRAGS_MAX / 2 * 4096u)
#define PLUGNET_PAGE        4096u
#define PLUGNET_DEADLINE_NS (10 * TCPX_SEC)
#define PLUGNET_NO_DEV      (-1)

struct tcpx_net {
	struct tcpx_net *sock; /* the sock provider's, for control streams and pollers */
	struct plug *plug;
	const struct tcpx_nic *nics; /* borrowed */
	uint32_t nic_count;
	int dev[TCPX_NET_NICS];      /* the plugin's device, or PLUGNET_NO_DEV */
	atomic_bool lacks[TCPX_NET_NICS]; /* has no device, which is logged */
	const struct tcpx_clock *clock;
	const struct tcpx_net_memory *memory; /* NULL: host memory only */
	uint32_t chunk;  /* bytes of the largest message */
	uint32_t window; /* messages in flight a channel */
	uint64_t deadline_ns;
};

struct tcpx_poller {
	struct tcpx_net *net;
	struct tcpx_poller *sock;
	struct tcpx_node busy; /* channels with an outstanding message or an event */
	atomic_bool woken;     /* a wake that no wait has answered yet */
	uint64_t moved_ns;     /* when a message last moved */
	int64_t nap_ns;        /* length of the last sleep */
};

/* One expected comm of a receiving channel. */
struct tcpx_chan_listener {
	struct tcpx_net *net;
	int nic;
	struct tcpx_chan_id id;
	struct plug_listen *listen;
	bool used; /* it accepts once */
};

/* The messages in the window of a receiving channel; index: seq % window. */
struct plugnet_rx {
	uint64_t posted;   /* receives given to the plugin, ever           */
	uint64_t headed;   /* newest message whose header has come          */
	uint64_t landed;   /* newest message that has arrived as a whole   */
	uint64_t given;    /* newest returned to the core                  */
	uint64_t released; /* newest released by the core                  */
	struct tcpx_head head[PLUGNET_WINDOW];
	struct iovec *iov; /* PLUG_FRAGS_MAX for each place in the window  */
	uint32_t iov_count[PLUGNET_WINDOW];
	struct plug_frag *frag; /* PLUG_FRAGS_MAX: one message's, as it lands */
};

struct plugnet_tx {
	uint64_t sent; /* newest message given to the plugin              */
	uint64_t left; /* newest that has left: the plugin has completed it */
	bool refused;  /* the plugin refused a message although it has room */
};

struct tcpx_chan {
	struct tcpx_net *net;
	struct plug_comm *comm;
	const struct tcpx_nic *nic;
	uint16_t channel, generation;
	bool sending;
	int dead;          /* the code that ended it; every call returns it   */
	struct tcpx_poller *poller; /* NULL: not watched yet */
	struct tcpx_node in_busy;
	void *owner;
	unsigned interest;
	/* One registration of whole slots. A sender has two windows of them: the peer may
	 * acknowledge a message before the plugin here completes it. A message that was
	 * acknowledged a window ago has completed, since the plugin holds at most a window. */
	uint8_t *mem;
	uint32_t slots, slot_bytes;
	void *mhandle;
	struct plug_request *req[2 * PLUGNET_WINDOW]; /* index: seq % slots */
	uint32_t fresh;    /* requests that the plugin may not have begun: one test each begins them */
	uint64_t since_ns; /* when the wait for the oldest outstanding message began */
	struct plugnet_rx rx;
	struct plugnet_tx tx;
};

#endif
