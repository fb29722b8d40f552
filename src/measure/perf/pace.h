/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the timed runs of one size moved, and when: points of the record's series, a line for
 * each where --interval asks for them, and the progress of the sweep on a terminal. The clock
 * of the series runs during timed runs only, so that its points add up to the row.
 */
#ifndef MEASURE_PERF_PACE_H
#define MEASURE_PERF_PACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "measure/report/row.h"

struct pace {
	/* of the caller */
	struct row *row;        /* its series grows                                */
	uint64_t size;
	FILE *lines;            /* for a line of each point; NULL none             */
	uint64_t every_ns;      /* the length of a point                           */
	uint64_t asked_ns;      /* of --duration; 0: the size ends by a count      */
	size_t at, of;          /* the number of this size, from 1; of how many    */
	double later;           /* work of the sizes to come, this one being 1     */
	uint64_t pair, pairs;   /* of --baseline; 0 none                           */
	/* own */
	bool terminal;          /* there is somebody to look at the progress       */
	bool running;
	double part;            /* of the run under way                            */
	uint64_t start_ns;      /* of the size, by the clock                       */
	uint64_t run_ns;        /* begin of the run, by the clock                  */
	uint64_t past_ns, past_bytes;   /* of runs before                          */
	uint64_t point_ns, point_bytes; /* where the last point ended              */
	uint64_t shown_ns;
};

/* @p has the caller's members. From here on time counts for the estimate of the rest. */
void pace_begin(struct pace *p, uint64_t now_ns);
/* A timed run begins. */
void pace_run(struct pace *p, uint64_t now_ns);
/* Is it time for pace_look()? A comparison. */
bool pace_due(const struct pace *p, uint64_t now_ns);
/* The run has moved @bytes so far, @part of it (0 to 1). */
void pace_look(struct pace *p, uint64_t now_ns, uint64_t bytes, double part);
void pace_run_end(struct pace *p, uint64_t now_ns, uint64_t bytes);
/* Shows the progress before anything is under way. */
void pace_show(struct pace *p, uint64_t now_ns);
/* The last point; without @keep the series of a short measurement is dropped. */
void pace_end(struct pace *p, bool keep);

#endif
