/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interrupts between two snapshots. Pure. The kernel's counts have 32 bits. A count that fell
 * has wrapped if that means less than 2^31 interrupts in between (at a million a second, half
 * an hour). Otherwise, or if name, chip or the handler's number differ, the vector was made
 * anew in between, and only its count since then is known.
 *
 * A CPU in only one of the snapshots came or went: nothing is counted for it.
 */
#ifndef TUNE_RECORD_CHANGES_H
#define TUNE_RECORD_CHANGES_H

#include "tune/record/snapshot.h"

enum tcpx_irqdiff_state {
	TCPX_IRQ_SAME,
	TCPX_IRQ_ANEW,  /* made anew: counts are since then, at least           */
	TCPX_IRQ_CAME,  /* not in the first: counts are since it came           */
	TCPX_IRQ_GONE,  /* not in the second: unknown                           */
	TCPX_IRQ_STATES
};

struct tcpx_irqdiff_row {
	long irq;                      /* -1: a row of the architecture, or a softirq */
	const char *label, *names;     /* borrowed from the later snapshot that has it */
	enum tcpx_irqdiff_state state;
	const struct tcpx_snap_vector *vector; /* borrowed; NULL: of no NIC          */
	const struct tcpx_snapshot *of; /* where @vector is from                     */
	bool moved;                    /* its requested affinity differs             */
	uint64_t total;
	const uint32_t *delta;         /* one for each CPU of the diff               */
};

struct tcpx_irqdiff {
	double seconds;                /* from the end of the first to the end of the second;
					* 0 unknown                                  */
	unsigned cpu_count;
	unsigned *cpu;                 /* in both, rising                            */
	unsigned cpus_changed;         /* in only one of them                        */
	struct tcpx_irqdiff_row *row;  /* IRQs by number, others, softirqs           */
	unsigned row_count;
	unsigned irq_rows;             /* number of rows of proc/interrupts          */
	struct tcpx_cpu_times *times;  /* of each CPU that both have times of        */
	unsigned time_count;
	uint32_t *delta;
};

/* @a, @b: must outlive @out. -EINVAL: of different boots, or in the wrong order;
 * -ENOMEM; logged. */
TCPX_MUST_CHECK int tcpx_irqdiff_make(const struct tcpx_snapshot *a,
				      const struct tcpx_snapshot *b, struct tcpx_irqdiff *out);
void tcpx_irqdiff_fini(struct tcpx_irqdiff *diff);

/* The rise of a count of 32 bits; false: it was reset, and @delta is its present value. */
bool tcpx_irqdiff_rise(uint32_t before, uint32_t after, uint32_t *delta);
/* "anew"; static. */
const char *tcpx_irqdiff_state_name(enum tcpx_irqdiff_state state);

#endif
