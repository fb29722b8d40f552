/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view: engines, and of each its NICs, GPUs, channels and threads, the busiest
 * first. Names come from other processes and machines: only printable characters of them
 * reach the terminal.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "measure/top/top.h"

#define GB 1e9

enum { WHO = 32 }; /* columns of a channel's peer, number and NICs */

/* Channels of all sessions, each with its session. */
struct channels {
	const json_t **at;
	const json_t **session;
	size_t n;
};

struct ranked {
	double by;
	size_t index;
};

static int
larger_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->by != y->by)
		return x->by < y->by ? 1 : -1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Indices 0..n-1 in the order of their values; free(). NULL: no memory, or n is 0. */
static struct ranked *
rank(size_t n, double (*value)(void *arg, size_t i), void *arg)
{
	struct ranked *r = n ? malloc(n * sizeof(*r)) : NULL;
	size_t i;

	for (i = 0; r && i < n; i++)
		r[i] = (struct ranked){ value(arg, i), i };
	if (r)
		qsort(r, n, sizeof(*r), larger_first);
	return r;
}

const char *
top_clean(const char *s, char *buf, size_t cap)
{
	size_t i, len;

	for (i = 0; *s && i + 1 < cap; i++, s += len) {
		len = tcpx_utf8_len(s) ? tcpx_utf8_len(s) : 1;
		buf[i] = tcpx_text_shows(s) == 1 ? *s : '?';
	}
	buf[i] = '\0';
	return buf;
}

const char *
top_fit(const char *s, size_t columns, char *buf, size_t cap)
{
	size_t room = columns < cap - 1 ? columns : cap - 1, len = strlen(s);

	if (len <= room)
		snprintf(buf, cap, "%s", s);
	else
		snprintf(buf, cap, "%.*s%s", (int)(room > 2 ? room - 2 : 0), s, room > 2 ? ".." : "");
	return buf;
}

const char *
top_command(const char *line)
{
	size_t first = strcspn(line, " ");
	const char *name = memrchr(line, '/', first);

	return name ? name + 1 : line;
}

void
top_way(const json_t *channel, char *buf, size_t cap)
{
	char near[33], far[33];

	snprintf(buf, cap, "%s %s %s", top_clean(top_string(channel, "nic"), near, sizeof(near)),
		 json_is_true(json_object_get(channel, "sending")) ? "->" : "<-",
		 top_clean(top_string(channel, "peer_nic"), far, sizeof(far)));
}

void
top_window(const json_t *channel, char *buf, size_t cap)
{
	snprintf(buf, cap, "%.0f/%.0f", top_number(channel, "in_flight"),
		 top_number(channel, "window"));
}

void
top_sessions(struct tcpx_text *t, const json_t *engine, int indent)
{
	char peer[64], state[16];
	const json_t *o;
	size_t i;

	json_array_foreach(top_list(engine, "sessions"), i, o)
		if (strcmp(top_string(o, "state"), "open") != 0)
			tcpx_text_add(t, "%*ssession with %s: %s\n", indent, "",
				      top_clean(top_string(o, "peer"), peer, sizeof(peer)),
				      top_clean(top_string(o, "state"), state, sizeof(state)));
}

void
top_corrupt(struct tcpx_text *t, const json_t *counters, const char *indent)
{
	double chunks = top_number(counters, "chunks_corrupt");
	double frames = top_number(counters, "frames_corrupt");

	if (chunks > 0 || frames > 0)
		tcpx_text_add(t, "%sarrived changed: %.0f chunks, %.0f control frames\n", indent,
			      chunks, frames);
}

void
top_threads(struct tcpx_text *t, const json_t *engine, const char *head, int indent, int width)
{
	char name[20], cpus[64];
	const json_t *o;
	size_t i;

	if (json_array_size(top_list(engine, "threads")))
		tcpx_text_add(t, "%-*s %9s  CPUs\n", indent + width, head, "id");
	json_array_foreach(top_list(engine, "threads"), i, o)
		tcpx_text_add(t, "%*s%-*s %9.0f  %s\n", indent, "", width,
			      top_clean(top_string(o, "name"), name, sizeof(name)),
			      top_number(o, "tid"),
			      top_clean(top_string(o, "granted"), cpus, sizeof(cpus)));
}

static void
bytes_per_s(struct tcpx_text *t, const json_t *o, const char *key)
{
	if (json_is_object(json_object_get(o, "per_s")))
		tcpx_text_add(t, " %8.3f", top_per_s(o, key) / GB);
	else
		tcpx_text_add(t, " %8s", "-");
}

static void
per_s(struct tcpx_text *t, const json_t *o, const char *key, int width)
{
	if (json_is_object(json_object_get(o, "per_s")))
		tcpx_text_add(t, " %*.0f", width, top_per_s(o, key));
	else
		tcpx_text_add(t, " %*s", width, "-");
}

static void
gpu(struct tcpx_text *t, const json_t *o)
{
	if (json_is_integer(json_object_get(o, "gpu")))
		tcpx_text_add(t, " %4.0f", top_number(o, "gpu"));
	else
		tcpx_text_add(t, " %4s", "-");
}

