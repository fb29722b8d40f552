/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The counters in Prometheus's text format (version 0.0.4), for its node
 * exporter's textfile collector. A metric is a row of a table: its place in the
 * document and its meaning.
 */
#include <string.h>

#include "tool/tool.h"
#include "measure/top/top.h"

enum level { OF_ENGINE, OF_TOTALS, OF_SESSION, OF_CHANNEL, OF_NIC, OF_GPU };

struct metric {
	const char *name, *help;
	enum level level;
	const char *key;   /* NULL: always 1 */
	const char *label; /* one more, "direction=\"tx\""; NULL: none. Same name, other label:
			    * the next rows of one metric */
	double scale;      /* 0: 1 */
};

static const struct metric metrics[] = {
	{ "tcpx_engine_info", "An engine and what it is made of.", OF_ENGINE, NULL, NULL, 0 },
	{ "tcpx_uptime_seconds", "Since the engine was opened.", OF_ENGINE, "uptime_ns", NULL, 1e-9 },
	{ "tcpx_bytes_total", "Payload applied.", OF_TOTALS, "bytes_tx", "direction=\"tx\"", 0 },
	{ "tcpx_bytes_total", NULL, OF_TOTALS, "bytes_rx", "direction=\"rx\"", 0 },
	{ "tcpx_chunks_total", "Chunks applied.", OF_TOTALS, "chunks_tx", "direction=\"tx\"", 0 },
	{ "tcpx_chunks_total", NULL, OF_TOTALS, "chunks_rx", "direction=\"rx\"", 0 },
	{ "tcpx_transfers_posted_total", "Transfers posted.", OF_TOTALS, "xfers_posted", NULL, 0 },
	{ "tcpx_transfers_done_total", "Transfers that succeeded.", OF_TOTALS, "xfers_done", NULL, 0 },
	{ "tcpx_transfers_failed_total", "Transfers that failed.", OF_TOTALS, "xfers_failed", NULL, 0 },
	{ "tcpx_notes_total", "Notes.", OF_TOTALS, "notes_tx", "direction=\"tx\"", 0 },
	{ "tcpx_notes_total", NULL, OF_TOTALS, "notes_rx", "direction=\"rx\"", 0 },
	{ "tcpx_notes_dropped_total", "Notes that found no room.", OF_TOTALS, "notes_dropped", NULL, 0 },
	{ "tcpx_control_resumes_total", "Control streams taken up again.", OF_TOTALS, "ctrl_resumes",
	  NULL, 0 },
	{ "tcpx_channels_lost_total", "Channels that broke.", OF_TOTALS, "channels_lost", NULL, 0 },
	{ "tcpx_chunks_resent_total", "Chunks sent again on another channel.", OF_TOTALS,
	  "chunks_resent", NULL, 0 },
	{ "tcpx_sessions_stalled_total", "Sessions that failed for want of progress.", OF_TOTALS,
	  "sessions_stalled", NULL, 0 },
	{ "tcpx_refused_total", "Connections and operations turned away.", OF_TOTALS, "refused", NULL,
	  0 },
	{ "tcpx_session_transfers", "Transfers open in a session.", OF_SESSION, "transfers", NULL, 0 },
	{ "tcpx_session_queued_bytes", "Payload that no channel has taken.", OF_SESSION,
	  "queued_bytes", NULL, 0 },
	{ "tcpx_session_in_flight_bytes", "Payload sent and not acknowledged.", OF_SESSION,
	  "in_flight_bytes", NULL, 0 },
	{ "tcpx_nic_bytes_total", "Payload over a NIC.", OF_NIC, "bytes_tx", "direction=\"tx\"", 0 },
	{ "tcpx_nic_bytes_total", NULL, OF_NIC, "bytes_rx", "direction=\"rx\"", 0 },
	{ "tcpx_nic_retransmits_total", "TCP segments sent again.", OF_NIC, "retransmits", NULL, 0 },
	{ "tcpx_nic_stalls_total", "Times that a channel had work and had to wait.", OF_NIC, "stalls",
	  NULL, 0 },
	{ "tcpx_nic_channels", "Channels that are up.", OF_NIC, "channels", NULL, 0 },
	{ "tcpx_nic_in_flight_bytes", "Payload sent and not acknowledged.", OF_NIC, "in_flight_bytes",
	  NULL, 0 },
	{ "tcpx_nic_rtt_seconds", "The longest round trip of its channels.", OF_NIC, "rtt_us", NULL,
	  1e-6 },
	{ "tcpx_gpu_bytes_total", "Bytes copied from and to a GPU's memory.", OF_GPU, "bytes_packed",
	  "flow=\"pack\"", 0 },
	{ "tcpx_gpu_bytes_total", NULL, OF_GPU, "bytes_unpacked", "flow=\"unpack\"", 0 },
	{ "tcpx_channel_bytes_total", "Payload applied of a channel.", OF_CHANNEL, "bytes", NULL, 0 },
	{ "tcpx_channel_retransmits_total", "TCP segments sent again.", OF_CHANNEL, "retransmits",
	  NULL, 0 },
	{ "tcpx_channel_stalls_total", "Times that it had work and had to wait.", OF_CHANNEL, "stalls",
	  NULL, 0 },
	{ "tcpx_channel_in_flight", "Messages not acknowledged.", OF_CHANNEL, "in_flight", NULL, 0 },
	{ "tcpx_channel_window", "Messages that may be.", OF_CHANNEL, "window", NULL, 0 },
	{ "tcpx_channel_rtt_seconds", "The connection's round trip.", OF_CHANNEL, "rtt_us", NULL, 1e-6 },
};

