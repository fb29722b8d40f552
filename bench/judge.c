/* SPDX-License-Identifier: Apache-2.0 */
#include "judge.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/context/context.h"

static const struct tcpx_net_ops *real;
static _Atomic uint64_t longest_ns;
static _Thread_local uint64_t began_ns; /* this turn; 0: none yet */

static uint64_t
spent_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * TCPX_SEC + (uint64_t)t.tv_nsec;
}

static int
time_turn(struct tcpx_poller *p, struct tcpx_net_event *ev, int max, int64_t timeout_ns)
{
	uint64_t took_ns = began_ns ? spent_ns() - began_ns : 0, before = longest_ns;
	int n;

	while (took_ns > before && !atomic_compare_exchange_weak(&longest_ns, &before, took_ns))
		;
	n = real->poller_wait(p, ev, max, timeout_ns);
	began_ns = spent_ns();
	return n;
}

void
judge_turns(tcpx_engine *e)
{
	static struct tcpx_net_ops timed;

	real = e->ops;
	timed = *real;
	timed.poller_wait = time_turn;
	e->ops = &timed;
}

double
judge_turn_us(void)
{
	return (double)atomic_exchange(&longest_ns, 0) / 1e3;
}

long
judge_resident_kib(pid_t pid)
{
	char path[64], line[128];
	long kib = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

static int
by_size(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

void
judge_sort(float *sample, uint32_t count)
{
	qsort(sample, count, sizeof(*sample), by_size);
}
