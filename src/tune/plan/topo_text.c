/* SPDX-License-Identifier: Apache-2.0 */
/* A topology as a picture for people. */
#include <stdlib.h>
#include <string.h>

#include "tool/out_text.h"
#include "tool/tool.h"
#include "tune/plan/topo_view.h"

static void
title(FILE *f, const char *text)
{
	fprintf(f, "\n%s%s%s\n", tool_paint(f, TOOL_BOLD), text, tool_paint(f, TOOL_PLAIN));
}

static void
print_list(FILE *f, const struct tcpx_cpuset *set)
{
	char *list = topo_list(set);

	fputs(list ? list : "?", f);
	free(list);
}

static void
print_set(FILE *f, const char *name, const struct tcpx_maybe_set *set, bool explain)
{
	if (set->why && !explain)
		return;
	fprintf(f, "  %-10s ", name);
	if (set->why)
		fprintf(f, "not known: %s", set->why);
	else
		print_list(f, &set->cpus);
	fputc('\n', f);
}

static void
print_cpus(FILE *f, const struct tcpx_topo *topo, bool explain)
{
	title(f, "CPUs");
	if (!topo->facts.cpus.count) {
		fprintf(f, "  not known: no file tells which are online\n");
		return;
	}
	fprintf(f, "  %-10s %u CPUs, %u cores", "online", topo->facts.cpus.count, topo->facts.core_count);
	if (!topo->smt.why)
		fprintf(f, ", SMT %s", topo->smt.value ? "on" : "off");
	fprintf(f, ": ");
	print_list(f, &topo->facts.cpus.online);
	fputc('\n', f);
	if (!tcpx_cpuset_equal(&topo->facts.cpus.online, &topo->facts.cpus.allowed) || explain) {
		fprintf(f, "  %-10s ", "allowed");
		print_list(f, &topo->facts.cpus.allowed);
		fputc('\n', f);
	}
	if (topo->facts.isolated.why || !tcpx_cpuset_empty(&topo->facts.isolated.cpus) || explain)
		print_set(f, "isolated", &topo->facts.isolated, explain);
	if (topo->nohz_full.why || !tcpx_cpuset_empty(&topo->nohz_full.cpus) || explain)
		print_set(f, "nohz_full", &topo->nohz_full, explain);
	if (topo->offline.why || !tcpx_cpuset_empty(&topo->offline.cpus) || explain)
		print_set(f, "offline", &topo->offline, explain);
	if (explain) {
		print_set(f, "cpuset", &topo->cgroup, explain);
		if (*topo->cgroup_file)
			fprintf(f, "  %-10s as %s says\n", "", topo->cgroup_file);
		print_set(f, "IRQ mask", &topo->irq_default, explain);
	}
}

/* Number of L3 groups of a node's cores. */
static unsigned
count_l3(const struct tcpx_topo *topo, int node, unsigned *cores)
{
	unsigned groups = 0;
	int last = -1;

	*cores = 0;
	for (unsigned i = 0; i < topo->facts.core_count; i++) {
		const struct tcpx_machine_core *core = &topo->facts.cores[i];

		if (core->node != node)
			continue;
		(*cores)++;
		if (core->l3 > last) {
			groups++;
			last = core->l3;
		}
	}
	return groups;
}

static void
print_nodes(FILE *f, const struct tcpx_topo *topo)
{
	title(f, "Nodes");
	if (!topo->facts.cpus.node_count)
		fprintf(f, "  none: a kernel without NUMA, or no file tells\n");
	for (unsigned i = 0; i < topo->facts.cpus.node_count; i++) {
		const uint8_t *distance = topo->facts.distance[i];
		const struct tcpx_maybe *kib = &topo->memory_kib[i];
		unsigned cores, l3 = count_l3(topo, topo->facts.cpus.node[i].id, &cores);
		char memory[OUT_QUANTITY];

		fprintf(f, "  node %-3d %3u cores", topo->facts.cpus.node[i].id, cores);
		if (l3)
			fprintf(f, ", %u L3 group%s", l3, l3 > 1 ? "s" : "");
		if (!kib->why)
			fprintf(f, ", %s", out_size((uint64_t)kib->value * 1024, memory));
		fprintf(f, ", CPUs ");
		print_list(f, &topo->facts.cpus.node[i].cpus);
		if (topo->facts.cpus.node_count > 1 && distance[0]) {
			fprintf(f, ", distance");
			for (unsigned j = 0; j < topo->facts.cpus.node_count; j++)
				fprintf(f, " %u", distance[j]);
		}
		fputc('\n', f);
	}
}

