/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures in Prometheus's text format (version 0.0.4), for its node exporter's textfile
 * collector: those that have a metric in the tables of base/figures.h.
 */
#include <string.h>

#include "base/figures.h"
#include "base/text.h"
#include "measure/top/top.h"

/* The objects of an engine that have figures. */
enum level { OF_ENGINE, OF_TOTALS, OF_SESSION, OF_LABEL, OF_NIC, OF_GPU, OF_CHANNEL };

static const struct field info = { .metric = "tcpx_engine_info",
				   .help = "An engine and what it is made of." };

static void
label(struct tcpx_text *t, const char *name, const char *value)
{
	size_t len;

	tcpx_text_add(t, "%s=\"", name);
	for (; *value; value += len) { /* of a peer, or of another user's engine */
		size_t shows = tcpx_text_shows(value);

		len = tcpx_utf8_len(value) ? tcpx_utf8_len(value) : 1;
		if (*value == '\n')
			tcpx_text_add(t, "\\n");
		else
			tcpx_text_add(t, *value == '"' || *value == '\\' ? "\\%.*s" : "%.*s",
				      shows ? (int)shows : 1, shows ? value : "?");
	}
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
sample(struct tcpx_text *t, enum level level, const struct field *m, const json_t *engine,
       const json_t *session, const json_t *o)
{
	double v = m->name ? top_number(o, m->name) * (m->unit != 0 ? m->unit : 1) : 1;

	tcpx_text_add(t, "%s{pid=\"%.0f\",", m->metric, top_number(engine, "pid"));
	label(t, "id", top_string(engine, "incarnation"));
	tcpx_text_add(t, ",");
	label(t, "engine", top_string(engine, "name"));
	if (m == &info) {
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
	if (level == OF_CHANNEL) {
		tcpx_text_add(t, ",channel=\"%.0f\",generation=\"%.0f\",direction=\"%s\",",
			      top_number(o, "index"), top_number(o, "generation"),
			      json_is_true(json_object_get(o, "sending")) ? "tx" : "rx");
		label(t, "nic", top_string(o, "nic"));
		tcpx_text_add(t, ",");
		label(t, "peer_nic", top_string(o, "peer_nic"));
	}
	if (level == OF_LABEL) {
		tcpx_text_add(t, ",");
		label(t, "label", top_string(o, "label"));
	}
	if (level == OF_NIC) {
		tcpx_text_add(t, ",");
		label(t, "nic", top_string(o, "name"));
	}
	if (level == OF_GPU || level == OF_CHANNEL)
		gpu_label(t, o);
	if (m->label)
		tcpx_text_add(t, ",%s", m->label);
	tcpx_text_add(t, m->unit != 0 ? "} %.9g\n" : "} %.0f\n", v);
}

static void
list_samples(struct tcpx_text *t, enum level level, const struct field *m, const json_t *engine,
	     const json_t *session, const json_t *list)
{
	json_t *o;
	size_t i;

	json_array_foreach(list, i, o)
		sample(t, level, m, engine, session, o);
}

static void
samples(struct tcpx_text *t, enum level level, const struct field *m, const json_t *engine)
{
	json_t *session;
	size_t i;

	switch (level) {
	case OF_ENGINE:
		sample(t, level, m, engine, NULL, engine);
		break;
	case OF_TOTALS:
		sample(t, level, m, engine, NULL, json_object_get(engine, "totals"));
		break;
	case OF_LABEL:
		list_samples(t, level, m, engine, NULL, top_list(engine, "lane_labels"));
		break;
	case OF_NIC:
		list_samples(t, level, m, engine, NULL, top_list(engine, "nics"));
		break;
	case OF_GPU:
		list_samples(t, level, m, engine, NULL, top_list(engine, "gpus"));
		break;
	default:
		json_array_foreach(top_list(engine, "sessions"), i, session)
			if (level == OF_SESSION)
				sample(t, level, m, engine, session, session);
			else
				list_samples(t, level, m, engine, session,
					     top_list(session, "channels"));
	}
}

/* One metric of all engines. */
static void
metric(struct tcpx_text *t, enum level level, const struct field *m, const json_t *engines)
{
	json_t *engine;
	size_t i;

	if (m->help)
		tcpx_text_add(t, "# HELP %s %s\n# TYPE %s %s\n", m->metric, m->help, m->metric,
			      m->use & FIGURE_SUM ? "counter" : "gauge");
	json_array_foreach(engines, i, engine)
		samples(t, level, m, engine);
}

void
top_prometheus(struct tcpx_text *t, const json_t *doc)
{
	static const struct shape *const figures[] = {
		[OF_ENGINE] = &tcpx_engine_figures, [OF_TOTALS] = &tcpx_totals_figures,
		[OF_SESSION] = &tcpx_session_figures, [OF_LABEL] = &tcpx_label_figures,
		[OF_NIC] = &tcpx_nic_figures,
		[OF_GPU] = &tcpx_gpu_figures, [OF_CHANNEL] = &tcpx_channel_figures };
	const json_t *engines = top_list(doc, "engines");

	tcpx_text_add(t, "# HELP tcpx_engines Engines that answered.\n"
			 "# TYPE tcpx_engines gauge\ntcpx_engines %zu\n"
			 "# HELP tcpx_engines_silent Engines and directories that did not.\n"
			 "# TYPE tcpx_engines_silent gauge\ntcpx_engines_silent %zu\n",
		      json_array_size(engines), json_array_size(top_list(doc, "silent")));
	metric(t, OF_ENGINE, &info, engines);
	for (enum level level = OF_ENGINE; level <= OF_CHANNEL; level++)
		for (int gauges = 0; gauges < 2; gauges++)
			shape_each(f, figures[level])
				if (f->metric && gauges == !(f->use & FIGURE_SUM))
					metric(t, level, f, engines);
}
