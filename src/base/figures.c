/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of figures. Their order is that of the report, the record and the metrics; of an
 * object's metrics the counters come first.
 */
#include "base/figures.h"

#include "base/shape_table.h"

enum {
	REPORT = FIGURE_REPORT, RECORD = FIGURE_RECORD, KEY = FIGURE_KEY, SUM = FIGURE_SUM,
	UNKNOWN = FIGURE_UNKNOWN, COUNTER = REPORT | SUM, RATED = COUNTER | FIGURE_RATE
};

#define FIGURE(kind, member, use_, ...) \
	{ AT(member), .type = FIELD_##kind, .room = sizeof(((S *)0)->member), .use = use_, \
	  __VA_ARGS__ }
/* One of the public struct that lies in S. */
#define INFO(kind, member, use_, ...) \
	{ .name = #member, .offset = offsetof(S, info.member), .type = FIELD_##kind, \
	  .room = sizeof(((S *)0)->info.member), .use = FIGURE_PUBLIC | (use_), __VA_ARGS__ }
#define METRIC(name, text) .metric = name, .help = text
#define LABEL(name, mark, text) METRIC(name, text), .label = mark
#define TX "direction=\"tx\""
#define RX "direction=\"rx\""

#define S struct engine_figures
static const struct field engine[] = {
	FIGURE(INDEX, schema, REPORT), FIGURE(TEXT, version, REPORT),
	FIGURE(TEXT, provider, REPORT), FIGURE(TEXT, name, REPORT),
	FIGURE(INDEX, pid, REPORT | KEY), FIGURE(ID, incarnation, REPORT | KEY),
	FIGURE(COUNT, time_ns, REPORT),
	FIGURE(COUNT, uptime_ns, REPORT,
	       METRIC("tcpx_uptime_seconds", "Since the engine was opened."), .unit = 1e-9),
};
const struct shape tcpx_engine_figures = SHAPE(engine);
#undef S

#define S struct tcpx_counters
static const struct field totals[] = {
	FIGURE(COUNT, bytes_tx, RATED, LABEL("tcpx_bytes_total", TX, "Payload applied.")),
	FIGURE(COUNT, bytes_rx, RATED, LABEL("tcpx_bytes_total", RX, NULL)),
	FIGURE(COUNT, chunks_tx, COUNTER, LABEL("tcpx_chunks_total", TX, "Chunks applied.")),
	FIGURE(COUNT, chunks_rx, COUNTER, LABEL("tcpx_chunks_total", RX, NULL)),
	FIGURE(COUNT, xfers_posted, COUNTER,
	       METRIC("tcpx_transfers_posted_total", "Transfers posted.")),
	FIGURE(COUNT, xfers_done, RATED,
	       METRIC("tcpx_transfers_done_total", "Transfers that succeeded.")),
	FIGURE(COUNT, xfers_failed, RATED,
	       METRIC("tcpx_transfers_failed_total", "Transfers that failed.")),
	FIGURE(COUNT, notes_tx, RATED, LABEL("tcpx_notes_total", TX, "Notes.")),
	FIGURE(COUNT, notes_rx, RATED, LABEL("tcpx_notes_total", RX, NULL)),
	FIGURE(COUNT, notes_dropped, COUNTER,
	       METRIC("tcpx_notes_dropped_total", "Notes that found no room.")),
	FIGURE(COUNT, ctrl_frames_tx, SUM), FIGURE(COUNT, ctrl_frames_rx, SUM),
	FIGURE(COUNT, ctrl_resumes, COUNTER,
	       METRIC("tcpx_control_resumes_total", "Control streams taken up again.")),
	FIGURE(COUNT, channels_lost, COUNTER,
	       METRIC("tcpx_channels_lost_total", "Channels that broke.")),
	FIGURE(COUNT, chunks_resent, RATED,
	       METRIC("tcpx_chunks_resent_total", "Chunks sent again on another channel.")),
	/* engine/stats.c writes it at the end of the report */
	{ .name = "sessions_stalled", .offset = offsetof(S, stalls), .type = FIELD_COUNT,
	  .use = SUM,
	  METRIC("tcpx_sessions_stalled_total", "Sessions that failed for want of progress.") },
	FIGURE(COUNT, refused, COUNTER,
	       METRIC("tcpx_refused_total", "Connections and operations turned away.")),
	FIGURE(COUNT, queue_ns, SUM), FIGURE(COUNT, wire_ns, SUM), FIGURE(COUNT, ack_ns, SUM),
	FIGURE(COUNT, unpack_ns, SUM), FIGURE(COUNT, lease_borrows, SUM),
	FIGURE(INDEX, sessions, 0), FIGURE(INDEX, regions, 0), FIGURE(COUNT, memory_bytes, 0),
	FIGURE(COUNT, channels_suspected, COUNTER,
	       METRIC("tcpx_channels_suspected_total", "Channels given up for a silent or slow path.")),
	FIGURE(COUNT, channels_healed, COUNTER,
	       METRIC("tcpx_channels_healed_total", "Lost channels that stand again.")),
	FIGURE(COUNT, chunks_corrupt, COUNTER,
	       METRIC("tcpx_chunks_corrupt_total", "Chunks that arrived changed (TCPX_CHECKSUM).")),
	FIGURE(COUNT, frames_corrupt, COUNTER,
	       METRIC("tcpx_frames_corrupt_total", "Control frames that arrived changed.")),
};
const struct shape tcpx_totals_figures = SHAPE(totals);
#undef S

