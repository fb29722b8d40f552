/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx-p2p: move memory between processes and machines over plain TCP, over all NICs
 * at once. The whole public interface.
 *
 *	tcpx_engine *e;   tcpx_open(NULL, &e);
 *	tcpx_peer *p;     tcpx_peer_connect(e, "10.0.0.2:28515", &p);
 *	uint64_t mine;    tcpx_mem_register(e, buf, len, TCPX_MEM_LOCAL, &mine);
 *	uint64_t theirs;  tcpx_mem_import(e, blob, blob_len, &theirs);
 *	struct tcpx_desc l = { mine, 0, len }, r = { theirs, 0, len };
 *	tcpx_xfer *x;     tcpx_write(p, &l, 1, &r, 1, "done", 4, &x);
 *	tcpx_wait(x, -1); tcpx_xfer_free(x);
 *
 * Conventions. Every call may be made from any thread. Results are 0 or a negative
 * code of tcpx/err.h; out parameters come last and are written only on success. -EAGAIN
 * always means "not yet": of a wait, that its time has passed and the transfer goes on.
 * Nothing given to a call is kept after it returns, except registered memory. Nothing
 * blocks unless its name says wait. Lengths and offsets are bytes. After fork() the
 * child has no sockets of an engine of its parent: calls give TCPX_ESTATE, giving back does nothing.
 *
 * Names are tcpx_NOUN_VERB(). A call without a noun concerns the engine (tcpx_open, _query,
 * _port, _poll) or starts, moves or ends a transfer (tcpx_write, _test, _wait, _cancel). Handles are
 * made by the library and given back by tcpx_NOUN_free(), the engine by tcpx_close() or
 * tcpx_close_wait(), memory by tcpx_mem_deregister().
 */
#ifndef TCPX_H
#define TCPX_H

#include <stddef.h>
#include <stdint.h>

#include "tcpx/err.h"
#include "tcpx/version.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TCPX_NAME_MAX     64    /* a name, with its NUL               */
#define TCPX_NOTE_MAX     8192u /* bytes of a note                    */
#define TCPX_BLOB_MAX     64    /* bytes of a region's blob           */
#define TCPX_METADATA_MAX 4096  /* bytes of an engine's blob          */

/* Structs with struct_size only grow at their end. Begin them with their TCPX_..._INIT. */
#define TCPX_ENGINE_OPTS_INIT TCPX_SIZED(tcpx_engine_opts)
#define TCPX_PEER_INFO_INIT   TCPX_SIZED(tcpx_peer_info)
#define TCPX_XFER_INFO_INIT   TCPX_SIZED(tcpx_xfer_info)
#define TCPX_COUNTERS_INIT    TCPX_SIZED(tcpx_counters)

typedef struct tcpx_engine tcpx_engine; /* a process's endpoint: threads, NICs, memory   */
typedef struct tcpx_peer tcpx_peer;     /* one incarnation of another engine             */
typedef struct tcpx_xfer tcpx_xfer;     /* one transfer                                  */
typedef struct tcpx_lane tcpx_lane;     /* one end of a one-way pipe of messages         */
typedef struct tcpx_list tcpx_list;     /* a prepared descriptor list                    */
typedef struct tcpx_note tcpx_note;     /* bytes that a peer sent                        */

/* The library's version, "0.1.0"; static. */
TCPX_API const char *tcpx_version(void);
/* Name ("TCPX_ESTALLED") and one sentence of a code; static, never NULL. */
TCPX_API const char *tcpx_strerror_name(int code);
TCPX_API const char *tcpx_strerror(int code);
/* What a code's owner has lost; tcpx/err.h. */
TCPX_API enum tcpx_err_group tcpx_err_group(int code);

/* ---- engine ---------------------------------------------------------------------- */

/* One whole log line of printable ASCII, without newline; at most 10 in any second, one that says
 * how many were left out among them, but with TCPX_DEBUG=DEBUG or TRACE all. Called from a thread of
 * its own that lives as long as an engine, and holds none of the library's locks: it may call the
 * library, but not open or close an engine, nor use one that is being closed. Levels: 1 error,
 * 2 warning, 3 info, 4 debug, 5 trace. */
