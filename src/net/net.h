/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider's table of functions: how bytes move.
 *
 * A provider has byte streams for control, channels for data, and pollers that loops sleep in.
 * No call blocks but open() and poller_wait(). -EAGAIN means: not done, or only a part of it.
 * Call again after the poller has reported readiness (or later, where a provider has none). Any
 * other negative code of a channel or stream means that the object is dead and may only be
 * closed. Two threads never call on one object at once. But any thread may wake a poller, have it
 * watch a stream, a new channel or a descriptor, and ask for a channel's stats(). Of the core,
 * providers call only struct tcpx_net_memory and struct tcpx_net_gate.
 */
#ifndef NET_NET_H
#define NET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/addr.h"
#include "base/clock.h"
#include "base/err.h"
#include "tcpx/tcpx.h"

#define TCPX_HANDLE_BYTES 128 /* as NCCL's; opaque, travels in HANDLES */
#define TCPX_NET_NICS     32  /* most NICs an engine uses              */

/* A NIC of an engine. */
struct tcpx_nic {
	char name[32];         /* interface name, or the address for an address-NIC */
	struct tcpx_addr addr; /* source address; port 0. 0.0.0.0, ::: it has none yet */
	struct tcpx_addr advertised; /* where peers reach it instead; family 0: there. port 0: as bound */
	bool bind_device;      /* also SO_BINDTODEVICE (may be refused: ignored)    */
	uint8_t place;         /* by PCI order among the machine's NICs, from 1; 0 unknown */
	int numa;              /* -1 unknown                                        */
	uint32_t mbps;         /* 0 unknown                                         */
	int gpu;               /* the GPU that owns its channels' slots; -1: host memory */
};

/* The NIC's address for peers; port 0. */
static inline struct tcpx_addr
tcpx_nic_advertised(const struct tcpx_nic *n)
{
	struct tcpx_addr at = n->advertised.family ? n->advertised : n->addr;

	at.port = 0;
	return at;
}

/* Memory of a GPU or of the host, for providers that keep slots there. The core provides it,
 * since net/ does not know devices. gpu -1 is host memory. Any thread. */
struct tcpx_net_memory {
	void *arg;
	/* Whole pages, page-aligned, zeroed. -ENOMEM, -ENODEV. put frees them. */
	int (*get)(void *arg, int gpu, size_t size, void **mem);
	void (*put)(void *arg, int gpu, void *mem);
	/* From enter to leave this GPU is the calling thread's current one; leave restores the
	 * previous one. A no-op for -1. Does not nest. */
	int (*enter)(void *arg, int gpu);
	void (*leave)(void *arg, int gpu);
	/* Copies len bytes of that GPU's memory to dst and waits for them: set-up only. */
	int (*read)(void *arg, int gpu, void *dst, const void *src, size_t len);
};

/* Connections that come. The core provides it. Any thread. */
struct tcpx_net_gate {
	void *arg;
	bool (*admits)(void *arg, const struct tcpx_addr *from); /* NULL: everybody */
	/* A listener that is watched for @owner has its connection: chan_accept() gives it. */
	void (*arrived)(void *owner);
};

enum tcpx_ready {
	TCPX_READABLE = 1,
	TCPX_WRITABLE = 2,
	TCPX_BROKEN = 4 /* error, hang-up, or a report on lent pages; the next call finds out */
};

struct tcpx_net_event {
	void *owner;    /* as given to *_watch() */
	unsigned ready; /* enum tcpx_ready       */
};

struct tcpx_net;      /* provider state, one an engine       */
struct tcpx_poller;   /* what a loop sleeps in               */
struct tcpx_stream;   /* one control connection, or what accepts them */
struct tcpx_chan;     /* one data connection, simplex        */
struct tcpx_chan_listener; /* one expected data connection   */

/* The header of a message. In band it has 40 bytes, and the sum follows the payload. */
struct tcpx_head {
	uint64_t xfer;  /* transfer id of the session          */
	uint32_t chunk; /* index in the transfer               */
	uint32_t len;   /* payload bytes                       */
	uint16_t channel;
	uint16_t generation;
	uint64_t seq; /* per channel and generation, from 1  */
	uint32_t sum; /* CRC32C of the payload, if it is summed; of a stream it is known at the end */
	bool summed;
	bool lent; /* set by the provider: if the connection breaks, pages of it may have changed */
};

