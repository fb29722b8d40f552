/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots for the verbs of tcpx irq, and the figures of a difference of two. */
#ifndef TUNE_PLAN_IRQ_COUNT_H
#define TUNE_PLAN_IRQ_COUNT_H

#include <jansson.h>
#include <stdio.h>

#include "tune/record/changes.h"

/* Exit codes; a message was printed. @nics NULL: all. */
int irq_count_now(const char *command, const char *root, const char *nics,
		  struct tcpx_snapshot *snap);
/* @path "-": stdin. */
int irq_count_load(const char *path, struct tcpx_snapshot *snap);

/* Interrupts of one NIC between two snapshots. */
struct irq_sum {
	const char *name;        /* NULL: of no NIC                      */
	int node;                /* -1 unknown                           */
	unsigned vectors;
	uint64_t total, on_node; /* on_node: part of it on the NIC's node */
	unsigned moved;
};

/* Sums by NIC, the last of no NIC; heap, the caller's; NULL: no memory. */
struct irq_sum *irq_sums(const struct tcpx_irqdiff *diff, const struct tcpx_snapshot *b,
			 unsigned *count);
/* The interrupts of all NICs on the CPU of a column. */
uint64_t irq_nic_count(const struct tcpx_irqdiff *diff, unsigned column);
/* The row "NET_RX" and the like; NULL: none. */
const struct tcpx_irqdiff_row *irq_softirq(const struct tcpx_irqdiff *diff, const char *label);
/* The vector's interrupts on its NIC's node; all if the node is unknown. */
uint64_t irq_on_node(const struct tcpx_irqdiff *diff, const struct tcpx_irqdiff_row *row);
/* Are the counts incomplete? True if vectors were made anew or moved. */
bool irq_changed(const struct tcpx_irqdiff *diff);

void irq_diff_print(FILE *f, const struct tcpx_irqdiff *diff, const struct tcpx_snapshot *b,
		    bool per_queue, bool per_cpu);
json_t *irq_diff_json(const struct tcpx_irqdiff *diff, const struct tcpx_snapshot *b);

#endif
