/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's counts of interrupts at one time, with the facts to read them later and
 * elsewhere: the NIC, queue and CPUs of each vector. Reading takes time, so a snapshot has a
 * beginning and an end; it is not atomic.
 *
 * Its file has a first line "tcpx-irq-snapshot 1", then a fact a line, then the kernel's own
 * tables unchanged, each behind a line "table NAME BYTES":
 *
 *	boot ID                           kernel RELEASE
 *	time NS NS                        UTC, beginning and end
 *	mono NS NS                        of a clock that only rises, since boot
 *	node ID LIST                      its CPUs
 *	nic NAME NODE DRIVER              NODE -1 unknown, DRIVER "-" unknown
 *	vector IRQ NIC KIND QUEUE SOURCE MOVABLE REQUESTED EFFECTIVE
 *	                                  QUEUE -1 none, MOVABLE 0 or 1, CPU lists "-" unknown
 *	table interrupts|softirqs|stat|softnet BYTES
 *
 * Threads: a value. Errors: logged once, naming the file and line.
 */
#ifndef TUNE_RECORD_SNAPSHOT_H
#define TUNE_RECORD_SNAPSHOT_H

#include "tune/facts/irqtab.h"
#include "tune/facts/topo.h"

#define TCPX_SNAPSHOT_BYTES (512u << 20)

enum tcpx_snap_table {
	TCPX_SNAP_INTERRUPTS, TCPX_SNAP_SOFTIRQS, TCPX_SNAP_STAT, TCPX_SNAP_SOFTNET,
	TCPX_SNAP_TABLES
};

struct tcpx_snap_nic {
	char name[16], driver[32];
	int node; /* -1 unknown */
};

struct tcpx_snap_vector {
	uint32_t irq;
	unsigned nic;                /* index in @nics        */
	enum tcpx_vector_kind kind;
	int queue;                   /* -1: none, or unknown  */
	enum tcpx_vector_source source;
	bool movable;
	bool requested_known, effective_known;
	struct tcpx_cpuset requested, effective;
};

struct tcpx_snapshot {
	char boot_id[40], kernel[128]; /* "" unknown                          */
	uint64_t time_ns[2], mono_ns[2];
	struct tcpx_host_node *nodes;
	struct tcpx_snap_nic *nics;
	struct tcpx_snap_vector *vectors; /* by IRQ                           */
	unsigned node_count, nic_count, vector_count;
	char *table[TCPX_SNAP_TABLES]; /* the text; NULL: unreadable          */
	size_t table_bytes[TCPX_SNAP_TABLES];
	struct tcpx_irqtab irqs, softirqs; /* cpu_count 0: no such table      */
	struct tcpx_cpu_times *times;
	unsigned time_count;
};

/*
 * tcpx_snapshot_take - the counts now
 * @topo: of the same root: owners of the vectors
 * @nics: comma list of interfaces whose vectors are named; NULL: all
 * Return: 0; -ENOENT without proc/interrupts; -ENODEV for an unknown NIC; -ENOMEM;
 * -errno of reading.
 */
TCPX_MUST_CHECK int tcpx_snapshot_take(const char *root, const struct tcpx_topo *topo,
				       const char *nics, struct tcpx_snapshot *out);
void tcpx_snapshot_fini(struct tcpx_snapshot *snap);

/* Reads a snapshot's file. Of a plain copy of proc/interrupts the counts alone are known, no time,
 * boot, NIC or vector. @what names the bytes in messages. -EINVAL, -ENOMEM. */
TCPX_MUST_CHECK int tcpx_snapshot_parse(const char *bytes, size_t len, const char *what,
					struct tcpx_snapshot *out);
/* The same of a file; "-" is standard input. Also -errno, -EFBIG. */
TCPX_MUST_CHECK int tcpx_snapshot_load(const char *path, struct tcpx_snapshot *out);
/* @bytes: heap, the caller's; parse reads the same back. -ENOMEM. */
TCPX_MUST_CHECK int tcpx_snapshot_format(const struct tcpx_snapshot *snap, char **bytes,
					 size_t *len);
/* NULL: the IRQ belongs to no NIC. */
const struct tcpx_snap_vector *tcpx_snapshot_vector(const struct tcpx_snapshot *snap, long irq);

#endif
