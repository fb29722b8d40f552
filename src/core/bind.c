/* SPDX-License-Identifier: Apache-2.0 */
/* The CPUs of I/O threads: asked for, and what the kernel granted. */
#include "core/bind.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/core.h"
#include "host/bindings.h"
#include "host/plan.h"

enum { BIND_AUTO, BIND_OFF, BIND_PLAN }; /* words of TCPX_BIND */

static struct tcpx_cpuset *
sets_of(struct tcpx_engine *e)
{
	if (!e->bind)
		e->bind = calloc(e->nic_count ? e->nic_count : 1, sizeof(*e->bind));
	return e->bind;
}

/* Adds one text's CPUs to those of our NICs. What the plugin was told by a variable of its
 * own must not stop us; what was said to us must be right. */
static int
read_bindings(struct tcpx_engine *e, enum tcpx_setting setting)
{
	const char *text = tcpx_cfg_str(e->cfg, setting);
	const char *source = tcpx_cfg_source(e->cfg, setting);
	struct tcpx_bindings b;
	int rc;

	if (!*text)
		return 0;
	rc = tcpx_bindings_parse(text, tcpx_setting_at(setting)->name, &b);
	if (rc == -EINVAL && !strncmp(source, "NCCL_", 5)) {
		tcpx_warn(TCPX_SUB_INIT, "%s is not used: I/O threads run where the kernel likes",
			  source);
		return 0;
	}
	if (rc)
		return rc == -EINVAL ? TCPX_ECONFIG : rc;
	if (!sets_of(e)) {
		tcpx_bindings_fini(&b);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < e->nic_count; i++) {
		const struct tcpx_cpuset *set = tcpx_bindings_of(&b, e->nic[i].name);

		if (set)
			tcpx_cpuset_or(&e->bind[i], set);
	}
	tcpx_bindings_fini(&b);
	return 0;
}

/* A machine for which nothing can be planned is left alone, as has been logged. */
static int
plan_bindings(struct tcpx_engine *e)
{
	struct tcpx_machine m;
	struct tcpx_plan p;
	int rc = tcpx_machine_read(tcpx_cfg_str(e->cfg, TCPX_SET_ROOT), &m);

	if (rc)
		return rc == -ENOMEM ? rc : 0;
	rc = tcpx_plan_make(&m, &TCPX_PLAN_DEFAULTS, &p);
	tcpx_machine_fini(&m);
	if (rc)
		return rc == -ENOMEM ? rc : 0;
	for (uint32_t i = 0; i < e->nic_count && sets_of(e); i++) {
		const struct tcpx_plan_group *g = tcpx_plan_of_nic(&p, e->nic[i].name);

		if (!g)
			continue;
		tcpx_cpuset_or(&e->bind[i], &g->tx);
		tcpx_cpuset_or(&e->bind[i], &g->rx);
	}
	tcpx_plan_fini(&p);
	return e->bind ? 0 : -ENOMEM;
}

int
tcpx_bind_open(struct tcpx_engine *e)
{
	uint64_t how = tcpx_cfg_num(e->cfg, TCPX_SET_BIND);
	int rc;

	if (how == BIND_OFF || *tcpx_cfg_str(e->cfg, TCPX_SET_CPUS) || e->manual)
		return 0;
	if (how == BIND_PLAN)
		return plan_bindings(e);
	rc = read_bindings(e, TCPX_SET_TX_BINDINGS);
	return rc ? rc : read_bindings(e, TCPX_SET_RX_BINDINGS);
}

void
tcpx_bind_close(struct tcpx_engine *e)
{
	free(e->bind);
	e->bind = NULL;
}

static void
wanted(const struct loop *l, uint32_t nics, struct tcpx_cpuset *set)
{
	const struct tcpx_engine *e = l->engine;
	const char *all = tcpx_cfg_str(e->cfg, TCPX_SET_CPUS);

	tcpx_cpuset_init(set);
	if (*all && tcpx_cpuset_parse(all, set))
		tcpx_cpuset_init(set); /* it was checked when it was set */
	for (uint32_t i = 0; e->bind && i < e->nic_count; i++)
		if (nics & 1u << i)
			tcpx_cpuset_or(set, &e->bind[i]);
}

/* Moves a thread, unless @set is empty, and reads back where it may run. The kernel narrows
 * silently what names absent CPUs, and refuses what has no other. */
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

/* With work_lock: so the last one who moves the thread knows of all its NICs. */
static void
rebind(struct loop *l)
{
	int tid = atomic_load(&l->tid), rc;
	struct tcpx_cpuset set, granted;

	if (!tid)
		return; /* it will go there when it begins */
	wanted(l, atomic_load(&l->nics), &set);
	tcpx_cpuset_format(&set, l->requested, sizeof(l->requested));
	rc = move(tid, &set, &granted);
	if (rc)
		tcpx_warn(TCPX_SUB_INIT, "I/O thread %u cannot run on CPUs %s (%s); left as it is",
			  l->index, l->requested, tcpx_err_name(rc));
	tcpx_cpuset_format(&granted, l->granted, sizeof(l->granted));
}

void
tcpx_bind_nic(struct loop *l, uint32_t nic)
{
	uint32_t bit = 1u << nic;

	if (!l->engine->bind || atomic_fetch_or(&l->nics, bit) & bit)
		return;
	pthread_mutex_lock(&l->work_lock);
	rebind(l);
	pthread_mutex_unlock(&l->work_lock);
}

void
tcpx_bind_begin(struct loop *l)
{
	pthread_mutex_lock(&l->work_lock);
	atomic_store(&l->tid, (int)syscall(SYS_gettid));
	rebind(l);
	pthread_mutex_unlock(&l->work_lock);
	tcpx_futex_wake(&l->tid, 1);
}

/* Its number may be another thread's soon. */
void
tcpx_bind_end(struct loop *l)
{
	pthread_mutex_lock(&l->work_lock);
	atomic_store(&l->tid, 0);
	pthread_mutex_unlock(&l->work_lock);
}
