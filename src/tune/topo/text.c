/* SPDX-License-Identifier: Apache-2.0 */
/* A topology as a picture for people. */
#include <stdlib.h>
#include <string.h>

#include "tool/out_text.h"
#include "tool/tool.h"
#include "tune/topo/view.h"

#define NAME_INDENT 18 /* of what goes on below a NIC's first line: after its name */
#define NODE_INDENT 11 /* and below a node's */
#define GPU_NICS    6   /* distances in a line */

/* Text that out_wrapped() gets whole. */
struct line {
	FILE *f;
	char *text;
	size_t len;
};

static bool
line_open(FILE *f, struct line *line)
{
	*line = (struct line){ 0 };
	line->f = open_memstream(&line->text, &line->len);
	if (!line->f)
		fprintf(f, "(no memory)\n");
	return line->f != NULL;
}

static void
line_close(FILE *f, struct line *line, int indent)
{
	fclose(line->f);
	out_wrapped(f, line->text ? line->text : "(no memory)", indent);
	free(line->text);
}

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
	fprintf(f, "  %-10s %u CPU%s, %u core%s", "online",
		topo->facts.cpus.count, topo->facts.cpus.count == 1 ? "" : "s",
		topo->facts.core_count, topo->facts.core_count == 1 ? "" : "s");
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
print_node(FILE *f, const struct tcpx_topo *topo, unsigned node)
{
	const uint8_t *distance = topo->facts.distance[node];
	const struct tcpx_maybe *kib = &topo->memory_kib[node];
	unsigned cores, l3 = count_l3(topo, topo->facts.cpus.node[node].id, &cores);
	char memory[OUT_QUANTITY];
	struct line line;

	fprintf(f, "  node %-3d ", topo->facts.cpus.node[node].id);
	if (!line_open(f, &line))
		return;
	fprintf(line.f, "%2u core%s", cores, cores == 1 ? "" : "s");
	if (l3)
		fprintf(line.f, ", %u L3 group%s", l3, l3 > 1 ? "s" : "");
	if (!kib->why)
		fprintf(line.f, ", %s", out_size((uint64_t)kib->value * 1024, memory));
	fprintf(line.f, ", CPUs ");
	print_list(line.f, &topo->facts.cpus.node[node].cpus);
	if (topo->facts.cpus.node_count > 1 && distance[0]) {
		fprintf(line.f, ", distance");
		for (unsigned j = 0; j < topo->facts.cpus.node_count; j++)
			fprintf(line.f, " %u", distance[j]);
	}
	line_close(f, &line, NODE_INDENT);
}

static void
print_nodes(FILE *f, const struct tcpx_topo *topo)
{
	title(f, "Nodes");
	if (!topo->facts.cpus.node_count)
		fprintf(f, "  none: a kernel without NUMA, or no file tells\n");
	for (unsigned i = 0; i < topo->facts.cpus.node_count; i++)
		print_node(f, topo, i);
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

/* The line below the NIC's, which has no room for them. */
static void
print_irqs(FILE *f, const struct tcpx_topo_nic *nic)
{
	struct line line;

	fprintf(f, "%*s", NAME_INDENT, "");
	if (!line_open(f, &line))
		return;
	if (nic->vectors_why)
		fprintf(line.f, "no IRQs: %s", nic->vectors_why);
	else
		print_vectors(line.f, nic);
	line_close(f, &line, NAME_INDENT);
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
	fputc('\n', f);
	print_irqs(f, nic);
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

/* To GPU_NICS NICs, from the one at @first; returns the first that is left. */
static unsigned
print_distances(FILE *f, const struct tcpx_topo *topo, unsigned first)
{
	const struct tcpx_host_nic *nics[GPU_NICS];
	unsigned count = 0, next = first;
	static const char *const words[TCPX_DISTANCES] = { "switch", "port", "node", "far", "?" };

	for (; next < topo->nic_count && (count < GPU_NICS || !topo->nics[next].nic->hardware); next++)
		if (topo->nics[next].nic->hardware)
			nics[count++] = topo->nics[next].nic;
	fprintf(f, "  %-4s %-13s %-5s", "", "", "node");
	for (unsigned i = 0; i < count; i++)
		fprintf(f, " %8s", nics[i]->ifname);
	fputc('\n', f);
	for (unsigned g = 0; g < topo->facts.gpu_count; g++) {
		const struct tcpx_host_gpu *gpu = &topo->facts.gpus[g];
		char node[16] = "?";

		if (gpu->place.numa >= 0)
			snprintf(node, sizeof(node), "%d", gpu->place.numa);
		fprintf(f, "  %-4u %-13s %-5s", g, gpu->place.pci, node);
		for (unsigned i = 0; i < count; i++)
			fprintf(f, " %8s", words[tcpx_host_distance(nics[i], gpu)]);
		fputc('\n', f);
	}
	return next;
}

static void
print_gpus(FILE *f, const struct tcpx_topo *topo)
{
	unsigned next = 0;

	title(f, "GPUs");
	if (!topo->facts.gpu_count) {
		fprintf(f, "  none on the PCI bus\n");
		return;
	}
	do
		next = print_distances(f, topo, next);
	while (next < topo->nic_count);
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