#define S struct session_figures
static const struct field session[] = {
	FIGURE(ID, id, REPORT | KEY), FIGURE(FLAG, opener, REPORT | KEY),
	FIGURE(STRING, peer, REPORT), FIGURE(TEXT, state, REPORT),
	FIGURE(INDEX, transfers, REPORT,
	       METRIC("tcpx_session_transfers", "Transfers open in a session.")),
	FIGURE(COUNT, queued_bytes, REPORT,
	       METRIC("tcpx_session_queued_bytes", "Payload that no channel has taken.")),
	FIGURE(COUNT, in_flight_bytes, REPORT,
	       METRIC("tcpx_session_in_flight_bytes", "Payload sent and not acknowledged.")),
	FIGURE(INDEX, lanes, REPORT, METRIC("tcpx_session_lanes", "Lanes that are open.")),
	FIGURE(COUNT, lanes_failed, COUNTER,
	       METRIC("tcpx_session_lanes_failed_total",
		      "Lanes that failed, or were closed with messages open.")),
	FIGURE(COUNT, lane_messages_tx, RATED,
	       LABEL("tcpx_session_lane_messages_total", TX, "Messages of lanes that succeeded.")),
	FIGURE(COUNT, lane_messages_rx, RATED, LABEL("tcpx_session_lane_messages_total", RX, NULL)),
	FIGURE(COUNT, lane_bytes_tx, RATED,
	       LABEL("tcpx_session_lane_bytes_total", TX, "Bytes of these messages.")),
	FIGURE(COUNT, lane_bytes_rx, RATED, LABEL("tcpx_session_lane_bytes_total", RX, NULL)),
	FIGURE(INDEX, lane_waiting_tx, REPORT,
	       LABEL("tcpx_session_lane_waiting", TX, "Messages of lanes that have not ended.")),
	FIGURE(INDEX, lane_waiting_rx, REPORT, LABEL("tcpx_session_lane_waiting", RX, NULL)),
};
const struct shape tcpx_session_figures = SHAPE(session);
#undef S

#define S struct label_figures
static const struct field label[] = {
	FIGURE(STRING, label, REPORT | KEY),
	FIGURE(INDEX, lanes, REPORT, METRIC("tcpx_lanes", "Lanes of a label that are open.")),
	FIGURE(COUNT, lanes_failed, COUNTER,
	       METRIC("tcpx_lanes_failed_total", "Those that failed, or were closed with messages open.")),
	FIGURE(COUNT, lane_messages_tx, RATED,
	       LABEL("tcpx_lane_messages_total", TX, "Messages of a label's lanes that succeeded.")),
	FIGURE(COUNT, lane_messages_rx, RATED, LABEL("tcpx_lane_messages_total", RX, NULL)),
	FIGURE(COUNT, lane_bytes_tx, RATED, LABEL("tcpx_lane_bytes_total", TX, "Bytes of these messages.")),
	FIGURE(COUNT, lane_bytes_rx, RATED, LABEL("tcpx_lane_bytes_total", RX, NULL)),
	FIGURE(INDEX, lane_waiting_tx, REPORT,
	       LABEL("tcpx_lane_waiting", TX, "Messages of a label's lanes that have not ended.")),
	FIGURE(INDEX, lane_waiting_rx, REPORT, LABEL("tcpx_lane_waiting", RX, NULL)),
};
const struct shape tcpx_label_figures = SHAPE(label);
#undef S

#define S struct channel_figures
static const struct field channel[] = {
	INFO(FLAG, sending, REPORT | KEY), INFO(FLAG, up, REPORT),
	INFO(INDEX, index, REPORT | KEY), INFO(INDEX, generation, REPORT | KEY),
	INFO(STRING, nic, REPORT | RECORD), INFO(STRING, peer_nic, REPORT),
	FIGURE(INT, gpu, REPORT),
	INFO(COUNT, bytes, RATED | RECORD,
	     METRIC("tcpx_channel_bytes_total", "Payload applied of a channel.")),
	INFO(COUNT, chunks, RATED | RECORD),
	INFO(INDEX, in_flight, REPORT,
	     METRIC("tcpx_channel_in_flight", "Messages not acknowledged.")),
	FIGURE(COUNT, in_flight_bytes, REPORT),
	FIGURE(INDEX, window, REPORT,
	       METRIC("tcpx_channel_window", "Messages that may be unacknowledged.")),
	INFO(COUNT, retransmits, RATED,
	     METRIC("tcpx_channel_retransmits_total", "TCP segments sent again.")),
	INFO(COUNT, rtt_us, REPORT, METRIC("tcpx_channel_rtt_seconds", "The connection's round trip."),
	     .unit = 1e-6),
	INFO(COUNT, stalls, RATED | RECORD,
	     METRIC("tcpx_channel_stalls_total", "Times that it had work and had to wait.")),
	INFO(COUNT, rate_Bps, REPORT), INFO(INDEX, loop, REPORT),
	INFO(STRING, tx_mode, REPORT | RECORD, .optional = true),
	INFO(STRING, congestion, REPORT | RECORD, .optional = true),
	INFO(COUNT, lent_bytes, COUNTER | RECORD, .optional = true),
	INFO(ID, session, KEY), INFO(STRING, peer, 0), INFO(INDEX, in_flight_max, 0),
	INFO(FLAG, rests, REPORT),
	INFO(COUNT, in_flight_sum, SUM), INFO(INT, incoming_cpu, 0), INFO(INDEX, napi_id, 0),
};
const struct shape tcpx_channel_figures = SHAPE(channel);
const struct shape tcpx_channel_record = SHAPE_OF(struct tcpx_channel_info, channel, RECORD);
const struct shape tcpx_channel_info_shape =
	SHAPE_OF(struct tcpx_channel_info, channel, FIGURE_PUBLIC);
