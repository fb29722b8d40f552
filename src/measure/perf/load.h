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

struct load_slot {
	tcpx_xfer *out, *in;    /* NULL: not of this job, or not posted (sendrecv)  */
	bool busy;
	uint64_t post_ns;
};

struct load {
	struct perf *perf;
	tcpx_list *list[4 * JOB_DEPTH_MAX];
	size_t lists;
	struct load_slot slot[JOB_DEPTH_MAX];
	uint64_t slots;
	bool timed;             /* the run under way, of which                      */
	uint64_t asked, done;   /* so many transfers are to be, and have ended      */
};

/* The sums of runs. Some 300 KiB: not for the stack. */
struct load_stats {
	uint64_t ns, iters;   /* the intervals of this side, transfers each way     */
	uint64_t far_ns;      /* the intervals of the server                        */
	struct tcpx_hist hist; /* ns of one transfer; with --lat of half a round trip */
	double sum_us, square_us; /* of the same                                   */
	struct usage near, far;
};

/* For the case that perf_begin_case() has made. Codes of the library, logged there. */
int load_open(struct load *l, struct perf *p);
void load_close(struct load *l);
/* @stats NULL: warm-up or check, nothing is kept but *ns (may be NULL). A failure has
 * been explained on stderr. -EINTR: an end was asked for; when it comes during the run, fewer
 * transfers are counted. */
TCPX_MUST_CHECK int load_run(struct load *l, uint64_t iters, struct load_stats *stats,
			     uint64_t *ns);
/* Repeats runs, each of a number of transfers that both sides know, until @ns have passed;
 * @one_ns: about the time of a transfer. */
TCPX_MUST_CHECK int load_run_for(struct load *l, uint64_t ns, uint64_t one_ns,
				 struct load_stats *stats);
/* Number of transfers of @one_ns that fill @ns: at least 1. */
uint64_t load_iters_for(uint64_t ns, uint64_t one_ns);
/* Fills and poisons the memory of both sides, moves each transfer once, compares. */
TCPX_MUST_CHECK int load_check(struct load *l, uint64_t *wrong);
/* --each: this many transfers after as many warm-ups as asked, each timed and compared. */
TCPX_MUST_CHECK int load_each(struct load *l, struct load_stats *stats, uint64_t *wrong);

/* For load_run() and its sister in perf_lat.c: */
int load_post(struct load *l, struct load_slot *slot, const char *note);
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
