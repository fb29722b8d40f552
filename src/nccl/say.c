/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl/say.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/text.h"

#define LINE_BYTES 1024
#define WARN_LEVEL 2 /* of tcpx_log_sink_fn: errors and warnings                 */

/* One for the process, as NCCL's log is. */
static _Atomic(nccl_logger) logger;

void
tcpx_nccl_say_to(nccl_logger to)
{
	atomic_store(&logger, to);
}

static void
say(enum nccl_log_level level, const char *line)
{
	nccl_logger to = atomic_load(&logger);
	char shown[LINE_BYTES]; /* a peer's name is in many a line, and a terminal's commands may be in it */

	tcpx_text_show(shown, sizeof(shown), line);
	if (to)
		to(level, level == NCCL_LOG_WARN ? NCCL_SUBSYS_ALL : NCCL_SUBSYS_INIT | NCCL_SUBSYS_NET,
		   "tcpx-p2p", 0, "NET/tcpx-p2p : %s", shown);
}

void
tcpx_nccl_warn(const char *fmt, ...)
{
	char line[LINE_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	say(NCCL_LOG_WARN, line);
}

void
tcpx_nccl_info(const char *fmt, ...)
{
	char line[LINE_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	say(NCCL_LOG_INFO, line);
}

void
tcpx_nccl_sink(void *arg, int level, const char *line)
{
	(void)arg;
	say(level <= WARN_LEVEL ? NCCL_LOG_WARN : NCCL_LOG_INFO, line);
}
