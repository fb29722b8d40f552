/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx top: the reports of running engines (core/engine/stats.h), as one JSON document
 *
 *	{ "schema": 1, "engines": [SNAPSHOT...], "silent": [{"path", "why"}...] }
 *
 * with rates added, and the ways to show it. All but top_look() are functions of the document
 * alone. An engine's text is not trusted: a value that is missing or of another type is 0.
 */
#ifndef MEASURE_TOP_TOP_H
#define MEASURE_TOP_TOP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text.h"

#define TOP_SCHEMA 1

/* The engines to ask. */
struct top_where {
	const char *dir;   /* NULL: every directory of this user's engines
			    * (root: of all users) */
	int64_t pid;       /* 0: all */
	int patience_ms;   /* for all answers together */
};

/* Asks every engine found, and removes the sockets of dead engines. Returns the document (a
 * reference), or NULL: no memory. "silent" has the engines that did not answer, and
 * directories that cannot be trusted. */
json_t *top_look(const struct top_where *where);

/* Adds rates per second since "before" (NULL: no earlier look) to everything that counts:
 * an object "per_s" with the keys of the counters, or null for new objects. */
void top_rates(json_t *now, const json_t *before);

/* Tolerant access: 0, "", NULL for missing values. */
double top_number(const json_t *o, const char *key);
/* ["per_s"][key]; 0 without one. */
double top_per_s(const json_t *o, const char *key);
/* A NIC's rate in bytes a second; 0: not known. */
double top_link_Bps(const json_t *nic);
const char *top_string(const json_t *o, const char *key);
/* The elements of o[key]; an empty array without any. */
const json_t *top_list(const json_t *o, const char *key);

/* At most @cap - 1 bytes of @s; other than printable ASCII becomes '?'. Returns @buf. */
const char *top_clean(const char *s, char *buf, size_t cap);
/* At most @columns of @s, and fewer than @cap; ".." ends what was cut. Returns @buf. */
const char *top_fit(const char *s, size_t columns, char *buf, size_t cap);
/* A command line without the directory of its program. */
const char *top_command(const char *line);

/* "eth0 -> eth1", a channel's NIC and the peer's. */
void top_way(const json_t *channel, char *buf, size_t cap);
/* "3/16": its messages in flight, of those allowed. */
void top_window(const json_t *channel, char *buf, size_t cap);
/* Lines for sessions that are not open: no channel would show them. */
void top_sessions(struct tcpx_text *t, const json_t *engine, int indent);
/* What arrived changed, if anything did: a line. */
void top_corrupt(struct tcpx_text *t, const json_t *counters, const char *indent);
/* Two tables of lanes: a line for each session that has had any, and for each label with open ones;
 * @head has their titles, names have @width columns. */
void top_lanes(struct tcpx_text *t, const json_t *engine, const char *const head[2], int indent,
	       int width);
/* The table of I/O threads under @head; names have @width columns. */
void top_threads(struct tcpx_text *t, const json_t *engine, const char *head, int indent, int width);

/* The view, as lines; headings begin in the first column. */
void top_format(struct tcpx_text *t, const json_t *doc);
/* All counters in Prometheus's text format. */
void top_prometheus(struct tcpx_text *t, const json_t *doc);

#endif
