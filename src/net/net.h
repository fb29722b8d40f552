/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The provider vtable: how bytes move. The door of net/.
 *
 * A provider gives three things, all non-blocking: byte streams for control, channels
 * for data, and a poller a loop sleeps in. "-EAGAIN" always means: nothing happened,
 * ask again when the poller says so (or later, where a provider has no readiness).
 * Any other negative code from a channel or stream call means that object is dead; it
 * must then only be closed. No call is made on one object from two threads at once,
 * except poller_wake(). Providers never call back into the core.
 */
#ifndef NET_NET_H
#define NET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/err.h"

#define TCPX_HANDLE_BYTES 128 /* as NCCL's; opaque, travels in HANDLES */
#define TCPX_NET_NICS     32  /* most NICs an engine uses              */

/* An address without a socket header's macros: family 4 or 6, bytes in network order. */
struct tcpx_addr {
	uint8_t family; /* 4, 6, or 0 for none */
	uint8_t prefix; /* subnet bits; 0 unknown */
	uint16_t port;  /* host order */
	uint32_t scope; /* IPv6 scope id */
	uint8_t ip[16]; /* IPv4 in the first four */
};

/* A NIC as a provider needs to know it. */
struct tcpx_nic {
	char name[32];         /* interface name, or the address for an address-NIC */
	struct tcpx_addr addr; /* source address; port 0                            */
	bool bind_device;      /* also SO_BINDTODEVICE (may be refused: ignored)    */
	int numa;              /* -1 unknown                                        */
	uint32_t gbps;         /* 0 unknown                                         */
	int gpu;               /* the GPU that owns its channels' slots; -1: host memory */
};

/* Memory that may be a GPU's, for providers that keep slots there: given by the core, since
 * net/ knows nothing of devices. gpu -1 is host memory. Any thread. */
struct tcpx_net_memory {
	void *arg;
	/* Whole pages, page-aligned, zeroed. -ENOMEM, -ENODEV. put: what get gave. */
	int (*get)(void *arg, int gpu, size_t size, void **mem);
	void (*put)(void *arg, int gpu, void *mem);
	/* Between the two, this GPU is the calling thread's current one; the one before comes
	 * back. A no-op for -1. Does not nest. */
	int (*enter)(void *arg, int gpu);
	void (*leave)(void *arg, int gpu);
	/* Copies len bytes of that GPU's memory here, waiting for it: set-up only. */
	int (*read)(void *arg, int gpu, void *dst, const void *src, size_t len);
};

enum tcpx_ready {
	TCPX_READABLE = 1,
	TCPX_WRITABLE = 2,
	TCPX_BROKEN = 4 /* error, hang-up, or news of lent pages; the next call tells */
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
	TCPX_NET_DIRECT_RX = 1, /* payload goes where the core says (recv_head/recv_body) */
	TCPX_NET_DIRECT_TX = 2, /* payload is sent from user memory                       */
	TCPX_NET_INLINE_ACK = 4, /* acknowledgements travel on the channel's reverse way  */
	TCPX_NET_CTRL_HEAD = 8,  /* messages are bare: the core tells the receiver each
	                          * header, on the control stream (chan_head)             */
	TCPX_NET_OWN_SLOTS = 16, /* payload is sent from slots of the channel (chan_slot) */
	TCPX_NET_RECEIVER_LISTENS = 32 /* of a channel the receiving side listens, not the
	                                * acceptor of the session                         */
};

/* The header of a message, as the core sees it. 40 bytes on the wire where in band. */
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
	struct iovec *iov;  /* payload; with DIRECT_TX refilled by the core as it goes   */
	int iov_count;
	size_t sent;        /* out: payload bytes the provider has taken so far          */
	bool abandon;       /* core: user memory is gone; finish the message with filler and
	                     * mark it void, so that the receiver drops it               */
	bool owned;         /* core: the payload lies in memory of the engine, whole pages,
	                     * and stays as it is until the peer has RECEIVED this seq, or
	                     * has closed its side (a fence): its pages may be lent to the
	                     * kernel                                                    */
	bool lent;          /* out: some were; else the memory is free once all is taken */
	bool more;          /* core: the next message follows at once, so that this one need
	                     * not leave before it. May change from call to call          */
	uint32_t phase;     /* provider's own; the core sets 0 for a new message         */
};

/* A landed message of a provider without DIRECT_RX: payload lies in provider memory. */
struct tcpx_landed {
	struct tcpx_head head;
	const struct iovec *frag; /* stream order, covers exactly [0, len); borrowed until
	                           * chan_release() of this seq                          */
	uint32_t frag_count;
};

struct tcpx_ack {
	uint64_t received; /* all seq up to here are out of the wire: send slots free    */
	uint64_t applied;  /* all seq up to here are in place and visible: chunks done   */
};

