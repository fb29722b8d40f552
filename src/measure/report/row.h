/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of a run: what was measured, on what, with which settings. Every printer,
 * the JSON file and the HTML report read this and nothing else. The names here are the
 * names in the JSON (docs/result-schema.md). GB is 1e9 bytes; NAN in an optional number
 * means "not measured" and is left out of the JSON.
 */
#ifndef MEASURE_REPORT_ROW_H
#define MEASURE_REPORT_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tcpx/tcpx.h"
#include "tool/shape.h"

/* Iterations that a percentile needs to say more than the slowest one. */
enum { ROW_P99_ITERS = 100, ROW_P999_ITERS = 1000 };

#define RESULT_SCHEMA 1 /* grows when a field changes its meaning or goes away */

/* Percentiles over the iterations of a row. */
struct row_time {
	double min, p50, p99, p999, max, mean, stdev; /* us                          */
};

struct row_interval {
	double lo, hi; /* about 95 %; optional (NAN with fewer than 6 pairs)          */
};

/* One block of the paired comparison; the list holds every pair, in the order run. */
struct row_pair {
	double ours_us;     /* time of one iteration, ours                           */
	double baseline_us; /* ... of raw sockets on the same pages                  */
	double ratio;       /* baseline_us / ours_us: above 1 we are faster          */
};

/* What was moved since the point before, or the begin. */
struct row_point {
	double t_s;     /* end: seconds of timed runs so far                         */
	uint64_t bytes; /* both ways together                                        */
	double GBps;
};

struct row_in_flight {
	double mean;  /* messages on a channel not yet acknowledged, seen at each send */
	uint64_t max;
};

struct row_nic {
	char nic[32], peer_nic[32];
	uint64_t bytes;       /* payload sent over it in the timed part, both directions */
	double share;         /* of the row's bytes, 0..1                            */
	uint64_t retransmits; /* TCP segments, of its connections, in the timed part */
};

/* Growth of a NIC's kernel counters in the timed part, from any traffic. */
struct row_nic_counters {
	char side[8]; /* "client", "server"                                          */
	char nic[32];
	uint64_t rx_bytes, rx_packets, rx_dropped, rx_errors;
	uint64_t tx_bytes, tx_packets, tx_dropped, tx_errors;
};

/* A channel by its two ends; NICs are named as the client sees them. */
struct row_channel {
	struct tcpx_channel_info tx, rx; /* of rx only where its last packet was handled */
};

struct row_thread {
	char name[32];
	char requested[64]; /* CPU list asked for; "" none                           */
	char granted[64];   /* CPU list read back from the kernel                    */
	char ran_on[64];    /* CPU list where it was seen                            */
};

/* Where a chunk's time went: means in us, over the chunks of the timed part. */
struct row_stage {
	double queue;  /* ready until a channel took it                              */
	double wire;   /* taken until the kernel had all of it                       */
	double unpack; /* landed until in place                                      */
	double ack;    /* handed to the kernel until acknowledged, unpack taken out  */
};

struct row_percentiles {
	double p50, p99, p999; /* us; optional                                       */
};

/* One bucket of a histogram; buckets ascend, empty ones may be left out. */
struct row_bucket {
	double us;      /* upper edge                                                */
	uint64_t count;
};

/* One measured case: one size of one operation. Begin with result_add_row(). */
struct row {
	uint64_t size;     /* bytes of one transfer                                  */
	char op[16];       /* "write", "read", "sendrecv", "lane"                    */
	char dir[8];       /* "uni", "bi"                                            */
	char mem[64];      /* of this side: "host", "cuda:0", "cuda:0-3"             */
	char peer_mem[64]; /* of the other; "" unknown                               */
	uint64_t descs;    /* descriptors of one transfer, >= 1                      */
	uint64_t depth;    /* transfers in flight; 0 unknown                         */
	uint64_t lanes;    /* each way; 0: none, or unknown                          */
	uint64_t iters;    /* timed iterations, >= 1                                 */
	uint64_t warmup;   /* iterations before, not in any figure                   */
	uint64_t nics;     /* NICs in use                                            */
	uint64_t channels; /* channels in use, all NICs together                     */
	uint64_t chunk_bytes;
	uint64_t window;   /* slots a channel                                        */
	char dist[8];      /* "pull", "rr"                                           */

