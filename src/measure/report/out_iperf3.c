/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first row as `iperf3 -J` prints a run. A stream is a channel; what a record does not know,
 * such as ports and the retransmits of an interval, is left out.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measure/report/out_layout.h"
#include "measure/report/out_verdict.h"
#include "tool/out_text.h"

/* {"time": "Fri, 31 Jan 2025 12:00:00 GMT", "timesecs": 1738324800} */
static json_t *
timestamp(const char *started)
{
	struct tm tm = { 0 };
	char text[64] = "";

	if (strptime(started, "%Y-%m-%dT%H:%M:%SZ", &tm))
		strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
	return json_pack("{s:s, s:I}", "time", text, "timesecs", (json_int_t)timegm(&tm));
}

/* What all lists and sums of iperf3 have. */
static json_t *
figures(double start_s, double end_s, double bytes, bool sender)
{
	double seconds = end_s - start_s;

	return json_pack("{s:f, s:f, s:f, s:I, s:f, s:b}", "start", start_s, "end", end_s, "seconds",
			 seconds, "bytes", (json_int_t)bytes, "bits_per_second",
			 seconds > 0 ? bytes * 8 / seconds : 0, "sender", sender);
}

static const char *
address_of(const struct result *r, const char *nic)
{
	for (size_t i = 0; i < r->nics.n; i++)
		if (!strcmp(r->nics.at[i].name, nic))
			return r->nics.at[i].addr;
	return "";
}

static json_t *
start_of(const struct result *r, const struct row *row, double seconds)
{
	json_t *connected = json_array();

	for (size_t i = 0; i < row->per_channel.n; i++)
		json_array_append_new(connected, json_pack(
			"{s:I, s:o, s:o}", "socket", (json_int_t)row->per_channel.at[i].tx.index,
			"local_host", out_json(address_of(r, row->per_channel.at[i].tx.nic)),
			"remote_host", out_json(r->peer)));
	return json_pack(
		"{s:o, s:o, s:o, s:o, s:{s:o}, s:{s:s, s:I, s:I, s:i, s:I, s:I, s:i, s:i, s:i}}",
		"connected", connected, "version", json_sprintf("tcpx %s", r->version),
		"system_info", json_sprintf("Linux %s", r->machine.kernel),
		"timestamp", timestamp(r->started), "connecting_to", "host", out_json(r->peer),
		"test_start", "protocol", "TCP", "num_streams", (json_int_t)row->channels,
		"blksize", (json_int_t)row->size, "omit", 0,
		"duration", (json_int_t)llround(seconds), "bytes", (json_int_t)0, "blocks", 0,
		"reverse", !strcmp(row->op, "read"), "bidir", !strcmp(row->dir, "bi"));
}

/* One interval: both ways have the same bytes. */
static json_t *
interval(const struct row *row, double from_s, double to_s, double bytes)
{
	bool sender = strcmp(row->op, "read") != 0, bi = !strcmp(row->dir, "bi");
	json_t *one = json_object(), *streams = json_array();
	json_t *sum = figures(from_s, to_s, bi ? bytes / 2 : bytes, sender);

	json_object_set_new(sum, "omitted", json_false());
	if (!bi && row->per_channel.n == 1) { /* of several only the sum is known */
		json_t *stream = json_deep_copy(sum);

		json_object_set_new(stream, "socket",
				    json_integer(row->per_channel.at[0].tx.index));
		json_array_append_new(streams, stream);
	}
	json_object_set_new(one, "streams", streams);
	json_object_set_new(one, "sum", sum);
	if (bi) {
		sum = figures(from_s, to_s, bytes / 2, !sender);
		json_object_set_new(sum, "omitted", json_false());
		json_object_set_new(one, "sum_bidir_reverse", sum);
	}
	return one;
}

