/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine's report as one JSON text, for clients of its port (net/stats_port.h). Loop 0
 * answers: no thread, and no work while nobody asks.
 */
#ifndef CORE_ENGINE_STATS_H
#define CORE_ENGINE_STATS_H

#include <stddef.h>

struct tcpx_engine;

/* Opens the port by TCPX_STATS. The engine works without it: only TCPX_ECONFIG (logged) and
 * -ENOMEM are failures; a port that cannot be made is a line in the log. */
int tcpx_stats_open(struct tcpx_engine *e);
/* To be called after the loops have stopped. */
void tcpx_stats_close(struct tcpx_engine *e);

#endif