typedef void (*tcpx_log_sink_fn)(void *arg, int level, const char *line);

struct tcpx_engine_opts {
	size_t struct_size;
	const char *name;              /* the name that peers see, without control characters; NULL: host:pid */
	const char *listen;            /* "PORT" or "ADDR:PORT" for the control listener,
	                                * "off": none, so that no peer can connect to it;
	                                * NULL: every selected NIC, TCPX_PORT (any free),
	                                * and, without TCPX_NICS, localhost              */
	const char *const *settings;   /* "TCPX_CHUNK=1M", ..., NULL; beat environment
	                                * and files. `tcpx info --config` lists all      */
	tcpx_log_sink_fn log;          /* NULL: the process's sink stays as it is; stderr
	                                * gets lines only if TCPX_DEBUG asks for them    */
	void *log_arg;
	int peer_events;               /* 1: tcpx_event_get() reports peers, too       */
};

/*
 * tcpx_open - start an engine: read settings, bind listeners, start its threads
 * @opts: NULL for all defaults
 * Return: 0; TCPX_ECONFIG (a setting, named in the log); -ENODEV (no such NIC);
 * -EADDRINUSE (listener port taken); -ENOTSUP (the plugin drives none of the NICs); -ENOMEM.
 */
TCPX_API TCPX_MUST_USE int tcpx_open(const struct tcpx_engine_opts *opts, tcpx_engine **engine);

/* Ends every transfer with TCPX_ECLOSED, closes and frees everything. Waits about 64 ms at most,
 * for peers' kernels to acknowledge that. Peers, transfers and lists of this engine are freed with
 * it and must not be used afterwards. Notes that were taken stay the caller's. NULL is allowed. */
TCPX_API void tcpx_close(tcpx_engine *engine);

/* Lets open transfers finish until @timeout_ms (-1: no limit) and refuses new ones; then it is
 * tcpx_close(). Return: 0, or TCPX_ETIMEDOUT if a transfer had to be ended. */
TCPX_API int tcpx_close_wait(tcpx_engine *engine, int timeout_ms);

/* The blob for tcpx_peer_add() of another engine: name, incarnation, addresses. @len in: room in @buf,
 * out: bytes needed, TCPX_METADATA_MAX at most. -ENOBUFS: it does not fit (NULL may ask). */
TCPX_API int tcpx_metadata(tcpx_engine *engine, void *buf, size_t *len);

/* Port of the control listener, host byte order. */
TCPX_API uint16_t tcpx_port(tcpx_engine *engine);

/* A level-triggered descriptor for poll(): readable while a note or an event waits, or the end of
 * a transfer that is not watched has not been tested. Borrowed; closed with the engine. */
TCPX_API int tcpx_event_fd(tcpx_engine *engine);

/* Text of the calling thread's last failing call, for people; "" if none. -EAGAIN is no failure.
 * The cause of a failed transfer is in tcpx_xfer_query() as well. */
TCPX_API void tcpx_last_error(tcpx_engine *engine, char *buf, size_t cap);

/* ---- memory ---------------------------------------------------------------------- */

enum tcpx_mem_access {
	TCPX_MEM_LOCAL = 0,        /* only this process names it in lists                */
	TCPX_MEM_REMOTE_READ = 1,  /* peers that hold the blob may READ it               */
	TCPX_MEM_REMOTE_WRITE = 2, /* ... may WRITE it                                   */
	TCPX_MEM_LEND = 4          /* stays mapped; its pages may be lent to the kernel  */
};