/* A line under @head, and before the first the titles. */
static void
lane_line(struct tcpx_text *t, const json_t *o, const char *name, const char *head, bool *any,
	  int indent, int width)
{
	char clean[64], fits[64], waiting[32];

	if (!*any)
		tcpx_text_add(t, "%-*s %5s %6s %8s %8s %9s %9s %6s\n", indent + width, head, "lanes",
			      "failed", "out GB/s", "in GB/s", "sent", "received", "waits");
	*any = true;
	top_clean(top_string(o, name), clean, sizeof(clean));
	tcpx_text_add(t, "%*s%-*s %5.0f %6.0f", indent, "", width,
		      top_fit(clean, (size_t)width, fits, sizeof(fits)), top_number(o, "lanes"),
		      top_number(o, "lanes_failed"));
	bytes_per_s(t, o, "lane_bytes_tx");
	bytes_per_s(t, o, "lane_bytes_rx");
	snprintf(waiting, sizeof(waiting), "%.0f+%.0f", top_number(o, "lane_waiting_tx"),
		 top_number(o, "lane_waiting_rx"));
	tcpx_text_add(t, " %9.0f %9.0f %6s\n", top_number(o, "lane_messages_tx"),
		      top_number(o, "lane_messages_rx"), waiting);
}

void
top_lanes(struct tcpx_text *t, const json_t *engine, const char *const head[2], int indent, int width)
{
	bool any = false;
	const json_t *o;
	size_t i;

	json_array_foreach(top_list(engine, "sessions"), i, o)
		if (top_number(o, "lanes") + top_number(o, "lanes_failed") +
		    top_number(o, "lane_messages_tx") + top_number(o, "lane_messages_rx") > 0)
			lane_line(t, o, "peer", head[0], &any, indent, width);
	any = false;
	json_array_foreach(top_list(engine, "lane_labels"), i, o)
		if (top_number(o, "lanes") > 0)
			lane_line(t, o, "label", head[1], &any, indent, width);
}

/* ---- of one engine ---- */

static double
both_ways(void *list, size_t i)
{
	const json_t *o = json_array_get(list, i);

	return top_per_s(o, "bytes_tx") + top_per_s(o, "bytes_rx");
}

static void
format_nics(struct tcpx_text *t, const json_t *engine)
{
	const json_t *list = top_list(engine, "nics"), *o;
	size_t n = json_array_size(list), i;
	struct ranked *order = rank(n, both_ways, (void *)list);
	char name[32];

	if (n)
		tcpx_text_add(t, "  %-15s %8s %8s %5s %6s %8s %6s %8s %6s\n", "NIC", "out GB/s",
			      "in GB/s", "chans", "flight", "resent/s", "resent", "stalls/s",
			      "RTT us");
	for (i = 0; order && i < n; i++) {
		o = json_array_get(list, order[i].index);
		tcpx_text_add(t, "  %-15s", top_clean(top_string(o, "name"), name, sizeof(name)));
		bytes_per_s(t, o, "bytes_tx");
		bytes_per_s(t, o, "bytes_rx");
		tcpx_text_add(t, " %5.0f %6.0f", top_number(o, "channels"), top_number(o, "in_flight"));
		per_s(t, o, "retransmits", 8);
		tcpx_text_add(t, " %6.0f", top_number(o, "retransmits"));
		per_s(t, o, "stalls", 8);
		tcpx_text_add(t, " %6.0f\n", top_number(o, "rtt_us"));
	}
	free(order);
}

static void
format_gpus(struct tcpx_text *t, const json_t *engine)
{
	const json_t *list = top_list(engine, "gpus"), *o;
	size_t i;

	if (json_array_size(list))
		tcpx_text_add(t, "  %-15s %8s %8s\n", "GPU", "from GB/s", "to GB/s");
	for (i = 0; i < json_array_size(list); i++) {
		o = json_array_get(list, i);
		tcpx_text_add(t, "  %-15.0f", top_number(o, "gpu"));
		bytes_per_s(t, o, "bytes_packed");
		bytes_per_s(t, o, "bytes_unpacked");
		tcpx_text_add(t, "\n");
	}
}

static double
channel_rate(void *order, size_t i)
{
	return top_per_s(((struct channels *)order)->at[i], "bytes");
}

/* All channels of all sessions. at NULL: none, or no memory. */
static struct channels
all_channels(const json_t *engine)
{
	const json_t *sessions = top_list(engine, "sessions");
	struct channels all = { .n = 0 };
	json_t *session, *channel;
	size_t i, k, n = 0;

	json_array_foreach(sessions, i, session)
		n += json_array_size(top_list(session, "channels"));
	all.at = calloc(n + 1, sizeof(json_t *));
	all.session = calloc(n + 1, sizeof(json_t *));
	if (!all.at || !all.session)
		return all;
	json_array_foreach(sessions, i, session)
		json_array_foreach(top_list(session, "channels"), k, channel) {
			all.at[all.n] = channel;
			all.session[all.n++] = session;
		}
	return all;
}

