/* SPDX-License-Identifier: Apache-2.0 */
/* Interrupts of a tree, and the kernel's tables of counts. */
#include <stdio.h>
#include <string.h>

#include "machine/tree_file.h"

int
tcpx_tree_irq_cpu(const struct tree *t, const struct tcpx_machine_vector *v)
{
	const struct tcpx_machine_nic *nic = &t->m->nics[v->nic];
	struct tcpx_cpuset cpus = t->m->online;
	unsigned count, place;
	int cpu;

	if (nic->place.numa >= 0)
		tcpx_machine_node_cpus(t->m, nic->place.numa, &cpus);
	if (tcpx_cpuset_empty(&cpus))
		cpus = t->m->online;
	count = tcpx_cpuset_count(&cpus);
	if (count == 0)
		return -1;
	place = v->kind == TCPX_VECTOR_MGMT || v->queue < 0 ? 0 : (unsigned)v->queue + 1;
	cpu = tcpx_cpuset_first(&cpus);
	for (place %= count; place > 0; place--)
		cpu = tcpx_cpuset_next(&cpus, cpu);
	return cpu;
}

uint32_t
tcpx_tree_count(unsigned irq, int cpu, int effective)
{
	return cpu == effective ? irq * 1000 + (unsigned)cpu : 0;
}

static const char *
chip_of(const struct tree *t, const struct tcpx_machine_vector *v, char *buf, size_t cap)
{
	const char *pci = t->m->nics[v->nic].place.pci;

	if (*v->chip)
		return v->chip;
	snprintf(buf, cap, *pci ? "PCI-MSIX-%s" : "PCI-MSI", pci);
	return buf;
}

/* The name of its action; "" without an owner: only the driver's order is known. */
static const char *
name_of(const struct tcpx_machine_vector *v)
{
	return v->source == TCPX_VECTOR_ORDER ? "" : v->name;
}

static void
write_irq(struct tree *t, const struct tcpx_machine_vector *v)
{
	int effective = tcpx_tree_irq_cpu(t, v);
	struct tcpx_text counts = { .at = NULL };
	struct tcpx_cpuset one;
	char chip[64], path[64];

	tcpx_cpuset_init(&one);
	if (effective >= 0)
		tcpx_cpuset_add(&one, effective);
	tcpx_tree_put_list(t, &t->m->online, "proc/irq/%u/smp_affinity_list", v->irq);
	tcpx_tree_put_mask(t, &t->m->online, "proc/irq/%u/smp_affinity", v->irq);
	tcpx_tree_put_list(t, &one, "proc/irq/%u/effective_affinity_list", v->irq);
	tcpx_tree_put_mask(t, &one, "proc/irq/%u/effective_affinity", v->irq);
	tcpx_cpuset_init(&one);
	tcpx_tree_put_mask(t, &one, "proc/irq/%u/affinity_hint", v->irq);
	tcpx_tree_put(t, "-1", "proc/irq/%u/node", v->irq);
	if (!v->movable) {
		tcpx_tree_mode(t, 0444, "proc/irq/%u/smp_affinity_list", v->irq);
		tcpx_tree_mode(t, 0444, "proc/irq/%u/smp_affinity", v->irq);
	}
	tcpx_tree_put(t, name_of(v), "sys/kernel/irq/%u/actions", v->irq);
	tcpx_tree_put(t, chip_of(t, v, chip, sizeof(chip)), "sys/kernel/irq/%u/chip_name", v->irq);
	if (v->hwirq >= 0)
		tcpx_tree_put_number(t, v->hwirq, "sys/kernel/irq/%u/hwirq", v->irq);
	for (unsigned cpu = 0; cpu < t->cpu_bits; cpu++)
		tcpx_text_add(&counts, "%s%u", cpu ? "," : "",
			      tcpx_tree_count(v->irq, (int)cpu, effective));
	tcpx_text_add(&counts, "\n");
	snprintf(path, sizeof(path), "sys/kernel/irq/%u/per_cpu_count", v->irq);
	tcpx_tree_put_text(t, &counts, path);
}

