/* SPDX-License-Identifier: Apache-2.0 */
/* Masks are set as a tcpx_cpuset: the kernel's own may be longer than cpu_set_t. */
#include "measure/perf/sides.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>

#include "host/host.h"

/* sched_setaffinity(0) affects the calling thread, not the process. */
static int
write_mask(const struct tcpx_cpuset *set)
{
	cpu_set_t *mask = CPU_ALLOC(TCPX_CPUS_MAX);
	size_t bytes = CPU_ALLOC_SIZE(TCPX_CPUS_MAX);
	int rc = 0;

	if (!mask)
		return -ENOMEM;
	CPU_ZERO_S(bytes, mask);
	tcpx_cpuset_for_each(cpu, set)
		CPU_SET_S((size_t)cpu, bytes, mask);
	if (sched_setaffinity(0, bytes, mask) < 0)
		rc = -errno;
	CPU_FREE(mask);
	return rc;
}

int
sides_choose(struct sides *sides)
{
	struct tcpx_cpuset set;
	int rc = tcpx_host_own_cpus(&set), first, second;

	if (rc)
		return rc;
	first = tcpx_cpuset_first(&set);
	second = tcpx_cpuset_next(&set, first);
	*sides = (struct sides){ true, (unsigned)first, (unsigned)(second < 0 ? first : second) };
	return 0;
}

const char *
sides_format(const struct sides *sides, char buf[SIDES_TEXT])
{
	if (!sides->placed)
		buf[0] = '\0';
	else if (sides->client == sides->server)
		snprintf(buf, SIDES_TEXT, "both sides on CPU %u", sides->client);
	else
		snprintf(buf, SIDES_TEXT, "sides: CPU %u and CPU %u", sides->client, sides->server);
	return buf;
}

int
thread_place(struct placed *p, unsigned cpu)
{
	struct tcpx_cpuset before, one;
	int rc;

	if (p->on)
		return 0;
	tcpx_cpuset_init(&one);
	rc = tcpx_cpuset_add(&one, (int)cpu);
	if (!rc)
		rc = tcpx_host_own_cpus(&before);
	if (!rc)
		rc = write_mask(&one);
	if (rc)
		return tcpx_fail(TCPX_SUB_TOOL, rc, "a thread cannot be placed on CPU %u", cpu);
	*p = (struct placed){ true, before };
	return 0;
}

void
thread_release(struct placed *p)
{
	if (p->on)
		(void)write_mask(&p->before); /* restores the mask of before */
	p->on = false;
}
