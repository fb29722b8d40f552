/* SPDX-License-Identifier: Apache-2.0 */
/* A topology as a picture for people. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "tool/json_file.h"
#include "tool/out_text.h"
#include "tool/tool.h"
#include "tune/topo/view.h"

#define NIC_COLUMNS "%9s %6s %7s %4s %-12s %s\n" /* speed, MTU, queues, node, driver, PCI */
#define NODE_INDENT 11 /* of what goes on below a node's first line */
#define GPU_NICS    6  /* distances in a line                       */

void
topo_print_title(FILE *f, const char *title)
{
	fprintf(f, "\n%s%s%s\n", tool_paint(f, TOOL_BOLD), title, tool_paint(f, TOOL_PLAIN));
}

void
topo_print_list(FILE *f, const struct tcpx_cpuset *set)
{
	char *list = tool_cpu_list(set);

	fputs(*list ? list : "none", f);
	free(list);
}

static void
add_list(struct tcpx_text *text, const char *before, const struct tcpx_cpuset *set)
{
	char *list = tool_cpu_list(set);

	tcpx_text_add(text, "%s%s", before, *list ? list : "none");
	free(list);
}

static void
print_text(FILE *f, struct tcpx_text *text, int indent)
{
	out_wrapped(f, text->bad ? "(no memory)" : text->at, indent);
	tcpx_text_drop(text);
}

/* Prints a set of CPUs; without @explain only one that is known and not empty. */
static void
print_set(FILE *f, const char *name, const struct tcpx_maybe_set *set, bool explain)
{
	if (!explain && (set->why || tcpx_cpuset_empty(&set->cpus)))
		return;
	fprintf(f, "  %-10s ", name);
	if (set->why)
		fprintf(f, "not known: %s", set->why);
	else
		topo_print_list(f, &set->cpus);
	fputc('\n', f);
}

static void
print_cpus(FILE *f, const struct tcpx_topo *topo, bool explain)
{
	const struct tcpx_host_cpus *cpus = &topo->facts.cpus;

	if (!cpus->count) {
		fprintf(f, "  not known: no file tells which are online\n");
		return;
	}
	fprintf(f, "  %-10s %u CPU%s, %u core%s", "online", cpus->count,
		cpus->count == 1 ? "" : "s", topo->facts.core_count,
		topo->facts.core_count == 1 ? "" : "s");
	if (!topo->smt.why)
		fprintf(f, ", SMT %s", topo->smt.value ? "on" : "off");
	fprintf(f, ": ");
	topo_print_list(f, &cpus->online);
	fputc('\n', f);
	if (!tcpx_cpuset_equal(&cpus->online, &cpus->allowed) || explain) {
		fprintf(f, "  %-10s ", "allowed");
		topo_print_list(f, &cpus->allowed);
		fputc('\n', f);
	}
	print_set(f, "isolated", &topo->facts.isolated, explain);
	print_set(f, "nohz_full", &topo->nohz_full, explain);
	print_set(f, "offline", &topo->offline, explain);
	if (!explain)
		return;
	print_set(f, "cpuset", &topo->cgroup, explain);
	if (*topo->cgroup_file)
		fprintf(f, "  %-10s as %s says\n", "", topo->cgroup_file);
	print_set(f, "IRQ mask", &topo->irq_default, explain);
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
	unsigned nodes = topo->facts.cpus.node_count;
	struct tcpx_text text = { .at = NULL };
	char memory[OUT_QUANTITY];

	tcpx_text_add(&text, "%2u core%s", cores, cores == 1 ? "" : "s");
	if (l3)
		tcpx_text_add(&text, ", %u L3 group%s", l3, l3 > 1 ? "s" : "");
	if (!kib->why)
		tcpx_text_add(&text, ", %s", out_size((uint64_t)kib->value * 1024, memory));
	add_list(&text, ", CPUs ", &topo->facts.cpus.node[node].cpus);
	for (unsigned j = 0; nodes > 1 && distance[0] && j < nodes; j++)
		tcpx_text_add(&text, "%s %u", j ? "" : ", distance", distance[j]);
	fprintf(f, "  node %-3d ", topo->facts.cpus.node[node].id);
	print_text(f, &text, NODE_INDENT);
}

void
topo_print_cpus(FILE *f, const struct tcpx_topo *topo, bool explain)
{
	topo_print_title(f, "CPUs");
	print_cpus(f, topo, explain);
	topo_print_title(f, "Nodes");
	if (!topo->facts.cpus.node_count)
		fprintf(f, "  none: a kernel without NUMA, or no file tells\n");
	for (unsigned i = 0; i < topo->facts.cpus.node_count; i++)
		print_node(f, topo, i);
}

/* ---- NICs ------------------------------------------------------------------------- */

static void
add_vectors(struct tcpx_text *text, const struct tcpx_topo_nic *nic)
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
	tcpx_text_add(text, "%u IRQs:", nic->vector_count);
	for (unsigned i = 0; i < TCPX_VECTOR_KINDS; i++)
		if (kinds[i])
			tcpx_text_add(text, "%s %u %s", said++ ? "," : "", kinds[i],
				      tcpx_vector_kind_name(i));
	for (unsigned i = 0; i < TCPX_VECTOR_SOURCES; i++)
		if (sources[i])
			tcpx_text_add(text, " (%u by %s)", sources[i],
				      tcpx_vector_source_name(i));
	if (fixed)
		tcpx_text_add(text, ", %u not to be moved", fixed);
	if (known)
		add_list(text, ", on CPUs ", &cpus);
}

