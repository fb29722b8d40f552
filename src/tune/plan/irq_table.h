/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common parts of apply, restore and verify: table and JSON of the items' results, requests
 * to stop, and exit codes of outcomes.
 */
#ifndef TUNE_PLAN_IRQ_TABLE_H
#define TUNE_PLAN_IRQ_TABLE_H

#include <jansson.h>

#include "tune/irq/affinity.h"

enum irq_table {
	IRQ_TABLE_PLAIN,
	IRQ_TABLE_DRY,     /* of what would be done                  */
	IRQ_TABLE_LOOK,    /* of a verify: nothing was written       */
	IRQ_TABLE_COUNTED, /* the same, with counted interrupts      */
};

/* A row for each item. */
void irq_table_print(const struct tcpx_aff_item *items, unsigned count, enum irq_table how);
/* New reference; NULL: no memory. */
json_t *irq_table_json(const struct tcpx_aff_item *items, unsigned count, enum irq_table how);

/* "3 effective, 1 pending"; returns @buf. */
const char *irq_table_summary(const struct tcpx_aff_item *items, unsigned count, char *buf,
			      size_t cap);

int irq_table_exit(enum tcpx_aff_outcome outcome);
/* "rolled back"; static. */
const char *irq_table_outcome(enum tcpx_aff_outcome outcome);

/* From now on INT, TERM and HUP are recorded instead of ending the process. */
void irq_table_catch_signals(void);
/* For tcpx_aff_opts.stop: has a signal come? */
bool irq_table_stopped(void *arg);

#endif
