/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of interrupts, queues and bindings of the NICs in use, over what facts/topo.h reads. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/bindings.h"
#include "tune/doctor/checks.h"
#include "tool/tool.h"
#include "tune/texts/bindings_lint.h"

#define IRQ_LIST 6 /* NICs and CPUs named in evidence; the others are counted */

typedef void (*vector_fn)(void *arg, const struct tcpx_topo_nic *nic,
			  const struct tcpx_machine_vector *v, const struct tcpx_cpuset *cpus);

static bool
is_used(const struct machine *m, const struct tcpx_topo_nic *nic)
{
	return nic->nic->hardware && machine_chosen(m, nic->nic->ifname);
}

/* Calls @fn for each vector of a queue whose CPUs are known, and counts them. */
static unsigned
each_vector(const struct machine *m, vector_fn fn, void *arg)
{
	unsigned count = 0;

	for (unsigned i = 0; i < m->topo->nic_count; i++) {
		const struct tcpx_topo_nic *nic = &m->topo->nics[i];

		for (unsigned k = 0; k < nic->vector_count && is_used(m, nic); k++) {
			const struct tcpx_nic_vector *v = &nic->vectors[k];
			const struct tcpx_maybe_set *at = v->effective.why ||
				tcpx_cpuset_empty(&v->effective.cpus) ? &v->requested : &v->effective;

			if (v->v.kind == TCPX_VECTOR_MGMT || at->why || tcpx_cpuset_empty(&at->cpus))
				continue;
			fn(arg, nic, &v->v, &at->cpus);
			count++;
		}
	}
	return count;
}

/* False: the check has its answer. */
static bool
has_topo(const struct machine *m, struct check_result *r)
{
	unsigned hardware = 0;

	for (unsigned i = 0; i < m->topo->nic_count; i++)
		hardware += is_used(m, &m->topo->nics[i]);
	if (!hardware)
		check_skip(r, "no hardware NIC is chosen");
	return hardware > 0;
}

static const char *
why_no_vectors(const struct machine *m)
{
	for (unsigned i = 0; i < m->topo->nic_count; i++)
		if (is_used(m, &m->topo->nics[i]) && m->topo->nics[i].vectors_why)
			return m->topo->nics[i].vectors_why;
	return "no vector's CPU is known";
}

struct count_arg {
	const struct machine *m;
	struct tcpx_cpuset cpus;             /* CPUs that a vector must not be on      */
	const struct tcpx_topo_nic *nic;     /* the last one that was                  */
	unsigned bad;
	struct check_result *r;
	unsigned char owner[TCPX_CPUS_MAX];  /* 1 + index of the NIC that a CPU serves */
};

static void
flush_bad(struct count_arg *a, const char *what)
{
	if (a->nic && a->bad)
		check_add(a->r, "%s: %u %s", a->nic->nic->name, a->bad, what);
	a->bad = 0;
}

static void
count_off_node(void *arg, const struct tcpx_topo_nic *nic, const struct tcpx_machine_vector *v,
	       const struct tcpx_cpuset *cpus)
{
	struct count_arg *a = arg;

	if (a->nic != nic)
		flush_bad(a, "on another node");
	a->nic = nic;
	if (nic->nic->place.numa < 0)
		return;
	for (unsigned i = 0; i < a->m->facts->cpus.node_count; i++)
		if (a->m->facts->cpus.node[i].id == nic->nic->place.numa)
			a->bad += !tcpx_cpuset_within(cpus, &a->m->facts->cpus.node[i].cpus);
}

static void
probe_node(const struct machine *m, struct check_result *r)
{
	struct count_arg *a;
	unsigned seen;

	if (!has_topo(m, r))
		return;
	if (m->facts->cpus.node_count == 1) {
		check_skip(r, "the machine has one NUMA node");
		return;
	}
	a = calloc(1, sizeof(*a));
	if (!a)
		return check_unknown(r, "no memory");
	a->m = m;
	a->r = r;
	seen = each_vector(m, count_off_node, a);
	flush_bad(a, "on another node");
	if (seen && m->facts->cpus.node_count)
		check_judge(r, "all %u", seen);
	else
		check_unknown(r, "%s", seen ? "no NUMA nodes are known" : why_no_vectors(m));
	free(a);
}