/* A short measurement is one interval. */
static json_t *
intervals_of(const struct row *row, double seconds, double bytes)
{
	json_t *list = json_array();
	double from_s = 0;

	for (size_t i = 0; i < row->series.n; i++) {
		const struct row_point *p = &row->series.at[i];

		json_array_append_new(list, interval(row, from_s, p->t_s, (double)p->bytes));
		from_s = p->t_s;
	}
	if (!row->series.n)
		json_array_append_new(list, interval(row, 0, seconds, bytes));
	return list;
}

static json_t *
streams_of(const struct row *row, double sent_s, double received_s, bool sender)
{
	json_t *list = json_array();

	for (size_t i = 0; i < row->per_channel.n; i++) {
		const struct tcpx_channel_info *c = &row->per_channel.at[i].tx;
		json_t *sent = figures(0, sent_s, (double)c->bytes, sender);
		json_t *received = figures(0, received_s, (double)c->bytes, sender);

		json_object_set_new(sent, "socket", json_integer(c->index));
		json_object_set_new(sent, "retransmits", json_integer((json_int_t)c->retransmits));
		json_object_set_new(received, "socket", json_integer(c->index));
		json_array_append_new(list, json_pack("{s:o, s:o}", "sender", sent, "receiver",
						      received));
	}
	return list;
}

/* Each side by its own clock. */
static json_t *
end_of(const struct row *row, double seconds, double bytes)
{
	bool sender = strcmp(row->op, "read") != 0, bi = !strcmp(row->dir, "bi");
	double there_s = row->peer_algbw_GBps > 0 ? bytes / row->peer_algbw_GBps / 1e9 : seconds;
	double sent_s = sender ? seconds : there_s, received_s = sender ? there_s : seconds;
	json_t *end = json_object(), *sent = figures(0, sent_s, bytes, sender);
	uint64_t retransmits = 0;

	for (size_t i = 0; i < row->per_nic.n; i++)
		retransmits += row->per_nic.at[i].retransmits;
	json_object_set_new(sent, "retransmits", json_integer((json_int_t)retransmits));
	json_object_set_new(end, "streams", streams_of(row, sent_s, received_s, sender));
	json_object_set_new(end, "sum_sent", sent);
	json_object_set_new(end, "sum_received", figures(0, received_s, bytes, sender));
	if (bi) {
		json_object_set_new(end, "sum_sent_bidir_reverse",
				    figures(0, there_s, bytes, !sender));
		json_object_set_new(end, "sum_received_bidir_reverse",
				    figures(0, seconds, bytes, !sender));
	}
	if (seconds > 0 && isfinite(row->cpu_s_per_GB)) {
		double percent = 100 * bytes * (bi ? 2 : 1) / 1e9 / seconds;

		json_object_set_new(end, "cpu_utilization_percent", json_pack(
			"{s:f, s:f}", "host_total", row->client_cpu_s_per_GB * percent,
			"remote_total", row->server_cpu_s_per_GB * percent));
	}
	if (row->congestion[0])
		json_object_set_new(end, "sender_tcp_congestion", out_json(row->congestion));
	return end;
}

void
out_iperf3_foot(FILE *f, const struct result *r, const struct out_view *v)
{
	static const struct row nothing;
	const struct row *row = r->rows.n ? &r->rows.at[0] : &nothing;
	double bytes = (double)row->size * (double)row->iters;
	double seconds = row->algbw_GBps > 0 ? bytes / row->algbw_GBps / 1e9 : 0;
	json_t *json = json_pack("{s:o}", "start", start_of(r, row, seconds));
	char stop[512], *text;

	json_object_set_new(json, "intervals",
			    r->rows.n ? intervals_of(row, seconds, bytes * (strcmp(row->dir, "bi") ? 1 : 2))
				      : json_array());
	json_object_set_new(json, "end", r->rows.n ? end_of(row, seconds, bytes) : json_object());
	out_verdict_stop(r, stop, sizeof(stop));
	if (stop[0])
		json_object_set_new(json, "error", out_json(stop));
	text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
	if (text)
		fprintf(f, "%s\n", text);
	free(text);
	json_decref(json);
}