static void
label(struct tcpx_text *t, const char *name, const char *value)
{
	tcpx_text_add(t, "%s=\"", name);
	for (; *value; value++)
		if (*value == '\n')
			tcpx_text_add(t, "\\n");
		else
			tcpx_text_add(t, *value == '"' || *value == '\\' ? "\\%c" : "%c", *value);
	tcpx_text_add(t, "\"");
}

static void
gpu_label(struct tcpx_text *t, const json_t *o)
{
	if (json_is_integer(json_object_get(o, "gpu")))
		tcpx_text_add(t, ",gpu=\"%lld\"", (long long)top_number(o, "gpu"));
}

/* A line: the engine's labels, those of the object, and the value. */
static void
sample(struct tcpx_text *t, const struct metric *m, const json_t *engine, const json_t *session,
       const json_t *o)
{
	double v = m->key ? top_number(o, m->key) * (m->scale != 0 ? m->scale : 1) : 1;

	tcpx_text_add(t, "%s{pid=\"%.0f\",", m->name, top_number(engine, "pid"));
	label(t, "id", top_string(engine, "incarnation"));
	tcpx_text_add(t, ",");
	label(t, "engine", top_string(engine, "name"));
	if (m->level == OF_ENGINE && !m->key) {
		tcpx_text_add(t, ",");
		label(t, "provider", top_string(engine, "provider"));
		tcpx_text_add(t, ",");
		label(t, "version", top_string(engine, "version"));
	}
	if (session) {
		tcpx_text_add(t, ",");
		label(t, "session", top_string(session, "id"));
		tcpx_text_add(t, ",opener=\"%d\",", json_is_true(json_object_get(session, "opener")));
		label(t, "peer", top_string(session, "peer"));
	}
	if (m->level == OF_CHANNEL) {
		tcpx_text_add(t, ",channel=\"%.0f\",generation=\"%.0f\",direction=\"%s\",",
			      top_number(o, "index"), top_number(o, "generation"),
			      json_is_true(json_object_get(o, "sending")) ? "tx" : "rx");
		label(t, "nic", top_string(o, "nic"));
		tcpx_text_add(t, ",");
		label(t, "peer_nic", top_string(o, "peer_nic"));
	}
	if (m->level == OF_NIC) {
		tcpx_text_add(t, ",");
		label(t, "nic", top_string(o, "name"));
	}
	if (m->level == OF_GPU || m->level == OF_CHANNEL)
		gpu_label(t, o);
	if (m->label)
		tcpx_text_add(t, ",%s", m->label);
	tcpx_text_add(t, m->scale != 0 ? "} %.9g\n" : "} %.0f\n", v);
}

static void
list_samples(struct tcpx_text *t, const struct metric *m, const json_t *engine,
	     const json_t *session, const json_t *list)
{
	json_t *o;
	size_t i;

	json_array_foreach(list, i, o)
		sample(t, m, engine, session, o);
}

static void
samples(struct tcpx_text *t, const struct metric *m, const json_t *engine)
{
	json_t *session;
	size_t i;

	switch (m->level) {
	case OF_ENGINE:
		sample(t, m, engine, NULL, engine);
		break;
	case OF_TOTALS:
		sample(t, m, engine, NULL, json_object_get(engine, "totals"));
		break;
	case OF_NIC:
		list_samples(t, m, engine, NULL, top_list(engine, "nics"));
		break;
	case OF_GPU:
		list_samples(t, m, engine, NULL, top_list(engine, "gpus"));
		break;
	default:
		json_array_foreach(top_list(engine, "sessions"), i, session)
			if (m->level == OF_SESSION)
				sample(t, m, engine, session, session);
			else
				list_samples(t, m, engine, session, top_list(session, "channels"));
	}
}

static bool
counts_up(const char *name)
{
	size_t len = strlen(name);

	return len > 6 && strcmp(name + len - 6, "_total") == 0;
}

void
top_prometheus(struct tcpx_text *t, const json_t *doc)
{
	const json_t *engines = top_list(doc, "engines");
	json_t *engine;
	size_t i, k;

	tcpx_text_add(t, "# HELP tcpx_engines Engines that answered.\n"
			 "# TYPE tcpx_engines gauge\ntcpx_engines %zu\n"
			 "# HELP tcpx_engines_silent Engines and directories that did not.\n"
			 "# TYPE tcpx_engines_silent gauge\ntcpx_engines_silent %zu\n",
		      json_array_size(engines), json_array_size(top_list(doc, "silent")));
	for (i = 0; i < ARRAY_LEN(metrics); i++) {
		if (metrics[i].help)
			tcpx_text_add(t, "# HELP %s %s\n# TYPE %s %s\n", metrics[i].name,
				      metrics[i].help, metrics[i].name,
				      counts_up(metrics[i].name) ? "counter" : "gauge");
		json_array_foreach(engines, k, engine)
			samples(t, &metrics[i], engine);
	}
}
