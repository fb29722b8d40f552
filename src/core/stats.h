/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an engine is doing, as one JSON text, for whoever asks at its port (net/stats_port.h).
 * Loop 0 answers: no thread, and nothing to do while nobody asks.
 */
#ifndef CORE_STATS_H
#define CORE_STATS_H

#include <stddef.h>

struct tcpx_engine;

/* By TCPX_STATS. The engine works as well without: only TCPX_ECONFIG (logged) and -ENOMEM are
 * failures, and that no port can be made is a line in the log. */
int tcpx_stats_open(struct tcpx_engine *e);
/* The loops have stopped. */
void tcpx_stats_close(struct tcpx_engine *e);
/* The text (free()). Any thread without locks, but one at a time. -ENOMEM. */
int tcpx_stats_snapshot(struct tcpx_engine *e, char **text, size_t *len);

#endif