/* One message being sent by a stream channel. Filled by the core, advanced by the provider. */
struct tcpx_tx_msg {
	struct tcpx_head head;
	struct iovec *iov;  /* payload; the core refills it as it is sent */
	int iov_count;
	size_t sent;        /* out: payload bytes the provider has taken so far          */
	bool abandon;       /* core: user memory must not be read any more; finish with
	                     * filler and mark the message void: the receiver drops it   */
	bool stable;        /* core: the payload's memory does not change until the peer has
	                     * acknowledged RECEIVED for this seq, or has closed its side (a
	                     * fence), or its owner wants no more of it. It may be lent.  */
	bool lent;          /* out: pages are lent; else the memory is free once all is taken */
	bool more;          /* core: the next message follows at once, so this one may wait
	                     * for it. May change from call to call                      */
	uint32_t phase;     /* for the provider; the core sets 0 for a new message       */
};

/* A landed message of a comm: its payload lies in provider memory. */
struct tcpx_landed {
	struct tcpx_head head;
	const struct iovec *frag; /* stream order, covers exactly [0, len); borrowed until
	                           * release() of this seq                               */
	uint32_t frag_count;
};

struct tcpx_ack {
	uint64_t received; /* all seq up to here are off the wire: send slots are free   */
	uint64_t applied;  /* all seq up to here are in place and visible                */
};

/* Shorter payload is copied: looking up pages and three more system calls cost more (measured: 1.7 times the
 * copy at 16 KiB, 0.9 times at 64 KiB), and a copied slot is free at once, without a round trip. */
#define TCPX_LEND_MIN (64u << 10)

/* How payload is sent whose memory is stable. */
enum tcpx_lend {
	TCPX_LEND_AUTO,   /* as kernel and path allow                                  */
	TCPX_LEND_OFF,    /* the kernel copies it: plain send                          */
	TCPX_LEND_SPLICE, /* pages pass through a pipe: vmsplice and splice            */
	TCPX_LEND_MSG     /* MSG_ZEROCOPY                                              */
};

struct tcpx_net_params {
	const struct tcpx_nic *nics; /* borrowed for the provider's life */
	uint32_t nic_count;
	uint16_t port_first, port_last; /* listeners without a port keep to these; 0: any */
	const struct tcpx_clock *clock; /* borrowed                 */
	void *fabric;                   /* a test's network; else NULL    */
	enum tcpx_lend lend;            /* AUTO, or one forced (TCPX_ZEROCOPY)   */
	const char *congestion;         /* of TCP channels (TCPX_CONGESTION); borrowed; "" or
	                                 * NULL: the provider chooses            */
	const struct tcpx_net_memory *memory; /* borrowed; NULL: host memory only */
	struct tcpx_net_gate gate;      /* asked before a byte of a connection is read       */
	const char *plugin;             /* for tcpx: the library (TCPX_PLUGIN_PATH); "" or NULL:
	                                 * as NCCL finds it                      */
	uint32_t chunk;                 /* largest message wanted; 0: the provider's default */
	uint32_t window;                /* messages in flight on a channel; 0: its default   */
	uint64_t deadline_ns;           /* a channel dies when an announced message does not
	                                 * come, or a message does not leave, for this long;
	                                 * 0: the provider's default                         */
};

/* What a net is like, as open() finds it. */
struct tcpx_net_facts {
	uint32_t chunk_max; /* bytes of a message                                    */
	uint32_t slots_max; /* messages in flight a channel; 0: no limit             */
	bool raises_sigpipe; /* its calls may: the core blocks the signal in threads not its own */
	uint64_t setup_ns;  /* the set-up of a channel waits so long by design: the
	                     * handshake adds it to its deadline                     */
	char terms[128];    /* values that both sides must have in common, as text: "chunk
	                     * 524288, sockets 4"; "" none. HELLO compares it        */
};

/* A connection's way to its other end, as the kernel knows it. */
struct tcpx_net_way {
	uint64_t quiet_ns;  /* nothing has come from there for so long                          */
	/* The oldest packet under way, if there is one. */
	uint32_t packet;    /* its bytes, with its headers                                      */
	uint32_t resent;    /* it was sent again so often, in vain                              */
	uint64_t stuck_ns;  /* from the first time to the newest                                */
	bool carried;       /* as many bytes were acknowledged before                           */
	uint32_t mtu;       /* of the way, as this side believes                                */
};

/* Both ends of a channel know this before it is made. */
struct tcpx_chan_id {
	uint64_t session;
	uint16_t channel;
	uint16_t generation;
	uint8_t sending_side_is_opener; /* 1: payload flows opener -> acceptor        */
	uint8_t token[16];              /* from HANDLES; keyed when a secret is set   */
	uint16_t packet;                /* the connecting side alone: both ways, none is larger;
					 * 0: as the interfaces' MTU allows           */
};

/* Stream channels: headers and acknowledgements travel in band, payload from and to memory that
 * the core names. */
