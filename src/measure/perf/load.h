/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transfers of one size, repeated, a number of them in flight. A run begins after the
 * server's "ready" and ends when the last byte is acknowledged; nothing else is
 * inside its interval.
 */
#ifndef TOOL_LOAD_H
#define TOOL_LOAD_H

#include "base/hist.h"
#include "measure/perf/perf_client.h"
#include "measure/perf/perf_usage.h"

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
/* One run, round the ring from l->at on. @stats NULL: warm-up, nothing is kept but *ns (may be
 * NULL). A failure has been explained on stderr. -EINTR: an end was asked for; when it comes
 * during the run, fewer transfers are counted. */
TCPX_MUST_CHECK int load_run(struct load *l, uint64_t iters, struct load_stats *stats,
			     uint64_t *ns);
/* Number of transfers of @one_ns that fill @ns: at least 1. */
uint64_t load_iters_for(uint64_t ns, uint64_t one_ns);

/* The measurements, whose bytes are compared unless -c 0 says otherwise (load_check.c). The
 * ring has room for @one_ns, about the time of a transfer (0 unknown), and @iters transfers (0
 * unknown). */
void load_set_ring(struct load *l, uint64_t one_ns, uint64_t iters);
/* Gives the first @slots slots of the ring pages, data and transfers, if they have none yet. */
TCPX_MUST_CHECK int load_fill(struct load *l, uint64_t slots);
/* Before a run that others wait for: fills its ring. */
TCPX_MUST_CHECK int load_get_ready(struct load *l);
/* A number of transfers. The clock stops while a full ring is compared. Of a run of latency the
 * last tenth is; one with others beside it does not stop, and its last ring is. */
TCPX_MUST_CHECK int load_measure(struct load *l, uint64_t iters, struct load_stats *stats);
/* Runs until @ns have passed; the last tenth is compared. */
TCPX_MUST_CHECK int load_measure_for(struct load *l, uint64_t ns, uint64_t one_ns,
				     struct load_stats *stats);
/* --each: this many transfers after as many warm-ups as asked, each timed and compared. */
TCPX_MUST_CHECK int load_each(struct load *l, struct load_stats *stats);
/* Both sides fill @s with patterns of @seed and poison what is to be overwritten; likewise they
 * compare. @out, @in, @out_layout, @in_layout: what is ours of it. */
struct load_side {
	const struct mem *out, *in;            /* NULL: there is none               */
	const struct layout *out_layout, *in_layout;
};
TCPX_MUST_CHECK int load_arm(struct perf *p, const struct load_side *here, struct job_slots s,
			     uint64_t *seed);
TCPX_MUST_CHECK int load_compare(struct perf *p, const struct load_side *here, struct job_slots s,
				 uint64_t seed, const struct tcpx_xfer_info *moved,
				 uint64_t *wrong);

/* For load_run() and its sister in perf_lat.c: */
struct load_slot *load_slot_at(struct load *l, uint64_t i); /* of the run's transfer i */
int load_post(struct load *l, struct load_slot *slot, const char *note);
/* Makes the transfers of slots up to @slots. */
TCPX_MUST_CHECK int load_prepare(struct load *l, uint64_t slots);
int load_wait(struct load *l, struct load_slot *slot);
void load_add_time(struct load_stats *stats, uint64_t ns);
/* For points and progress, between two transfers and while one is waited for. */
void load_look(struct load *l, uint64_t now_ns);
/* *iters round trips, or fewer if an end is asked for: there with a note, and back. Called by
 * load_run() for --lat. */
int lat_run(struct load *l, uint64_t *iters, struct load_stats *stats);
/* An end was asked for, and the run may end before its count: of SEND and RECV the other side
 * has its halves posted. */
bool load_is_over(const struct load *l);

/* Prints the known facts of a transfer that failed or is stuck: transfer, chunk, channel,
 * NIC, stage, and the peer's view. */
void perf_explain(struct perf *p, tcpx_xfer *xfer, int code);

#endif