#undef S

#define S struct nic_figures
static const struct field nic[] = {
	INFO(STRING, name, REPORT | RECORD | KEY), INFO(STRING, addr, REPORT | RECORD),
	INFO(INT, numa, REPORT | RECORD), INFO(INDEX, gbps, REPORT | RECORD | UNKNOWN),
	INFO(INDEX, mbps, REPORT | RECORD | UNKNOWN, .optional = true),
	FIGURE(INT, gpu, REPORT),
	FIGURE(COUNT, bytes_tx, RATED,
	       LABEL("tcpx_nic_bytes_total", TX, "Payload over a NIC.")),
	FIGURE(COUNT, bytes_rx, RATED, LABEL("tcpx_nic_bytes_total", RX, NULL)),
	FIGURE(INDEX, channels, REPORT, METRIC("tcpx_nic_channels", "Channels that are up.")),
	FIGURE(INDEX, in_flight, REPORT),
	FIGURE(COUNT, in_flight_bytes, REPORT,
	       METRIC("tcpx_nic_in_flight_bytes", "Payload sent and not acknowledged.")),
	FIGURE(COUNT, retransmits, RATED,
	       METRIC("tcpx_nic_retransmits_total", "TCP segments sent again.")),
	FIGURE(COUNT, stalls, RATED,
	       METRIC("tcpx_nic_stalls_total", "Times that a channel had work and had to wait.")),
	FIGURE(COUNT, rtt_us, REPORT,
	       METRIC("tcpx_nic_rtt_seconds", "The longest round trip of its channels."),
	       .unit = 1e-6),
};
const struct shape tcpx_nic_figures = SHAPE(nic);
const struct shape tcpx_nic_record = SHAPE_OF(struct tcpx_nic_info, nic, RECORD);
#undef S

#define S struct gpu_figures
static const struct field gpu[] = {
	FIGURE(INDEX, gpu, REPORT | KEY),
	FIGURE(COUNT, bytes_packed, RATED,
	       LABEL("tcpx_gpu_bytes_total", "flow=\"pack\"",
		     "Bytes copied from and to a GPU's memory.")),
	FIGURE(COUNT, bytes_unpacked, RATED,
	       LABEL("tcpx_gpu_bytes_total", "flow=\"unpack\"", NULL)),
};
const struct shape tcpx_gpu_figures = SHAPE(gpu);
#undef S

#define S struct tcpx_thread_info
static const struct field thread[] = {
	FIGURE(STRING, name, REPORT), FIGURE(INT, tid, REPORT | KEY),
	FIGURE(STRING, requested, REPORT), FIGURE(STRING, granted, REPORT),
};
const struct shape tcpx_thread_figures = SHAPE(thread);
#undef S

void
tcpx_figures_report(struct tcpx_text *t, const struct shape *figures, const void *object)
{
	shape_each(f, figures) {
		const void *at = (const char *)object + f->offset;
		bool wide = f->type == FIELD_COUNT || f->type == FIELD_ID;
		uint64_t v = wide ? *(const uint64_t *)at : 0;

		if (!(f->use & REPORT))
			continue;
		tcpx_text_add(t, "\"%s\":", f->name);
		if (f->type == FIELD_INDEX || f->type == FIELD_INT || f->type == FIELD_FLAG)
			v = *(const uint32_t *)at;
		if (f->type == FIELD_STRING)
			tcpx_text_quote(t, at);
		else if (f->type == FIELD_TEXT)
			tcpx_text_quote(t, *(const char *const *)at);
		else if (f->type == FIELD_FLAG)
			tcpx_text_add(t, "%s", v ? "true" : "false");
		else if (f->type == FIELD_ID)
			tcpx_text_add(t, "\"%016llx\"", (unsigned long long)v);
		else if (f->type == FIELD_INT ? v > INT32_MAX : !v && (f->use & UNKNOWN))
			tcpx_text_add(t, "null");
		else
			tcpx_text_add(t, "%llu", (unsigned long long)v);
		tcpx_text_add(t, ",");
	}
}