	struct row_time time_us;  /* one iteration: post until acknowledged          */
	double algbw_GBps;        /* size * iters / t; "bi": one direction           */
	double busbw_GBps;        /* all bytes moved / t: twice algbw for "bi"       */
	double peer_algbw_GBps;   /* what the other side measured; optional          */
	double transfers_per_s;   /* in one direction; optional                      */
	bool checked;             /* every byte was compared with the pattern        */
	double compared;          /* share of the timed bytes that were; optional    */
	uint64_t wrong;           /* of them, bytes that differed                    */
	double cpu_s_per_GB;      /* CPU seconds of both ends / GB moved; optional   */
	double client_cpu_s_per_GB, server_cpu_s_per_GB; /* of each end; optional    */

	char congestion[40];          /* of the channels that sent, "cubic"; "" unknown */
	char baseline_congestion[40]; /* of the raw sockets that sent; "" none       */
	double baseline_GBps;         /* raw sockets, same pages, one piece; optional */
	double baseline_cpu_s_per_GB; /* optional                                    */
	double baseline_compared; /* as compared, of their timed runs; optional      */
	double baseline_wrong;    /* bytes of them that differed; optional           */
	double ratio;                 /* median of pairs[].ratio; optional. With --lat
	                               * baseline half round trip / ours             */
	struct row_interval ratio_ci;
	LIST_OF(struct row_pair) pairs;
	double path_GBps;         /* the most that the GPUs' copies carry in one direction,
	                           * by copies of 64 MiB or 1 MiB, whichever more; optional */
	double path_1M_GBps;      /* by copies of 1 MiB; optional                    */
	double path_fraction;     /* algbw / path; optional                          */

	bool degraded; /* a NIC or channel was lost or never came up                 */
	struct row_in_flight in_flight;
	LIST_OF(struct row_nic) per_nic;
	LIST_OF(struct row_nic_counters) nic_counters; /* optional: both sides       */
	LIST_OF(struct row_channel) per_channel;
	LIST_OF(struct row_thread) threads;
	uint64_t ctxt_switches; /* both ends, voluntary and not, timed part          */
	struct row_stage stage_us;

	LIST_OF(struct row_point) series; /* optional: not of short measurements      */
	LIST_OF(struct row_bucket) histogram; /* of time_us; with --lat of half_rtt_us */

	/* --lat only */
	struct row_time half_rtt_us; /* optional as a whole                          */
	struct row_percentiles baseline_half_rtt_us;
};

struct result_machine {
	char host[72];
	char kernel[144];      /* uname release and machine                          */
	char cpu_model[128];
	uint64_t cpus;         /* online                                             */
	uint64_t memory_bytes;
};

struct result_gpu {
	char side[8];   /* "client", "server"                                        */
	unsigned gpu;   /* as the process numbers them                               */
	char name[64];
	char pci[16];
	uint64_t memory_bytes;
};

struct result_setting {
	char *name, *value, *source; /* owned; source: "default", "environment", "flag", ... */
};

struct result_env {
	char *name, *value; /* owned; tool/envlist.h decides what is listed     */
};

/* A part of the machine and where it sits. */
struct result_place {
	char kind[16];  /* "node", "nic", "gpu"                                      */
	char name[64];
	char pci[16];   /* "0000:06:00.0"; "" none                                   */
	int64_t numa;   /* -1 unknown                                                */
	char cpus[128]; /* local CPU list; "" unknown                                */
};

struct result_mesh_rank {
	unsigned rank;
	char host[72];
	unsigned local_rank;
	char mem[64];          /* "host", "cuda:3"                                   */
};

