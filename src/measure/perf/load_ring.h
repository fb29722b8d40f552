/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers of one size in a ring of memory, and their times; a number of them is in flight. */
#ifndef MEASURE_PERF_LOAD_RING_H
#define MEASURE_PERF_LOAD_RING_H

#include "base/hist.h"
#include "measure/perf/client.h"
#include "measure/perf/usage.h"

/* A place in the ring: memory of its own on both sides, with a pattern of its own. */
struct load_slot {
	tcpx_xfer *out, *in;    /* NULL: not of this job, or not posted (sendrecv)  */
	tcpx_list *list[4];     /* of both                                          */
	bool busy;
	uint64_t post_ns;
};

struct load {
	struct perf *perf;
	struct load_slot *slot; /* most of them                                     */
	uint64_t most, ready;   /* the memory's; those that have been prepared      */
	uint64_t filled;        /* slots that have been filled once: they have pages */
	uint64_t ring;          /* slots in use, most or less                       */
	uint64_t window;        /* transfers in flight                              */
	uint64_t at;            /* the slot of the next run's first transfer        */
	uint64_t seed;          /* of a ring that is filled once only               */
	bool timed;             /* the run under way, of which                      */
	uint64_t done;          /* so many transfers have ended                     */
	uint64_t before, whole; /* in runs before; in the whole measurement         */
};

/* The sums of runs. Some 300 KiB: not for the stack. */
struct load_stats {
	uint64_t ns, iters;   /* the intervals of this side, transfers each way     */
	uint64_t far_ns;      /* the intervals of the server                        */
	struct tcpx_hist hist; /* ns of one transfer; with --lat of half a round trip */
	double sum_us, square_us; /* of the same                                   */
	struct usage near, far;
	uint64_t compared;      /* of iters: transfers whose bytes were compared    */
	uint64_t wrong;         /* bytes of them                                    */
};

/* For the case that perf_begin_case() has made. Codes of the library, logged there. */
int load_open(struct load *l, struct perf *p);
void load_close(struct load *l);
/* The ring gets room for @one_ns, about the time of a transfer (0 unknown), and @iters transfers
 * (0 unknown). */
void load_set_ring(struct load *l, uint64_t one_ns, uint64_t iters);
/* Others run beside it, and are not to gain from its rests. */
bool load_is_one_of_many(const struct load *l);
/* Of one transfer, as the row's speed counts them. */
uint64_t load_bytes(const struct load *l);

struct load_slot *load_slot_at(struct load *l, uint64_t i); /* of the run's transfer i */
/* Makes the transfers of slots up to @slots. */
TCPX_MUST_CHECK int load_prepare(struct load *l, uint64_t slots);
int load_post(struct load *l, struct load_slot *slot, const char *note);
/* -EINTR: an end was asked for. Another failure has been explained on stderr. */
int load_wait(struct load *l, struct load_slot *slot);
void load_add_time(struct load_stats *stats, uint64_t ns);
/* For points and progress, between two transfers and while one is waited for. */
void load_look(struct load *l, uint64_t now_ns);
/* An end was asked for, and the run may end before its count: of SEND and RECV, and of a lane, the other
 * side has its halves posted. */
bool load_is_over(const struct load *l);

#endif
