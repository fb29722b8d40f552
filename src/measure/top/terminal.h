/* SPDX-License-Identifier: Apache-2.0 */
/* tcpx top on a terminal: the alternate screen, keys and signals. */
#ifndef MEASURE_TOP_TERMINAL_H
#define MEASURE_TOP_TERMINAL_H

#include <stdint.h>

#include "measure/top/top.h"

/* Shows engines until a key ends it: an exit code. A signal ends the process as it would have,
 * with the terminal as it was. @also is called with each look, before it is shown; another
 * code than TOOL_OK ends it. */
int top_terminal(const struct top_where *where, uint64_t interval_ns,
		 int (*also)(const void *arg, const json_t *doc), const void *arg);

#endif
