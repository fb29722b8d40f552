/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The private parts of the scripted network. A link is one connection; a pipe is one
 * direction of it. Bytes written to a pipe are read in order, never before their time. Side
 * 0 of a link connected, side 1 accepted.
 */
#ifndef FABRIC_INSIDE_H
#define FABRIC_INSIDE_H

#include "base/chain.h"
#include "base/rng.h"
#include "fabric/loop.h"

#define LOOP_CHUNK      (1u << 20)
#define LOOP_SLOTS      16
#define LOOP_SLOT_BYTES (512u << 10)
#define LOOP_PAGE       4096
#define LOOP_POISON     0xDB
#define LOOP_FORBIDDEN  64
#define LOOP_NEVER      UINT64_MAX

struct loop_nic {
	struct tcpx_node node;
	struct tcpx_addr addr;
	bool up;
	uint64_t Bps;
	uint64_t tx_free_ns, rx_free_ns; /* when what it was given has passed */
};

struct loop_range {
	const char *addr;
	size_t len;
};

struct tcpx_fabric {
	uint64_t now_ns;
	struct tcpx_clock clock;
	struct tcpx_rng rng;
	struct tcpx_fabric_script script;
	struct tcpx_fabric_fault *faults; /* not happened yet */
	uint32_t fault_count;
	uint64_t held_ns[TCPX_FABRIC_KINDS];
	struct tcpx_node nics, links, listeners, chan_listeners;
	uint32_t links_made[TCPX_FABRIC_KINDS];
	uint16_t next_port;
	uint64_t next_handle;
	uint64_t activity, flips;
	uint32_t flip_ppm[TCPX_FABRIC_KINDS];
	uint8_t **free_page; /* pages of no slot, in no order */
	size_t free_count, free_cap, page_count;
	struct loop_range forbidden[LOOP_FORBIDDEN];
	uint32_t forbidden_count;
	uint32_t violations;
	char violation[160];
};

struct tcpx_net {
	struct tcpx_fabric *fabric;
	const struct tcpx_nic *nics;
	uint32_t nic_count;
	bool comm;  /* channels are comms, else streams          */
	bool lends; /* the engine's own memory is sent by reference */
	uint32_t live; /* objects made and not closed */
	uint32_t promises; /* channels whose next message was said to follow at once */
};

/* What a poller looks at. */
struct loop_watch {
	struct tcpx_node node;
	void *owner;
	unsigned interest;
	unsigned (*ready)(struct loop_watch *w);
};

struct tcpx_poller {
	struct tcpx_net *net;
	struct tcpx_node watches;
};

struct loop_segment {
	struct loop_segment *next;
	uint64_t ready_ns;
	uint32_t len, off;
	const uint8_t *lent; /* where it lies until it is read; NULL: in data */
	uint8_t data[];
};

struct loop_pipe {
	struct loop_link *link;
	struct loop_nic *from, *to;
	struct loop_segment *head, *tail;
	size_t queued;
	uint64_t last_ns; /* the newest segment is ready */
	uint64_t fin_ns;  /* the writer has closed; LOOP_NEVER: it has not */
};

/* A message of a comm: in flight by reference, then in pages. */
struct loop_slot {
	struct tcpx_head head;
	uint64_t ready_ns;
	const uint8_t *src;
	struct iovec *frag;
	uint8_t **page;
	uint32_t frag_count;
};

/* Sent, landed and released count messages; at most LOOP_SLOTS lie between them. */
struct loop_ring {
	uint64_t sent, landed, released;
	struct loop_slot slot[LOOP_SLOTS];
	uint64_t told;            /* headers given to the receiver    */
	struct tcpx_head heads[LOOP_SLOTS];
	uint8_t *own[LOOP_SLOTS]; /* the sender's; made when wanted   */
};

/* A chunk whose application has not been acknowledged. */
struct loop_sent {
	uint64_t xfer, seq;
	uint32_t chunk;
};