static void
format_channel(struct tcpx_text *t, const json_t *c, const json_t *session)
{
	char peer[21], way[72], window[32], rtt[24] = "down", who[128];

	top_clean(top_string(session, "peer"), peer, sizeof(peer));
	top_way(c, way, sizeof(way));
	top_window(c, window, sizeof(window));
	if (json_is_true(json_object_get(c, "rests")) && !json_is_true(json_object_get(c, "up")))
		snprintf(rtt, sizeof(rtt), "rests");
	else if (json_is_true(json_object_get(c, "up")))
		snprintf(rtt, sizeof(rtt), "%.0f", top_number(c, "rtt_us"));
	snprintf(who, sizeof(who), "%-13s %3.0f %s", peer, top_number(c, "index"), way);
	tcpx_text_add(t, "  %-*s", WHO, who);
	if (strlen(who) > WHO) /* the figures keep their columns */
		tcpx_text_add(t, "\n  %-*s", WHO, "");
	gpu(t, c);
	bytes_per_s(t, c, "bytes");
	tcpx_text_add(t, " %6s", window);
	per_s(t, c, "retransmits", 8);
	per_s(t, c, "stalls", 8);
	tcpx_text_add(t, " %5s\n", rtt);
}

static void
format_channels(struct tcpx_text *t, const json_t *engine)
{
	struct channels all = all_channels(engine);
	struct ranked *order = rank(all.n, channel_rate, &all);
	double left_out = top_number(engine, "channels_left_out");
	size_t i;

	if (all.n)
		tcpx_text_add(t, "  %-13s %3s %-14s %4s %8s %6s %8s %8s %5s\n", "CHANNELS TO", "#", "NIC",
			      "GPU", "GB/s", "flight", "resent/s", "stalls/s", "RTT");
	for (i = 0; order && i < all.n; i++)
		format_channel(t, all.at[order[i].index], all.session[order[i].index]);
	if (left_out > 0)
		tcpx_text_add(t, "  and %.0f channels more\n", left_out);
	free(order);
	free(all.at);
	free(all.session);
}

static void
format_engine(struct tcpx_text *t, const json_t *e)
{
	const json_t *n = json_object_get(e, "totals");
	char name[65], provider[16];

	tcpx_text_add(t, "%s  pid %.0f  %s  up %.0f s  out %.3f GB/s  in %.3f GB/s\n",
		      top_clean(top_string(e, "name"), name, sizeof(name)), top_number(e, "pid"),
		      top_clean(top_string(e, "provider"), provider, sizeof(provider)),
		      top_number(e, "uptime_ns") / 1e9, top_per_s(n, "bytes_tx") / GB,
		      top_per_s(n, "bytes_rx") / GB);
	tcpx_text_add(t, "  sessions %zu  transfers %.0f done (%.0f/s), %.0f failed  notes %.0f/s\n"
		      "  lost channels %.0f  chunks sent again %.0f  resumes %.0f\n",
		      json_array_size(top_list(e, "sessions")), top_number(n, "xfers_done"),
		      top_per_s(n, "xfers_done"), top_number(n, "xfers_failed"),
		      top_per_s(n, "notes_tx") + top_per_s(n, "notes_rx"),
		      top_number(n, "channels_lost"), top_number(n, "chunks_resent"),
		      top_number(n, "ctrl_resumes"));
	top_corrupt(t, n, "  ");
	format_nics(t, e);
	format_gpus(t, e);
	format_channels(t, e);
	top_lanes(t, e, (const char *const[]){ "  LANES WITH", "  LANES OF LABEL" }, 2, 20);
	top_sessions(t, e, 2);
	top_threads(t, e, "  THREAD", 2, 16);
}

/* ---- all ---- */

static double
engine_rate(void *list, size_t i)
{
	const json_t *n = json_object_get(json_array_get(list, i), "totals");

	return top_per_s(n, "bytes_tx") + top_per_s(n, "bytes_rx");
}

void
top_format(struct tcpx_text *t, const json_t *doc)
{
	const json_t *engines = top_list(doc, "engines");
	size_t n = json_array_size(engines), i;
	struct ranked *order = rank(n, engine_rate, (void *)engines);
	double out = 0, in = 0;
	char path[128], why[128];
	json_t *o;

	for (i = 0; i < n; i++) {
		out += top_per_s(json_object_get(json_array_get(engines, i), "totals"), "bytes_tx");
		in += top_per_s(json_object_get(json_array_get(engines, i), "totals"), "bytes_rx");
	}
	tcpx_text_add(t, "%zu engine%s  out %.3f GB/s  in %.3f GB/s\n", n, n == 1 ? "" : "s", out / GB,
		      in / GB);
	for (i = 0; order && i < n; i++) {
		tcpx_text_add(t, "\n");
		format_engine(t, json_array_get(engines, order[i].index));
	}
	free(order);
	json_array_foreach(top_list(doc, "silent"), i, o)
		tcpx_text_add(t, "%s: %s\n", top_clean(top_string(o, "path"), path, sizeof(path)),
			      top_clean(top_string(o, "why"), why, sizeof(why)));
}