/* How payload of the engine's own memory leaves. */
enum tcpx_lend {
	TCPX_LEND_AUTO,   /* as the kernel and the path allow                          */
	TCPX_LEND_OFF,    /* the kernel copies it: plain send                          */
	TCPX_LEND_SPLICE, /* its pages pass through a pipe: vmsplice and splice        */
	TCPX_LEND_MSG     /* MSG_ZEROCOPY                                              */
};

struct tcpx_chan_stats {
	uint64_t retransmits, rtt_us;
	enum tcpx_lend lend;   /* what the channel does now; AUTO: not decided yet     */
	uint64_t lent_bytes;   /* sent without the kernel copying them                 */
	int incoming_cpu;      /* that handled the connection's last packet; -1 unknown */
	uint32_t napi_id;      /* of the queue it came by; 0 unknown, as on loopbacks  */
};

struct tcpx_net_params {
	const struct tcpx_nic *nics; /* borrowed for the provider's life */
	uint32_t nic_count;
	const struct tcpx_clock *clock; /* borrowed; loop only */
	void *fabric;                   /* loop only: the scripted network */
	uint32_t notsent_lowat;         /* bytes; 0: provider's choice (512 KiB) */
	enum tcpx_lend lend;            /* AUTO, or one forced (TCPX_ZEROCOPY)   */
	const struct tcpx_net_memory *memory; /* borrowed; NULL: host memory only */
	const char *plugin;             /* tcpx only: the library (TCPX_PLUGIN_PATH); "" or
	                                 * NULL: as NCCL finds it                */
	uint32_t chunk;                 /* largest message wanted; 0: the provider's own     */
	uint32_t window;                /* messages in flight a channel; 0: likewise         */
	uint64_t deadline_ns;           /* a message that is announced and does not come, or
	                                 * does not leave, for so long kills its channel;
	                                 * 0: the provider's choice                          */
};

