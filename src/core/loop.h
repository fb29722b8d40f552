/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An I/O loop and who may run it. Whoever holds the lease is the loop's only thread; other
 * threads hand it work.
 */
#ifndef CORE_LOOP_H
#define CORE_LOOP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/chain.h"
#include "core/batch.h"
#include "net/net.h"

struct tcpx_engine;
struct tcpx_xfer;

#define CORE_EVENTS   64           /* poller events a step                          */
#define FRUITLESS     64 /* looks in a row after which an application does the I/O itself */
#define NAP_MAX_NS    (8 * TCPX_MS) /* longest an idle loop stays lent after long use */
#define SOON_NS       (20 * TCPX_MS) /* a borrower that sleeps for less keeps time itself */
#define LEASE_NS      (TCPX_MS / 4) /* a borrowed loop goes back after this idle    */

/* Something a poller reports on. on_ready runs with the loop's lease held. */
struct source {
	void (*on_ready)(struct source *src, unsigned ready, uint64_t now_ns);
};

/* Something to be run once by a loop, asked for from any thread. */
struct work {
	struct tcpx_node node;
	bool queued; /* guarded by loop.work_lock */
	void (*run)(struct work *w, uint64_t now_ns);
};

/* Something to be let go after the events of the running step: they may still name it. */
struct grave {
	struct tcpx_node node;
	void (*bury)(struct grave *g);
};

enum lease_holder { LEASE_NONE, LEASE_IO, LEASE_APP };

/* An I/O loop: a poller and what it watches. Owned by lease, see lease.c. */
struct loop {
	struct tcpx_engine *engine;
	uint32_t index;
	struct tcpx_poller *poller;
	pthread_mutex_t lease;        /* held while stepping                          */
	_Atomic int holder;           /* enum lease_holder                            */
	_Atomic(pthread_t) stepper;   /* thread that holds the lease                  */
	_Atomic bool stepping;        /* stepper is meaningful                        */
	_Atomic int borrowers;        /* application threads that want or hold it     */
	_Atomic uint64_t lent_ns;     /* last moment a borrower held it               */
	_Atomic uint32_t park;        /* the I/O thread's futex                       */
	_Atomic uint64_t look_ns;     /* when the I/O thread, asleep, will look next  */
	_Atomic uint64_t wake_ns;     /* when a borrower, asleep, wants to be woken   */
	_Atomic(struct tcpx_xfer *) gate; /* transfer whose memory is in use right now */
	pthread_mutex_t work_lock;    /* work list, requested, granted                */
	struct tcpx_node work;
	_Atomic bool has_work;        /* work is not empty; written under work_lock   */
	_Atomic bool asleep;          /* its runner sleeps in the poller, or is about to */
	_Atomic bool poked;           /* its runner must look around before it sleeps */
	/* lease holder only */
	struct tcpx_node sessions;    /* whose control stream this loop serves        */
	struct tcpx_node guests;      /* accepted, not yet introduced                 */
	struct tcpx_node graves;      /* sources closed in this step                  */
	struct tcpx_node unsaid;      /* sessions with answers not yet written        */
	struct work stir;
	_Atomic uint32_t stir_end;    /* loops below that are to be woken, too        */
	struct batches batches;       /* copies for devices, and staging slots        */
	uint32_t guest_count;
	uint64_t timer_ns;            /* earliest deadline of anything here           */
	uint64_t now_ns;              /* when the clock was last looked at            */
	/* thread */
	pthread_t thread;
	bool threaded;
	_Atomic bool stop;
	_Atomic int tid;              /* 0: not running; written under work_lock      */
	_Atomic uint32_t nics;        /* of its channels, a bit each; see bind.h      */
	char requested[64], granted[64]; /* CPUs; guarded by work_lock                */
};

/* ---- loop.c ---- */
int tcpx_loop_init(struct loop *l, struct tcpx_engine *e, uint32_t index);
void tcpx_loop_fini(struct loop *l);
int tcpx_loop_start(struct loop *l);
void tcpx_loop_started(struct loop *l); /* waits until the thread has its number and place */
void tcpx_loop_stop(struct loop *l); /* joins the thread */
/* One turn: work, events, timers. The lease must be held. timeout_ns < 0: until needed. */
void tcpx_loop_step(struct loop *l, int64_t timeout_ns);
/* Asks the loop to run w; any thread. A no-op while w is queued. */
void tcpx_loop_post(struct loop *l, struct work *w);
void tcpx_loop_cancel(struct loop *l, struct work *w); /* lease held */
void tcpx_loop_wake(struct loop *l);
/* Payload for the loops below end is on its way: those that sleep wake now, two by each, and
 * look around for a while, rather than one after another when it is there. */
void tcpx_loop_stir(struct loop *l, uint32_t end);
bool tcpx_loop_is_mine(const struct loop *l); /* this thread holds its lease */
void tcpx_loop_timer(struct loop *l, uint64_t at_ns); /* lease held, or under work */
void tcpx_loop_bury(struct loop *l, struct grave *g, void (*bury)(struct grave *g));

/* ---- lease.c ---- */
/* One turn of the loop on this thread, or a yield if somebody else is at it. */
void tcpx_lease_help(struct loop *l);
bool tcpx_lease_borrow(struct loop *l);
void tcpx_lease_return(struct loop *l);
/* How long the holder of the lease must sleep in the poller at most: for ever if the I/O
 * thread will wake it in time. To be followed by tcpx_lease_slept(). */
int64_t tcpx_lease_sleep(struct loop *l, uint64_t now_ns, int64_t timeout_ns);
static inline void
tcpx_lease_slept(struct loop *l)
{
	atomic_store_explicit(&l->wake_ns, UINT64_MAX, memory_order_release);
}
/* Waits until done(arg), doing the loop's I/O on this thread where it can; word: a futex
 * to sleep on where it cannot, changed before it is woken. 0 or -EAGAIN after timeout_ms. */
int tcpx_lease_wait(struct loop *l, bool (*done)(void *), void *arg, _Atomic uint32_t *word,
		    _Atomic int *sleepers, int timeout_ms);
void tcpx_futex_wake(void *word, int count);
int tcpx_futex_wait(void *word, uint32_t value, int64_t timeout_ns);

#endif
