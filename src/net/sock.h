/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private to the sock provider: plain TCP over epoll. A channel is one connection;
 * messages go one way, 16-byte acknowledgements the other. Every fd is non-blocking and
 * close-on-exec. A poller outlives what it watches; all objects go before the net.
 */
#ifndef NET_SOCK_H
#define NET_SOCK_H

#include <pthread.h>
#include <stdatomic.h>

#include "net/net.h"

#define TCPX_SOCK_CHUNK_MAX      (16u << 20)
#define TCPX_SOCK_NOTSENT_LOWAT  (512u << 10)
#define TCPX_SOCK_RCVLOWAT       (256u << 10) /* payload bytes worth waking up for */
#define TCPX_SOCK_HEAD_BYTES     40
#define TCPX_SOCK_TAIL_BYTES     8
#define TCPX_SOCK_ACK_BYTES      16
#define TCPX_SOCK_PREAMBLE_BYTES 40
#define TCPX_SOCK_ANSWER_BYTES   4
#define TCPX_SOCK_IOV            128 /* most pieces of one system call */
#define TCPX_SOCK_GUESTS         256 /* most unidentified connections of a NIC */
#define TCPX_SOCK_PIPES          32  /* most pipes of an engine, see sock_pipe.c */
#define TCPX_SOCK_ZEROCOPIES     64  /* most MSG_ZEROCOPY calls of a channel in flight */
#define TCPX_SOCK_HOLD_MAX       (16u << 10) /* payload of a message held for the next */
#define TCPX_SOCK_HELD_BYTES     (64u << 10) /* of a channel: a run that is packed together */

/* What lent pages pass through on their way into a socket. */
struct tcpx_sock_pipe {
	int in, out;
	uint32_t bytes; /* it holds; 0: no pipe */
};

struct tcpx_sock_pipes {
	pthread_mutex_t lock; /* guards everything below */
	struct tcpx_sock_pipe idle[TCPX_SOCK_PIPES];
	uint32_t idle_count;
	uint32_t made;  /* idle or with a channel */
	uint32_t limit; /* most that may be made */
};

struct tcpx_net {
	const struct tcpx_nic *nics; /* borrowed */
	uint32_t nic_count;
	uint32_t notsent_lowat;
	enum tcpx_lend lend;
	struct tcpx_sock_pipes pipes;
	const struct tcpx_clock *clock; /* borrowed */
	struct tcpx_sock_port *ports;   /* one a NIC: where its channels arrive */
};

/* What a poller knows of one fd. */
struct tcpx_sock_watch {
	struct tcpx_poller *poller; /* NULL: not watched */
	void *owner;
	unsigned interest;
};

/* An unidentified connection: it has five seconds to send its preamble. */
struct tcpx_sock_guest {
	int fd;
	uint32_t got; /* bytes of it */
	uint64_t deadline_ns;
	struct tcpx_addr from;
	uint8_t bytes[TCPX_SOCK_PREAMBLE_BYTES + 1]; /* the last shows who says too much */
};

struct tcpx_sock_port {
	struct tcpx_net *net;
	const struct tcpx_nic *nic;
	pthread_mutex_t lock; /* guards everything below, and the listeners in the list */
	int fd;               /* -1 until the first channel is expected */
	int spare;            /* given up for a moment when no fd is left, see accept */
	struct tcpx_addr addr;
	struct tcpx_chan_listener *expected;
	struct tcpx_sock_guest *guests;
	uint32_t guest_count;
	uint64_t refused;      /* connections, ever */
	uint64_t refused_told; /* of these, reported in the log */
	uint64_t told_ns;
};

struct tcpx_chan_listener {
	struct tcpx_chan_listener *next;
	struct tcpx_sock_port *port;
	struct tcpx_chan_id id;
	int fd;    /* the identified connection; -1 before it came and after it was taken */
	bool used; /* a token is good once */
};

/*
 * How a sending channel lends pages. The bytes in the pipe count as unsent: should the
 * pipe be dropped, the message goes on from the same place by plain send.
 */
