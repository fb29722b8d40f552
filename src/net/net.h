/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider's table of functions: how bytes move.
 *
 * A provider has byte streams for control, channels for data, and pollers that loops sleep in.
 * No call blocks. -EAGAIN always means: nothing happened, call again after the poller has
 * reported readiness (or later, where a provider has none). Any other negative code of a
 * channel or stream means that the object is dead and may only be closed. Two threads never
 * call on one object at once, except poller_wake(). Providers never call the core.
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

#define TCPX_HANDLE_BYTES 128 /* as NCCL's; opaque, travels in HANDLES */
#define TCPX_NET_NICS     32  /* most NICs an engine uses              */

/* A NIC of an engine. */
struct tcpx_nic {
	char name[32];         /* interface name, or the address for an address-NIC */
	struct tcpx_addr addr; /* source address; port 0                            */
	bool bind_device;      /* also SO_BINDTODEVICE (may be refused: ignored)    */
	int numa;              /* -1 unknown                                        */
	uint32_t gbps;         /* 0 unknown                                         */
	int gpu;               /* the GPU that owns its channels' slots; -1: host memory */
};

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

enum tcpx_ready {
	TCPX_READABLE = 1,
	TCPX_WRITABLE = 2,
	TCPX_BROKEN = 4 /* error, hang-up, or a report on lent pages; the next call finds out */
};

struct tcpx_event {
	void *owner;    /* as given to *_watch() */
	unsigned ready; /* enum tcpx_ready       */
};

struct tcpx_net;      /* provider state, one an engine       */
struct tcpx_poller;   /* what a loop sleeps in               */
struct tcpx_listener; /* accepts control streams             */
struct tcpx_stream;   /* one control connection              */
struct tcpx_chan;     /* one data connection, simplex        */
struct tcpx_chan_listener; /* one expected data connection   */

enum tcpx_net_caps {
	TCPX_NET_DIRECT_RX = 1, /* payload is received into memory of the core (recv_body) */
	TCPX_NET_DIRECT_TX = 2, /* payload is sent from user memory                       */
	TCPX_NET_INLINE_ACK = 4, /* acknowledgements travel on the channel's reverse way  */
	TCPX_NET_CTRL_HEAD = 8,  /* messages are bare: the core sends each header on the
	                          * control stream (chan_head)                            */
	TCPX_NET_OWN_SLOTS = 16, /* payload is sent from slots of the channel (chan_slot) */
	TCPX_NET_RECEIVER_LISTENS = 32 /* the receiving side of a channel listens, not the
	                                * acceptor of the session                         */
};

/* The header of a message. In band it has 40 bytes. */
struct tcpx_head {
	uint64_t xfer;  /* transfer id of the session          */
	uint32_t chunk; /* index in the transfer               */
	uint32_t len;   /* payload bytes                       */
	uint16_t channel;
	uint16_t generation;
	uint64_t seq; /* per channel and generation, from 1  */
};

/* One message being sent. Filled by the core, advanced by the provider. */
struct tcpx_tx_msg {
	struct tcpx_head head;
	struct iovec *iov;  /* payload; with DIRECT_TX the core refills it as it is sent */
	int iov_count;
	size_t sent;        /* out: payload bytes the provider has taken so far          */
	bool abandon;       /* core: user memory must not be read any more; finish with
	                     * filler and mark the message void: the receiver drops it   */
	bool owned;         /* core: the payload lies in whole pages of the engine, which do
	                     * not change until the peer has acknowledged RECEIVED for this
	                     * seq, or has closed its side (a fence). They may be lent.  */
	bool lent;          /* out: pages are lent; else the memory is free once all is taken */
	bool more;          /* core: the next message follows at once, so this one may wait
	                     * for it. May change from call to call                      */
	uint32_t phase;     /* for the provider; the core sets 0 for a new message       */
};

/* A landed message of a provider without DIRECT_RX: its payload lies in provider memory. */
struct tcpx_landed {
	struct tcpx_head head;
	const struct iovec *frag; /* stream order, covers exactly [0, len); borrowed until
	                           * chan_release() of this seq                          */
	uint32_t frag_count;
};

struct tcpx_ack {
	uint64_t received; /* all seq up to here are off the wire: send slots are free   */
	uint64_t applied;  /* all seq up to here are in place and visible                */
};

