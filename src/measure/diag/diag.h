/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run with diagnostics around it. The record becomes one JSON value, diag.json. Texts and
 * comparisons are made of that value alone, so they can be made again later.
 */
#ifndef MEASURE_DIAG_DIAG_H
#define MEASURE_DIAG_DIAG_H

#include <jansson.h>
#include <stdio.h>

#include "measure/diag/child.h"
#include "measure/diag/metrics.h"
#include "tune/record/changes.h"
#include "tune/record/nicstat.h"
#include "tune/record/snapshot.h"

#define DIAG_SCHEMA 1
#define DIAG_PROCESSES 32
#define DIAG_JOURNAL_LINES 200

/* The data path manager of GPUDirect-TCPX (RxDM), which has several names. */
struct diag_process {
	long pid;
	char name[64], command[256];
};

struct diag_stats {
	struct tcpx_nicstat *at;
	unsigned n;
	const char *why; /* static: why there is none of the driver's; NULL: there are */
};

/* The machine at one time. */
struct diag_side {
	struct tcpx_topo *topo;    /* NULL: not read                 */
	struct tcpx_snapshot snap;
	bool snapped;
	struct diag_stats *stats;  /* one a NIC of @topo             */
};

/* Programs that record beside the command. */
enum { DIAG_MPSTAT, DIAG_PIDSTAT, DIAG_PERF, DIAG_BESIDE };

struct diag {
	const char *root;          /* borrowed; NULL: this machine   */
	char dir[512];
	char *const *words;
	bool to_stderr;            /* the command's output: stdout is for JSON */
	char started[32];
	time_t started_s;
	struct diag_side before, after;
	struct tcpx_irqdiff diff;
	bool diffed;
	struct diag_process process[DIAG_PROCESSES];
	unsigned process_count;
	char *journal;             /* NULL: none                     */
	char journal_why[128];
	struct diag_child child;
	long beside[DIAG_BESIDE];  /* their processes; 0: none       */
	struct diag_metrics metrics;
	FILE *output;
};

/* argv[0] is the verb. Exit codes. */
int diag_run(int argc, char **argv);
int diag_compare(int argc, char **argv);

/* ---- diag_collect.c ---- */

/* TOOL_OK, or a code with a message. Without /proc/interrupts there is no snapshot,
 * which is no error. */
int diag_look(struct diag *d, struct diag_side *side);
void diag_side_fini(struct diag_side *side);
/* Index of the NIC; -1: none. */
int diag_nic_place(const struct diag_side *side, const char *name);
/* The rise of a counter; a counter that fell began anew. */
uint64_t diag_rise(const struct diag *d, const char *nic, const char *counter);
/* Is the NIC shown? Those with a device are, and those that moved bytes. */
bool diag_is_shown(const struct diag *d, const struct tcpx_topo_nic *nic);
/* Finds the processes of the data path manager, and their journal since the run began. */
void diag_find_processes(struct diag *d);
void diag_read_journal(struct diag *d);

/* ---- diag_beside.c ---- */

/* Starts mpstat, pidstat and perf, which writes of process @pid; returns when perf counts. */
void diag_beside_begin(struct diag *d, long pid);
/* Ends the programs beside. A missing one is a line on stderr. */
void diag_beside_end(struct diag *d);

/* ---- diag_json.c ---- */

json_t *diag_json(const struct diag *d); /* NULL: no memory */

/* ---- diag_view.c: of diag.json ---- */

/* NIC, node, IRQs, affinity, CPUs of its interrupts, CPUs that send and receive, bytes. */
void diag_print_nics(FILE *f, const json_t *diag);
void diag_print_summary(FILE *f, const json_t *diag);
void diag_print_metrics(FILE *f, const json_t *diag);

/* ---- diag_files.c ---- */

int diag_write(const struct diag *d, const json_t *json); /* an exit code; a message */

/* ---- diag_match.c: pure ---- */

/* Why two runs cannot be compared; "" if they can. */
void diag_match(const json_t *a, const json_t *b, char *why, size_t cap);
/* The point of @b with size, iterations and label of @p; NULL. */
json_t *diag_match_point(const json_t *b, const json_t *p);

#endif
