/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An I/O loop. The holder of its lease is its only thread; other threads queue work for it.
 */
#ifndef CORE_LOOP_LOOP_H
#define CORE_LOOP_LOOP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/chain.h"
#include "core/context/context.h"
#include "net/net.h"

struct batches;
struct payload;

/* A source of poller events. on_ready runs with the loop's lease held. */
struct source {
	bool ahead; /* of a turn's other events: a session's, not a channel's */
	void (*on_ready)(struct source *src, unsigned ready, uint64_t now_ns);
};

/* A function to be run once by a loop, queued from any thread. */
struct work {
	struct tcpx_node node;
	bool ahead;  /* of other work, and once more among the events: a session's */
	bool queued; /* guarded by the queue's lock */
	void (*run)(struct work *w, uint64_t now_ns);
};

/* Freed after the events of the running step, because these may still name it. */
struct deferred {
	struct tcpx_node node;
	void (*free_it)(struct deferred *g);
};

struct loop;

/* Time in which this process, or its machine, stood still. */
struct pause {
	uint64_t ns;
	uint64_t end_ns;
};

/* What a deadline is counted from; 0: nothing. What came after the pause stays. */
static inline void
pause_skip(uint64_t *from_ns, const struct pause *p)
{
	if (*from_ns)
		*from_ns = *from_ns + p->ns < p->end_ns ? *from_ns + p->ns : p->end_ns;
}

/* Calls of a turn to the rooms (folders of core/) above this one; all with the lease held. */
struct loop_calls {
	void (*timers)(struct loop *l, uint64_t now_ns);
	/* No turn has run meanwhile: moves the deadlines of what waits for a peer. */
	void (*late)(struct loop *l, const struct pause *p);
	/* Starts copies; on loop 0 also opens transfers whose event has happened and writes frames. */
	void (*before_sleep)(struct loop *l);
	/* The longest sleep of the loop; -1: unlimited. */
	int64_t (*sleep_limit)(const struct loop *l, uint64_t now_ns);
	/* Starts copies and looks for completed ones. */
	void (*after_events)(struct loop *l, uint64_t now_ns);
};

enum lease_holder { LEASE_NONE, LEASE_IO, LEASE_APP };

/* Who runs the loop; see lease.c. */
struct lease {
	pthread_mutex_t lock;         /* held during a step                           */
	_Atomic int holder;           /* enum lease_holder                            */
	_Atomic(pthread_t) stepper;   /* thread that holds the lease                  */
	_Atomic bool stepping;        /* stepper is meaningful                        */
	_Atomic int borrowers;        /* application threads that want or hold the lease */
	_Atomic uint64_t lent_ns;     /* last time that a borrower held it            */
	_Atomic uint64_t keep_ns;     /* how long it stays lent from then on          */
	_Atomic bool asked;           /* a poll wants it from the I/O thread          */
	_Atomic uint32_t park;        /* the I/O thread's futex; 1: until no borrower is left */
	_Atomic uint64_t look_ns;     /* when the sleeping I/O thread will look next  */
	_Atomic uint64_t wake_ns;     /* when the sleeping borrower wants to be woken */
	_Atomic uint64_t vain_ns;     /* last fruitless test of a lane's message      */
	_Atomic uint32_t vain;        /* how many there were, none long after another */
	_Atomic bool carries;         /* the last turn had events of channels         */
};

struct work_queue {
	pthread_mutex_t lock;         /* also requested and granted of the thread     */
	struct tcpx_node works, ahead;
	_Atomic bool any, any_ahead;  /* which of the two is not empty; written under lock */
};

struct io_thread {
	pthread_t id;
	bool runs;
	_Atomic bool stop;
	_Atomic int tid;              /* 0: not running; written under queue.lock     */
	_Atomic uint32_t nics;        /* of its channels, a bit each; see affinity.h  */
	char requested[64], granted[64]; /* CPUs                                      */
};

/* Loops wake each other as a binary tree by index: this one wakes those under it, below end. */
struct wake_below {
	struct work work;
	_Atomic uint32_t end;
};

/* Copies for devices, not yet started and in flight. A turn without any skips their calls. */
struct copy_count {
	_Atomic uint32_t waiting, flying;
};

/* An I/O loop: a poller and what it watches. */
struct loop {
	struct tcpx_engine *engine;
	uint32_t index;
	struct tcpx_poller *poller;
	struct lease lease;
	_Atomic(struct payload *) gate; /* the transfer whose memory a call reads or writes now */
	struct work_queue queue;
	_Atomic bool asleep;          /* its runner sleeps in the poller, or is about to */
	_Atomic bool wake_asked;           /* its runner must look again before it sleeps */
	struct wake_below below;
	struct io_thread thread;
	/* lease holder only */
	struct tcpx_node deferred;      /* sources closed in this step                  */
	struct copy_count copies;
	struct batches *batches;      /* copies for devices, and staging buffers       */
	uint64_t awake_until_ns;          /* spin until then: little is under way, and more soon */
	uint64_t timer_ns;            /* earliest deadline on this loop               */
	uint64_t now_ns;              /* time of the last look at the clock           */
	uint64_t seen_ns;             /* time of the last look at timer_ns            */
};

#define CORE_EVENTS 256 /* poller events a step: a session is not behind the channels of many others */
#define AWAKE_NS      200000

/* Keeps the loop spinning for a while. */
static inline void
loop_stay_awake(struct loop *l, uint64_t now_ns)
{
	l->awake_until_ns = now_ns + AWAKE_NS;
}

/* Opens the poller; starts no thread. 0 or the code of the provider. */
int tcpx_loop_init(struct loop *l, struct tcpx_engine *e, uint32_t index);
/* Calls free_it(g) at the end of the running turn. lease held */
void tcpx_loop_defer_free(struct loop *l, struct deferred *g, void (*free_it)(struct deferred *g));
void tcpx_loop_fini(struct loop *l);
bool tcpx_loop_is_mine(const struct loop *l); /* does this thread hold its lease? */
/* Makes the loop begin another turn before it sleeps; any thread. */
void tcpx_loop_wake(struct loop *l);
/* Queues w for the loop; any thread. A no-op while w is queued. */
void tcpx_loop_post(struct loop *l, struct work *w);
/* Takes w out of the queue; a no-op if it is not queued. lease held */
void tcpx_loop_cancel(struct loop *l, struct work *w);
/* The timers run at at_ns, or earlier. lease held */
void tcpx_loop_timer(struct loop *l, uint64_t at_ns);
/* Payload for the loops below index end is on its way. Sleeping ones are woken now, two by each,
 * and spin for a while, rather than wake one by one when the payload is there. */
void tcpx_loop_wake_below(struct loop *l, uint32_t end);
/* One turn: work, events, timers. The lease must be held. timeout_ns < 0: until needed. */
void tcpx_loop_turn(struct loop *l, int64_t timeout_ns);
/* The same in a thread that is not the loop's own, which has every signal blocked: a provider whose
 * calls may raise SIGPIPE raises none there. */
void tcpx_loop_step(struct loop *l, int64_t timeout_ns);

#endif
