/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines on their way to an application's function. It is called by a thread of its own, which
 * holds no lock of the library, so it may call the library and may be slow. At most RELAY_LINES
 * wait for it. The thread lives as long as an engine does; with none, the thread that logs the
 * line calls the function.
 */
#ifndef BASE_LOG_RELAY_H
#define BASE_LOG_RELAY_H

#include <stdbool.h>

#include "base/log.h"

#define RELAY_LINES 256

/* Replaces the function, after the old one has had every line and has returned. NULL: none. */
void tcpx_relay_set(tcpx_log_fn fn, void *arg);
/* False: too many wait already, or no engine is open. */
bool tcpx_relay_put(int level, const char *line);
/* Is no engine open, so that lines are given to the function (perhaps NULL) at once? */
bool tcpx_relay_direct(tcpx_log_fn *fn, void **arg);
/* An engine begins or has ended. The last to end waits until every line is delivered. */
void tcpx_relay_hold(void);
void tcpx_relay_release(void);

#endif