struct loop_link {
	struct tcpx_node node;
	struct tcpx_fabric *fabric;
	enum tcpx_fabric_kind kind;
	uint32_t index; /* n-th of its kind */
	struct loop_pipe pipe[2]; /* [i]: written by side i */
	uint64_t up_ns;
	bool answered;      /* the connecting side has seen that it is up, or not */
	int refused;        /* 0, or why it does not come up */
	bool open[2];       /* held by somebody: a user, or a listener's queue */
	bool accepted;
	uint64_t dead_ns[2];
	int reset_code;     /* what a stream reads when dead: 0 or -ECONNRESET */
	/* data */
	struct loop_ring *ring; /* of a comm; NULL: a stream */
	int sender;             /* side that sends payload */
	uint64_t session;
	const struct tcpx_net *net[2];
	uint64_t moved_ns;      /* bytes of it were last read             */
	uint64_t payload_bytes; /* given to it so far, headers included */
	struct loop_sent *unacked;
	uint32_t unacked_count, unacked_cap;
};

/* One side's hold on a link. */
struct loop_end {
	struct loop_watch watch;
	struct tcpx_net *net;
	struct loop_link *link;
	int side;
};

struct loop_listener {
	struct loop_watch watch;
	struct tcpx_node node;
	struct tcpx_net *net;
	struct tcpx_addr addr;
	struct loop_link **waiting; /* in order of connecting */
	uint32_t waiting_count;
};

struct tcpx_stream {
	struct loop_listener *listener; /* NULL: it is connected */
	struct loop_end end;
	uint64_t got;
};

struct tcpx_chan_listener {
	struct tcpx_node node;
	struct tcpx_net *net;
	struct loop_nic *nic;
	struct tcpx_chan_id id;
	uint64_t handle;
	struct loop_link *link; /* connected, not accepted yet */
	bool used;
};

#define LOOP_HEAD_BYTES 40
#define LOOP_TAIL_MAX   5
#define LOOP_ACK_BYTES  sizeof(struct tcpx_ack)

struct tcpx_chan {
	struct loop_end end;
	bool sending;
	uint64_t last_seq;  /* sending: started; receiving: delivered */
	bool promised;      /* sending: the next message follows before anybody waits */
	/* direct, sending: the message not finished */
	bool tx_open;
	/* direct, receiving */
	uint8_t head[LOOP_HEAD_BYTES];
	uint32_t head_got;
	uint8_t tail[LOOP_TAIL_MAX];
	uint32_t tail_got;
	bool rx_open;
	bool summed;        /* the open message, or the last one */
	uint32_t body_left;
	/* acknowledgements: the part of one that was read; the newest passed on */
	uint8_t part[LOOP_ACK_BYTES];
	uint32_t part_got;
	struct tcpx_ack ack;
};