/*
 * tcpx_mem_register - make memory usable in descriptor lists
 * @addr, @len: host or GPU memory that stays valid until deregistered; len >= 1. GPU memory is recognised
 *              by its address, once the process has loaded the driver (cudaMalloc has, see
 *              TCPX_CUDA_LIBRARY); all of a region lies on one GPU. Managed memory counts as host memory
 * @access:     enum tcpx_mem_access, or-ed. TCPX_MEM_LEND: the kernel may read host memory in place as it is
 *              sent (64 KiB and more, in pieces of 16 KiB and more; not with TCPX_CHECKSUM). The owner writes
 *              none of a transfer under way, a peer's READ too. One that ends with 0 is read no more.
 *              After another end the memory is free as always: connections that have lent pages of it
 *              break, and are made again, so that nothing arrives as it is later
 * @id:         out: local region id, never reused within an engine
 * Fills no page of it. Memory that cannot be touched later (unmapped, a file that became shorter) ends the
 * transfers that touch it with -EFAULT, and nothing else. But TCPX_MEM_LEND: it may raise SIGSEGV or SIGBUS.
 * Return: 0; -EFAULT: not mapped, or not all; -EIO: a late GPU may still write it; -EINVAL; TCPX_ELIMIT; -ENOMEM.
 */
TCPX_API TCPX_MUST_USE int tcpx_mem_register(tcpx_engine *engine, void *addr, size_t len,
				      unsigned access, uint64_t *id);

/* Gives an id back. Ends every transfer that uses it with TCPX_EREGION, here and at the peers.
 * After the return no byte of it is read or written, but for pages that the kernel was lent, of which nothing
 * arrives, and by a late GPU: so long it cannot be registered. Waits for at most one socket call or copy in
 * progress, never for the network. An imported id: transfers go on, the name is gone. TCPX_ESTALE: not live. */
TCPX_API int tcpx_mem_deregister(tcpx_engine *engine, uint64_t id);

/* The blob that lets a peer name the region: id, 128-bit key, length, address, access; at most
 * TCPX_BLOB_MAX bytes. Any holder of the blob may use the region. @len as in tcpx_metadata(). */
TCPX_API int tcpx_mem_export(tcpx_engine *engine, uint64_t id, void *buf, size_t *len);

/* Reads a blob; @id then names the peer's region in remote lists. TCPX_EBLOB. */
TCPX_API TCPX_MUST_USE int tcpx_mem_import(tcpx_engine *engine, const void *blob, size_t len,
				    uint64_t *id);
/* Length and owner's address of an imported or local region; either may be NULL. */
TCPX_API int tcpx_mem_query(tcpx_engine *engine, uint64_t id, uint64_t *addr, uint64_t *len);
/* Place of a local region: -1 host memory, else the GPU's ordinal. */
TCPX_API int tcpx_mem_place(tcpx_engine *engine, uint64_t id, int *gpu);

/* ---- peers ----------------------------------------------------------------------- */

/* Names a peer by its metadata blob; connecting starts in the background. Adding the same incarnation
 * again gives the same peer, its connections still warm within TCPX_LINGER_MS of a drop. Two that add
 * each other have one session, and so has a peer that is added here and dialled by another address, too. Tried until TCPX_CONNECT_MS; TCPX_EPEERGONE as soon as every address
 * has refused for a second: an engine that gave a blob listens all its life. */
TCPX_API TCPX_MUST_USE int tcpx_peer_add(tcpx_engine *engine, const void *blob, size_t len,
				  tcpx_peer **peer);
/* The same by "HOST:PORT" or "[v6]:PORT", or up to eight addresses between commas, tried in turn, a second
 * each; the handshake brings the peer's name and incarnation. A host name is looked up before the call
 * returns, which may block. While a session by one of the addresses lives, it is the same peer. */
TCPX_API TCPX_MUST_USE int tcpx_peer_connect(tcpx_engine *engine, const char *host_port,
				      tcpx_peer **peer);
/* Finds a peer that connected to us or was added by us, by name (newest incarnation).
 * -ENOENT. Give it back with tcpx_peer_free(). */
TCPX_API TCPX_MUST_USE int tcpx_peer_find(tcpx_engine *engine, const char *name, tcpx_peer **peer);
/* Waits until its session is open. 0; -EAGAIN (timeout_ms passed; -1: no limit); or the first cause. */
TCPX_API int tcpx_peer_wait(tcpx_peer *peer, int timeout_ms);
/* Gives the handle back; its transfers go on. */
TCPX_API void tcpx_peer_free(tcpx_peer *peer);

