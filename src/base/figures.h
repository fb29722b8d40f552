/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures of an engine, its sessions, channels, NICs, GPUs and threads, each in one line
 * of a table: name, type, place in the public struct, and what becomes of it. The engine's
 * report, the differences that `tcpx perf` takes, its record, and the rates and metrics of
 * `tcpx top` follow from the tables. A new figure is a member of a public struct, the code
 * that counts it, and a line of a table.
 */
#ifndef BASE_FIGURES_H
#define BASE_FIGURES_H

#include <stdint.h>

#include "base/shape.h"
#include "base/text.h"
#include "tcpx/tcpx.h"

/* Of field.use. */
enum {
	FIGURE_PUBLIC = 1,  /* of a channel or NIC: in the public struct              */
	FIGURE_REPORT = 2,  /* in the engine's report                                 */
	FIGURE_RECORD = 4,  /* in the record of perf                                  */
	FIGURE_KEY = 8,     /* one of those by which two objects are the same         */
	FIGURE_SUM = 16,    /* differences add up; of all others the newest value stands */
	FIGURE_RATE = 32,   /* tcpx top shows its rise per second                     */
	FIGURE_UNKNOWN = 64 /* in the report 0 is null                                */
};

struct engine_figures {
	uint32_t schema, pid;
	const char *version, *provider, *name;
	uint64_t incarnation, time_ns, uptime_ns;
};

/* What the engine knows of a channel; the public struct comes first. */
struct channel_figures {
	struct tcpx_channel_info info;
	uint64_t in_flight_bytes;
	uint32_t window;
	int gpu, nic;               /* gpu: -1 host memory; nic: its index            */
};

/* Sums over the present channels, and counters with those of closed ones. */
struct nic_figures {
	struct tcpx_nic_info info;
	int gpu;
	uint64_t bytes_tx, bytes_rx, in_flight_bytes, retransmits, stalls;
	uint64_t rtt_us;            /* the longest                                    */
	uint32_t channels, in_flight;
};

struct session_figures {
	uint64_t id;
	int opener;
	char peer[64];
	const char *state;
	uint32_t transfers;
	uint64_t queued_bytes, in_flight_bytes;
	uint32_t lanes;
	uint64_t lanes_failed;
	uint64_t lane_messages_tx, lane_messages_rx, lane_bytes_tx, lane_bytes_rx;
	uint32_t lane_waiting_tx, lane_waiting_rx;
};

/* Of lanes with one label: as those of a session. */
struct label_figures {
	char label[TCPX_LANE_LABEL];
	uint32_t lanes;
	uint64_t lanes_failed;
	uint64_t lane_messages_tx, lane_messages_rx, lane_bytes_tx, lane_bytes_rx;
	uint32_t lane_waiting_tx, lane_waiting_rx;
};

struct gpu_figures {
	uint32_t gpu;
	uint64_t bytes_packed, bytes_unpacked;
};

extern const struct shape tcpx_totals_figures; /* of struct tcpx_counters              */
extern const struct shape tcpx_engine_figures, tcpx_session_figures, tcpx_channel_figures;
extern const struct shape tcpx_label_figures;
extern const struct shape tcpx_nic_figures, tcpx_gpu_figures, tcpx_thread_figures;
/* Parts of these tables, of struct tcpx_channel_info and struct tcpx_nic_info. */
extern const struct shape tcpx_channel_info_shape, tcpx_channel_record, tcpx_nic_record;

/* Adds "name":value, of each figure in the report. */
void tcpx_figures_report(struct tcpx_text *t, const struct shape *figures, const void *object);

#endif