/* A vector that may fire on many CPUs is not certain to share one. */
static void
find_shared(void *arg, const struct tcpx_topo_nic *nic, const struct tcpx_machine_vector *v,
	    const struct tcpx_cpuset *cpus)
{
	struct count_arg *a = arg;
	unsigned place = (unsigned)(nic - a->m->topo->nics) % 255 + 1;
	int cpu = tcpx_cpuset_first(cpus);

	if (tcpx_cpuset_count(cpus) != 1)
		return;
	if (a->owner[cpu] && a->owner[cpu] != place && ++a->bad <= IRQ_LIST)
		check_add(a->r, "CPU %d: %s and %s", cpu,
			  a->m->topo->nics[a->owner[cpu] - 1].nic->name, nic->nic->name);
	a->owner[cpu] = (unsigned char)place;
}

static void
find_in(void *arg, const struct tcpx_topo_nic *nic, const struct tcpx_machine_vector *v,
	const struct tcpx_cpuset *cpus)
{
	struct count_arg *a = arg;

	if (a->nic != nic)
		flush_bad(a, "there");
	a->nic = nic;
	/* a vector that may fire anywhere was not placed there */
	a->bad += tcpx_cpuset_within(cpus, &a->cpus);
}

static void
judge_vectors(const struct machine *m, struct check_result *r, vector_fn fn,
	      const struct tcpx_cpuset *not_on)
{
	struct count_arg *a = calloc(1, sizeof(*a));
	unsigned seen;

	if (!a)
		return check_unknown(r, "no memory");
	a->m = m;
	a->r = r;
	if (not_on)
		a->cpus = *not_on;
	seen = each_vector(m, fn, a);
	if (not_on)
		flush_bad(a, "there");
	if (seen)
		check_judge(r, "none of %u", seen);
	else
		check_unknown(r, "%s", why_no_vectors(m));
	free(a);
}

static void
probe_shared(const struct machine *m, struct check_result *r)
{
	if (has_topo(m, r))
		judge_vectors(m, r, find_shared, NULL);
}

static void
probe_cpu0(const struct machine *m, struct check_result *r)
{
	struct tcpx_cpuset zero;

	if (!has_topo(m, r))
		return;
	if (m->facts->cpus.count == 1) {
		check_skip(r, "there is no other CPU");
		return;
	}
	tcpx_cpuset_init(&zero);
	(void)tcpx_cpuset_add(&zero, 0);
	judge_vectors(m, r, find_in, &zero);
}

/* Our setting, which takes the plugin's variable unless it is set itself; unknown for
 * another machine. */
static const char *
binding(const struct machine *m, enum tcpx_setting setting)
{
	const char *text = m->here && m->cfg ? tcpx_cfg_str(m->cfg, setting) : NULL;

	return text && *text ? text : NULL;
}

static void
skip_bindings(const struct machine *m, struct check_result *r)
{
	check_skip(r, !m->here ? "the environment is not that machine's" :
		   m->cfg ? "no bindings are set" : "the settings are refused");
}

static void
probe_pools(const struct machine *m, struct check_result *r)
{
	static const enum tcpx_setting sets[] = { TCPX_SET_TX_BINDINGS, TCPX_SET_RX_BINDINGS };
	struct tcpx_cpuset pool;
	bool any = false;

	if (!has_topo(m, r))
		return;
	tcpx_cpuset_init(&pool);
	for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
		const char *text = binding(m, sets[i]);
		struct tcpx_binding_problems problems;
		struct tcpx_bindings b;

		if (!text || tcpx_bindings_scan(text, &b, &problems))
			continue;
		for (unsigned k = 0; k < b.count; k++)
			tcpx_cpuset_or(&pool, &b.entry[k].cpus);
		any |= b.count > 0;
		tcpx_bindings_fini(&b);
	}
	if (any)
		judge_vectors(m, r, find_in, &pool);
	else
		skip_bindings(m, r);
}

