/* SPDX-License-Identifier: Apache-2.0 */
#include "top_reports.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

json_t *
top_engine(const char *name, double time_ns, double sent)
{
	return json_pack(
		"{s:i s:s s:s s:i s:s s:s s:f s:f s:{s:f s:i s:i}"
		" s:[{s:s s:b s:s s:s s:i s:[{s:b s:b s:i s:i s:s s:s s:n s:f s:i s:i s:i s:i}"
		"                            {s:b s:b s:i s:i s:s s:s s:i s:f s:i s:i s:i s:i}]}]"
		" s:[{s:s s:f s:i s:i s:i}] s:[{s:i s:f s:i}] s:[{s:s s:i s:s}]}",
		"schema", 1, "version", "0.1.0", "provider", "sock", "pid", 4711, "incarnation",
		"00000000deadbeef", "name", name, "time_ns", time_ns, "uptime_ns", time_ns,
		"totals", "bytes_tx", sent, "bytes_rx", 0, "xfers_done", (int)(sent / 1e6),
		"sessions", "id", "0000000000000001", "opener", 1, "peer", "bert", "state", "open",
		"transfers", 1, "channels",
		"sending", 1, "up", 1, "index", 0, "generation", 1, "nic", "eth0", "peer_nic", "eth0",
		"gpu", "bytes", sent / 4, "in_flight", 3, "window", 16, "rtt_us", 120, "stalls", 9,
		"sending", 1, "up", 1, "index", 1, "generation", 1, "nic", "eth1", "peer_nic", "eth1",
		"gpu", 2, "bytes", sent * 3 / 4, "in_flight", 1, "window", 16, "rtt_us", 90, "stalls", 0,
		"nics", "name", "eth0", "bytes_tx", sent, "bytes_rx", 0, "retransmits", 5, "rtt_us", 120,
		"gpus", "gpu", 2, "bytes_packed", sent, "bytes_unpacked", 0,
		"threads", "name", "tcpx-io-0", "tid", 4712, "granted", "0-3");
}

json_t *
top_document(json_t *one, json_t *two)
{
	json_t *doc = json_pack("{s:i s:[] s:[]}", "schema", 1, "engines", "silent");

	assert_non_null(doc);
	assert_non_null(one);
	json_array_append_new(json_object_get(doc, "engines"), one);
	if (two)
		json_array_append_new(json_object_get(doc, "engines"), two);
	return doc;
}

const json_t *
top_at(const json_t *o, const char *list, size_t i)
{
	return json_array_get(json_object_get(o, list), i);
}

char *
top_text_of(void (*format)(struct tcpx_text *t, const json_t *doc), const json_t *doc)
{
	struct tcpx_text t = { .at = NULL };
	char *text;

	format(&t, doc);
	assert_int_equal(tcpx_text_detach(&t, &text), 0);
	return text;
}

json_t *
top_with_labels(json_t *engine, const char *label, int messages)
{
	json_object_set_new(engine, "lane_labels",
			    json_pack("[{s:s s:i s:i} {s:s s:i s:i s:i s:i s:i s:I s:i s:i}]", "label",
				      "gone", "lanes", 0, "lane_messages_tx", 77, "label", label,
				      "lanes", 4, "lanes_failed", 0, "lane_messages_tx", 1,
				      "lane_messages_rx", messages, "lane_bytes_tx", 0,
				      "lane_bytes_rx", (json_int_t)messages * 1000000,
				      "lane_waiting_tx", 2, "lane_waiting_rx", 17));
	return engine;
}