struct tcpx_peer_info {
	size_t struct_size;
	char name[64];
	uint64_t incarnation;
	int status;               /* 0 open, -EAGAIN connecting, or the first cause      */
	uint32_t channels_tx;     /* open now, from us to the peer                       */
	uint32_t channels_rx;     /* open now, from the peer to us (READ)                */
	uint32_t channels_wanted; /* each way, as negotiated                             */
	uint32_t chunk_bytes;     /* largest chunk of this session                       */
	uint32_t window_slots;    /* per channel                                         */
	uint64_t setup_ns;        /* connect call to session open                        */
	char provider[16];
	char cause[192];          /* why it is not open (yet), for people; "" while open */
	uint32_t resting_tx, resting_rx; /* of those wanted: closed until there is load  */
};
/* How a peer is reached and what was negotiated with it. */
TCPX_API int tcpx_peer_query(tcpx_peer *peer, struct tcpx_peer_info *info);

/* ---- transfers ------------------------------------------------------------------- */

/* One piece of a transfer: @len bytes, 0 or more, at @offset of a region. Byte k of the transfer is byte k of
 * either list, laid end to end. The lists may be cut differently; their totals must be equal. */
struct tcpx_desc {
	uint64_t region;
	uint64_t offset;
	uint64_t len;
};

/*
 * tcpx_write / tcpx_read - move bytes from / to local memory to / from the peer's
 * @note: delivered to the peer once, after the last byte is in place (write) or has
 *        arrived here (read): at most TCPX_NOTE_MAX bytes; NULL for none
 * @xfer: out: ends by itself, give back with tcpx_xfer_free()
 *
 * Between post and end the local memory must not be written (write) or used (read).
 * Return: 0; -EINVAL; TCPX_ERANGE (outside the region); TCPX_ESTALE; TCPX_EPEERGONE or
 * what ended the session; -ENOMEM.
 */
TCPX_API TCPX_MUST_USE int tcpx_write(tcpx_peer *peer, const struct tcpx_desc *local, size_t nlocal,
			       const struct tcpx_desc *remote, size_t nremote, const void *note,
			       size_t note_len, tcpx_xfer **xfer);
TCPX_API TCPX_MUST_USE int tcpx_read(tcpx_peer *peer, const struct tcpx_desc *local, size_t nlocal,
			      const struct tcpx_desc *remote, size_t nremote, const void *note,
			      size_t note_len, tcpx_xfer **xfer);

/* Two-sided transfers. The first posted receive of its tag from that peer matches a send. Longer
 * than the receive: both end with TCPX_ELENGTH. Shorter: the receive's info has the length. */
TCPX_API TCPX_MUST_USE int tcpx_send(tcpx_peer *peer, const struct tcpx_desc *local, size_t nlocal,
			      uint64_t tag, tcpx_xfer **xfer);
TCPX_API TCPX_MUST_USE int tcpx_recv(tcpx_peer *peer, const struct tcpx_desc *local, size_t nlocal,
			      uint64_t tag, tcpx_xfer **xfer);

/* A list checked and packed once, for many transfers. All regions must be local, or all imported. */
TCPX_API TCPX_MUST_USE int tcpx_list_prepare(tcpx_engine *engine, const struct tcpx_desc *desc,
				      size_t count, tcpx_list **list);
TCPX_API void tcpx_list_free(tcpx_list *list);

enum tcpx_op { TCPX_OP_WRITE = 1, TCPX_OP_READ = 2, TCPX_OP_SEND = 3, TCPX_OP_RECV = 4 };

/* A transfer over prepared lists that can be posted again after each end. */
TCPX_API TCPX_MUST_USE int tcpx_xfer_prepare(tcpx_peer *peer, enum tcpx_op op, tcpx_list *local,
				      tcpx_list *remote, tcpx_xfer **xfer);