static void
probe_bindings(const struct machine *m, struct check_result *r)
{
	const char *tx = binding(m, TCPX_SET_TX_BINDINGS);
	const char *rx = binding(m, TCPX_SET_RX_BINDINGS);
	struct tcpx_machine machine;
	struct tcpx_lint lint;

	if (!tx && !rx) {
		skip_bindings(m, r);
		return;
	}
	if (tcpx_topo_machine(m->topo, &machine)) {
		check_unknown(r, "the machine cannot be read");
		return;
	}
	if (tcpx_lint_bindings(&machine, NULL, tx, rx, &lint) == 0) {
		for (unsigned i = 0; i < lint.count; i++)
			if (lint.at[i].level != TCPX_LINT_NOTE)
				check_add(r, "%s %s%s%s: %s", lint.at[i].where, lint.at[i].id,
					  *lint.at[i].nic ? " " : "", lint.at[i].nic, lint.at[i].text);
		tcpx_lint_fini(&lint);
		check_judge(r, "they fit this machine");
	} else {
		check_unknown(r, "no memory");
	}
	tcpx_machine_fini(&machine);
}

static void
probe_queues(const struct machine *m, struct check_result *r)
{
	unsigned known = 0;

	if (!has_topo(m, r))
		return;
	for (unsigned i = 0; i < m->topo->nic_count; i++) {
		const struct tcpx_topo_nic *nic = &m->topo->nics[i];
		unsigned max = tcpx_topo_queues_max(nic), cpus = m->facts->cpus.count;

		if (!is_used(m, nic) || !max)
			continue;
		known++;
		if (cpus && max > cpus)
			max = cpus; /* more would have no CPU of their own */
		if (nic->nic->queues_rx < max || nic->nic->queues_tx < max)
			check_add(r, "%s: %u receive, %u send, of %u", nic->nic->name,
				  nic->nic->queues_rx, nic->nic->queues_tx, max);
	}
	if (known)
		check_judge(r, "all that %u NIC%s can have", known, known == 1 ? "" : "s");
	else
		check_unknown(r, "no driver tells how many it can have");
}

/* With the kernel's answer plans rest on facts, else on names and a driver's order. */
static void
probe_queue_irqs(const struct machine *m, struct check_result *r)
{
	const char *why = NULL;
	unsigned told = 0, all = 0;

	if (!has_topo(m, r))
		return;
	for (unsigned i = 0; i < m->topo->nic_count; i++) {
		const struct tcpx_topo_nic *nic = &m->topo->nics[i];

		for (unsigned k = 0; k < nic->queue_count && is_used(m, nic); k++) {
			all++;
			told += !nic->queues[k].irq.why;
			if (nic->queues[k].irq.why)
				why = nic->queues[k].irq.why;
		}
	}
	if (!all)
		check_unknown(r, "no queue is known");
	else if (!why)
		check_ok(r, "all %u", told);
	else if (!told && !m->here)
		check_unknown(r, "%s", why);
	else
		check_finding(r, "%u of %u queues: %s", told, all, why);
}

static void
probe_xps(const struct machine *m, struct check_result *r)
{
	unsigned known = 0;

	if (!has_topo(m, r))
		return;
	if (m->facts->cpus.node_count == 1) {
		check_skip(r, "the machine has one NUMA node");
		return;
	}
	for (unsigned i = 0; i < m->topo->nic_count; i++) {
		const struct tcpx_topo_nic *nic = &m->topo->nics[i];
		unsigned off = 0;

		for (unsigned k = 0; k < nic->queue_count && is_used(m, nic); k++) {
			const struct tcpx_nic_queue *q = &nic->queues[k];

			if (!q->tx || q->steer.why || nic->nic->place.numa < 0)
				continue;
			known++;
			for (unsigned n = 0; n < m->facts->cpus.node_count; n++)
				off += m->facts->cpus.node[n].id == nic->nic->place.numa &&
				       !tcpx_cpuset_empty(&q->steer.cpus) &&
				       !tcpx_cpuset_overlap(&q->steer.cpus, &m->facts->cpus.node[n].cpus);
		}
		if (off)
			check_add(r, "%s: %u queues for CPUs of another node only", nic->nic->name, off);
	}
	if (known)
		check_judge(r, "all %u queues", known);
	else
		check_unknown(r, "xps_cpus of no queue can be read");
}

static void
probe_napi(const struct machine *m, struct check_result *r)
{
	unsigned pinned = 0;

	for (unsigned i = 0; i < m->topo->thread_count; i++) {
		const struct tcpx_topo_thread *t = &m->topo->threads[i];

		if (!t->cpus.why && tcpx_cpuset_count(&t->cpus.cpus) > 1)
			check_add(r, "%s", t->name);
		pinned += !t->cpus.why && tcpx_cpuset_count(&t->cpus.cpus) == 1;
	}
	if (m->topo->thread_count)
		check_judge(r, "all %u", pinned);
	else
		check_skip(r, "there are none");
}

