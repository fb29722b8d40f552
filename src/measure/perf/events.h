/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --events: what happens during a measurement, a JSON object a line, as it happens. For
 * programs that drive `tcpx perf` and `tcpx serve`. The members are in tcpx-perf(1).
 */
#ifndef MEASURE_PERF_EVENTS_H
#define MEASURE_PERF_EVENTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "tcpx/tcpx.h"

struct usage;

/* 0 and *f, which is NULL without a @path ("-": stdout); -errno. */
TCPX_MUST_USE int events_open(const char *path, FILE **f);
void events_close(FILE *f);
/* Does @path take stdout for itself? */
bool events_on_stdout(const char *path);

/* One line; takes @fields (NULL for none). Without @f nothing. */
void events_put(FILE *f, const char *type, json_t *fields);

/* The session with @peer, of that @name: provider, chunk, window, the NICs, the channels that carry the data.
 * @sending: it leaves from here. */
json_t *events_session(tcpx_engine *engine, tcpx_peer *peer, const char *name, bool sending);
/* A transfer that failed or does not move; @xfer may be NULL. */
json_t *events_failure(tcpx_xfer *xfer, int code, bool sending);
/* Threads, and messages in flight of the channels that sent. */
json_t *events_usage(const struct usage *u);

#endif