struct tcpx_stream_chan_ops {
	/* Starts or continues m. 0: the provider has taken all of it; -EAGAIN: a part, m->sent
	 * bytes of payload. m->iov covers the payload from m->sent on, perhaps not to its end:
	 * -EAGAIN with no iov left asks for more. head.sum counts in the call that ends the
	 * payload and in those behind it. */
	int (*send)(struct tcpx_chan *c, struct tcpx_tx_msg *m);
	/* The newest acknowledgement; -EAGAIN: no new one. */
	int (*acked)(struct tcpx_chan *c, struct tcpx_ack *ack);
	/* Receiving: first the header of the next message; then its payload: bytes (> 0),
	 * -EAGAIN. One call more when all of it is here: 0: the message is good; TCPX_ECANCELED:
	 * the sender abandoned it, drop it; -EAGAIN. */
	int (*recv_head)(struct tcpx_chan *c, struct tcpx_head *head);
	ssize_t (*recv)(struct tcpx_chan *c, struct iovec *iov, int iov_count);
	/* Of the message that ended last, if it is summed: the sum that it came with. */
	uint32_t (*sum)(const struct tcpx_chan *c);
	/* Sends an acknowledgement; -EAGAIN: call again when writable, newer values may replace
	 * it. */
	int (*ack)(struct tcpx_chan *c, const struct tcpx_ack *ack);
	/* Fills in what the connection knows, from retransmits on; the rest stays. */
	int (*stats)(struct tcpx_chan *c, struct tcpx_channel_info *info);
	/* Are bytes under way that the other end's kernel has not acknowledged, though it takes
	 * more? 1, and what is known of them; or 0; or a code. Any thread, as stats. */
	int (*under_way)(struct tcpx_chan *c, struct tcpx_net_way *way);
	/* If it has lent pages, breaks the connection at once: what the peer has not read of them by then
	 * does not become a message there, whatever they hold later. Any thread, as stats. */
	void (*recall)(struct tcpx_chan *c);
};

/* Comm channels: messages are bare payload between slots that the channel owns. The core sends
 * headers and acknowledgements on the control stream. The receiving side listens. */
struct tcpx_comm_chan_ops {
	/* The slot of message seq, on the NIC's gpu. Its payload lies there until the peer has
	 * acknowledged RECEIVED. Slots are used in turn; there are at least slots_max. */
	void *(*slot)(struct tcpx_chan *c, uint64_t seq);
	/* Sends the first head->len bytes of the slot of head->seq. 0; -EAGAIN. */
	int (*send)(struct tcpx_chan *c, const struct tcpx_head *head);
	/* 0, or the code that ended the channel. */
	int (*ended)(struct tcpx_chan *c);
	/* The header of the next message to receive, in order of seq, before or after the payload
	 * has arrived. The provider receives no message before its header. */
	int (*head)(struct tcpx_chan *c, const struct tcpx_head *head);
	/* The next landed message, in order. It keeps its slot until it is released; releases are
	 * in order, too. */
	int (*recv)(struct tcpx_chan *c, struct tcpx_landed *msg);
	int (*release)(struct tcpx_chan *c, uint64_t seq);
};

/* A provider: what it makes, pollers, control streams, and how channels begin and end. */
struct tcpx_net_ops {
	const char *name;
	/* Of its channels: one of the two. */
	const struct tcpx_stream_chan_ops *stream;
	const struct tcpx_comm_chan_ops *comm;
	uint32_t chunk_max;  /* bytes; a net may have less                            */

	int (*open)(const struct tcpx_net_params *params, struct tcpx_net **net,
		    struct tcpx_net_facts *facts);
	void (*close)(struct tcpx_net *net);

	/* Pollers. wait: at most max events, timeout_ns < 0 for ever, 0 none; returns the
	 * count (0 on timeout or wake) or a code. wake: from any thread; a wake that comes
	 * before wait makes that wait return at once. */
	int (*poller_open)(struct tcpx_net *net, struct tcpx_poller **poller);
	void (*poller_close)(struct tcpx_poller *poller);
	int (*poller_wait)(struct tcpx_poller *poller, struct tcpx_net_event *events, int max,
			   int64_t timeout_ns);
	void (*poller_wake)(struct tcpx_poller *poller);
	/* Also reports a descriptor of the caller when it is readable: level-triggered, until it
	 * or the poller is closed. Any thread. NULL: pollers of this provider have no
	 * descriptors. */
	int (*poller_watch_fd)(struct tcpx_poller *poller, int fd, void *owner);