static void
probe_moderation(const struct machine *m, struct check_result *r)
{
	unsigned known = 0;

	if (!has_topo(m, r))
		return;
	for (unsigned i = 0; i < m->topo->nic_count; i++) {
		const struct tcpx_topo_nic *nic = &m->topo->nics[i];
		const struct tcpx_maybe *usecs = &nic->set[TCPX_NICSET_RX_USECS];
		const struct tcpx_maybe *adaptive = &nic->set[TCPX_NICSET_ADAPTIVE_RX];

		if (!is_used(m, nic) || usecs->why)
			continue;
		known++;
		if (usecs->value == 0 && (adaptive->why || !adaptive->value))
			check_add(r, "%s waits for no other packet", nic->nic->name);
		else if (usecs->value > 200)
			check_add(r, "%s waits %lld us", nic->nic->name, (long long)usecs->value);
	}
	if (known)
		check_judge(r, "%u NIC%s", known, known == 1 ? "" : "s");
	else
		check_unknown(r, "no driver tells");
}

static void
probe_busy_poll(const struct machine *m, struct check_result *r)
{
	long long poll = machine_number(m, "/proc/sys/net/core/busy_poll");
	long long read = machine_number(m, "/proc/sys/net/core/busy_read");

	if (poll < 0 || read < 0)
		check_unknown(r, "/proc/sys/net/core/busy_%s cannot be read", poll < 0 ? "poll" : "read");
	else if (poll || read)
		check_finding(r, "busy_poll %lld us, busy_read %lld us", poll, read);
	else
		check_ok(r, "off");
}

const struct check checks_irq[] = {
	{ "irq-node", CHECK_WARNING, "Do NICs interrupt CPUs of their own node?", probe_node,
	  "tcpx irq plan shows where they should go, tcpx irq apply puts them there." },
	{ "irq-share", CHECK_WARNING, "Has each NIC its own CPUs for interrupts?", probe_shared,
	  "tcpx irq plan deals them out, tcpx irq apply puts them there." },
	{ "irq-cpu0", CHECK_NOTE, "Are the NICs' interrupts off CPU 0?", probe_cpu0,
	  "CPU 0 has the kernel's own work; tcpx irq plan leaves it out." },
	{ "irq-pools", CHECK_WARNING, "Are interrupts off the CPUs that send and receive?",
	  probe_pools, "tcpx irq plan --policy tail; or compare the policies by measuring." },
	{ "bindings", CHECK_ERROR, "Do the bindings fit this machine?", probe_bindings,
	  "tcpx irq plan --emit nccl prints bindings that do; tcpx irq lint tells more." },
	{ "queues", CHECK_NOTE, "Do NICs have as many queues as they can?", probe_queues,
	  "ethtool -L NIC combined COUNT (or rx and tx); place interrupts after that." },
	{ "queue-irqs", CHECK_NOTE, "Does the kernel tell the interrupt of each queue?",
	  probe_queue_irqs,
	  "The others go by names, or by their driver's order: tcpx topo --explain shows which. "
	  "Kernel 6.8 tells (netdev netlink), if the driver does." },
	{ "xps", CHECK_NOTE, "Do CPUs send by queues of their own node?", probe_xps,
	  "tcpx irq apply --xps, or write CPUs of the NIC's node to queues/tx-*/xps_cpus." },
	{ "napi-threads", CHECK_NOTE, "Are the kernel's NAPI threads pinned?", probe_napi,
	  "taskset -cp CPU PID, on the CPU of the queue's interrupt." },
	{ "moderation", CHECK_NOTE, "Do NICs collect packets before they interrupt?",
	  probe_moderation, "ethtool -C NIC adaptive-rx on, or rx-usecs 20 to 100 for bandwidth." },
	{ "busy-poll", CHECK_NOTE, "Is system-wide busy polling off?", probe_busy_poll,
	  "It is not wrong, but counts of interrupts then say nothing about traffic; compare only "
	  "runs with the same setting." },
};

const size_t checks_irq_count = ARRAY_LEN(checks_irq);