/* What both ends of one channel agree on before it is made. */
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
	/* What both sides must have alike, as text of less than 128 bytes: "chunk 524288,
	 * sockets 4". Compared in HELLO. NULL: nothing. */
	const char *(*terms)(struct tcpx_net *net);
	/* What this provider, opened so, allows; NULL: chunk_max and slots_max. */
	void (*limits)(struct tcpx_net *net, uint32_t *chunk_max, uint32_t *slots_max);
	/* How long a channel's set-up waits by design, beside what the network takes: the
	 * handshake is given so much more time. NULL: not at all. */
	uint64_t (*setup_ns)(struct tcpx_net *net);

	/* Pollers. wait: at most max events, timeout_ns < 0 for ever, 0 none; returns the
	 * count (0 on timeout or wake) or a code. wake: from any thread; a wake that comes
	 * before wait makes that wait return at once. */
	int (*poller_open)(struct tcpx_net *net, struct tcpx_poller **poller);
	void (*poller_close)(struct tcpx_poller *poller);
	int (*poller_wait)(struct tcpx_poller *poller, struct tcpx_event *events, int max,
			   int64_t timeout_ns);
	void (*poller_wake)(struct tcpx_poller *poller);
	/* Reports a descriptor of the caller's, too, when it can be read: level-triggered, until
	 * it or the poller is closed. Any thread. NULL: this provider's pollers have no
	 * descriptors. */
	int (*poller_watch_fd)(struct tcpx_poller *poller, int fd, void *owner);

	/* Control streams. listen: bind to addr (port 0: any), *bound gets the real one.
	 * -EADDRINUSE, -EADDRNOTAVAIL. accept: -EAGAIN when nobody is there. connect: starts;
	 * stream calls give -EAGAIN until it is up. nic may be -1: any source address. */
	int (*listen)(struct tcpx_net *net, const struct tcpx_addr *addr, struct tcpx_addr *bound,
		      struct tcpx_listener **listener);
	int (*listener_watch)(struct tcpx_listener *l, struct tcpx_poller *p, void *owner);
	int (*accept)(struct tcpx_listener *l, struct tcpx_stream **stream,
		      struct tcpx_addr *from);
	void (*listener_close)(struct tcpx_listener *l);
	int (*connect)(struct tcpx_net *net, int nic, const struct tcpx_addr *to,
		       struct tcpx_stream **stream);
	/* Readiness wanted from now on (enum tcpx_ready, or-ed); level-triggered. A stream
	 * or channel belongs to one poller for its life. */
	int (*stream_watch)(struct tcpx_stream *s, struct tcpx_poller *p, void *owner,
			    unsigned interest);
	/* Bytes taken or given (> 0), -EAGAIN, or a code; recv gives 0 at end of stream. */
	ssize_t (*stream_send)(struct tcpx_stream *s, const void *data, size_t len);
	ssize_t (*stream_recv)(struct tcpx_stream *s, void *data, size_t len);
	/* 0 once the connection stands (local addresses are then known), -EAGAIN, or why not. */
	int (*stream_up)(struct tcpx_stream *s);
	void (*stream_close)(struct tcpx_stream *s);

	/* Channel set-up. chan_listen (the acceptor of the session, for both directions)
	 * expects one connection on one NIC and writes the handle that connect needs.
	 * chan_accept and chan_connect give -EAGAIN until the channel stands; connect is
	 * called again with the same *state, which the provider keeps between calls.
	 * sending: this side is the one that will call chan_send. */
	int (*chan_listen)(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
			   uint8_t handle[TCPX_HANDLE_BYTES], struct tcpx_chan_listener **cl);
	int (*chan_accept)(struct tcpx_chan_listener *cl, bool sending, struct tcpx_chan **chan);
	void (*chan_listener_close)(struct tcpx_chan_listener *cl);
	int (*chan_connect)(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
			    const uint8_t handle[TCPX_HANDLE_BYTES], bool sending, void **state,
			    struct tcpx_chan **chan);
	/* Gives up a chan_connect that is not finished. */
	void (*chan_connect_cancel)(struct tcpx_net *net, void **state);
	int (*chan_watch)(struct tcpx_chan *c, struct tcpx_poller *p, void *owner,
			  unsigned interest);

	/* Sending. send: starts or continues m; 0 when the provider has taken all of it,
	 * -EAGAIN when only a part (m->sent tells). With DIRECT_TX m->iov covers the payload
	 * from m->sent on, perhaps not to its end: then -EAGAIN with the given iov used up
	 * means "give me more". acked: newest acknowledgement, -EAGAIN if it has not moved;
	 * without INLINE_ACK only -EAGAIN, or what broke the channel. */
	int (*chan_send)(struct tcpx_chan *c, struct tcpx_tx_msg *m);
	/* With OWN_SLOTS: where the payload of message seq has to lie, on the NIC's gpu, from
	 * its packing until the peer has RECEIVED it (m->iov of chan_send() points there). Slots
	 * are used in turn; at least as many as the limit says. */
	void *(*chan_slot)(struct tcpx_chan *c, uint64_t seq);
	int (*chan_acked)(struct tcpx_chan *c, struct tcpx_ack *ack);

	/* Receiving with DIRECT_RX: the header of the next message; then body calls until
	 * its len bytes are taken (bytes > 0, -EAGAIN); then end: 0 the message is good,
	 * TCPX_ECANCELED the sender abandoned it (drop it), -EAGAIN. For len 0 no body. */
	int (*chan_recv_head)(struct tcpx_chan *c, struct tcpx_head *head);
	ssize_t (*chan_recv_body)(struct tcpx_chan *c, struct iovec *iov, int iov_count);
	int (*chan_recv_end)(struct tcpx_chan *c);

	/* With CTRL_HEAD: the header of the next message, in order of seq, perhaps before the
	 * payload is here and perhaps after. Until then nothing is looked for. */
	int (*chan_head)(struct tcpx_chan *c, const struct tcpx_head *head);
	/* Receiving without DIRECT_RX: the next landed message, in order; it keeps its slot
	 * until released, in order. */
	int (*chan_recv_msg)(struct tcpx_chan *c, struct tcpx_landed *msg);
	int (*chan_release)(struct tcpx_chan *c, uint64_t seq);

	/* Tells the sender; -EAGAIN: call again when writable (newer values may replace). */
	int (*chan_ack)(struct tcpx_chan *c, const struct tcpx_ack *ack);

	/* Closes at once; nothing touches user memory afterwards. */
	void (*chan_close)(struct tcpx_chan *c);
	int (*chan_stats)(struct tcpx_chan *c, struct tcpx_chan_stats *stats);
};

extern const struct tcpx_net_ops tcpx_net_sock; /* plain TCP         */
extern const struct tcpx_net_ops tcpx_net_loop; /* scripted, tests   */
extern const struct tcpx_net_ops tcpx_net_tcpx; /* a NCCL net plugin */

/* The provider of that name, or NULL. */
const struct tcpx_net_ops *tcpx_net_find(const char *name);
const char *tcpx_lend_name(enum tcpx_lend lend); /* auto, copy, splice, msg_zerocopy */

/* "10.0.0.1:80" / "[::1]:80"; port left out when 0. Static size: 64 is enough. */
void tcpx_addr_format(const struct tcpx_addr *a, char *buf, size_t cap);
/* A literal address with optional ":port"; no names. -EINVAL. */
int tcpx_addr_parse(const char *text, struct tcpx_addr *a);
/* "HOST:PORT", literal or a name that is looked up (which may block): up to cap
 * addresses. -EINVAL, -EHOSTUNREACH (both logged). */
int tcpx_addr_resolve(const char *host_port, struct tcpx_addr *out, uint32_t cap,
		      uint32_t *count);

#endif