static void
write_interrupts(struct tree *t)
{
	static const char *const rows[][2] = {
		{ "NMI", "Non-maskable interrupts" }, { "LOC", "Local timer interrupts" },
		{ "RES", "Rescheduling interrupts" }, { "CAL", "Function call interrupts" },
	};
	struct tcpx_text s = { .at = NULL };
	char chip[64];

	tcpx_text_add(&s, "     ");
	tcpx_cpuset_for_each(cpu, &t->m->online)
		tcpx_text_add(&s, " %*s%-*d", 3, "CPU", 7, cpu);
	tcpx_text_add(&s, "\n");
	for (unsigned i = 0; i < t->m->vector_count; i++) {
		const struct tcpx_machine_vector *v = &t->m->vectors[i];
		int effective = tcpx_tree_irq_cpu(t, v);

		if (!*name_of(v))
			continue; /* the kernel leaves out vectors without an action */
		tcpx_text_add(&s, "%4u:", v->irq);
		tcpx_cpuset_for_each(cpu, &t->m->online)
			tcpx_text_add(&s, " %10u", tcpx_tree_count(v->irq, cpu, effective));
		tcpx_text_add(&s, " %s ", chip_of(t, v, chip, sizeof(chip)));
		if (v->hwirq >= 0)
			tcpx_text_add(&s, "%4lld-edge", (long long)v->hwirq);
		tcpx_text_add(&s, "      %s\n", name_of(v));
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tcpx_text_add(&s, "%4s:", rows[i][0]);
		tcpx_cpuset_for_each(cpu, &t->m->online)
			tcpx_text_add(&s, " %10u", (unsigned)(i * 100) + (unsigned)cpu);
		tcpx_text_add(&s, "   %s\n", rows[i][1]);
	}
	tcpx_text_add(&s, " ERR: %10u\n MIS: %10u\n", 0, 0);
	tcpx_tree_put_text(t, &s, "proc/interrupts");
}

static void
write_counts(struct tree *t)
{
	static const char *const rows[] = { "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL",
					    "TASKLET", "SCHED", "HRTIMER", "RCU" };
	struct tcpx_text soft = { .at = NULL }, stat = { .at = NULL }, net = { .at = NULL };

	tcpx_text_add(&soft, "                   ");
	tcpx_cpuset_for_each(cpu, &t->m->online)
		tcpx_text_add(&soft, " CPU%-7d", cpu);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		tcpx_text_add(&soft, "\n%12s:", rows[i]);
		tcpx_cpuset_for_each(cpu, &t->m->online)
			tcpx_text_add(&soft, " %10u", (unsigned)i * 10 + (unsigned)cpu);
	}
	tcpx_text_add(&soft, "\n");
	tcpx_text_add(&stat, "cpu  1 1 1 1 1 1 1 0 0 0\n");
	tcpx_cpuset_for_each(cpu, &t->m->online) {
		tcpx_text_add(&stat, "cpu%d %d 0 200 30000 5 0 7 0 0 0\n", cpu, 100 + cpu);
		tcpx_text_add(&net, "%08x 00000000 00000001 00000000 00000000 00000000 00000000 "
			      "00000000 00000000 00000000 00000000 00000000 %08x 00000000 "
			      "00000000\n", 1000 + (unsigned)cpu, (unsigned)cpu);
	}
	tcpx_text_add(&stat, "ctxt 1\nbtime 1700000000\nprocesses 1\n");
	tcpx_tree_put_text(t, &soft, "proc/softirqs");
	tcpx_tree_put_text(t, &stat, "proc/stat");
	tcpx_tree_put_text(t, &net, "proc/net/softnet_stat");
}

void
tcpx_tree_write_irqs(struct tree *t)
{
	if (tcpx_cpuset_empty(&t->m->online))
		return; /* a machine that hides its CPUs hides these, too */
	for (unsigned i = 0; i < t->m->vector_count && t->rc == 0; i++)
		write_irq(t, &t->m->vectors[i]);
	write_interrupts(t);
	write_counts(t);
}