/* ---- NICs ------------------------------------------------------------------------- */

static void
print_vectors(FILE *f, const struct tcpx_topo_nic *nic)
{
	unsigned kinds[TCPX_VECTOR_KINDS] = { 0 }, sources[TCPX_VECTOR_SOURCES] = { 0 };
	unsigned fixed = 0, said = 0;
	struct tcpx_cpuset cpus;
	bool known = false;

	tcpx_cpuset_init(&cpus);
	for (unsigned i = 0; i < nic->vector_count; i++) {
		const struct tcpx_nic_vector *v = &nic->vectors[i];

		kinds[v->v.kind]++;
		sources[v->v.source]++;
		fixed += !v->v.movable;
		known |= !v->effective.why;
		if (!v->effective.why)
			tcpx_cpuset_or(&cpus, &v->effective.cpus);
	}
	fprintf(f, "%u IRQs:", nic->vector_count);
	for (unsigned i = 0; i < TCPX_VECTOR_KINDS; i++)
		if (kinds[i])
			fprintf(f, "%s %u %s", said++ ? "," : "", kinds[i],
				tcpx_vector_kind_name(i));
	for (unsigned i = 0; i < TCPX_VECTOR_SOURCES; i++)
		if (sources[i])
			fprintf(f, " (%u by %s)", sources[i], tcpx_vector_source_name(i));
	if (fixed)
		fprintf(f, ", %u not to be moved", fixed);
	if (known) {
		fprintf(f, ", on CPUs ");
		print_list(f, &cpus);
	}
}

static void
print_each_vector(FILE *f, const struct tcpx_topo_nic *nic)
{
	for (unsigned i = 0; i < nic->vector_count; i++) {
		const struct tcpx_nic_vector *v = &nic->vectors[i];
		char queue[16] = "-";

		if (v->v.queue >= 0)
			snprintf(queue, sizeof(queue), "%d", v->v.queue);
		fprintf(f, "    IRQ %-5u %-7s %4s  by %-6s ", v->v.irq,
			tcpx_vector_kind_name(v->v.kind), queue,
			tcpx_vector_source_name(v->v.source));
		if (v->effective.why)
			fprintf(f, " fires on ? (%s)", v->effective.why);
		else {
			fprintf(f, " fires on ");
			print_list(f, &v->effective.cpus);
		}
		if (!v->requested.why) {
			fprintf(f, " of ");
			print_list(f, &v->requested.cpus);
		}
		fprintf(f, "%s  ", v->v.movable ? "" : ", managed by the kernel");
		out_plain(f, *v->v.name ? v->v.name : "(nobody has asked for it)");
		fputc('\n', f);
	}
}

static void
print_settings(FILE *f, const struct tcpx_topo_nic *nic)
{
	for (unsigned i = 0; i < TCPX_NICSETS; i++) {
		if (nic->set[i].why)
			fprintf(f, "    %-26s not known: %s\n", tcpx_nicset_name(i),
				nic->set[i].why);
		else
			fprintf(f, "    %-26s %lld\n", tcpx_nicset_name(i),
				(long long)nic->set[i].value);
	}
}

