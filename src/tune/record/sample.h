/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorder of CPUs, interrupts and threads, sample by sample. Its memory is made before the
 * run, and nothing is written until the record is read. Its user waits until a sample is due.
 * It measures the cost of the samples themselves.
 *
 * A sample holds differences to the one before, so the first only looks. A difference of 0
 * is not recorded. When the ring is full the oldest samples go, and are counted.
 *
 *	object      CPU column        metrics
 *	cpu         the CPU           user_us system_us softirq_us idle_us steal_us: nice is in
 *	                              user, irq in system, iowait in idle
 *	an IRQ      where it fired    count
 *	a thread    where it last ran user_us system_us voluntary involuntary (switches)
 *	pmu         -1                instructions cycles llc_misses
 *	sampler     -1                cpu_us late_us: its own cost, and the delay of the sample
 *
 * The work of a thread after its last sample is unknown. A thread first seen later than in
 * the first sample began after the sample before.
 *
 * Threads: one uses it. Blocks: for local files only.
 */
#ifndef TUNE_RECORD_SAMPLE_H
#define TUNE_RECORD_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "tune/facts/topo.h"
#include "tune/record/pmu.h"

#define TCPX_SAMPLE_CELLS (1u << 21)  /* 32 MiB: an hour at 1 s of 208 busy CPUs */
#define TCPX_SAMPLE_THREADS 4096      /* threads whose names a recorder keeps     */
#define TCPX_SAMPLE_PIDS 1024         /* processes followed at a time             */

enum tcpx_sample_metric {
	TCPX_SAMPLE_USER, TCPX_SAMPLE_SYSTEM, TCPX_SAMPLE_SOFTIRQ, TCPX_SAMPLE_IDLE,
	TCPX_SAMPLE_STEAL, TCPX_SAMPLE_COUNT, TCPX_SAMPLE_VOLUNTARY, TCPX_SAMPLE_INVOLUNTARY,
	TCPX_SAMPLE_INSTRUCTIONS, TCPX_SAMPLE_CYCLES, TCPX_SAMPLE_LLC_MISSES,
	TCPX_SAMPLE_OWN_CPU, TCPX_SAMPLE_LATE,
	TCPX_SAMPLE_METRICS
};

enum tcpx_sample_kind {
	TCPX_SAMPLE_IS_CPU, TCPX_SAMPLE_IS_SAMPLER, TCPX_SAMPLE_IS_PMU, TCPX_SAMPLE_IS_IRQ,
	TCPX_SAMPLE_IS_THREAD
};

struct tcpx_sample_object {
	enum tcpx_sample_kind kind;
	char name[64];  /* "cpu"; "eth1-rx-0"; of a thread, its latest name      */
	long id, pid;   /* IRQ, or thread and its process                        */
	uint64_t start; /* of a thread, ticks since boot: ids are reused         */
};

struct tcpx_sample_options {
	const char *root;              /* for CPUs and interrupts                     */
	const char *thread_root;       /* for threads                                 */
	const struct tcpx_topo *topo;  /* of @root: its NICs' vectors; NULL: none     */
	const long *pids;              /* their threads are recorded, and those
				        * of their children */
	unsigned pid_count;
	const struct tcpx_pmu *pmu;    /* NULL: none; outlives the recorder           */
	uint64_t interval_ns;          /* above 0                                     */
	uint32_t cells;                /* 0: TCPX_SAMPLE_CELLS                        */
};

/* The cost of recording, and what is missing. */
struct tcpx_sample_cost {
	uint64_t cpu_ns, cpu_max_ns;   /* of all samples; of the dearest              */
	unsigned samples;              /* taken, without the first look               */
	unsigned late;                 /* by more than a tenth of the interval        */
	unsigned missed;               /* times without a sample                      */
	unsigned lost;                 /* samples overwritten                         */
	unsigned threads_left_out;     /* of one sample, beyond TCPX_SAMPLE_THREADS   */
	unsigned pids_left_out;        /* times that there was no room for a process  */
	const char *irq_source;        /* static: the file of the counts              */
	const char *cpu_why;           /* why no times of CPUs; NULL: there are       */
	const char *irq_why;
	const char *switches_why;
	const char *children_why;      /* only those processes were followed,
				        * not their children */
};

struct tcpx_sampler;

/* Takes the first look. @now_ns: CLOCK_MONOTONIC. -EINVAL (interval, cells), -ENOMEM;
 * logged. */
TCPX_MUST_CHECK int tcpx_sampler_new(const struct tcpx_sample_options *options,
				     uint64_t now_ns, struct tcpx_sampler **out);
void tcpx_sampler_free(struct tcpx_sampler *s);

/* The time of the next sample. */
uint64_t tcpx_sampler_due(const struct tcpx_sampler *s);
/* Takes a sample, due or not. */
void tcpx_sampler_take(struct tcpx_sampler *s, uint64_t now_ns);

void tcpx_sampler_cost(const struct tcpx_sampler *s, struct tcpx_sample_cost *cost);
/* The object of cells; NULL beyond the last. */
const struct tcpx_sample_object *tcpx_sampler_object(const struct tcpx_sampler *s,
						     unsigned object);

struct tcpx_sample {
	uint64_t ns;      /* since the first look         */
	unsigned object;
	int cpu;
	enum tcpx_sample_metric metric;
	uint64_t value;
};

/* Calls back for all kept cells, in order. */
void tcpx_sampler_each(const struct tcpx_sampler *s,
		       void (*fn)(void *arg, const struct tcpx_sample *sample), void *arg);

/* "user_us"; static. */
const char *tcpx_sample_metric_name(enum tcpx_sample_metric metric);

/*
 * tcpx_sample_counts_parse - the file per_cpu_count of an IRQ: "1,0,17"
 * @out: room for @cap
 * Return: the number of counts, -EINVAL (malformed, or a number above 32 bits), or
 * -ERANGE (beyond @cap). Not logged.
 */
TCPX_MUST_CHECK int tcpx_sample_counts_parse(const char *text, uint32_t *out, unsigned cap);

#endif