	/* Control streams, of which one kind listens. listen: bind to addr (port 0: any of
	 * the params), *bound is the actual address. -EADDRINUSE (the caller logs it),
	 * -EADDRNOTAVAIL. accept: @from is the other end, @at the own
	 * one (family 0: unknown); -EAGAIN: no connection; -EMFILE: those that wait cannot be
	 * taken now, and the listener stays ready.
	 * connect: starts; send and recv return -EAGAIN until it is up. nic may be -1: any source
	 * address. packet: as of struct tcpx_chan_id. */
	int (*listen)(struct tcpx_net *net, const struct tcpx_addr *addr, struct tcpx_addr *bound,
		      struct tcpx_stream **listener);
	int (*accept)(struct tcpx_stream *listener, struct tcpx_stream **stream,
		      struct tcpx_addr *from, struct tcpx_addr *at);
	int (*connect)(struct tcpx_net *net, int nic, const struct tcpx_addr *to, uint16_t packet,
		       struct tcpx_stream **stream);
	/* Sets the readiness to report (enum tcpx_ready, or-ed); level-triggered. 0: TCPX_BROKEN
	 * alone, once at least. A stream or channel stays with one poller for its life. */
	int (*stream_watch)(struct tcpx_stream *s, struct tcpx_poller *p, void *owner,
			    unsigned interest);
	/* Bytes moved (> 0), -EAGAIN, or a code; recv returns 0 at the end of the stream. Sending
	 * nothing asks for the connection: 0 once it stands, -EAGAIN, or its error. */
	ssize_t (*stream_send)(struct tcpx_stream *s, const void *data, size_t len);
	ssize_t (*stream_recv)(struct tcpx_stream *s, void *data, size_t len);
	/* Has the peer's kernel acknowledged all that the network was given? 1, 0, or a code: that is
	 * not known. */
	int (*stream_acked)(struct tcpx_stream *s);
	/* Answers as a channel's under_way(). NULL: nothing is known. */
	int (*stream_under_way)(struct tcpx_stream *s, struct tcpx_net_way *way);
	/* Its own address, once it stands; family 0: unknown. */
	void (*stream_name)(struct tcpx_stream *s, struct tcpx_addr *at);
	void (*stream_close)(struct tcpx_stream *s);
	/* 1: a process of this network namespace listens there; 0: none does; or a code:
	 * that is not known. */
	int (*listens)(const struct tcpx_addr *at);

	/* Channel set-up. chan_listen expects one connection on one NIC and writes the handle
	 * that connect needs. chan_accept and chan_connect return -EAGAIN until the channel
	 * stands. Call connect again with the same *state, which belongs to the provider.
	 * sending: this side sends. */
	int (*chan_listen)(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
			   uint8_t handle[TCPX_HANDLE_BYTES], struct tcpx_chan_listener **cl);
	int (*chan_accept)(struct tcpx_chan_listener *cl, bool sending, struct tcpx_chan **chan);
	/* Calls the net's gate when the connection has come, while the poller is waited in: then
	 * chan_accept() need be called again only then, and once a second. NULL: never does. */
	int (*chan_listener_watch)(struct tcpx_chan_listener *cl, struct tcpx_poller *p, void *owner);
	void (*chan_listener_close)(struct tcpx_chan_listener *cl);
	int (*chan_connect)(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
			    const uint8_t handle[TCPX_HANDLE_BYTES], bool sending, void **state,
			    struct tcpx_chan **chan);
	/* An event of @owner, with nothing ready that could be named, whenever an unfinished attempt
	 * may go on: then chan_connect() need be called again only then, and once a second. The
	 * same poller each time. NULL: never does. */
	int (*chan_connect_watch)(struct tcpx_net *net, void *state, struct tcpx_poller *p, void *owner);
	/* The address in a handle; family 0: none. NULL: handles are not known here. */
	void (*chan_target)(const uint8_t handle[TCPX_HANDLE_BYTES], struct tcpx_addr *to);
	/* True: the other end's kernel has answered an unfinished attempt. NULL: not known. */
	bool (*chan_connect_heard)(const void *state);
	/* Gives up an unfinished chan_connect. */
	void (*chan_connect_cancel)(struct tcpx_net *net, void **state);
	int (*chan_watch)(struct tcpx_chan *c, struct tcpx_poller *p, void *owner,
			  unsigned interest);

	/* Has the peer's kernel closed it in order? A firewall resets. NULL: not known. */
	bool (*chan_closed)(const struct tcpx_chan *c);
	/* The address of its other end; family 0: unknown. NULL: no channel's is known. */
	void (*chan_far)(struct tcpx_chan *c, struct tcpx_addr *at);
	/* Closes at once: no user memory is touched afterwards. */
	void (*chan_close)(struct tcpx_chan *c);
};

#endif
