/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine as every room of the core sees it: its provider, clock, limits and counters, and
 * what each room keeps of it. Locks, in the order they may nest:
 *
 *	loop.lease.lock > session.lock > registry.lock > peer.lock > { regions.lock, notes.lock,
 *	pot.lock, events.lock, loop.queue.lock, batches.lock, gpus.small_lock, gpus.word_lock }
 *
 * Two of the last are never held together. gpus.lock is taken with none of them held. The
 * holder of a loop's lease owns its channels' connections and their receive and send state.
 * session.lock guards everything else of a session, its control connection included.
 */
#ifndef CORE_CONTEXT_CONTEXT_H
#define CORE_CONTEXT_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cfg.h"
#include "base/chain.h"
#include "base/clock.h"
#include "base/cpuset.h"
#include "base/heap.h"
#include "base/quota.h"
#include "base/tags.h"
#include "device/device.h"
#include "net/net.h"
#include "proto/frame.h"
#include "proto/netmap.h"
#include "tcpx/tcpx.h"

struct channel_calls;
struct copy_calls;
struct gate;
struct link_watch;
struct listeners;
struct loop;
struct loop_calls;
struct memory;
struct notes;
struct pot;
struct session_calls;
struct stats;
struct tcpx_secret;

struct counters {
	_Atomic uint64_t bytes_tx, bytes_rx, chunks_tx, chunks_rx, xfers_posted, xfers_done,
		xfers_failed, notes_tx, notes_rx, notes_dropped, ctrl_frames_tx, ctrl_frames_rx,
		ctrl_resumes, channels_lost, chunks_resent, stalls, refused, queue_ns, wire_ns,
		ack_ns, unpack_ns, lease_borrows;
};

/* Channels given up for a silent or slow path, and lost ones that stand again. */
struct heal_count {
	_Atomic uint64_t suspected, healed;
};

/* What arrived changed, where sessions sum. */
struct corrupt_count {
	_Atomic uint64_t chunks, frames;
};

/* Payload over one NIC, with that of closed channels. */
struct nic_count {
	_Atomic uint64_t bytes_tx, bytes_rx, stalls;
	_Atomic uint64_t retransmits; /* of closed channels only; open ones are asked */
};

/* Settings of the data path. */
struct limits {
	uint32_t channels, window, inline_bytes, credit_xfers;
	uint32_t chunk;     /* as set; 0: depends on the size of each transfer       */
	uint32_t chunk_max; /* offered to peers                                      */
	uint64_t credit_list, staging;
	uint32_t notes;     /* limit of a peer's notes not yet taken; 0: it takes none */
	uint32_t sends;     /* limit of a session's sends without a receive           */
	uint64_t peer_memory;
	enum tcpx_unpack_impl unpack;
	enum tcpx_lend lend;
	uint64_t connect_ns, handshake_ns, stall_ns, keepalive_ns, linger_ns;
	uint64_t process_ns; /* a peer's process may say nothing; UINT64_MAX: no limit */
	bool strict_nics, round_robin, checksum;
	bool narrow;          /* sessions begin narrow, if the peer's do, too         */
	uint64_t wide_bytes, narrow_ns; /* TCPX_LOAD_BYTES and TCPX_LOAD_IDLE_NS       */
	bool long_frames;     /* CPUs suffice to spin, and for messages of 128 KiB in frames */
	uint64_t spin_ns;
	uint32_t turn_cost;   /* of one session's frames in a turn: see TURN_BUDGET */
	uint32_t turn_pieces; /* of one channel in a turn: see CHANNEL_PIECES */
	uint64_t breach_ns;   /* who broke the protocol once opens no session for so long */
};

#define CTRL_ADDRS 8

/* A listener for control streams beside the NICs that carry data. */
struct ctrl_nic {
	char name[32]; /* "": there is none */
	struct tcpx_addr addr[CTRL_ADDRS];
	uint32_t count;
};

#define OTHER_ADDRS 32

/* A listener for control streams at another address of the machine. */
struct other_addr {
	char name[32]; /* of its NIC */
	struct tcpx_addr addr;
	_Atomic bool gone; /* as the kernel reports: it is this machine's no more */
};

/* The NICs that carry data, and the CPUs and figures of each. */
struct nics {
	struct tcpx_nic at[TCPX_NET_NICS];
	uint32_t count;
	struct tcpx_netmap_offer offer[TCPX_NET_NICS]; /* of comms: what each is for */
	struct tcpx_cpuset *bind; /* CPUs for each NIC; NULL: no bindings */
	struct nic_count sum[TCPX_NET_NICS];
	struct ctrl_nic ctrl;
	struct other_addr other[OTHER_ADDRS];
	uint32_t other_count;
	_Atomic bool other_gone; /* one of them is */
	struct tcpx_addr advertised;    /* of TCPX_ADVERTISE, where that is one for all; family 0: it is not */
	bool named; /* by TCPX_NICS or a test */
	_Atomic bool host_only; /* comms planned without a GPU: a warning is due when one is used */
	/* As far as the kernel reports: it had a link and its address, and has them no more. */
	_Atomic bool down[TCPX_NET_NICS];
	_Atomic bool one_down; /* one has no link or no address, the control NIC included */
};

#define PEER_BUCKETS_LOG 12
#define PEER_BUCKETS     (1u << PEER_BUCKETS_LOG)

