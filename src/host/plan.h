/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which CPUs do what: for each NIC those that send, those that receive, those left to its
 * interrupts, and those left to the application. A pure function of a machine and options.
 * The rule is in plan.c, its source in docs/decisions/023-cpu-plan.md.
 *
 * Cores of a node, in the order of their first CPUs, are cut into four: head (application),
 * TX, RX, tail (interrupts). Small ones beside two large ones are all of the head. All NICs of
 * a node share one such group, or each has a slice.
 * An engine stops here; tune/irq/assign.h adds a CPU for each interrupt to the same struct.
 * Threads: values. Errors: -ENODEV (no NIC, no CPU, no second node: logged), -EINVAL (an
 * option; logged), -ENOMEM.
 */
#ifndef HOST_PLAN_H
#define HOST_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/err.h"
#include "host/machine.h"

/* CPUs for interrupts. */
enum tcpx_irq_policy {
	TCPX_IRQ_TAIL,     /* cores that no worker uses: the last of the group              */
	TCPX_IRQ_KEEP,     /* as they are                                                   */
	TCPX_IRQ_COLOCATE, /* on the CPUs that send and receive                             */
	TCPX_IRQ_SPREAD,   /* over all cores of the group in turn                           */
	TCPX_IRQ_REMOTE,   /* another node's last cores: a control that should be worse     */
	TCPX_IRQ_POLICIES
};

struct tcpx_plan_options {
	enum tcpx_irq_policy policy;
	bool share_nic;      /* a group for each NIC, not for each node            */
	int head, tail;      /* cores of a group; -1: by the rule                  */
	bool first_threads;  /* only the first CPU of each core                    */
	bool use_isolated;   /* CPUs of isolcpus=, too                             */
	const struct tcpx_cpuset *allow; /* NULL: the machine's allowed ones; else
	                      * these that are online. Used during the call only   */
	const char *nics;    /* comma list of names; NULL or "": all               */
};

/* Policy tail, everything by the rule. */
#define TCPX_PLAN_DEFAULTS ((struct tcpx_plan_options){ .head = -1, .tail = -1 })

/* Peculiarities of a group. */
enum {
	TCPX_PLAN_SHARED = 1 << 0,     /* one core does everything                          */
	TCPX_PLAN_NO_NODE = 1 << 1,    /* a NIC's node is unknown: it is beside another NIC */
	TCPX_PLAN_OFF_NODE = 1 << 2,   /* a NIC's node lacks usable cores: the nearest's    */
	TCPX_PLAN_PARTIAL = 1 << 3,    /* cores of which some CPUs may not be used          */
	TCPX_PLAN_NOT_SLICED = 1 << 4, /* too few cores for a slice each: NICs share        */
	TCPX_PLAN_SHRUNK = 1 << 5,     /* head or tail gave way to the workers              */
	TCPX_PLAN_ISOLATED = 1 << 6,   /* isolated CPUs of the node were left out           */
	TCPX_PLAN_SMALL = 1 << 7,      /* small cores are left to the application           */
	TCPX_PLAN_ON_SMALL = 1 << 8,   /* small cores send or receive                       */
	TCPX_PLAN_FLAGS = 9            /* their number                                      */
};

struct tcpx_plan_core {
	uint16_t cpu[TCPX_MACHINE_SIBLINGS]; /* that may be used, rising            */
	uint8_t count;
	uint8_t use; /* CPUs that the sets take: count, or 1 with first_threads      */
	bool small;  /* as of a machine's core */
};

/* Cores in their order: small ones first, if they are left to the application. */
struct tcpx_plan_cores {
	struct tcpx_plan_core *at; /* heap */
	unsigned count;
	unsigned small;            /* the first ones; 0: all are dealt out alike */
};

struct tcpx_plan_group {
	int node;            /* whose cores these are; -1: of all nodes             */
	unsigned nic_count;
	unsigned gpus;       /* that it counts as its own                           */
	unsigned queues;     /* most RX queues of one of its NICs                   */
	unsigned cores, head_cores, tx_cores, rx_cores, tail_cores;
	unsigned flags;      /* TCPX_PLAN_...                                       */
	struct tcpx_cpuset pool;  /* all of it                                      */
	struct tcpx_cpuset head, tx, rx, tail;
};

struct tcpx_plan_nic {
	char name[16];
	unsigned group;
	unsigned index;      /* among the NICs of its group                         */
	unsigned queues_rx, queues_tx;
	const char *irq_note; /* why its interrupts are not by their queues; static, NULL: they are */
};

struct tcpx_plan_irq {
	unsigned nic;        /* index in @nics                                      */
	int64_t irq;         /* -1: the machine does not say                        */
	int64_t hwirq;       /* -1 unknown                                          */
	enum tcpx_vector_kind kind; /* TX, RX or TXRX                               */
	int queue;
	bool movable;
	int cpu;
	char name[80];       /* of the vector, to recognise it; "" unknown          */
};

struct tcpx_plan {
	char machine[64], boot_id[40];
	uint64_t hash;       /* tcpx_machine_hash()                                 */
	uint64_t parts[TCPX_MACHINE_PARTS]; /* and of each part                      */
	struct tcpx_plan_options options; /* allow and nics are NULL here           */
	struct tcpx_cpuset usable; /* CPUs that it may name                         */
	struct tcpx_plan_group *groups;   /* by node, then by NIC                   */
	struct tcpx_plan_cores *orders;   /* the cores of each group's pool; NULL: the
					   * plan is from a file                     */
	struct tcpx_plan_nic *nics;       /* eth2 before eth10                      */
	struct tcpx_plan_irq *irqs;       /* by NIC, then TX before RX, then queue;
					   * none here: tune/irq/assign.h has them  */
	unsigned group_count, nic_count, irq_count;
};

/* The groups and NICs; option policy is left to tune/irq/assign.h.
 * @out: for tcpx_plan_fini(); written only on success. */
TCPX_MUST_CHECK int tcpx_plan_cpus(const struct tcpx_machine *m,
				   const struct tcpx_plan_options *options,
				   struct tcpx_plan *out);
void tcpx_plan_fini(struct tcpx_plan *p);

/* Group of a NIC by its name; NULL: not in the plan. */
const struct tcpx_plan_group *tcpx_plan_of_nic(const struct tcpx_plan *p, const char *name);
/* Usable cores of @node (of all nodes: @all), given the CPUs that may be used; small ones
 * first where two others are left. -ENOMEM. */
TCPX_MUST_CHECK int tcpx_plan_cores_of(const struct tcpx_machine *m, int node, bool all,
				       const struct tcpx_cpuset *usable, bool first_threads,
				       struct tcpx_plan_cores *out, bool *partial);
/* Slice @part of @parts, of each kind of cores; the first ones have the extra cores.
 * -ENOMEM. */
TCPX_MUST_CHECK int tcpx_plan_slice(const struct tcpx_plan_cores *pool, unsigned part,
				    unsigned parts, struct tcpx_plan_cores *out);

#endif