/* Data that went from one rank to another. */
struct result_mesh_pair {
	unsigned from, to;
	unsigned step;         /* pairs of one step ran at the same time             */
	double GBps;           /* 0 if it failed                                     */
	double peer_GBps;      /* what the other side measured; optional             */
	double p50_us;         /* of one transfer; optional                          */
	uint64_t iters;
	bool checked, failed;
	double compared;   /* as of a row; optional */
	uint64_t wrong;        /* bytes                                              */
};

/* All pairs of a number of ranks; figures by mesh_sum(). */
struct result_mesh {
	char launcher[16];     /* who started the ranks: "Slurm", ...                */
	char plan[16];         /* "turns", "at once"                                 */
	char op[16], dir[8];
	uint64_t size;         /* bytes of one transfer                              */
	double seconds;        /* all of it, set-up of the pairs included; optional  */
	double mean_GBps, median_GBps, worst_GBps, best_GBps; /* over pairs; optional */
	unsigned worst_from, worst_to;
	double together_GBps;  /* the sum of a step's pairs, mean over steps; optional */
	double fairness;       /* Jain's index over pairs; optional                  */
	LIST_OF(struct result_mesh_rank) ranks;
	LIST_OF(struct result_mesh_pair) pairs;
};

/* A run that ended before all that was asked for was measured; "" as code: it did not. */
struct result_stop {
	uint64_t size;         /* of the case that was measured then                 */
	char code[32];         /* "TCPX_EPEERGONE"; "SIGINT"                         */
	char cause[256];       /* for people                                         */
	uint64_t sizes_done, sizes_asked; /* in full                                 */
};

struct result {
	uint64_t schema;          /* RESULT_SCHEMA                                   */
	char started[32];         /* RFC 3339, UTC: "2025-01-31T12:00:00Z"           */
	char version[32];
	char *command;            /* owned; the command line as typed                */
	char role[8];             /* "self", "client", "server"                      */
	char peer[64];            /* the other end: name or address                  */
	struct result_machine machine;
	char provider[16];        /* "sock"                                          */
	double setup_ms;          /* connect until the session is open; optional     */
	char *note;               /* owned; a caveat for the reader ("no root: NICs are
	                           * 127.0.k.1"); NULL none                          */
	char unpack[16];          /* who copies to and from GPUs; "" no GPU in use   */
	char peer_unpack[16];
	char placement[48];       /* where the threads of both sides ran, "sides: CPU 0 and
	                           * CPU 1"; "" where the kernel put them            */
	struct result_stop failed;      /* optional: an error ended it              */
	struct result_stop interrupted; /* optional: somebody did                   */
	LIST_OF(struct tcpx_nic_info) nics;
	LIST_OF(struct result_gpu) gpus; /* with memory in use, both sides; optional */
	LIST_OF(struct result_setting) settings;
	LIST_OF(struct result_place) topology;
	LIST_OF(struct result_env) env;
	LIST_OF(struct row) rows;
	LIST_OF(struct result_mesh) mesh; /* one, of perf --mesh, which has no rows; optional */
};

/* An empty record with schema, version, start time, host, kernel, CPUs, memory and
 * environment of this process filled in. result_fini() frees all it owns. */
void result_init(struct result *r);
void result_fini(struct result *r);

/* Appends a row: optional numbers NAN, mem "host", descs 1, the rest zero. Valid until
 * the next call. */
struct row *result_add_row(struct result *r);
/* Copies of the three texts. */
void result_add_setting(struct result *r, const char *name, const char *value,
			const char *source);
/* command = the words of argv, quoted for a shell where they need it. */
void result_set_command(struct result *r, int argc, char *const *argv);
/* The row that speaks for the run: the largest size, the last of equals. NULL: no rows. */
const struct row *result_subject(const struct result *r);
/* Sets ratio, ratio_ci from pairs[]. Nothing happens without pairs. */
void row_sum_up_pairs(struct row *row);

#endif
