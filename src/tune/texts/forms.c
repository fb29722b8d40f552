/* SPDX-License-Identifier: Apache-2.0 */
/* Plans as texts for the plugin, a shell, systemd and Slurm; and their reasons. */
#include "tune/texts/forms.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "host/bindings.h"

#define TX_NAME "NCCL_GPUDIRECTTCPX_TX_BINDINGS"
#define RX_NAME "NCCL_GPUDIRECTTCPX_RX_BINDINGS"

int
tcpx_plan_bindings(const struct tcpx_plan *p, bool rx, char **text)
{
	struct tcpx_bindings b = { 0 };
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < p->nic_count; i++) {
		const struct tcpx_plan_group *g = &p->groups[p->nics[i].group];

		rc = tcpx_bindings_add(&b, p->nics[i].name, rx ? &g->rx : &g->tx);
		if (rc == -EINVAL)
			rc = tcpx_fail(TCPX_SUB_HOST, rc, "bindings cannot name the NIC \"%s\"",
				       p->nics[i].name);
	}
	if (rc == 0)
		rc = tcpx_bindings_format(&b, text);
	tcpx_bindings_fini(&b);
	return rc;
}

static void
put_cpus(struct tcpx_text *t, const struct tcpx_cpuset *set)
{
	int n = 0;

	for (int first = tcpx_cpuset_first(set), last; first >= 0;
	     first = tcpx_cpuset_next(set, last), n++) {
		for (last = first; tcpx_cpuset_has(set, last + 1); last++)
			;
		tcpx_text_add(t, last > first ? "%s%d-%d" : "%s%d", n ? "," : "", first, last);
	}
	if (!n)
		tcpx_text_add(t, "none");
}

static void
put_application(struct tcpx_text *t, const struct tcpx_plan *p)
{
	bool any = false;

	for (unsigned i = 0; i < p->group_count; i++) {
		if (tcpx_cpuset_empty(&p->groups[i].head))
			continue;
		if (any)
			tcpx_text_add(t, ",");
		put_cpus(t, &p->groups[i].head);
		any = true;
	}
}

int
tcpx_plan_application(const struct tcpx_plan *p, char **text)
{
	struct tcpx_text t = { 0 };

	put_application(&t, p);
	return tcpx_text_detach(&t, text);
}

/* ---- forms ---- */

/* Both bindings and the application's set. */
struct words {
	char *tx, *rx, *application;
};

static void
put_writes(struct tcpx_text *t, const struct tcpx_plan *p)
{
	for (unsigned i = 0; i < p->irq_count; i++) {
		const struct tcpx_plan_irq *irq = &p->irqs[i];

		if (irq->irq < 0)
			continue;
		if (!irq->movable)
			tcpx_text_add(t, "# the kernel keeps this one: ");
		tcpx_text_add(t, "echo %d >/proc/irq/%" PRId64 "/smp_affinity_list # %s %s %d\n",
			      irq->cpu, irq->irq, p->nics[irq->nic].name,
			      tcpx_vector_kind_name(irq->kind), irq->queue);
	}
}

static void
put_nccl(struct tcpx_text *t, const struct tcpx_plan *p, const struct words *w)
{
	tcpx_text_add(t, TX_NAME "=%s\n" RX_NAME "=%s\n", w->tx, w->rx);
}

static void
put_sh(struct tcpx_text *t, const struct tcpx_plan *p, const struct words *w)
{
	tcpx_text_add(t, "#!/bin/sh\n# CPUs of %s, interrupts by policy %s\n",
		      *p->machine ? p->machine : "this machine",
		      tcpx_irq_policy_name(p->options.policy));
	tcpx_text_add(t, "export " TX_NAME "='%s'\nexport " RX_NAME "='%s'\n", w->tx, w->rx);
	if (*w->application)
		tcpx_text_add(t, "# the application: taskset -c %s COMMAND\n", w->application);
	put_writes(t, p);
}

static void
put_systemd(struct tcpx_text *t, const struct tcpx_plan *p, const struct words *w)
{
	tcpx_text_add(t, "[Service]\nEnvironment=\"" TX_NAME "=%s\"\nEnvironment=\"" RX_NAME
		      "=%s\"\n", w->tx, w->rx);
	/* the service's mask binds its threads, too, so it has all CPUs of the plan */
	tcpx_text_add(t, "CPUAffinity=");
	for (unsigned i = 0; i < p->group_count; i++) {
		tcpx_text_add(t, "%s", i ? " " : "");
		put_cpus(t, &p->groups[i].pool);
	}
	tcpx_text_add(t, "\n");
}