static void
print_nic(FILE *f, const struct tcpx_topo_nic *nic, bool explain)
{
	const struct tcpx_host_place *place = &nic->nic->place;
	unsigned max = tcpx_topo_queues_max(nic);
	char node[24] = "no node";

	if (place->numa >= 0)
		snprintf(node, sizeof(node), "node %d", place->numa);
	fprintf(f, "  %s", tool_paint(f, nic->nic->up ? TOOL_GREEN : TOOL_DIM));
	out_plain(f, nic->nic->ifname);
	fprintf(f, "%s%*s %-8s %-10s %-12s  %u/%u queues", tool_paint(f, TOOL_PLAIN),
		15 - (int)strlen(nic->nic->ifname), "", node,
		*nic->nic->driver ? nic->nic->driver : "-", *place->pci ? place->pci : "-",
		nic->nic->queues_rx, nic->nic->queues_tx);
	if (max)
		fprintf(f, " of %u", max);
	fprintf(f, ", ");
	if (nic->vectors_why)
		fprintf(f, "no IRQs: %s", nic->vectors_why);
	else
		print_vectors(f, nic);
	fputc('\n', f);
	if (!explain)
		return;
	fprintf(f, "    node from: %s; PCI driver: %s\n",
		tcpx_host_numa_source_name(place->numa_source),
		*nic->pci_driver ? nic->pci_driver : "none");
	print_each_vector(f, nic);
	print_settings(f, nic);
}

static void
print_nics(FILE *f, const struct tcpx_topo *topo, bool explain)
{
	title(f, "NICs");
	if (!topo->nic_count)
		fprintf(f, "  none\n");
	for (unsigned i = 0; i < topo->nic_count; i++)
		print_nic(f, &topo->nics[i], explain);
	for (unsigned i = 0; i < topo->thread_count; i++) {
		fprintf(f, "  %s%-15s%s thread %ld, may run on ", tool_paint(f, TOOL_DIM), "",
			tool_paint(f, TOOL_PLAIN), topo->threads[i].pid);
		print_list(f, &topo->threads[i].cpus.cpus);
		fprintf(f, ": ");
		out_plain(f, topo->threads[i].name);
		fputc('\n', f);
	}
}

/* ---- GPUs ------------------------------------------------------------------------- */

static void
print_gpus(FILE *f, const struct tcpx_topo *topo)
{
	static const char *const words[TCPX_DISTANCES] = { "switch", "port", "node", "far", "?" };

	title(f, "GPUs");
	if (!topo->facts.gpu_count) {
		fprintf(f, "  none on the PCI bus\n");
		return;
	}
	fprintf(f, "  %-4s %-13s %-5s", "", "", "node");
	for (unsigned i = 0; i < topo->nic_count; i++)
		if (topo->nics[i].nic->hardware)
			fprintf(f, " %8s", topo->nics[i].nic->ifname);
	fputc('\n', f);
	for (unsigned g = 0; g < topo->facts.gpu_count; g++) {
		char node[16] = "?";

		if (topo->facts.gpus[g].place.numa >= 0)
			snprintf(node, sizeof(node), "%d", topo->facts.gpus[g].place.numa);
		fprintf(f, "  %-4u %-13s %-5s", g, topo->facts.gpus[g].place.pci, node);
		for (unsigned i = 0; i < topo->nic_count; i++)
			if (topo->nics[i].nic->hardware)
				fprintf(f, " %8s", words[tcpx_host_distance(topo->nics[i].nic,
									    &topo->facts.gpus[g])]);
		fputc('\n', f);
	}
	fprintf(f, "  switch: below one PCI switch; port: one root port; node: one NUMA node\n");
}

void
topo_print(FILE *f, const struct tcpx_topo *topo, bool explain)
{
	fprintf(f, "%-12s %s%s\n", "machine", strcmp(topo->root, "/") ? topo->root : "this one",
		topo->fixture ? " (not a real one)" : "");
	fprintf(f, "%-12s ", "kernel");
	out_plain(f, *topo->kernel ? topo->kernel : "not known");
	fprintf(f, "\n%-12s ", "irqbalance");
	if (topo->irqbalance.why)
		fprintf(f, "%s\n", topo->irqbalance.why);
	else
		fprintf(f, "runs (%lld): it moves interrupts\n", (long long)topo->irqbalance.value);
	print_cpus(f, topo, explain);
	print_nodes(f, topo);
	print_nics(f, topo, explain);
	print_gpus(f, topo);
}
