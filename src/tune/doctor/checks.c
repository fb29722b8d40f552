/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of checks end to end, and the answers of probes. */
#include "tune/doctor/checks.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tool/tool.h"

struct table {
	const char *group;
	const struct check *at;
	size_t count;
};

#define TABLES 10

static void
tables(struct table out[TABLES])
{
	const struct table all[TABLES] = {
		{ "network", checks_nic, checks_nic_count },
		{ "way to a peer", checks_path, checks_path_count },
		{ "system", checks_system, checks_system_count },
		{ "CPUs", checks_cpu, checks_cpu_count },
		{ "interrupts", checks_irq, checks_irq_count },
		/* children load plugins, and cannot use GPUs that this process has opened */
		{ "plugin", checks_plugin, checks_plugin_count },
		{ "NIXL", checks_nixl, checks_nixl_count },
		{ "NCCL", checks_nccl, checks_nccl_count },
		{ "GPUs", checks_gpu, checks_gpu_count },
		{ "logs", checks_log, checks_log_count },
	};

	memcpy(out, all, sizeof(all));
}

const struct check *
check_at(size_t i)
{
	struct table t[TABLES];

	tables(t);
	for (size_t k = 0; k < TABLES; k++) {
		if (i < t[k].count)
			return &t[k].at[i];
		i -= t[k].count;
	}
	return NULL;
}

const char *
check_group(const struct check *check)
{
	struct table t[TABLES];

	tables(t);
	for (size_t k = 0; k < TABLES; k++)
		if (check >= t[k].at && check < t[k].at + t[k].count)
			return t[k].group;
	return "other";
}

const struct check *
check_find(const char *id)
{
	const struct check *check;

	for (size_t i = 0; (check = check_at(i)) != NULL; i++)
		if (!strcmp(check->id, id))
			return check;
	return NULL;
}

const char *
check_status_name(enum check_status status)
{
	static const char *const names[CHECK_STATUSES] = {
		[CHECK_OK] = "ok",
		[CHECK_FINDING] = "finding",
		[CHECK_UNKNOWN] = "unknown",
		[CHECK_SKIPPED] = "skipped",
	};

	return (unsigned)status < CHECK_STATUSES ? names[status] : "?";
}

const char *
check_severity_name(enum check_severity severity)
{
	static const char *const names[CHECK_SEVERITIES] = {
		[CHECK_ERROR] = "error",
		[CHECK_WARNING] = "warning",
		[CHECK_NOTE] = "note",
	};

	return (unsigned)severity < CHECK_SEVERITIES ? names[severity] : "?";
}

static void
answer(struct check_result *r, enum check_status status, const char *fmt, va_list ap)
{
	r->status = status;
	vsnprintf(r->evidence, sizeof(r->evidence), fmt, ap);
}

void
check_ok(struct check_result *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	answer(r, CHECK_OK, fmt, ap);
	va_end(ap);
}

void
check_finding(struct check_result *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	answer(r, CHECK_FINDING, fmt, ap);
	va_end(ap);
}

void
check_skip(struct check_result *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	answer(r, CHECK_SKIPPED, fmt, ap);
	va_end(ap);
}

void
check_unknown(struct check_result *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	answer(r, CHECK_UNKNOWN, fmt, ap);
	va_end(ap);
}

void
check_add(struct check_result *r, const char *fmt, ...)
{
	size_t len = strlen(r->evidence), room = sizeof(r->evidence) - len;
	char item[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(item, sizeof(item), fmt, ap);
	va_end(ap);
	if (strlen(item) + 3 < room)
		snprintf(r->evidence + len, room, "%s%s", len ? ", " : "", item);
}

void
check_judge(struct check_result *r, const char *ok_fmt, ...)
{
	va_list ap;

	if (r->evidence[0]) {
		r->status = CHECK_FINDING;
		return;
	}
	va_start(ap, ok_fmt);
	answer(r, CHECK_OK, ok_fmt, ap);
	va_end(ap);
}

bool
check_here(const struct machine *m, struct check_result *r)
{
	if (!m->here)
		check_skip(r, "%s is not this machine", m->root);
	return m->here;
}