struct tcpx_sock_lend {
	enum tcpx_lend way;         /* of the open message */
	_Atomic int shown;          /* of the last message worth lending: enum tcpx_lend */
	_Atomic uint64_t lent_bytes;
	bool no_splice, no_msg;     /* the kernel refused: never again on this channel */
	bool msg_set;               /* SO_ZEROCOPY is */
	struct tcpx_sock_pipe pipe; /* of the open message */
	size_t piped;               /* bytes in it, the first of what is unsent */
	uint32_t calls;             /* with MSG_ZEROCOPY, ever: the kernel numbers them so */
	uint32_t pending;           /* of these, not yet told of */
	bool saved, copied;         /* some of the others were */
	uint32_t call_bytes[TCPX_SOCK_ZEROCOPIES];
};

/*
 * Whole messages that wait for the next one, to leave in one call with it: [pos, len) of
 * mem is not in the socket yet. While there is any, nothing of a later message is, either.
 */
struct tcpx_sock_held {
	uint8_t *mem; /* TCPX_SOCK_HELD_BYTES, made when first used */
	size_t pos, len;
};

struct tcpx_sock_tx {
	bool open;     /* a message is under way */
	size_t pos;    /* its bytes in the socket: header, payload and trailer */
	uint64_t last; /* newest seq that is held or in the kernel as a whole */
	struct tcpx_sock_held held;
	uint8_t head[TCPX_SOCK_HEAD_BYTES];
	uint8_t tail[TCPX_SOCK_TAIL_BYTES];
	struct tcpx_ack acked;
	uint8_t in[16 * TCPX_SOCK_ACK_BYTES];
	size_t in_got;
	struct tcpx_sock_lend lend;
};

/*
 * Between two payloads lies a seam: the trailer of one message, then the header of the
 * next. It is read together with the end of the payload before it. Reading ahead never
 * hides a message from the poller, since every header has a trailer still to come.
 */
struct tcpx_sock_rx {
	uint8_t seam[TCPX_SOCK_TAIL_BYTES + TCPX_SOCK_HEAD_BYTES];
	size_t seam_got;
	bool open; /* cur has been handed out and not ended */
	struct tcpx_head cur;
	size_t pos;           /* payload bytes taken */
	uint64_t last;        /* newest seq ended */
	struct tcpx_ack told; /* newest acknowledgement begun */
	uint8_t out[TCPX_SOCK_ACK_BYTES];
	size_t out_left; /* of its record, not yet in the kernel */
};

struct tcpx_chan {
	struct tcpx_net *net;
	int fd;
	bool sending;
	int dead; /* the code that ended it, then given to every call */
	int lowat; /* SO_RCVLOWAT as set; 0: never */
	uint64_t session;
	uint16_t channel, generation;
	struct tcpx_sock_watch watch;
	struct tcpx_sock_tx tx;
	struct tcpx_sock_rx rx;
};

/* sock.c: fds. Failures that a peer or the network can cause are logged at DEBUG only:
 * the caller knows whether it will try again. */

/* The NIC of that index; NULL with one line in the log when there is none. */
const struct tcpx_nic *tcpx_sock_nic(const struct tcpx_net *net, int nic);
/* A socket listening on addr; nic may be NULL. */
int tcpx_sock_listen_fd(const struct tcpx_nic *nic, const struct tcpx_addr *addr,
			struct tcpx_addr *bound, int *fd);
/* A socket on its way to an address; nic may be NULL. */
int tcpx_sock_connect_fd(const struct tcpx_nic *nic, const struct tcpx_addr *to, int *fd);
/* Whether that socket has arrived: 0, -EAGAIN, or why not (told once). */
int tcpx_sock_connected(int fd);
/* The next connection, or -EAGAIN. Out of fds, the connection is shed by way of spare. */
int tcpx_sock_accept_fd(int listen_fd, int *spare, struct tcpx_addr *from, int *fd);
/* Options of a data socket. The one place to set buffer sizes, should autotuning fail. */
int tcpx_sock_tune(const struct tcpx_net *net, int fd);
/* Whether errno of a non-blocking call only means "later". */
bool tcpx_sock_later(int err);

/* sock_poller.c */
int tcpx_sock_poller_open(struct tcpx_net *net, struct tcpx_poller **poller);
void tcpx_sock_poller_close(struct tcpx_poller *p);
int tcpx_sock_poller_wait(struct tcpx_poller *p, struct tcpx_event *events, int max,
			  int64_t timeout_ns);
void tcpx_sock_poller_wake(struct tcpx_poller *p);
int tcpx_sock_poller_watch_fd(struct tcpx_poller *p, int fd, void *owner);
/* This watched fd has just spoken and is likely to again. Only by who waits in p. */
void tcpx_sock_poller_hot(struct tcpx_poller *p, int fd, const struct tcpx_sock_watch *w);
int tcpx_sock_watch_set(struct tcpx_sock_watch *w, int fd, struct tcpx_poller *p,
			void *owner, unsigned interest);
