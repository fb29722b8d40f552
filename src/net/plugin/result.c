/* SPDX-License-Identifier: Apache-2.0 */
/* Results of plugins as our codes, and their log lines in our log. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "net/plugin/init.h"
#include "net/plugin/inside.h"
#include "net/plugin/result.h"

#define LINE_BYTES 480

/* A system or remote error ends its connection alone. The others are mistakes, ours or the
 * plugin's. */
static const struct {
	int code;
	const char *text;
} results[NCCL_RESULT_COUNT] = {
	[NCCL_OK] = { 0, "success" },
	[NCCL_CUDA_ERROR] = { -EIO, "CUDA error" },
	[NCCL_SYSTEM_ERROR] = { TCPX_ECHANNEL, "system error" },
	[NCCL_INTERNAL_ERROR] = { -EPROTO, "internal error" },
	[NCCL_INVALID_ARGUMENT] = { -EINVAL, "invalid argument" },
	[NCCL_INVALID_USAGE] = { -EINVAL, "invalid usage" },
	[NCCL_REMOTE_ERROR] = { TCPX_ECHANNEL, "remote error" },
	[NCCL_IN_PROGRESS] = { -EAGAIN, "in progress" },
};

int
plug_code(enum nccl_result result)
{
	return (unsigned)result < NCCL_RESULT_COUNT ? results[result].code : -EPROTO;
}

const char *
plug_result_text(enum nccl_result result)
{
	return (unsigned)result < NCCL_RESULT_COUNT ? results[result].text : "unknown result";
}

int
plug_fail(const struct plug *p, enum nccl_result result, const char *fmt, ...)
{
	int code = plug_code(result);
	char what[160];
	va_list ap;

	if (code == -EAGAIN)
		return code;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return tcpx_fail(TCPX_SUB_NET, code, "%s: %s: %s (%d)", plug_own_name(p), what,
			 plug_result_text(result), (int)result);
}

static enum tcpx_level
level_of(enum nccl_log_level level)
{
	switch (level) {
	case NCCL_LOG_ABORT:
		return TCPX_LOG_ERROR;
	case NCCL_LOG_WARN:
		return TCPX_LOG_WARN;
	case NCCL_LOG_TRACE:
		return TCPX_LOG_TRACE;
	case NCCL_LOG_NONE:
	case NCCL_LOG_VERSION:
	case NCCL_LOG_INFO:
		break;
	}
	return TCPX_LOG_INFO;
}

void
plug_logger(enum nccl_log_level level, unsigned long subsys, const char *file, int line,
	    const char *fmt, ...)
{
	bool warns = level == NCCL_LOG_WARN || level == NCCL_LOG_ABORT;
	bool wanted = tcpx_log_on(level_of(level), TCPX_SUB_NET);
	char text[LINE_BYTES];
	va_list ap;

	if (!warns && !wanted)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text[strcspn(text, "\n")] = '\0';
	if (warns)
		plug_init_heard(text);
	if (wanted)
		tcpx_log_write(level_of(level), TCPX_SUB_NET, "plugin: %s", text);
}

enum nccl_result
plug_profiler(void **event, int type, void *parent, int64_t plugin_id, void *data)
{
	return NCCL_OK;
}
