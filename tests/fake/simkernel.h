/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel in software, as far as moving interrupts goes: a files table over a plain
 * value. It takes and refuses lists and masks as Linux 6.18 was measured to. Requested
 * and effective CPUs differ until the vector fires. Faults on demand: the k-th write
 * fails or is the last act of its process, an irqbalance moves vectors, a driver frees
 * or renumbers one.
 *
 * It has no pointers, so it can lie in memory that processes share. One thread at a time.
 */
#ifndef FAKE_SIMKERNEL_H
#define FAKE_SIMKERNEL_H

#include "base/cpuset.h"
#include "tune/irq/files.h"

enum { SIM_IRQS = 16, SIM_QUEUES = 8, SIM_CPUS = 64, SIM_KILLED = 99 };

struct sim_irq {
	bool exists;
	unsigned irq;
	char name[64];
	int64_t hwirq;
	unsigned mode;           /* 0644; 0444 of a managed one            */
	bool managed;            /* writing is EPERM                       */
	bool no_eff;             /* no file has the effective CPUs         */
	struct tcpx_cpuset mask; /* asked for                              */
	int eff;                 /* the CPU that it is programmed for      */
	unsigned every_ms;       /* fires so often; 0: on demand only      */
	uint32_t counts[SIM_CPUS];
};

struct sim_queue {
	char nic[16];
	unsigned queue;
	bool single;             /* listed, and ENOENT when opened         */
	struct tcpx_cpuset mask;
};

struct sim {
	unsigned cpus;           /* possible, from 0                       */
	struct tcpx_cpuset online;
	struct sim_irq irqs[SIM_IRQS];
	struct sim_queue queues[SIM_QUEUES];
	char boot_id[40];
	uint64_t now_ms;
	bool read_only;          /* as bound into a container              */
	unsigned balancer;       /* irqbalance's process id; 0: none       */
	bool balancing;          /* it moves vectors every 10 s            */

	unsigned writes;         /* so far                                 */
	unsigned fail_at;        /* this write (from 1) fails...           */
	unsigned fail_count;     /* ...and so many in all; 0: one          */
	int fail_errno;          /* with this, positive                    */
	bool fail_after;         /* having had its effect                  */
	unsigned lose_at;        /* this write is accepted and lost        */
	unsigned kill_at;        /* the process ends with SIM_KILLED...    */
	bool kill_after;         /* ...after the effect of that write      */
};

/* A machine with CPUs 0 to @cpus - 1 online and nothing else. */
void sim_init(struct sim *s, unsigned cpus);
/* The door to it; @s is borrowed. */
struct tcpx_files sim_files(struct sim *s);

/* Asked for all CPUs, effective on @eff. */
struct sim_irq *sim_add(struct sim *s, unsigned irq, const char *name, int64_t hwirq, int eff);
struct sim_queue *sim_add_queue(struct sim *s, const char *nic, unsigned queue);
struct sim_irq *sim_find(struct sim *s, unsigned irq);

/* One interrupt: counted where it is effective, which moves afterwards if it is asked to. */
void sim_fire(struct sim *s, unsigned irq);
void sim_fire_all(struct sim *s);
/* One round of irqbalance. */
void sim_balance(struct sim *s);
/* The driver lets go; and gets the same vector under another number. */
void sim_free(struct sim *s, unsigned irq);
void sim_renumber(struct sim *s, unsigned from, unsigned to);

/* What the kernel makes of a list or mask: 0 and the set, or -errno. */
int sim_parse_list(const struct sim *s, const char *text, struct tcpx_cpuset *set);
int sim_parse_mask(const struct sim *s, const char *text, struct tcpx_cpuset *set);

#endif