/* Starts it. TCPX_ESTATE while in progress. */
TCPX_API TCPX_MUST_USE int tcpx_xfer_post(tcpx_xfer *xfer, const void *note, size_t note_len);

/*
 * The same for memory that a GPU stream is still at work on: no byte of local memory is
 * touched before @event (a CUevent of the caller's, recorded already; NULL: at once) has
 * happened. The event is polled, never enqueued, and must live until the transfer ends.
 *
 * GPU memory: once the transfer has ended, its source may be overwritten, and its destination
 * is visible to every stream and to the host. The library works on streams of its own and
 * waits for none of the caller's.
 */
TCPX_API TCPX_MUST_USE int tcpx_xfer_post_after(tcpx_xfer *xfer, void *event, const void *note,
					 size_t note_len);
/*
 * Makes @stream (a CUstream) wait until the transfer has ended, however it ends;
 * tcpx_test() then has the result. Work enqueued behind the wait sees the destination. The
 * transfer must be posted; it may be posted again or freed only after the stream has
 * passed. -ENOTSUP: no GPU in use, or its driver cannot; TCPX_ESTATE: never posted.
 */
TCPX_API TCPX_MUST_USE int tcpx_xfer_stream_wait(tcpx_xfer *xfer, void *stream);

/* How it stands: -EAGAIN in progress, 0 done, else the first cause. Usually one atomic load. */
TCPX_API int tcpx_test(tcpx_xfer *xfer);
/* Waits until it has ended; -EAGAIN after timeout_ms (-1: no limit). Meanwhile the caller's
 * thread does the I/O where it can. */
TCPX_API int tcpx_wait(tcpx_xfer *xfer, int timeout_ms);
/* Ends it with TCPX_ECANCELED if in progress. After the return no byte moves from or to
 * local memory. The peer may hold a part; no note is delivered. */
TCPX_API void tcpx_cancel(tcpx_xfer *xfer);
/* Cancels if in progress, gives the handle back. Cannot fail. NULL is allowed. */
TCPX_API void tcpx_xfer_free(tcpx_xfer *xfer);

/* ---- lanes ----------------------------------------------------------------------- */

/*
 * A lane is an ordered one-way pipe of messages: the n-th send meets the n-th receive. Receives are
 * announced beforehand, so a message costs no word of its own between the engines. It waits for its
 * receive. But up to 16 KiB of host memory (TCPX_MEM_LEND: 128 KiB) are copied within the post where that is possible
 * (never with TCPX_INLINE=0): such a send may succeed before it is there. And up to 64 KiB may leave
 * at once: such a send succeeds when it is there. Either may have no receive yet, which may be posted
 * after the sender has closed. Host or GPU memory; TCPX_PROVIDER=sock only.
 *
 *	receiver: tcpx_lane_listen(e, key, &l);  the key travels to the sender by other means
 *	sender:   tcpx_lane_open(p, key, &l);
 *	both:     tcpx_lane_ready(l); tcpx_lane_post(l, region, 0, len, &x); tcpx_test(x); ...
 *
 * A lane fails as a whole: where a message is cancelled, does not fit, loses its region or is not
 * copied, all of both ends that have not ended fail with that cause, and so does what is posted later.
 */
#define TCPX_LANE_KEY  16 /* bytes                                                       */
#define TCPX_LANE_OPEN 64 /* messages from the oldest that has not ended to the newest   */
#define TCPX_LANE_WEIGHT_MAX 16
#define TCPX_LANE_LABEL  32 /* bytes, with the NUL                                        */
#define TCPX_LANE_LABELS 32 /* of an engine, besides "other"                              */