/* ---- fabric.c ---- */
struct loop_nic *tcpx_fabric_nic(struct tcpx_fabric *f, const struct tcpx_addr *addr);
bool tcpx_fabric_chance(struct tcpx_fabric *f, uint32_t ppm);
uint64_t tcpx_fabric_delay(struct tcpx_fabric *f, enum tcpx_fabric_kind kind);
/* len, or sometimes a part of it; at least 1 when len is not 0. */
size_t tcpx_fabric_part(struct tcpx_fabric *f, size_t len);
/* Perhaps changes a bit of what was read. */
void tcpx_fabric_flip(struct tcpx_fabric *f, enum tcpx_fabric_kind kind, void *data, size_t len);
/* Counts a broken rule. Returns TCPX_EFRAME. */
int tcpx_fabric_blame(struct tcpx_fabric *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
bool tcpx_fabric_is_forbidden(const struct tcpx_fabric *f, const void *addr, size_t len);
/* A poisoned page, or NULL. */
uint8_t *tcpx_fabric_page_get(struct tcpx_fabric *f);
void tcpx_fabric_page_put(struct tcpx_fabric *f, uint8_t *page);
bool tcpx_addr_same_ip(const struct tcpx_addr *a, const struct tcpx_addr *b);

/* ---- pipe.c ---- */
void tcpx_pipe_init(struct loop_pipe *p, struct loop_link *l, struct loop_nic *from,
		    struct loop_nic *to);
/* When that many bytes, given now, arrive; occupies the NICs. */
uint64_t tcpx_pipe_schedule(struct loop_pipe *p, size_t len);
size_t tcpx_pipe_room(const struct loop_pipe *p);
/* Takes len bytes or fewer; 0: full or no memory. */
size_t tcpx_pipe_write(struct loop_pipe *p, const void *data, size_t len);
/* The same; the bytes are taken from data when they are read. */
size_t tcpx_pipe_lend(struct loop_pipe *p, const void *data, size_t len);
/* The writer's memory goes: copies what is lent. */
void tcpx_pipe_keep(struct loop_pipe *p);
/* Gives at most len arrived bytes. */
size_t tcpx_pipe_read(struct loop_pipe *p, void *data, size_t len);
bool tcpx_pipe_has_bytes(const struct loop_pipe *p);
/* Everything was read and the writer has closed. */
bool tcpx_pipe_ended(const struct loop_pipe *p);
void tcpx_pipe_fin(struct loop_pipe *p);
void tcpx_pipe_purge(struct loop_pipe *p);
uint64_t tcpx_pipe_next_ns(const struct loop_pipe *p);

/* ---- link.c ---- */
int tcpx_link_new(struct tcpx_net *net, enum tcpx_fabric_kind kind, int nic,
		  const struct tcpx_addr *to, struct loop_link **link);
/* When something of time t really happens on it: held, or its NICs down. */
uint64_t tcpx_link_when(const struct loop_link *l, uint64_t t);
/* 0 stands, -EAGAIN, or why not. */
int tcpx_link_up(struct loop_link *l);
bool tcpx_link_stands(struct loop_link *l);
bool tcpx_link_dead(const struct loop_link *l, int side);
/* Breaks it: side sees it now, the other a delay later. */
void tcpx_link_break(struct loop_link *l, int side);
/* One holder lets go; frees it after both. */
void tcpx_link_close(struct loop_link *l, int side);
/* A segment has been read: random faults. */
void tcpx_link_delivered(struct loop_link *l);
/* Payload was given to it: scripted faults. */
void tcpx_link_given(struct loop_link *l, size_t len);
uint64_t tcpx_link_next_ns(const struct loop_link *l);
void tcpx_end_init(struct loop_end *e, struct tcpx_net *net, struct loop_link *l, int side);
int tcpx_end_watch(struct loop_end *e, struct tcpx_poller *p, void *owner, unsigned interest);
void tcpx_end_close(struct loop_end *e);

/* ---- poller.c ---- */
int tcpx_loop_poller_open(struct tcpx_net *net, struct tcpx_poller **poller);
void tcpx_loop_poller_close(struct tcpx_poller *p);
int tcpx_loop_poller_wait(struct tcpx_poller *p, struct tcpx_net_event *events, int max,
			  int64_t timeout_ns);
void tcpx_loop_poller_wake(struct tcpx_poller *p);
int tcpx_watch_set(struct loop_watch *w, struct tcpx_poller *p, void *owner,
		   unsigned interest);

/* ---- stream.c ---- */
int tcpx_loop_listen(struct tcpx_net *net, const struct tcpx_addr *addr,
		     struct tcpx_addr *bound, struct tcpx_stream **listener);
int tcpx_loop_accept(struct tcpx_stream *l, struct tcpx_stream **stream,
		     struct tcpx_addr *from, struct tcpx_addr *at);
int tcpx_loop_connect(struct tcpx_net *net, int nic, const struct tcpx_addr *to, uint16_t packet,
		      struct tcpx_stream **stream);
int tcpx_loop_stream_watch(struct tcpx_stream *s, struct tcpx_poller *p, void *owner,
			   unsigned interest);
ssize_t tcpx_loop_stream_send(struct tcpx_stream *s, const void *data, size_t len);
ssize_t tcpx_loop_stream_recv(struct tcpx_stream *s, void *data, size_t len);
int tcpx_loop_stream_acked(struct tcpx_stream *s);
void tcpx_loop_stream_name(struct tcpx_stream *s, struct tcpx_addr *at);
void tcpx_loop_stream_close(struct tcpx_stream *s);

/* ---- wiring.c ---- */
int tcpx_loop_chan_listen(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
			  uint8_t handle[TCPX_HANDLE_BYTES], struct tcpx_chan_listener **cl);
int tcpx_loop_chan_accept(struct tcpx_chan_listener *cl, bool sending,
			  struct tcpx_chan **chan);
void tcpx_loop_chan_listener_close(struct tcpx_chan_listener *cl);
int tcpx_loop_chan_connect(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
			   const uint8_t handle[TCPX_HANDLE_BYTES], bool sending,
			   void **state, struct tcpx_chan **chan);
void tcpx_loop_chan_connect_cancel(struct tcpx_net *net, void **state);
int tcpx_loop_chan_watch(struct tcpx_chan *c, struct tcpx_poller *p, void *owner,
			 unsigned interest);
void tcpx_loop_chan_close(struct tcpx_chan *c);

/* ---- chan.c ---- */
/* The rules for a message that begins: its sequence, and no other channel has its chunk.
 * 0 or TCPX_EFRAME. */
int tcpx_loop_chan_begin(struct tcpx_chan *c, const struct tcpx_head *head);
/* What the core says of the next message; nobody may wait while that is owed. */
void tcpx_loop_chan_promise(struct tcpx_chan *c, bool more);
int tcpx_loop_chan_send(struct tcpx_chan *c, struct tcpx_tx_msg *m);
int tcpx_loop_chan_acked(struct tcpx_chan *c, struct tcpx_ack *ack);
int tcpx_loop_chan_recv_head(struct tcpx_chan *c, struct tcpx_head *head);
uint32_t tcpx_loop_chan_sum(const struct tcpx_chan *c);
ssize_t tcpx_loop_chan_recv(struct tcpx_chan *c, struct iovec *iov, int iov_count);
int tcpx_loop_chan_ack(struct tcpx_chan *c, const struct tcpx_ack *ack);
/* Messages up to applied are where they belong: their chunks may be sent again. */
void tcpx_loop_chan_forget(struct loop_link *l, uint64_t applied);
int tcpx_loop_chan_stats(struct tcpx_chan *c, struct tcpx_channel_info *stats);
int tcpx_loop_chan_under_way(struct tcpx_chan *c, struct tcpx_net_way *way);
void tcpx_loop_chan_recall(struct tcpx_chan *c);

/* ---- slots.c ---- */
int tcpx_slotring_new(struct loop_ring **ring);
void tcpx_slotring_free(struct loop_ring *r, struct tcpx_fabric *f);
/* Forgets what has not landed. */
void tcpx_slotring_purge(struct loop_ring *r);
/* Gives back the pages of what has landed. */
void tcpx_slotring_clear(struct loop_ring *r, struct tcpx_fabric *f);
bool tcpx_slotring_readable(const struct loop_link *l);
uint64_t tcpx_slotring_next_ns(const struct loop_link *l);
int tcpx_loop_comm_send(struct tcpx_chan *c, const struct tcpx_head *head);
int tcpx_loop_comm_ended(struct tcpx_chan *c);
int tcpx_loop_comm_recv(struct tcpx_chan *c, struct tcpx_landed *msg);
int tcpx_loop_comm_release(struct tcpx_chan *c, uint64_t seq);
void *tcpx_loop_comm_slot(struct tcpx_chan *c, uint64_t seq);
int tcpx_loop_comm_head(struct tcpx_chan *c, const struct tcpx_head *head);

#endif