/* How payload in the engine's own memory is sent. */
enum tcpx_lend {
	TCPX_LEND_AUTO,   /* as kernel and path allow                                  */
	TCPX_LEND_OFF,    /* the kernel copies it: plain send                          */
	TCPX_LEND_SPLICE, /* pages pass through a pipe: vmsplice and splice            */
	TCPX_LEND_MSG     /* MSG_ZEROCOPY                                              */
};

struct tcpx_chan_stats {
	uint64_t retransmits, rtt_us;
	enum tcpx_lend lend;   /* of the last large message; AUTO: none yet            */
	uint64_t lent_bytes;   /* sent without the kernel copying them                 */
	int incoming_cpu;      /* CPU that handled its last packet; -1 unknown          */
	uint32_t napi_id;      /* of that packet's queue; 0 unknown, as on loopback    */
};

struct tcpx_net_params {
	const struct tcpx_nic *nics; /* borrowed for the provider's life */
	uint32_t nic_count;
	const struct tcpx_clock *clock; /* borrowed                 */
	void *fabric;                   /* a test's network; else NULL    */
	enum tcpx_lend lend;            /* AUTO, or one forced (TCPX_ZEROCOPY)   */
	const struct tcpx_net_memory *memory; /* borrowed; NULL: host memory only */
	const char *plugin;             /* for tcpx: the library (TCPX_PLUGIN_PATH); "" or NULL:
	                                 * as NCCL finds it                      */
	uint32_t chunk;                 /* largest message wanted; 0: the provider's default */
	uint32_t window;                /* messages in flight on a channel; 0: its default   */
	uint64_t deadline_ns;           /* a channel dies when an announced message does not
	                                 * come, or a message does not leave, for this long;
	                                 * 0: the provider's default                         */
};

/* Both ends of a channel know this before it is made. */
struct tcpx_chan_id {
	uint64_t session;
	uint16_t channel;
	uint16_t generation;
	uint8_t sending_side_is_opener; /* 1: payload flows opener -> acceptor        */
	uint8_t token[16];              /* from HANDLES; keyed when a secret is set   */
};

struct tcpx_net_ops {
	const char *name;
	unsigned caps;       /* enum tcpx_net_caps                                    */
	uint32_t chunk_max;  /* bytes                                                 */
	uint32_t slots_max;  /* messages in flight a channel; 0: no limit             */

	int (*open)(const struct tcpx_net_params *params, struct tcpx_net **net);
	void (*close)(struct tcpx_net *net);
	/* Values that both sides must have in common, as text of less than 128 bytes: "chunk
	 * 524288, sockets 4". HELLO compares it. NULL: none. */
	const char *(*terms)(struct tcpx_net *net);
	/* The limits of this net; NULL: chunk_max and slots_max. */
	void (*limits)(struct tcpx_net *net, uint32_t *chunk_max, uint32_t *slots_max);
	/* Time that the set-up of a channel waits by design, which the handshake adds to its
	 * deadline. NULL: none. */
	uint64_t (*setup_ns)(struct tcpx_net *net);

	/* Pollers. wait: at most max events, timeout_ns < 0 for ever, 0 none; returns the
	 * count (0 on timeout or wake) or a code. wake: from any thread; a wake that comes
	 * before wait makes that wait return at once. */
	int (*poller_open)(struct tcpx_net *net, struct tcpx_poller **poller);
	void (*poller_close)(struct tcpx_poller *poller);
	int (*poller_wait)(struct tcpx_poller *poller, struct tcpx_event *events, int max,
			   int64_t timeout_ns);
	void (*poller_wake)(struct tcpx_poller *poller);
	/* Also reports a descriptor of the caller when it is readable: level-triggered, until it
	 * or the poller is closed. Any thread. NULL: pollers of this provider have no
	 * descriptors. */
	int (*poller_watch_fd)(struct tcpx_poller *poller, int fd, void *owner);