static void
put_slurm(struct tcpx_text *t, const struct tcpx_plan *p, const struct words *w)
{
	tcpx_text_add(t, "#SBATCH --exclusive\nexport SLURM_CPU_BIND=none\nexport " TX_NAME
		      "='%s'\nexport " RX_NAME "='%s'\n", w->tx, w->rx);
	if (*w->application)
		tcpx_text_add(t, "srun --cpu-bind=none taskset -c %s \"$@\"\n", w->application);
}

int
tcpx_plan_emit(const struct tcpx_plan *p, enum tcpx_plan_form form, char **text)
{
	static void (*const put[])(struct tcpx_text *t, const struct tcpx_plan *p,
				   const struct words *w) = {
		[TCPX_PLAN_NCCL] = put_nccl, [TCPX_PLAN_SH] = put_sh,
		[TCPX_PLAN_SYSTEMD] = put_systemd, [TCPX_PLAN_SLURM] = put_slurm,
	};
	struct words w = { NULL, NULL, NULL };
	struct tcpx_text t = { 0 };
	int rc = tcpx_plan_bindings(p, false, &w.tx);

	rc = rc ? rc : tcpx_plan_bindings(p, true, &w.rx);
	rc = rc ? rc : tcpx_plan_application(p, &w.application);
	if (rc == 0) {
		put[form](&t, p, &w);
		rc = tcpx_text_detach(&t, text);
	}
	free(w.tx);
	free(w.rx);
	free(w.application);
	return rc;
}

/* ---- why ---- */

static const char *
plural(unsigned n)
{
	return n == 1 ? "" : "s";
}

static void
explain_head(struct tcpx_text *t, const struct tcpx_plan *p, const struct tcpx_plan_group *g)
{
	tcpx_text_add(t, "head ");
	put_cpus(t, &g->head);
	if (p->options.head >= 0)
		tcpx_text_add(t, ": %u core%s, of the %d asked for\n", g->head_cores,
			      plural(g->head_cores), p->options.head);
	else if (g->gpus)
		tcpx_text_add(t, ": %u core%s for the application, 2 for each of %u GPU%s, no more "
			      "than a quarter of %u\n", g->head_cores, plural(g->head_cores),
			      g->gpus, plural(g->gpus), g->cores);
	else
		tcpx_text_add(t, ": %u core%s for the application: no GPU is near%s\n",
			      g->head_cores, plural(g->head_cores),
			      g->cores < 8 ? ", and fewer than 8 cores spare none"
					   : ", but the first core is busy");
}

static void
explain_tail(struct tcpx_text *t, const struct tcpx_plan *p, const struct tcpx_plan_group *g)
{
	tcpx_text_add(t, "tail ");
	put_cpus(t, &g->tail);
	if (p->options.tail >= 0)
		tcpx_text_add(t, ": %u core%s, of the %d asked for\n", g->tail_cores,
			      plural(g->tail_cores), p->options.tail);
	else
		tcpx_text_add(t, ": %u core%s for interrupts, one for each of a NIC's %u RX "
			      "queue%s, no more than a third of %u\n", g->tail_cores,
			      plural(g->tail_cores), g->queues, plural(g->queues), g->cores);
}