/* No later wait returns the owner. Before close(fd): a forked child may hold it too. */
void tcpx_sock_watch_drop(struct tcpx_sock_watch *w, int fd);

/* sock_stream.c */
int tcpx_sock_listen(struct tcpx_net *net, const struct tcpx_addr *addr,
		     struct tcpx_addr *bound, struct tcpx_listener **listener);
int tcpx_sock_listener_watch(struct tcpx_listener *l, struct tcpx_poller *p, void *owner);
int tcpx_sock_accept(struct tcpx_listener *l, struct tcpx_stream **stream,
		     struct tcpx_addr *from);
void tcpx_sock_listener_close(struct tcpx_listener *l);
int tcpx_sock_connect(struct tcpx_net *net, int nic, const struct tcpx_addr *to,
		      struct tcpx_stream **stream);
int tcpx_sock_stream_watch(struct tcpx_stream *s, struct tcpx_poller *p, void *owner,
			   unsigned interest);
ssize_t tcpx_sock_stream_send(struct tcpx_stream *s, const void *data, size_t len);
ssize_t tcpx_sock_stream_recv(struct tcpx_stream *s, void *data, size_t len);
int tcpx_sock_stream_up(struct tcpx_stream *s);
void tcpx_sock_stream_close(struct tcpx_stream *s);

/* sock_port.c: the accepting side of channel set-up */
int tcpx_sock_ports_open(struct tcpx_net *net);
void tcpx_sock_ports_close(struct tcpx_net *net);
int tcpx_sock_chan_listen(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
			  uint8_t handle[TCPX_HANDLE_BYTES], struct tcpx_chan_listener **cl);
int tcpx_sock_chan_accept(struct tcpx_chan_listener *cl, bool sending,
			  struct tcpx_chan **chan);
void tcpx_sock_chan_listener_close(struct tcpx_chan_listener *cl);

/* sock_dial.c: the connecting side */
int tcpx_sock_chan_connect(struct tcpx_net *net, int nic, const struct tcpx_chan_id *id,
			   const uint8_t handle[TCPX_HANDLE_BYTES], bool sending, void **state,
			   struct tcpx_chan **chan);
void tcpx_sock_chan_connect_cancel(struct tcpx_net *net, void **state);

/* sock_chan.c: what both directions share */

/* Takes fd over, also when it fails. */
int tcpx_sock_chan_new(struct tcpx_net *net, const struct tcpx_chan_id *id, int fd,
		       bool sending, struct tcpx_chan **chan);
/* The first thing of every call: 0, why it is dead, or TCPX_ESTATE in the wrong direction. */
int tcpx_sock_chan_check(struct tcpx_chan *c, bool sending);
/* What a call on the fd that gave n <= 0 means: -EAGAIN, or the channel is dead. */
int tcpx_sock_chan_io(struct tcpx_chan *c, ssize_t n);
int tcpx_sock_chan_watch(struct tcpx_chan *c, struct tcpx_poller *p, void *owner,
			 unsigned interest);
void tcpx_sock_chan_close(struct tcpx_chan *c);
int tcpx_sock_chan_stats(struct tcpx_chan *c, struct tcpx_chan_stats *stats);

/* sock_send.c, sock_recv.c: messages */
int tcpx_sock_chan_send(struct tcpx_chan *c, struct tcpx_tx_msg *m);
int tcpx_sock_chan_acked(struct tcpx_chan *c, struct tcpx_ack *ack);
int tcpx_sock_chan_recv_head(struct tcpx_chan *c, struct tcpx_head *head);
ssize_t tcpx_sock_chan_recv_body(struct tcpx_chan *c, struct iovec *iov, int iov_count);
int tcpx_sock_chan_recv_end(struct tcpx_chan *c);
int tcpx_sock_chan_ack(struct tcpx_chan *c, const struct tcpx_ack *ack);

/* The first pieces of what is unsent of m's payload, filler when it is abandoned. */
int tcpx_sock_payload(const struct tcpx_tx_msg *m, struct iovec *v, int max, size_t *bytes);

/* sock_lend.c: payload of the engine's own memory, sent without a copy */