/* A receiving end. @key: out: TCPX_LANE_KEY bytes, for one sender. -ENOTSUP: the provider cannot. */
TCPX_API TCPX_MUST_USE int tcpx_lane_listen(tcpx_engine *engine, void *key, tcpx_lane **lane);
/* The sending end of the lane with that key at the peer. It keeps the peer. */
TCPX_API TCPX_MUST_USE int tcpx_lane_open(tcpx_peer *peer, const void *key, tcpx_lane **lane);
/* 0: both ends are there; -EAGAIN: not yet; or what ended it (-ENOENT: nobody listens by that key). */
TCPX_API int tcpx_lane_ready(tcpx_lane *lane);
/* The peer of the other end; give it back with tcpx_peer_free(). -EAGAIN: not yet known. */
TCPX_API TCPX_MUST_USE int tcpx_lane_peer(tcpx_lane *lane, tcpx_peer **peer);
/* Posts a message: a send or a receive, by the end. It ends as any transfer; a receive's info has the
 * length. While threads run the I/O by tests, frames of posts wait for the next test or wait of a
 * message, or some ms. -EAGAIN: not ready; -ENOBUFS: TCPX_LANE_OPEN are open; what ended the lane;
 * as tcpx_send(). */
TCPX_API TCPX_MUST_USE int tcpx_lane_post(tcpx_lane *lane, uint64_t region, uint64_t offset,
					  uint64_t len, tcpx_xfer **xfer);
/* The share of a sending end. While more waits to go to the same process, 4 sends four times the
 * bytes of 1, as all have at first. -EINVAL: 0, above TCPX_LANE_WEIGHT_MAX, or of a receiving end. */
TCPX_API int tcpx_lane_weight(tcpx_lane *lane, uint32_t weight);
/* A name for what several lanes carry: tcpx top and its metrics sum up the engine's lanes of each. It is
 * copied, stays here, and may change: a message counts for the label of the moment it ends. NULL or "":
 * none, as at first. While TCPX_LANE_LABELS others have lanes a new one counts as "other"; one without
 * lanes may become part of that. -EINVAL: TCPX_LANE_LABEL bytes or more, or not printable ASCII. */
TCPX_API int tcpx_lane_label(tcpx_lane *lane, const char *text);
/* Gives the end back. Messages that have not ended fail with TCPX_ECANCELED, at both ends. After the
 * return no byte of them is read or written. NULL is allowed. */
TCPX_API void tcpx_lane_close(tcpx_lane *lane);

/* ---- many at once ---------------------------------------------------------------- */

/* From now on each end of the transfer is one event with @user. Call it after tcpx_write(),
 * _read(), _send() or _recv(): if it has ended already, the event is there at once. Or once
 * before tcpx_xfer_post(): each post gives one. tcpx_test() and tcpx_wait() stay as they are.
 * An event not yet taken goes with tcpx_xfer_free() and with the next post. */
TCPX_API void tcpx_xfer_watch(tcpx_xfer *xfer, void *user);

enum tcpx_event_kind { TCPX_EVENT_XFER = 1, TCPX_EVENT_PEER_UP = 2, TCPX_EVENT_PEER_DOWN = 3 };

struct tcpx_event {
	int kind;
	int status;            /* how the transfer ended; why the peer is down; 0        */
	void *user;            /* as given to tcpx_xfer_watch()                          */
	tcpx_xfer *xfer;       /* the caller's handle, to post again or to free          */
	uint64_t bytes;        /* in place                                               */
	uint64_t incarnation;  /* of the peer                                            */
	char peer[64];         /* its name; "" for transfers                             */
};

/*
 * tcpx_event_get - take what has happened, the oldest first
 * @stride: sizeof(struct tcpx_event)
 * @count:  in: room in @out, at least 1; out: how many were taken
 *
 * Each event is given once, to one thread. Its cost does not depend on how many transfers are
 * open. Of a peer only the latest state waits, and only with tcpx_engine_opts.peer_events.
 * Return: 0; -EAGAIN and no event; -EINVAL.
 */
TCPX_API TCPX_MUST_USE int tcpx_event_get(tcpx_engine *engine, struct tcpx_event *out,
					  size_t stride, size_t *count);
/* The same, waiting for the first; -EAGAIN after timeout_ms (-1: no limit). Meanwhile the
 * caller's thread does the I/O, as in tcpx_wait(). */
TCPX_API TCPX_MUST_USE int tcpx_event_wait(tcpx_engine *engine, int timeout_ms,
					   struct tcpx_event *out, size_t stride, size_t *count);

