/* SPDX-License-Identifier: Apache-2.0 */
/* Each table has one column that grows with the screen: names. */
#include "measure/top/detail.h"

#include <stdlib.h>
#include <string.h>

#include "measure/top/top.h"

#define GB 1e9

static void
nics(struct tcpx_text *t, const json_t *engine, unsigned columns)
{
	int room = columns > 66 + 24 ? 24 : columns > 66 + 8 ? (int)columns - 66 : 8;
	char name[64], fits[64], share[16];
	const json_t *o;
	size_t i;

	if (json_array_size(top_list(engine, "nics")))
		tcpx_text_add(t, "#%-*s %8s %8s %6s %5s %8s %8s %8s %6s\n", room, "NIC", "out GB/s",
			      "in GB/s", "link", "chan", "flight", "resent/s", "stalls/s", "RTT us");
	json_array_foreach(top_list(engine, "nics"), i, o) {
		double rate = top_per_s(o, "bytes_tx") > top_per_s(o, "bytes_rx") ?
			      top_per_s(o, "bytes_tx") : top_per_s(o, "bytes_rx");

		snprintf(share, sizeof(share), "-");
		if (top_link_Bps(o) > 0)
			snprintf(share, sizeof(share), "%.0f%%", rate / top_link_Bps(o) * 100);
		top_clean(top_string(o, "name"), name, sizeof(name));
		tcpx_text_add(t, " %-*s %8.3f %8.3f %6s %5.0f %8.0f %8.0f %8.0f %6.0f\n", room,
			      top_fit(name, (size_t)room, fits, sizeof(fits)),
			      top_per_s(o, "bytes_tx") / GB, top_per_s(o, "bytes_rx") / GB, share,
			      top_number(o, "channels"), top_number(o, "in_flight"),
			      top_per_s(o, "retransmits"), top_per_s(o, "stalls"),
			      top_number(o, "rtt_us"));
	}
}

static void
gpus(struct tcpx_text *t, const json_t *engine)
{
	const json_t *o;
	size_t i;

	if (json_array_size(top_list(engine, "gpus")))
		tcpx_text_add(t, "#%-15s %9s %9s\n", "GPU", "from GB/s", "to GB/s");
	json_array_foreach(top_list(engine, "gpus"), i, o)
		tcpx_text_add(t, " %-15.0f %9.3f %9.3f\n", top_number(o, "gpu"),
			      top_per_s(o, "bytes_packed") / GB, top_per_s(o, "bytes_unpacked") / GB);
}

static void
channel(struct tcpx_text *t, const json_t *c, const json_t *session, unsigned columns)
{
	int room = columns > 100 ? 24 : 12, way_room = columns > 100 ? 40 : 21;
	char peer[64], way[96], window[32], gpu[16] = "-", fit1[64], fit2[96];

	top_clean(top_string(session, "peer"), peer, sizeof(peer));
	top_way(c, way, sizeof(way));
	top_window(c, window, sizeof(window));
	if (json_is_integer(json_object_get(c, "gpu")))
		snprintf(gpu, sizeof(gpu), "%.0f", top_number(c, "gpu"));
	tcpx_text_add(t, " %-*s %3.0f %-*s %3s %7.3f %7s %8.0f %6.0f%s\n", room,
		      top_fit(peer, (size_t)room, fit1, sizeof(fit1)), top_number(c, "index"), way_room,
		      top_fit(way, (size_t)way_room, fit2, sizeof(fit2)), gpu,
		      top_per_s(c, "bytes") / GB, window, top_per_s(c, "retransmits"),
		      top_number(c, "rtt_us"),
		      json_is_true(json_object_get(c, "up")) ? "" :
		      json_is_true(json_object_get(c, "rests")) ? " rests" : " down");
}

/* Nothing moves and nothing is in flight. */
static bool
is_idle(const json_t *c)
{
	return (json_is_true(json_object_get(c, "up")) || json_is_true(json_object_get(c, "rests"))) &&
	       top_per_s(c, "bytes") <= 0 &&
	       top_number(c, "in_flight") <= 0;
}

static void
channels(struct tcpx_text *t, const json_t *engine, unsigned columns, bool with_idle)
{
	int room = columns > 100 ? 24 : 12, way_room = columns > 100 ? 40 : 21;
	const json_t *session, *c;
	size_t i, k, hidden = 0, count = 0;

	json_array_foreach(top_list(engine, "sessions"), i, session)
		count += json_array_size(top_list(session, "channels"));
	if (count)
		tcpx_text_add(t, "#%-*s %3s %-*s %3s %7s %7s %8s %6s\n", room, "channels to", "#",
			      way_room, "NIC", "GPU", "GB/s", "flight", "resent/s", "RTT us");
	json_array_foreach(top_list(engine, "sessions"), i, session)
		json_array_foreach(top_list(session, "channels"), k, c) {
			if (!with_idle && is_idle(c))
				hidden++;
			else
				channel(t, c, session, columns);
		}
	if (hidden)
		tcpx_text_add(t, " and %zu idle channel%s\n", hidden, hidden == 1 ? "" : "s");
	if (top_number(engine, "channels_left_out") > 0)
		tcpx_text_add(t, " and %.0f that the engine does not list\n",
			      top_number(engine, "channels_left_out"));
}

void
top_detail(struct tcpx_text *t, const json_t *engine, unsigned columns, bool idle)
{
	const json_t *n = json_object_get(engine, "totals");
	char command[160], provider[16];

	tcpx_text_add(t, "#%.0f  %s  provider %s  up %.0f s\n", top_number(engine, "pid"),
		      top_clean(top_string(engine, "command"), command, sizeof(command)),
		      top_clean(top_string(engine, "provider"), provider, sizeof(provider)),
		      top_number(engine, "uptime_ns") / 1e9);
	tcpx_text_add(t, " out %.3f GB/s  in %.3f GB/s  peers %zu  transfers %.0f (%.0f/s)\n",
		      top_per_s(n, "bytes_tx") / GB, top_per_s(n, "bytes_rx") / GB,
		      json_array_size(top_list(engine, "sessions")), top_number(n, "xfers_done"),
		      top_per_s(n, "xfers_done"));
	tcpx_text_add(t, " failed transfers %.0f  lost channels %.0f  chunks sent again %.0f  "
		      "resumes %.0f\n", top_number(n, "xfers_failed"),
		      top_number(n, "channels_lost"), top_number(n, "chunks_resent"),
		      top_number(n, "ctrl_resumes"));
	top_corrupt(t, n, " ");
	tcpx_text_add(t, " \n");
	nics(t, engine, columns);
	gpus(t, engine);
	channels(t, engine, columns, idle);
	top_lanes(t, engine, (const char *const[]){ "#lanes with", "#lanes of label" }, 1, 20);
	top_sessions(t, engine, 1);
	top_threads(t, engine, "#thread", 1, 15);
}