/* What the way of one message depends on. */
struct tcpx_sock_lend_facts {
	enum tcpx_lend want; /* as set */
	bool owned;
	uint32_t len;
	int pipe;            /* 0: the message has one; -EAGAIN: all are taken; else none */
	bool no_msg;         /* MSG_ZEROCOPY was refused */
	uint32_t calls;      /* with it so far */
	bool saved, copied;  /* some of these were lent, some copied after all */
};
/* OFF, SPLICE or MSG. */
enum tcpx_lend tcpx_sock_lend_plan(const struct tcpx_sock_lend_facts *f);
/* A message begins: chooses its way. */
void tcpx_sock_lend_begin(struct tcpx_chan *c, const struct tcpx_tx_msg *m);
/* Whether the next payload bytes go by tcpx_sock_lend_some(). */
bool tcpx_sock_lend_is_on(const struct tcpx_chan *c, const struct tcpx_tx_msg *m);
/* Bytes that the socket took; 0: the rest of the message goes by plain send; -EAGAIN with
 * the socket full or the pieces used up, or a code. *full: the socket has no room left. */
ssize_t tcpx_sock_lend_some(struct tcpx_chan *c, struct tcpx_tx_msg *m, bool *full);
/* The message is in the kernel as a whole. */
void tcpx_sock_lend_end(struct tcpx_chan *c);
/* Takes in what the kernel has to tell of earlier calls. Without this EPOLLERR stays. */
void tcpx_sock_lend_settle(struct tcpx_chan *c);
/* The MSG_ZEROCOPY calls of these numbers are over. */
void tcpx_sock_lend_told(struct tcpx_sock_lend *l, uint32_t first, uint32_t last, bool copied);
void tcpx_sock_lend_close(struct tcpx_chan *c);

/* sock_pipe.c: any thread */
void tcpx_sock_pipes_open(struct tcpx_sock_pipes *pool);
/* All pipes are back. */
void tcpx_sock_pipes_close(struct tcpx_sock_pipes *pool);
/* 0; -EAGAIN when all are taken; -ENOBUFS when this process gets none of a useful size. */
int tcpx_sock_pipe_get(struct tcpx_sock_pipes *pool, struct tcpx_sock_pipe *pipe);
/* Gives it back, or closes it when something is left in it. *pipe is none then. */
void tcpx_sock_pipe_put(struct tcpx_sock_pipes *pool, struct tcpx_sock_pipe *pipe, bool empty);

/* sock_wire.c: bytes, nothing else. parse: true when some version of us wrote them. */
void tcpx_sock_head_format(const struct tcpx_head *h, uint8_t out[TCPX_SOCK_HEAD_BYTES]);
bool tcpx_sock_head_parse(const uint8_t in[TCPX_SOCK_HEAD_BYTES], struct tcpx_head *h);
void tcpx_sock_tail_format(uint64_t seq, bool abandoned, uint8_t out[TCPX_SOCK_TAIL_BYTES]);
bool tcpx_sock_tail_parse(const uint8_t in[TCPX_SOCK_TAIL_BYTES], uint64_t seq,
			  bool *abandoned);
void tcpx_sock_ack_format(const struct tcpx_ack *ack, uint8_t out[TCPX_SOCK_ACK_BYTES]);
void tcpx_sock_ack_parse(const uint8_t in[TCPX_SOCK_ACK_BYTES], struct tcpx_ack *ack);
void tcpx_sock_preamble_format(const struct tcpx_chan_id *id,
			       uint8_t out[TCPX_SOCK_PREAMBLE_BYTES]);
bool tcpx_sock_preamble_parse(const uint8_t in[TCPX_SOCK_PREAMBLE_BYTES],
			      struct tcpx_chan_id *id);
/* Whether the first got bytes can still become a preamble. */
bool tcpx_sock_preamble_begins(const uint8_t *in, size_t got);
void tcpx_sock_handle_format(const struct tcpx_addr *addr, const struct tcpx_chan_id *id,
			     uint8_t out[TCPX_HANDLE_BYTES]);
bool tcpx_sock_handle_parse(const uint8_t in[TCPX_HANDLE_BYTES], struct tcpx_addr *addr,
			    struct tcpx_chan_id *id);
extern const uint8_t tcpx_sock_answer[TCPX_SOCK_ANSWER_BYTES];
/* Everything but the token equal. */
bool tcpx_sock_id_same(const struct tcpx_chan_id *a, const struct tcpx_chan_id *b);

#endif
