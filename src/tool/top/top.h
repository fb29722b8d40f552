/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpx top: what running engines say of themselves (core/stats.h), as one JSON document
 *
 *	{ "schema": 1, "engines": [SNAPSHOT...], "silent": [{"path", "why"}...] }
 *
 * to which rates are added, and the ways to show it. All but top_look() are functions of the
 * document alone. An engine's text is not trusted: what is missing or of another type is 0.
 */
#ifndef TOOL_TOP_H
#define TOOL_TOP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text.h"

#define TOP_SCHEMA 1

/* Where to look and for whom. */
struct top_where {
	const char *dir;   /* NULL: wherever engines of this user are (root: of any) */
	int64_t pid;       /* 0: all */
	int patience_ms;   /* for all answers together */
};

/* Asks every engine found; sockets of engines that are gone are removed. The document (a
 * reference), or NULL: no memory. "silent" has those that did not answer, and directories that
 * cannot be trusted. */
json_t *top_look(const struct top_where *where);

/* Adds to everything that counts how fast it does, per second, since "before" (NULL: there was no
 * look before): an object "per_s" with the keys of the counters, or null for what is new. */
void top_rates(json_t *now, const json_t *before);

/* Tolerant access: 0, "", NULL. */
double top_number(const json_t *o, const char *key);
/* ["per_s"][key], 0 where there is none. */
double top_per_s(const json_t *o, const char *key);
const char *top_string(const json_t *o, const char *key);
/* The elements of o[key]; an empty array if it is none. */
const json_t *top_list(const json_t *o, const char *key);

/* The view, as lines: those that begin in the first column are headings. */
void top_format(struct tcpx_text *t, const json_t *doc);
/* All counters in Prometheus's text format. */
void top_prometheus(struct tcpx_text *t, const json_t *doc);

#endif