	/* Control streams. listen: bind to addr (port 0: any), *bound is the actual address.
	 * -EADDRINUSE, -EADDRNOTAVAIL. accept: -EAGAIN: no connection. connect: starts;
	 * stream calls return -EAGAIN until it is up. nic may be -1: any source address. */
	int (*listen)(struct tcpx_net *net, const struct tcpx_addr *addr, struct tcpx_addr *bound,
		      struct tcpx_listener **listener);
	int (*listener_watch)(struct tcpx_listener *l, struct tcpx_poller *p, void *owner);
	int (*accept)(struct tcpx_listener *l, struct tcpx_stream **stream,
		      struct tcpx_addr *from);
	void (*listener_close)(struct tcpx_listener *l);
	int (*connect)(struct tcpx_net *net, int nic, const struct tcpx_addr *to,
		       struct tcpx_stream **stream);
	/* Sets the readiness to report (enum tcpx_ready, or-ed); level-triggered. A stream or
	 * channel stays with one poller for its life. */
	int (*stream_watch)(struct tcpx_stream *s, struct tcpx_poller *p, void *owner,
			    unsigned interest);
	/* Bytes moved (> 0), -EAGAIN, or a code; recv returns 0 at the end of the stream. */
	ssize_t (*stream_send)(struct tcpx_stream *s, const void *data, size_t len);
	ssize_t (*stream_recv)(struct tcpx_stream *s, void *data, size_t len);
	/* 0 once the connection stands, -EAGAIN, or its error. */
	int (*stream_up)(struct tcpx_stream *s);
	void (*stream_close)(struct tcpx_stream *s);

	/* Channel set-up. chan_listen expects one connection on one NIC and writes the handle
	 * that connect needs. chan_accept and chan_connect return -EAGAIN until the channel
	 * stands. Call connect again with the same *state, which belongs to the provider.
	 * sending: this side calls chan_send. */
	int (*chan_listen)(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
			   uint8_t handle[TCPX_HANDLE_BYTES], struct tcpx_chan_listener **cl);
	int (*chan_accept)(struct tcpx_chan_listener *cl, bool sending, struct tcpx_chan **chan);
	void (*chan_listener_close)(struct tcpx_chan_listener *cl);
	int (*chan_connect)(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
			    const uint8_t handle[TCPX_HANDLE_BYTES], bool sending, void **state,
			    struct tcpx_chan **chan);
	/* Gives up an unfinished chan_connect. */
	void (*chan_connect_cancel)(struct tcpx_net *net, void **state);
	int (*chan_watch)(struct tcpx_chan *c, struct tcpx_poller *p, void *owner,
			  unsigned interest);

	/* Sending. send: starts or continues m. 0: the provider has taken all of it; -EAGAIN: a
	 * part, m->sent bytes of payload. With DIRECT_TX m->iov covers the payload from m->sent
	 * on, perhaps not to its end: -EAGAIN with no iov left asks for more. acked: the newest
	 * acknowledgement; -EAGAIN: no new one; without INLINE_ACK only -EAGAIN, or the code that
	 * ended the channel. */
	int (*chan_send)(struct tcpx_chan *c, struct tcpx_tx_msg *m);
	/* With OWN_SLOTS: the slot of message seq, on the NIC's gpu. Its payload lies there until
	 * the peer has acknowledged RECEIVED, and m->iov of chan_send() points there. Slots are
	 * used in turn; there are at least slots_max. */
	void *(*chan_slot)(struct tcpx_chan *c, uint64_t seq);
	int (*chan_acked)(struct tcpx_chan *c, struct tcpx_ack *ack);

	/* Receiving with DIRECT_RX. First the header of the next message; then body calls until
	 * its len bytes are here (bytes > 0, -EAGAIN), none for len 0; then end: 0: the message
	 * is good; TCPX_ECANCELED: the sender abandoned it, drop it; -EAGAIN. */
	int (*chan_recv_head)(struct tcpx_chan *c, struct tcpx_head *head);
	ssize_t (*chan_recv_body)(struct tcpx_chan *c, struct iovec *iov, int iov_count);
	int (*chan_recv_end)(struct tcpx_chan *c);

	/* With CTRL_HEAD: the header of the next message, in order of seq, before or after the
	 * payload has arrived. The provider receives no message before its header. */
	int (*chan_head)(struct tcpx_chan *c, const struct tcpx_head *head);
	/* Receiving without DIRECT_RX: the next landed message, in order. It keeps its slot until
	 * it is released; releases are in order, too. */
	int (*chan_recv_msg)(struct tcpx_chan *c, struct tcpx_landed *msg);
	int (*chan_release)(struct tcpx_chan *c, uint64_t seq);

	/* Sends an acknowledgement; -EAGAIN: call again when writable, newer values may replace it. */
	int (*chan_ack)(struct tcpx_chan *c, const struct tcpx_ack *ack);

	/* Closes at once: no user memory is touched afterwards. */
	void (*chan_close)(struct tcpx_chan *c);
	int (*chan_stats)(struct tcpx_chan *c, struct tcpx_chan_stats *stats);
};

#endif
