/* SPDX-License-Identifier: Apache-2.0 */
/* proc/stat and proc/net/softnet_stat: a row for each CPU. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpuset.h"
#include "tune/facts/irqtab.h"

/* 0..15; 16: not a digit. Called thousands of times a look: strtoull() takes
 * ten times as long. */
static inline unsigned
digit(char c)
{
	if (c >= '0' && c <= '9')
		return (unsigned)(c - '0');
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (unsigned)((c | 0x20) - 'a') + 10;
	return 16;
}

/* The next unsigned number of the line at *@p; false: none. */
static bool
next_number(const char **p, uint64_t *value)
{
	const char *at = *p, *start;
	uint64_t v = 0;

	while (*at == ' ' || *at == '\t')
		at++;
	for (start = at; digit(*at) < 16; at++) {
		if (digit(*at) >= 10 || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, digit(*at), &v))
			return false;
	}
	*value = v;
	*p = at;
	return at > start;
}

static bool
parse_times(const char *line, struct tcpx_cpu_times *times)
{
	const char *p = line + strlen("cpu");
	uint64_t id;
	unsigned n = 0;

	*times = (struct tcpx_cpu_times){ .cpu = 0 };
	if (*p < '0' || *p > '9' || !next_number(&p, &id) || id >= TCPX_CPUS_MAX)
		return false;
	times->cpu = (unsigned)id;
	while (n < TCPX_CPU_TIMES && next_number(&p, &times->ticks[n]))
		n++;
	return n > TCPX_CPU_IDLE; /* every kernel has these four */
}

int
tcpx_cpu_times_parse(const char *text, struct tcpx_cpu_times **out, unsigned *count)
{
	struct tcpx_cpu_times *all, times;
	unsigned n = 0;

	all = malloc(TCPX_CPUS_MAX * sizeof(*all));
	if (!all)
		return -ENOMEM;
	/* the row of all CPUs together has no number */
	for (const char *line = text; line && n < TCPX_CPUS_MAX;) {
		if (!strncmp(line, "cpu", 3) && parse_times(line, &times) &&
		    (n == 0 || times.cpu > all[n - 1].cpu))
			all[n++] = times;
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	*out = all;
	*count = n;
	return 0;
}

const char *
tcpx_cpu_time_name(enum tcpx_cpu_time time)
{
	static const char *const names[TCPX_CPU_TIMES] = {
		[TCPX_CPU_USER] = "user", [TCPX_CPU_NICE] = "nice", [TCPX_CPU_SYSTEM] = "system",
		[TCPX_CPU_IDLE] = "idle", [TCPX_CPU_IOWAIT] = "iowait", [TCPX_CPU_IRQ] = "irq",
		[TCPX_CPU_SOFTIRQ] = "softirq", [TCPX_CPU_STEAL] = "steal",
		[TCPX_CPU_GUEST] = "guest", [TCPX_CPU_GUEST_NICE] = "guest_nice",
	};

	return (unsigned)time < TCPX_CPU_TIMES ? names[time] : "?";
}
