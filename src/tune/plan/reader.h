/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan as `tcpx irq plan --emit json` writes it, as far as applying it and pinning by it
 * need it: which IRQ goes where, and the sets of CPUs of each NIC.
 *
 *	{ "schema": 1, "boot_id": "5d1c...", "topo_hash": "00f1...",
 *	  "topo_parts": { "cpus": "88e0...", "nics": ..., "gpus": ..., "queues": ... },
 *	  "groups": [ { "nics": ["eth1", "eth2"], "pool": "0-15", "head": "0-1", "tx": "2-5",
 *	                "rx": "6-11", "tail": "12-15" } ],
 *	  "irqs": [ { "irq": 38, "name": "eth1-TxRx-0", "hwirq": 49153, "nic": "eth1", "cpu": 12 } ],
 *	  "xps": [ { "nic": "eth1", "queue": 0, "cpus": "2,4" } ] }
 *
 * An IRQ of null or -1 is of a machine that has none, and left out; a CPU of null or -1 is
 * any of the IRQ's "cpus", or else of the group's pool. Without topo_hash nobody knows which
 * machine it is for, without topo_parts in what another differs, without boot_id (or with
 * null) whether numbers are of this boot. Other members are not looked at.
 */
#ifndef TUNE_PLAN_READER_H
#define TUNE_PLAN_READER_H

#include "host/machine.h"
#include "tune/irq/affinity.h"

#define PLANFILE_NICS 64
#define PLANFILE_GROUPS 64
#define PLANFILE_BYTES (16u << 20)

struct planfile_group {
	char nics[PLANFILE_NICS][16];
	unsigned nic_count;
	struct tcpx_cpuset pool, head, tx, rx, tail; /* empty: none */
};

struct planfile {
	struct planfile_group *groups;
	unsigned group_count;
	struct tcpx_aff_item *items; /* IRQs, then XPS; pools point into groups */
	unsigned irq_count, xps_count;
	unsigned left_out;           /* IRQs of null or -1 */
	char boot_id[40];            /* "": unknown        */
	bool moves;                  /* its policy puts interrupts somewhere */
	bool has_hash, has_parts;    /* of the machine that it was made for */
	uint64_t hash, parts[TCPX_MACHINE_PARTS];
};

/* "-" is standard input. TOOL_OK, or TOOL_USAGE with a message. */
int planfile_load(const char *command, const char *path, struct planfile *plan);
/* The same to move its interrupts: reports those without a number. TOOL_USAGE if that is
 * all of them, or if there is none though the policy is not to keep them: moving nothing is
 * no success. */
int planfile_open(const char *command, const char *path, struct planfile *plan);
void planfile_fini(struct planfile *plan);
/*
 * Is the machine below @root (NULL: this one) the plan's, in the plan's boot? TOOL_USAGE
 * with a message that names the difference. @boots: another boot will do, since numbers are
 * looked up by names. A plan without these facts is accepted, with a message.
 */
int planfile_fits(const char *command, const char *path, const struct planfile *plan,
		  const char *root, bool boots);
/* NULL: the plan has no such NIC. */
const struct planfile_group *planfile_of_nic(const struct planfile *plan, const char *nic);

#endif