int
tcpx_plan_explain(const struct tcpx_plan *p, unsigned at, char **text)
{
	const struct tcpx_plan_group *g = &p->groups[at];
	unsigned workers = g->tx_cores + g->rx_cores;
	struct tcpx_text t = { 0 };

	tcpx_text_add(&t, "pool ");
	put_cpus(&t, &g->pool);
	tcpx_text_add(&t, ": %u core%s %s %d, for", g->cores, plural(g->cores),
		      g->node < 0 ? "of the machine, node" : "of node", g->node);
	for (unsigned i = 0; i < p->nic_count; i++)
		if (p->nics[i].group == at)
			tcpx_text_add(&t, " %s", p->nics[i].name);
	tcpx_text_add(&t, "\n");
	if (!(g->flags & TCPX_PLAN_SHARED)) {
		explain_head(&t, p, g);
		tcpx_text_add(&t, "tx ");
		put_cpus(&t, &g->tx);
		tcpx_text_add(&t, ": half of the %u core%s that are left\n", workers,
			      plural(workers));
		tcpx_text_add(&t, "rx ");
		put_cpus(&t, &g->rx);
		tcpx_text_add(&t, ": the other half%s\n", g->rx_cores > g->tx_cores
			      ? ", and the odd core, since receiving is more work" : "");
		explain_tail(&t, p, g);
	}
	for (unsigned bit = 0; bit < TCPX_PLAN_FLAGS; bit++)
		if (g->flags & 1u << bit)
			tcpx_text_add(&t, "note: %s\n", tcpx_plan_flag_text(bit));
	return tcpx_text_detach(&t, text);
}

size_t
tcpx_plan_explain_irq(const struct tcpx_plan *p, const struct tcpx_plan_irq *irq, char *buf,
		      size_t cap)
{
	const struct tcpx_plan_nic *nic = &p->nics[irq->nic];
	const struct tcpx_plan_group *g = &p->groups[nic->group];
	unsigned cores = g->tail_cores ? g->tail_cores : g->rx_cores;
	unsigned queue = (unsigned)irq->queue;
	int n;

	switch (p->options.policy) {
	case TCPX_IRQ_TAIL:
		n = snprintf(buf, cap, "queue %u on core %u of %u of the %s, as NIC %u of the group",
			     queue, queue % cores, cores, g->tail_cores ? "tail" : "receivers",
			     nic->index);
		break;
	case TCPX_IRQ_COLOCATE:
		n = snprintf(buf, cap, "a CPU that %s", irq->kind == TCPX_VECTOR_TX ? "sends"
								: "receives");
		break;
	case TCPX_IRQ_SPREAD:
		n = snprintf(buf, cap, "the next of all %u cores of the group", g->cores);
		break;
	case TCPX_IRQ_REMOTE:
		n = snprintf(buf, cap, "a last core of another node: a control that should be worse");
		break;
	default:
		n = snprintf(buf, cap, "left as it is");
		break;
	}
	return n < 0 ? 0 : (size_t)n;
}

/* ---- names ---- */

static const char *const policy_names[TCPX_IRQ_POLICIES] = {
	[TCPX_IRQ_TAIL] = "tail",     [TCPX_IRQ_KEEP] = "keep", [TCPX_IRQ_COLOCATE] = "colocate",
	[TCPX_IRQ_SPREAD] = "spread", [TCPX_IRQ_REMOTE] = "remote",
};

const char *
tcpx_irq_policy_name(enum tcpx_irq_policy policy)
{
	return (unsigned)policy < TCPX_IRQ_POLICIES ? policy_names[policy] : "?";
}

int
tcpx_irq_policy_parse(const char *name, enum tcpx_irq_policy *policy)
{
	for (unsigned i = 0; i < TCPX_IRQ_POLICIES; i++)
		if (!strcmp(name, policy_names[i])) {
			*policy = (enum tcpx_irq_policy)i;
			return 0;
		}
	return -EINVAL;
}

static const struct {
	const char *name, *text;
} flags[TCPX_PLAN_FLAGS] = {
	{ "shared", "one core does everything" },
	{ "no-node", "the node of a NIC is unknown: it is with the NIC that is next to it on PCI, or on all nodes" },
	{ "off-node", "fewer than two cores of a NIC's node may be used: it is on the nearest node that has them, or on all" },
	{ "partial", "some CPUs of these cores may not be used" },
	{ "not-sliced", "fewer than 2 cores for each NIC: they share" },
	{ "shrunk", "fewer cores than were asked for: workers need 2" },
	{ "isolated", "isolated CPUs were left out" },
	{ "small", "small cores are left to the application: no queue is served there" },
	{ "on-small", "fewer than two large cores for each NIC or group may be used: small ones send or receive" },
};

const char *
tcpx_plan_flag_name(unsigned bit)
{
	return bit < TCPX_PLAN_FLAGS ? flags[bit].name : "?";
}

const char *
tcpx_plan_flag_text(unsigned bit)
{
	return bit < TCPX_PLAN_FLAGS ? flags[bit].text : "?";
}
