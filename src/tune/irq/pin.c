/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pinning and reading back. Masks go to the kernel as the words of our sets. These have the
 * size of the largest kernel's, so no machine has too many CPUs.
 */
#include "tune/irq/pin.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/io.h"

/* Numbers of the fields of proc/PID/stat that follow the name. */
enum { FIELD_PPID = 4, FIELD_START = 22 };

static int
read_mask(int tid, struct tcpx_cpuset *set)
{
	tcpx_cpuset_init(set);
	return syscall(SYS_sched_getaffinity, tid, sizeof(set->bits), set->bits) < 0 ? -errno : 0;
}

int
tcpx_pin_thread(int tid, const struct tcpx_cpuset *cpus, struct tcpx_pin *out)
{
	out->tid = tid;
	out->requested = *cpus;
	tcpx_cpuset_init(&out->granted);
	out->missing = *cpus;
	if (syscall(SYS_sched_setaffinity, tid, sizeof(cpus->bits), cpus->bits) < 0)
		out->rc = -errno;
	else
		out->rc = read_mask(tid, &out->granted);
	if (out->rc == 0)
		tcpx_cpuset_andnot(&out->missing, &out->granted);
	return out->rc;
}

int
tcpx_pin_rule_parse(const char *text, struct tcpx_pin_rule *rule)
{
	const char *equals = strrchr(text, '=');
	struct tcpx_pin_rule got = { .spread = false };
	size_t len = equals ? (size_t)(equals - text) : 0;
	int rc;

	if (len == 0 || len >= sizeof(got.pattern))
		return -EINVAL;
	memcpy(got.pattern, text, len);
	got.spread = equals[1] == '%';
	rc = tcpx_cpuset_parse(equals + 1 + got.spread, &got.cpus);
	if (rc == 0)
		*rule = got;
	return rc;
}

/* A field of a stat file, behind the last ")": a name may hold any character. */
static unsigned long long
stat_field(const char *path, int field)
{
	char text[1024], *at;

	if (tcpx_io_read(NULL, path, text, sizeof(text)) <= 0)
		return 0;
	at = strrchr(text, ')');
	for (int i = 2; at && i < field; i++) {
		at = strchr(at + 1, ' ');
	}
	return at ? strtoull(at, NULL, 10) : 0;
}

struct walk {
	const struct tcpx_pin_rule *rules;
	unsigned rule_count;
	unsigned *used;  /* number of matching threads, by rule */
	struct tcpx_pin *out;
	unsigned count, room;
};

static const struct tcpx_pin_rule *
find_rule(const struct walk *w, const char *name)
{
	for (unsigned i = 0; i < w->rule_count; i++)
		if (fnmatch(w->rules[i].pattern, name, 0) == 0)
			return &w->rules[i];
	return NULL;
}

static int
cpu_at(const struct tcpx_cpuset *set, unsigned k)
{
	int cpu = tcpx_cpuset_first(set);

	k %= tcpx_cpuset_count(set);
	while (k-- > 0)
		cpu = tcpx_cpuset_next(set, cpu);
	return cpu;
}

static int
one_more(struct walk *w, struct tcpx_pin **out)
{
	if (w->count == w->room) {
		unsigned room = w->room ? w->room * 2 : 16;
		struct tcpx_pin *more = realloc(w->out, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		w->out = more;
		w->room = room;
	}
	*out = &w->out[w->count];
	memset(*out, 0, sizeof(**out));
	return 0;
}

/* @dir: the thread's directory in /proc. An id reused by another thread meanwhile is
 * detected by its start time, and reported as gone. */
static int
pin_by_name(struct walk *w, const char *dir, int tid)
{
	char path[128], name[TCPX_PIN_NAME];
	const struct tcpx_pin_rule *rule;
	unsigned long long start;
	struct tcpx_cpuset cpus;
	struct tcpx_pin *pin;
	int rc;

	snprintf(path, sizeof(path), "%s/comm", dir);
	if (tcpx_io_read(NULL, path, name, sizeof(name)) < 0)
		return 0;
	rule = find_rule(w, name);
	if (!rule)
		return 0;
	rc = one_more(w, &pin);
	if (rc < 0)
		return rc;
	cpus = rule->cpus;
	if (rule->spread) {
		tcpx_cpuset_init(&cpus);
		tcpx_cpuset_add(&cpus, cpu_at(&rule->cpus, w->used[rule - w->rules]));
	}
	snprintf(path, sizeof(path), "%s/stat", dir);
	start = stat_field(path, FIELD_START);
	rc = tcpx_pin_thread(tid, &cpus, pin);
	if (rc == -ESRCH || start == 0 || stat_field(path, FIELD_START) != start)
		return 0; /* its entry in the list is reused */
	snprintf(pin->name, sizeof(pin->name), "%s", name);
	w->used[rule - w->rules]++;
	w->count++;
	return 0;
}

static bool
number(const char *text, int *out)
{
	char *end;
	long v = strtol(text, &end, 10);

	*out = (int)v;
	return end != text && !*end && v > 0 && v <= INT32_MAX;
}

static int
by_number(const void *a, const void *b)
{
	int x, y;

	number((*(struct dirent *const *)a)->d_name, &x);
	number((*(struct dirent *const *)b)->d_name, &y);
	return x < y ? -1 : x > y;
}

static bool
of_kernel(const char *dir)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/stat", dir);
	return stat_field(path, FIELD_PPID) == 2; /* kthreadd */
}

int
tcpx_pin_process(int pid, const struct tcpx_pin_rule *rules, unsigned rule_count,
		 struct tcpx_pin **out, unsigned *count)
{
	struct walk w = { .rules = rules, .rule_count = rule_count };
	struct tcpx_io_names names;
	char parent[64] = "/proc", dir[96];
	int rc, tid;

	if (pid != TCPX_PIN_KERNEL)
		snprintf(parent, sizeof(parent), "/proc/%d/task", pid);
	rc = tcpx_io_list(NULL, parent, &names);
	if (rc < 0)
		return rc == -ENOENT ? -ESRCH : rc;
	w.used = calloc(rule_count ? rule_count : 1, sizeof(*w.used));
	rc = w.used ? 0 : -ENOMEM;
	qsort(names.entry, names.count, sizeof(names.entry[0]), by_number);
	for (unsigned i = 0; i < names.count && rc == 0; i++) {
		if (!number(names.entry[i]->d_name, &tid))
			continue;
		snprintf(dir, sizeof(dir), "%s/%d", parent, tid);
		if (pid != TCPX_PIN_KERNEL || of_kernel(dir))
			rc = pin_by_name(&w, dir, tid);
	}
	tcpx_io_names_free(&names);
	free(w.used);
	if (rc < 0) {
		free(w.out);
		return rc;
	}
	*out = w.out;
	*count = w.count;
	return 0;
}
