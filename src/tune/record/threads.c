/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a process, from stat, status and children in proc/PID/task/TID. */
#include "tune/record/threads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
	char dir[64], path[64], text[1024];
	unsigned n = 0, found = 0;
	uint64_t tid;
	int fd, rc;

	snprintf(dir, sizeof(dir), "/proc/%ld/task", pid);
	fd = tcpx_io_open(root, dir, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	rc = tcpx_io_list_open(fd, &names);
	for (unsigned i = 0; rc == 0 && i < names.count; i++) {
		if (tcpx_parse_count(names.entry[i]->d_name, &tid) < 0 || tid > INT32_MAX)
			continue;
		snprintf(path, sizeof(path), "%u/stat", (unsigned)tid);
		if (tcpx_io_read_below(fd, root, dir, path, text, sizeof(text)) < 0)
			continue; /* it has ended */
		if (found < cap && tcpx_thread_stat_parse(text, &out[n]) < 0)
			continue;
		n += found < cap;
		found++;
	}
	close(fd);
	if (rc < 0)
		return rc;
	tcpx_io_names_free(&names);
	qsort(out, n, sizeof(*out), compare_threads);
	return (int)found;
}

/* The number behind @key at the start of a line. */
static int
find_number(const char *text, const char *key, uint64_t *value)
{
	const char *at = text;
	char *end;

	while ((at = strstr(at, key)) != NULL && at != text && at[-1] != '\n')
		at++;
	if (!at)
		return -EINVAL;
	at += strlen(key);
	at += strspn(at, " \t");
	if (*at < '0' || *at > '9')
		return -EINVAL;
	errno = 0;
	*value = strtoull(at, &end, 10);
	return errno ? -EINVAL : 0;
}

int
tcpx_thread_switches_parse(const char *text, struct tcpx_thread_switches *out)
{
	struct tcpx_thread_switches s;

	if (find_number(text, "voluntary_ctxt_switches:", &s.voluntary) < 0 ||
	    find_number(text, "nonvoluntary_ctxt_switches:", &s.involuntary) < 0)
		return -EINVAL;
	*out = s;
	return 0;
}

int
tcpx_thread_switches_read(const char *root, long pid, long tid, struct tcpx_thread_switches *out)
{
	char path[96], text[8192];
	int rc;

	snprintf(path, sizeof(path), "/proc/%ld/task/%ld/status", pid, tid);
	rc = tcpx_io_read(root, path, text, sizeof(text));
	return rc < 0 ? rc : tcpx_thread_switches_parse(text, out);
}

int
tcpx_thread_children_read(const char *root, long pid, long tid, long *out, unsigned cap)
{
	char path[96], text[16384], *p = text, *end;
	unsigned n = 0;
	int rc;

	snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children", pid, tid);
	rc = tcpx_io_read(root, path, text, sizeof(text));
	if (rc < 0)
		return rc;
	while (n < cap) {
		long child = strtol(p, &end, 10);

		if (end == p)
			break;
		p = end;
		if (child > 0)
			out[n++] = child;
	}
	return (int)n;
}
