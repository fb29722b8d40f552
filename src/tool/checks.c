/* SPDX-License-Identifier: Apache-2.0 */
/* The tables end to end, and the words in which probes answer. */
#include "tool/checks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct check *
check_at(size_t i)
{
	if (i < checks_nic_count)
		return &checks_nic[i];
	i -= checks_nic_count;
	if (i < checks_system_count)
		return &checks_system[i];
	i -= checks_system_count;
	return i < checks_gpu_count ? &checks_gpu[i] : NULL;
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
		[CHECK_SKIPPED] = "skipped",
	};

	return (unsigned)status < CHECK_STATUSES ? names[status] : "?";
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

long long
check_number(const struct machine *m, const char *path)
{
	char text[128], *end;
	long long v;

	if (tcpx_host_text_read(m->root, path, text, sizeof(text)) <= 0)
		return -1;
	v = strtoll(text, &end, 10);
	return end == text || v < 0 ? -1 : v;
}

bool
check_here(const struct machine *m, struct check_result *r)
{
	if (!m->here)
		check_skip(r, "%s is not this machine", m->root);
	return m->here;
}