/*
 * tcpx_poll - do the engine's control I/O now, and keep it with the threads that poll
 *
 * The first call asks the first I/O thread for its loop, which has all control streams; later ones
 * run a turn of it each. No call waits for a lock. Between calls only tcpx_wait() runs the loop.
 * The I/O thread takes it back 100 us after the latest call. Of several threads that poll, one
 * works, and the others return after one load.
 * Return: 0: a turn was run; -EAGAIN: another thread runs the loop, or is asked; TCPX_ESTATE.
 */
TCPX_API int tcpx_poll(tcpx_engine *engine);
/* The polls of all threads are over: the I/O thread takes the loop back at once. */
TCPX_API void tcpx_poll_done(tcpx_engine *engine);

struct tcpx_xfer_info {
	size_t struct_size;
	int status;            /* as tcpx_test()                                         */
	uint64_t id;           /* its number in the session                              */
	uint64_t bytes_total;  /* for a receive: of the matched send                     */
	uint64_t bytes_done;   /* applied so far                                         */
	uint64_t chunk_bytes;
	uint64_t post_ns;      /* CLOCK_MONOTONIC                                        */
	uint64_t done_ns;      /* 0 while in progress                                    */
	char cause[192];       /* why it failed, for people; "" otherwise                */
	/* in progress or failed: the first chunk that is not in place, and where it is */
	uint64_t stuck_chunk;
	int stuck_channel;     /* that took it last; -1 none, or not known here          */
	char stuck_nic[32];    /* of that channel                                        */
	char stage[48];        /* for people: "sent, not acknowledged"                   */
};
/* State, figures and cause of failure of a transfer, in progress or ended. */
TCPX_API int tcpx_xfer_query(tcpx_xfer *xfer, struct tcpx_xfer_info *info);

/* ---- notes ----------------------------------------------------------------------- */

/* Sends a note, ordered with nothing else. At most TCPX_NOTE_MAX; 0 bytes are a note, too. Where
 * TCPX_NOTE_LIMIT untaken notes of this engine wait at the peer, or TCPX_PEER_MEMORY is used up, it
 * waits, here at last: TCPX_ELIMIT when 16 MiB wait. A READ or WRITE waits until its note may go, and
 * fails with TCPX_ESTALLED in the end, its bytes in place. Notes stay until they are taken, also of peers
 * that have gone: but then they are dropped, oldest first, when others need the memory
 * (TCPX_PEERS_MEMORY), and where TCPX_NOTE_LIMIT is 0. tcpx_counters.notes_dropped has them. */
TCPX_API TCPX_MUST_USE int tcpx_notify(tcpx_peer *peer, const void *data, size_t len);
/* Takes a note: each peer's in their order, peers in turn. -EAGAIN: none (one atomic load). */
TCPX_API int tcpx_note_get(tcpx_engine *engine, tcpx_note **note);
/* The same, waiting; -EAGAIN after timeout_ms. */
TCPX_API int tcpx_note_wait(tcpx_engine *engine, int timeout_ms, tcpx_note **note);
/* A note's bytes, and its sender's name (as in its handshake): both until tcpx_note_free(). */
TCPX_API const void *tcpx_note_data(const tcpx_note *note, size_t *len);
TCPX_API const char *tcpx_note_sender(const tcpx_note *note);
/* The peer whose session brought a note: the same pointer as any other handle of that peer, so compare
 * it with yours; give it back with tcpx_peer_free(). Anybody who may connect can claim any name: compare
 * peers where not all are trusted. -ENOENT: the peer is no more, nobody holds it. */
TCPX_API int tcpx_note_peer(tcpx_engine *engine, const tcpx_note *note, tcpx_peer **peer);
TCPX_API void tcpx_note_free(tcpx_note *note);

/* ---- what is going on ------------------------------------------------------------ */