/* What lanes of one label have done. Texts and giving: registry.lock. */
struct lane_label {
	char text[TCPX_LANE_LABEL]; /* "": free                                            */
	uint64_t given;             /* when, last: its number of all that were given        */
	_Atomic uint32_t lanes;     /* that have it, in any state: 0: it may be replaced    */
	_Atomic uint32_t open;
	_Atomic uint64_t failed, messages_tx, messages_rx, bytes_tx, bytes_rx;
};

struct lane_labels {
	struct lane_label other;    /* of those that found no place, and were replaced      */
	struct lane_label at[TCPX_LANE_LABELS];
	uint64_t given;
};

/* The objects of an engine: each is in one chain. */
struct registry {
	pthread_mutex_t lock;
	struct tcpx_node peers, sessions;
	struct tcpx_node incarnations[PEER_BUCKETS]; /* the peers; of 0 while not known */
	struct tcpx_tags by_number, by_name, by_addr; /* the peers; their given addresses */
	uint64_t seed;                    /* random and odd: others choose names and incarnations */
	uint64_t peers_made;
	struct tcpx_node xfers, lists, lanes; /* handles that the application holds */
	struct tcpx_tags listening; /* lanes by their keys, until they are opened       */
	_Atomic uint32_t session_count;
	_Atomic uint32_t after_event;     /* transfers that wait for a caller's event */
	struct tcpx_heap dropped;         /* peers, by when their sessions may be due to end */
	_Atomic uint64_t linger_ns;       /* when the first of them is; 0: none is      */
	/* lease of loop 0 */
	struct tcpx_node served;       /* sessions whose control stream the loop serves */
	struct tcpx_heap timers;       /* of these                                      */
	uint64_t timed_ns;             /* the newest run of timers that were due        */
	struct tcpx_node to_flush;       /* sessions with answers not yet written */
};

/* The application's descriptor: readable while something is unobserved. */
struct events {
	pthread_mutex_t lock;       /* raised, making fd, the queue */
	_Atomic int fd;             /* -1 before its first use */
	bool raised;
	_Atomic int64_t unobserved; /* ends not tested yet */
	_Atomic uint32_t notes;     /* not yet taken; futex of waiters that could not borrow */
	struct tcpx_node queue;     /* of tcpx_event_get()                                */
	_Atomic uint32_t entries;   /* in it; futex of waiters that could not borrow      */
	_Atomic int sleepers;       /* of that futex                                      */
	_Atomic int waiting;        /* threads in tcpx_event_wait()                       */
	_Atomic uint32_t looks;     /* in vain, since an entry was taken                  */
	bool peers;                 /* reports peers, too                                 */
	uint32_t peer_entries;      /* of them in the queue                               */
};

/* Changes when some session changes its state. */
struct changes {
	_Atomic uint32_t count; /* futex */
	_Atomic int sleepers;
};

/* Calls from a room to one above it: each lower room declares a table, engine/ fills it in. */
struct upward {
	const struct loop_calls *loop;
	const struct copy_calls *copy;
	const struct session_calls *session;
	const struct channel_calls *channel;
};

struct tcpx_engine {
	struct tcpx_cfg *cfg;
	_Atomic uint32_t *here;   /* 1 in the process that opened it, 0 in a forked child;
				   * NULL: a test's */
	struct limits limit;
	char name[TCPX_NAME_MAX];
	uint64_t incarnation;
	struct tcpx_clock clock;
	const struct tcpx_net_ops *ops;
	struct tcpx_net *net;
	struct tcpx_net_facts facts; /* of net */
	struct upward up;
	struct nics nics;
	struct loop *loop;
	uint32_t loop_count;
	bool manual;              /* no threads: a test drives the loops */
	_Atomic bool stopping;    /* no new transfers; those open may end */
	_Atomic bool closing;     /* no new objects at all                */
	_Atomic bool parting;     /* BYE is under way: connections stay until it is acknowledged */
	struct registry registry;
	struct lane_labels labels;
	struct events events;
	struct changes changes;
	struct counters count;
	struct tcpx_quota kept;   /* for all peers: see tcpx_peer.kept */
	struct tcpx_quota eager;  /* part of it: see lane_table.pool */
	struct heal_count healing;
	struct corrupt_count corrupt;
	struct memory *memory;
	struct listeners *listeners;
	struct gate *gate;
	struct notes *notes;
	struct pot *pot;
	const struct tcpx_secret *secret; /* NULL: there is none */
	struct tcpx_secret *own_secret;   /* the same, if the engine opened it */
	uint64_t host_id;         /* of boot id and network namespace; 0: unknown */
	struct stats *stats;      /* NULL: no statistics port */
	struct link_watch *links; /* NULL: the kernel reports nothing on links */
};

static inline bool
engine_is_here(const struct tcpx_engine *e)
{
	return !e->here || atomic_load_explicit(e->here, memory_order_relaxed);
}

/* 0, or TCPX_ESTATE in a forked child, whose use would disturb the parent's connections. Not
 * logged: the log's lock may be one that another thread held at the fork. */
static inline int
engine_check(const struct tcpx_engine *e)
{
	return engine_is_here(e) ? 0 : tcpx_fail_known(TCPX_ESTATE,
			"engine %s was opened before a fork(): its process alone may use it", e->name);
}

static inline void
count_add(_Atomic uint64_t *c, uint64_t v)
{
	atomic_fetch_add_explicit(c, v, memory_order_relaxed);
}

static inline uint64_t
engine_now(const struct tcpx_engine *e)
{
	return tcpx_clock_now(&e->clock);
}

#endif
