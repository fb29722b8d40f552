/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a recorder: each looks at one kind of object and adds what changed. */
#ifndef TUNE_RECORD_SAMPLE_PART_H
#define TUNE_RECORD_SAMPLE_PART_H

#include "tune/facts/irqtab.h"
#include "tune/record/sample.h"
#include "tune/record/threads.h"

#define SAMPLE_OBJECT_CPU 0
#define SAMPLE_OBJECT_SAMPLER 1
#define SAMPLE_OBJECT_PMU 2
#define SAMPLE_OBJECT_FIRST 3 /* vectors, then threads */
#define SAMPLE_TIMES (1u << 16) /* samples whose times are kept */

/* Metric and value share eight bytes: no value reaches 2^58 within an interval. */
struct sample_cell {
	uint32_t sample;
	uint16_t object;
	int16_t cpu;
	uint64_t metric : 6, value : 58;
};

struct sample_cpus {
	int fd;                        /* proc/stat; -1: none                         */
	char *text;
	size_t room;
	uint64_t (*last)[TCPX_CPU_TIMES]; /* by CPU                                   */
	bool *seen;
	uint64_t tick_us;
};

struct sample_irqs {
	unsigned count;                /* vectors; object SAMPLE_OBJECT_FIRST + index */
	int *fd;                       /* per_cpu_count of each; NULL: from the table */
	uint32_t *last, *now;          /* @count times @cpus; @cpus                   */
	unsigned cpus;
	int *cpu;                      /* of each column                              */
	bool *seen;
	char *text;
};

struct sample_thread {
	uint16_t object;               /* 0: free                                     */
	uint64_t user, system;
	struct tcpx_thread_switches switches;
	bool ran;                      /* since its children were last read           */
};

struct sample_threads {
	struct sample_thread *table;   /* by object, from the first thread's          */
	uint16_t *hash;                /* by id: an object; 0: free                   */
	struct tcpx_thread_stat *stat; /* of one process at a time                    */
	bool *ran;                     /* of each in @stat                            */
	long pids[TCPX_SAMPLE_PIDS];
	uint64_t start[TCPX_SAMPLE_PIDS]; /* 0: not seen yet                          */
	unsigned pid_count;
	uint64_t looked_ns;            /* when children were last read                */
	unsigned left_out;             /* in this look                                */
	uint64_t tick_us;
};

struct tcpx_sampler {
	char root[512], thread_root[512];
	uint64_t begin_ns, due_ns, interval_ns;
	struct sample_cell *ring;
	uint64_t cells, first, next;   /* first and next cell ever, modulo @cells     */
	uint32_t sample;               /* being taken; 0: the first look              */
	uint64_t *time_ns;             /* of sample N, at N modulo SAMPLE_TIMES       */
	struct tcpx_sample_object *object;
	unsigned objects, objects_max, threads_from;
	const struct tcpx_pmu *pmu;
	uint64_t pmu_last[TCPX_PMU_EVENTS];
	struct sample_cpus cpus;
	struct sample_irqs irqs;
	struct sample_threads threads;
	struct tcpx_sample_cost cost;
};

/* The oldest sample goes if its time will be overwritten. */
void tcpx_sampler_push_out(struct tcpx_sampler *s);
/* Adds a cell; 0 is dropped. */
void tcpx_sampler_put(struct tcpx_sampler *s, unsigned object, int cpu,
		      enum tcpx_sample_metric metric, uint64_t value);

int tcpx_sample_cpus_init(struct tcpx_sampler *s);
void tcpx_sample_cpus_fini(struct tcpx_sampler *s);
void tcpx_sample_cpus_look(struct tcpx_sampler *s);

int tcpx_sample_irqs_init(struct tcpx_sampler *s, const struct tcpx_topo *topo);
void tcpx_sample_irqs_fini(struct tcpx_sampler *s);
void tcpx_sample_irqs_look(struct tcpx_sampler *s);

int tcpx_sample_threads_init(struct tcpx_sampler *s, const long *pids, unsigned count);
void tcpx_sample_threads_fini(struct tcpx_sampler *s);
void tcpx_sample_threads_look(struct tcpx_sampler *s, uint64_t now_ns);

#endif
