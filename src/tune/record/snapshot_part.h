/* SPDX-License-Identifier: Apache-2.0 */
/* Common parts of taking and reading a snapshot. */
#ifndef TUNE_RECORD_SNAPSHOT_PART_H
#define TUNE_RECORD_SNAPSHOT_PART_H

#include "tune/record/snapshot.h"

#define TCPX_SNAPSHOT_HEAD "tcpx-irq-snapshot 1"

/* Parses the texts of the tables; logged. */
TCPX_MUST_CHECK int tcpx_snapshot_tables(struct tcpx_snapshot *snap, const char *what);
/* Sorts vectors; a second one of an IRQ goes. */
void tcpx_snapshot_sort(struct tcpx_snapshot *snap);
/* "softirqs"; static. */
const char *tcpx_snap_table_name(enum tcpx_snap_table table);

#endif