/* The line below the NIC's, which has no room for them. */
static void
print_irqs(FILE *f, const struct tcpx_topo_nic *nic)
{
	unsigned max = tcpx_topo_queues_max(nic);
	struct tcpx_text text = { .at = NULL };

	if (max)
		tcpx_text_add(&text, "at most %u queue%s; ", max, max == 1 ? "" : "s");
	if (nic->vectors_why)
		tcpx_text_add(&text, "no IRQs: %s", nic->vectors_why);
	else
		add_vectors(&text, nic);
	fprintf(f, "%*s", NIC_INDENT, "");
	print_text(f, &text, NIC_INDENT);
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
			topo_print_list(f, &v->effective.cpus);
		}
		if (!v->requested.why) {
			fprintf(f, " of ");
			topo_print_list(f, &v->requested.cpus);
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

void
topo_print_nic_head(FILE *f, const char *first)
{
	fprintf(f, "  %-4s %-15s " NIC_COLUMNS, first, "name", "speed", "MTU", "rx/tx", "node",
		"driver", "PCI");
}

void
topo_print_nic(FILE *f, const struct tcpx_host_nic *nic, const char *first, bool good)
{
	char speed[32] = "-", mtu[16] = "-", queues[32] = "-", node[16] = "-";

	if (nic->speed_mbps)
		snprintf(speed, sizeof(speed), "%.*f Gb/s", nic->speed_mbps % 1000 ? 1 : 0,
			 nic->speed_mbps / 1e3);
	if (nic->mtu)
		snprintf(mtu, sizeof(mtu), "%u", nic->mtu);
	if (nic->queues_rx || nic->queues_tx)
		snprintf(queues, sizeof(queues), "%u/%u", nic->queues_rx, nic->queues_tx);
	if (nic->place.numa >= 0)
		snprintf(node, sizeof(node), "%d", nic->place.numa);
	fprintf(f, "  %s%-4s%s ", tool_paint(f, good ? TOOL_GREEN : TOOL_DIM), first,
		tool_paint(f, TOOL_PLAIN));
	out_plain(f, nic->ifname);
	fprintf(f, "%*s " NIC_COLUMNS, 15 - (int)strlen(nic->ifname), "", speed, mtu, queues,
		node, *nic->driver ? nic->driver : "-",
		*nic->place.pci ? nic->place.pci : "-");
}

static void
print_nic(FILE *f, const struct tcpx_topo_nic *nic, bool explain)
{
	topo_print_nic(f, nic->nic, nic->nic->up ? "up" : "down", nic->nic->up);
	print_irqs(f, nic);
	if (!explain)
		return;
	fprintf(f, "    node from: %s; PCI driver: %s\n",
		tcpx_host_numa_source_name(nic->nic->place.numa_source),
		*nic->pci_driver ? nic->pci_driver : "none");
	print_each_vector(f, nic);
	print_settings(f, nic);
}

static void
print_nics(FILE *f, const struct tcpx_topo *topo, bool explain)
{
	topo_print_title(f, "NICs");
	if (topo->nic_count)
		topo_print_nic_head(f, "link");
	else
		fprintf(f, "  none\n");
	for (unsigned i = 0; i < topo->nic_count; i++)
		print_nic(f, &topo->nics[i], explain);
	for (unsigned i = 0; i < topo->thread_count; i++) {
		fprintf(f, "  %s%-15s%s thread %ld, may run on ", tool_paint(f, TOOL_DIM), "",
			tool_paint(f, TOOL_PLAIN), topo->threads[i].pid);
		topo_print_list(f, &topo->threads[i].cpus.cpus);
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
	static const char *const words[] = { "switch", "port", "node", "far", "?" };

	for (; next < topo->nic_count && count < GPU_NICS; next++)
		if (topo->nics[next].nic->hardware)
			nics[count++] = topo->nics[next].nic;
	while (next < topo->nic_count && !topo->nics[next].nic->hardware)
		next++;
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

void
topo_print_gpus(FILE *f, const struct tcpx_topo *topo)
{
	unsigned next = 0;

	topo_print_title(f, "GPUs");
	if (!topo->facts.gpu_count) {
		fprintf(f, "  none on the PCI bus\n");
		return;
	}
	do
		next = print_distances(f, topo, next);
	while (next < topo->nic_count);
	fputs("  switch: below one PCI switch; port: one root port; node: one NUMA node\n", f);
}

void
topo_print(FILE *f, const struct tcpx_topo *topo, bool explain)
{
	fprintf(f, "%-12s %s%s\n", "machine",
		strcmp(topo->root, "/") ? topo->root : "this one",
		topo->fixture ? " (not a real one)" : "");
	fprintf(f, "%-12s ", "kernel");
	out_plain(f, *topo->kernel ? topo->kernel : "not known");
	fprintf(f, "\n%-12s ", "irqbalance");
	if (topo->irqbalance.why)
		fprintf(f, "%s\n", topo->irqbalance.why);
	else
		fprintf(f, "runs (%lld): it moves interrupts\n",
			(long long)topo->irqbalance.value);
	topo_print_cpus(f, topo, explain);
	print_nics(f, topo, explain);
	topo_print_gpus(f, topo);
}