/* Totals since open. Times are sums over chunks: divide by chunks_tx (or _rx). */
struct tcpx_counters {
	size_t struct_size;
	uint64_t bytes_tx, bytes_rx;      /* payload applied                              */
	uint64_t chunks_tx, chunks_rx;
	uint64_t xfers_posted, xfers_done, xfers_failed;
	uint64_t notes_tx, notes_rx, notes_dropped;
	uint64_t ctrl_frames_tx, ctrl_frames_rx, ctrl_resumes;
	uint64_t channels_lost, chunks_resent, stalls;
	uint64_t refused;                 /* connections and operations refused           */
	uint64_t queue_ns;                /* tx: ready until a channel picked it          */
	uint64_t wire_ns;                 /* tx: picked until the kernel had all of it    */
	uint64_t ack_ns;                  /* tx: from then until acknowledged             */
	uint64_t unpack_ns;               /* rx: landed until applied                     */
	uint64_t lease_borrows;           /* times a waiting thread did the I/O           */
	uint32_t sessions, regions;       /* now                                          */
	uint64_t memory_bytes;            /* of sessions, and kept for peers (TCPX_PEERS_MEMORY) */
	uint64_t channels_suspected;      /* given up because their path was silent or slow */
	uint64_t channels_healed;         /* lost ones, or late ones, that stand again    */
	uint64_t chunks_corrupt;          /* rx, with TCPX_CHECKSUM: changed, sent again   */
	uint64_t frames_corrupt;          /* likewise of the control stream               */
};
/* Totals of an engine. */
TCPX_API int tcpx_query(tcpx_engine *engine, struct tcpx_counters *counters);

struct tcpx_channel_info {
	uint64_t session;
	char peer[64];
	char nic[32], peer_nic[32];
	uint32_t index, generation;
	int sending;               /* 1: from us to the peer                             */
	int up;                    /* 1 open, 0 down                                     */
	uint64_t bytes, chunks;
	uint64_t stalls;           /* times the peer or the wire took no more            */
	uint32_t in_flight;        /* messages not yet acknowledged                      */
	uint32_t in_flight_max;
	uint64_t in_flight_sum;    /* over chunks, at the moment each was picked         */
	uint64_t rate_Bps;         /* smoothed, from acknowledgements                    */
	uint64_t retransmits;      /* of the connection, from the kernel                 */
	uint64_t rtt_us;
	uint32_t loop;             /* the I/O thread that owns it                        */
	char tx_mode[16];          /* of staged and lent payload: copy, splice, msg_zerocopy; "" none */
	uint64_t lent_bytes;       /* bytes sent without a copy by the kernel            */
	int incoming_cpu;          /* CPU that handled its last packet; -1 unknown       */
	uint32_t napi_id;          /* of the NIC queue of its last packet; 0 unknown     */
	char congestion[16];       /* congestion control, from the kernel; "" not TCP    */
	int rests;                 /* 1: not wanted until there is load (TCPX_NARROW)    */
};
/* All connections. Fills at most *count entries, @stride (the size of one) apart; sets *count
 * to how many there are. @out may be NULL with a *count of 0. */
TCPX_API int tcpx_query_channels(tcpx_engine *engine, struct tcpx_channel_info *out, size_t stride,
				     size_t *count);

struct tcpx_thread_info {
	char name[16];
	int tid;
	char requested[64];        /* CPU list asked for; "" none                        */
	char granted[64];          /* read back from the kernel                          */
};
/* The I/O threads. As tcpx_query_channels(). */
TCPX_API int tcpx_query_threads(tcpx_engine *engine, struct tcpx_thread_info *out, size_t stride,
				    size_t *count);

struct tcpx_nic_info {
	char name[32];
	char addr[64]; /* 0.0.0.0 or ::: it had none when the engine opened */
	int numa;                  /* -1 unknown                                         */
	uint32_t gbps;             /* mbps / 1000                                        */
	uint32_t mbps;             /* its rate, or less by a qdisc (tbf); 0 unknown      */
};
/* The NICs this engine uses. As tcpx_query_channels(). */
TCPX_API int tcpx_query_nics(tcpx_engine *engine, struct tcpx_nic_info *out, size_t stride,
				 size_t *count);

#ifdef __cplusplus
}
#endif
#endif
