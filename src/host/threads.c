/* SPDX-License-Identifier: Apache-2.0 */
/* proc/PID/task/TID/stat. */
#include "host/threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "host/io.h"

/* Numbers of the fields, from 1, as proc(5) counts them. */
enum { STATE = 3, UTIME = 14, STIME = 15, START = 22, PROCESSOR = 39 };

int
tcpx_thread_stat_parse(const char *text, struct tcpx_thread_stat *out)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')'), *p;
	struct tcpx_thread_stat s = { .cpu = -1 };
	size_t len;
	char *end;

	if (!open || !close || close < open || close[1] != ' ' || !close[2])
		return -EINVAL;
	s.tid = strtol(text, &end, 10);
	if (end == text || s.tid <= 0)
		return -EINVAL;
	len = (size_t)(close - open) - 1;
	snprintf(s.name, sizeof(s.name), "%.*s", (int)(len < sizeof(s.name) ? len : sizeof(s.name)),
		 open + 1);
	s.state = close[2];
	p = close + 3;
	for (int field = STATE + 1; field <= PROCESSOR; field++) {
		long long v = strtoll(p, &end, 10);

		if (end == p)
			return field > START ? (*out = s, 0) : -EINVAL;
		if (field == UTIME)
			s.user = (uint64_t)v;
		else if (field == STIME)
			s.system = (uint64_t)v;
		else if (field == START)
			s.start = (uint64_t)v;
		else if (field == PROCESSOR)
			s.cpu = (int)v;
		p = end;
	}
	*out = s;
	return 0;
}

static int
compare_threads(const void *a, const void *b)
{
	const struct tcpx_thread_stat *x = a, *y = b;

	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

int
tcpx_threads_read(const char *root, long pid, struct tcpx_thread_stat *out, unsigned cap)
{
	struct tcpx_io_names names;
	char dir[64], path[128], text[1024];
	unsigned n = 0, found = 0;
	uint64_t tid;
	int rc;

	snprintf(dir, sizeof(dir), "/proc/%ld/task", pid);
	rc = tcpx_io_list(root, dir, &names);
	if (rc < 0)
		return rc == -ENOENT ? -ESRCH : rc;
	for (unsigned i = 0; i < names.count; i++) {
		if (tcpx_parse_count(names.entry[i]->d_name, &tid) < 0 || tid > INT32_MAX)
			continue;
		snprintf(path, sizeof(path), "%s/%u/stat", dir, (unsigned)tid);
		if (tcpx_io_read(root, path, text, sizeof(text)) < 0)
			continue; /* it has ended */
		if (found < cap && tcpx_thread_stat_parse(text, &out[n]) < 0)
			continue;
		n += found < cap;
		found++;
	}
	tcpx_io_names_free(&names);
	qsort(out, n, sizeof(*out), compare_threads);
	return (int)found;
}
