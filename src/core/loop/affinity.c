/* SPDX-License-Identifier: Apache-2.0 */
/* Binding I/O threads to CPUs: the requested ones, and those that the kernel granted. */
#include "core/loop/affinity.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/context/context.h"
#include "core/loop/futex.h"
#include "core/loop/loop.h"

static void
wanted(const struct loop *l, uint32_t nics, struct tcpx_cpuset *set)
{
	const struct tcpx_engine *e = l->engine;
	const char *all = tcpx_cfg_str(e->cfg, TCPX_SET_CPUS);

	tcpx_cpuset_init(set);
	if (*all && tcpx_cpuset_parse(all, set))
		tcpx_cpuset_init(set); /* it was checked when it was set */
	for (uint32_t i = 0; e->nics.bind && i < e->nics.count; i++)
		if (nics & 1u << i)
			tcpx_cpuset_or(set, &e->nics.bind[i]);
}

/* Moves a thread, unless @set is empty, and reads back its CPUs. The kernel silently drops
 * absent CPUs from a set, and refuses a set without any other. */
static int
move(int tid, const struct tcpx_cpuset *set, struct tcpx_cpuset *granted)
{
	cpu_set_t *mask = CPU_ALLOC(TCPX_CPUS_MAX);
	size_t bytes = CPU_ALLOC_SIZE(TCPX_CPUS_MAX);
	int rc = 0;

	tcpx_cpuset_init(granted);
	if (!mask)
		return -ENOMEM;
	CPU_ZERO_S(bytes, mask);
	tcpx_cpuset_for_each(cpu, set)
		CPU_SET_S((size_t)cpu, bytes, mask);
	if (!tcpx_cpuset_empty(set) && sched_setaffinity(tid, bytes, mask) < 0)
		rc = -errno;
	if (sched_getaffinity(tid, bytes, mask) == 0)
		for (int cpu = 0; cpu < TCPX_CPUS_MAX; cpu++)
			if (CPU_ISSET_S((size_t)cpu, bytes, mask))
				tcpx_cpuset_add(granted, cpu);
	CPU_FREE(mask);
	return rc;
}

/* Moves the thread to the CPUs of all NICs of its loop. queue.lock held. A NIC is in thread.nics
 * before its caller comes here, so the last caller sees all of them. */
static void
rebind(struct loop *l)
{
	int tid = atomic_load(&l->thread.tid), rc;
	struct tcpx_cpuset set, granted;

	if (!tid)
		return; /* the thread moves there when it begins */
	wanted(l, atomic_load(&l->thread.nics), &set);
	tcpx_cpuset_format(&set, l->thread.requested, sizeof(l->thread.requested));
	rc = move(tid, &set, &granted);
	if (rc)
		tcpx_warn(TCPX_SUB_INIT, "I/O thread %u cannot run on CPUs %s (%s); left as it is",
			  l->index, l->thread.requested, tcpx_err_name(rc));
	tcpx_cpuset_format(&granted, l->thread.granted, sizeof(l->thread.granted));
}

void
tcpx_bind_nic(struct loop *l, uint32_t nic)
{
	uint32_t bit = 1u << nic;

	if (!l->engine->nics.bind || atomic_fetch_or(&l->thread.nics, bit) & bit)
		return;
	pthread_mutex_lock(&l->queue.lock);
	rebind(l);
	pthread_mutex_unlock(&l->queue.lock);
}

void
tcpx_bind_begin(struct loop *l)
{
	pthread_mutex_lock(&l->queue.lock);
	atomic_store(&l->thread.tid, (int)syscall(SYS_gettid));
	rebind(l);
	pthread_mutex_unlock(&l->queue.lock);
	tcpx_futex_wake(&l->thread.tid, 1);
}

/* The thread's id may soon be another thread's. */
void
tcpx_bind_end(struct loop *l)
{
	pthread_mutex_lock(&l->queue.lock);
	atomic_store(&l->thread.tid, 0);
	pthread_mutex_unlock(&l->queue.lock);
}
