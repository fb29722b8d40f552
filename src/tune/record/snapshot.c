/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a snapshot, and writing it as text. */
#include "tune/record/snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "host/io.h"
#include "tune/record/snapshot_part.h"

#define LIST_ROOM (TCPX_CPUS_MAX * 6)

static const char *const paths[TCPX_SNAP_TABLES] = {
	[TCPX_SNAP_INTERRUPTS] = "/proc/interrupts",
	[TCPX_SNAP_SOFTIRQS] = "/proc/softirqs",
	[TCPX_SNAP_STAT] = "/proc/stat",
	[TCPX_SNAP_SOFTNET] = "/proc/net/softnet_stat",
};

static uint64_t
now_ns(clockid_t clock)
{
	struct timespec ts = { 0 };

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* ---- taking ----------------------------------------------------------------------- */

static bool
is_chosen(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = list; p && *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
		if (strcspn(p, ",") == len && !memcmp(p, name, len))
			return true;
	return !list;
}

static int
check_list(const struct tcpx_topo *topo, const char *list)
{
	char name[64];

	for (const char *p = list; p && *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ',')) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, ","), p);
		if (!tcpx_topo_nic_find(topo, name))
			return tcpx_fail(TCPX_SUB_HOST, -ENODEV, "snapshot of \"%s\": no NIC of "
					 "that name is here", name);
	}
	return 0;
}

static void
take_vector(const struct tcpx_nic_vector *from, unsigned nic, struct tcpx_snap_vector *to)
{
	*to = (struct tcpx_snap_vector){
		.irq = from->v.irq, .nic = nic, .kind = from->v.kind, .queue = from->v.queue,
		.source = from->v.source, .movable = from->v.movable,
		.requested_known = !from->requested.why, .requested = from->requested.cpus,
		.effective_known = !from->effective.why, .effective = from->effective.cpus,
	};
}

static int
compare_vectors(const void *a, const void *b)
{
	const struct tcpx_snap_vector *x = a, *y = b;

	if (x->irq != y->irq)
		return x->irq < y->irq ? -1 : 1;
	return x->nic < y->nic ? -1 : x->nic > y->nic;
}

void
tcpx_snapshot_sort(struct tcpx_snapshot *snap)
{
	unsigned kept = 0;
	bool sorted = true;

	for (unsigned i = 1; i < snap->vector_count; i++)
		sorted &= compare_vectors(&snap->vectors[i - 1], &snap->vectors[i]) < 0;
	if (sorted)
		return; /* the usual case; the tables are large */
	if (snap->vector_count)
		qsort(snap->vectors, snap->vector_count, sizeof(*snap->vectors), compare_vectors);
	/* of interfaces that share a device, the first has its vectors */
	for (unsigned i = 0; i < snap->vector_count; i++)
		if (!kept || snap->vectors[kept - 1].irq != snap->vectors[i].irq)
			snap->vectors[kept++] = snap->vectors[i];
	snap->vector_count = kept;
}

static int
take_facts(const struct tcpx_topo *topo, const char *list, struct tcpx_snapshot *snap)
{
	unsigned vectors = 0;

	for (unsigned i = 0; i < topo->nic_count; i++)
		vectors += topo->nics[i].vector_count;
	snap->nodes = malloc((topo->facts.cpus.node_count + 1) * sizeof(*snap->nodes));
	snap->nics = calloc(topo->nic_count + 1, sizeof(*snap->nics));
	snap->vectors = calloc(vectors + 1, sizeof(*snap->vectors));
	if (!snap->nodes || !snap->nics || !snap->vectors)
		return -ENOMEM;
	snprintf(snap->boot_id, sizeof(snap->boot_id), "%s", topo->boot_id);
	snprintf(snap->kernel, sizeof(snap->kernel), "%s", topo->kernel);
	snap->node_count = topo->facts.cpus.node_count;
	memcpy(snap->nodes, topo->facts.cpus.node, snap->node_count * sizeof(*snap->nodes));
	for (unsigned i = 0; i < topo->nic_count; i++) {
		const struct tcpx_topo_nic *nic = &topo->nics[i];
		struct tcpx_snap_nic *to = &snap->nics[snap->nic_count];

		if (!nic->vector_count || !is_chosen(list, nic->nic->ifname))
			continue;
		snprintf(to->name, sizeof(to->name), "%s", nic->nic->ifname);
		snprintf(to->driver, sizeof(to->driver), "%s", nic->nic->driver);
		to->node = nic->nic->place.numa;
		for (unsigned j = 0; j < nic->vector_count; j++)
			take_vector(&nic->vectors[j], snap->nic_count,
				    &snap->vectors[snap->vector_count++]);
		snap->nic_count++;
	}
	tcpx_snapshot_sort(snap);
	return 0;
}

static int
read_tables(const char *root, struct tcpx_snapshot *snap)
{
	int rc;

	snap->time_ns[0] = now_ns(CLOCK_REALTIME);
	snap->mono_ns[0] = now_ns(CLOCK_BOOTTIME);
	for (unsigned i = 0; i < TCPX_SNAP_TABLES; i++) {
		rc = tcpx_io_slurp(root, paths[i], TCPX_IRQTAB_BYTES, &snap->table[i],
				   &snap->table_bytes[i]);
		if (rc == -ENOMEM || (rc < 0 && i == TCPX_SNAP_INTERRUPTS))
			return tcpx_fail(TCPX_SUB_HOST, rc, "read %s%s", root ? root : "",
					 paths[i]);
	}
	snap->time_ns[1] = now_ns(CLOCK_REALTIME);
	snap->mono_ns[1] = now_ns(CLOCK_BOOTTIME);
	return 0;
}

int
tcpx_snapshot_tables(struct tcpx_snapshot *snap, const char *what)
{
	char *const *text = snap->table;
	int rc = 0;

	if (!text[TCPX_SNAP_INTERRUPTS])
		return tcpx_fail(TCPX_SUB_HOST, -EINVAL, "%s: no table of interrupts", what);
	rc = tcpx_irqtab_parse(text[TCPX_SNAP_INTERRUPTS],
			       snap->table_bytes[TCPX_SNAP_INTERRUPTS], &snap->irqs);
	if (rc < 0)
		return tcpx_fail(TCPX_SUB_HOST, rc, "%s: the table of interrupts has no header "
				 "of CPUs", what);
	if (text[TCPX_SNAP_SOFTIRQS])
		rc = tcpx_irqtab_parse(text[TCPX_SNAP_SOFTIRQS],
				       snap->table_bytes[TCPX_SNAP_SOFTIRQS], &snap->softirqs);
	if (rc == -EINVAL)
		rc = 0; /* no such counts */
	if (rc == 0 && text[TCPX_SNAP_STAT])
		rc = tcpx_cpu_times_parse(text[TCPX_SNAP_STAT], &snap->times, &snap->time_count);
	return rc < 0 ? tcpx_fail(TCPX_SUB_HOST, rc, "read the tables of %s", what) : 0;
}

int
tcpx_snapshot_take(const char *root, const struct tcpx_topo *topo, const char *nics,
		   struct tcpx_snapshot *out)
{
	struct tcpx_snapshot snap = { .nic_count = 0 };
	int rc = check_list(topo, nics);

	if (rc < 0)
		return rc;
	rc = read_tables(root, &snap);
	if (rc == 0)
		rc = tcpx_snapshot_tables(&snap, "the machine");
	if (rc == 0 && (rc = take_facts(topo, nics, &snap)) < 0)
		tcpx_fail(TCPX_SUB_HOST, rc, "take a snapshot");
	if (rc < 0)
		tcpx_snapshot_fini(&snap);
	else
		*out = snap;
	return rc;
}

void
tcpx_snapshot_fini(struct tcpx_snapshot *snap)
{
	for (unsigned i = 0; i < TCPX_SNAP_TABLES; i++)
		free(snap->table[i]);
	tcpx_irqtab_fini(&snap->irqs);
	tcpx_irqtab_fini(&snap->softirqs);
	free(snap->times);
	free(snap->nodes);
	free(snap->nics);
	free(snap->vectors);
	*snap = (struct tcpx_snapshot){ .nic_count = 0 };
}

const struct tcpx_snap_vector *
tcpx_snapshot_vector(const struct tcpx_snapshot *snap, long irq)
{
	unsigned low = 0, high = snap->vector_count;

	while (irq >= 0 && low < high) {
		unsigned mid = low + (high - low) / 2;

		if (snap->vectors[mid].irq == (unsigned long)irq)
			return &snap->vectors[mid];
		if (snap->vectors[mid].irq < (unsigned long)irq)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* ---- as text ---------------------------------------------------------------------- */

/* A set as a word: "-" for an unknown, "none" for the empty one. */
static const char *
set_word(bool known, const struct tcpx_cpuset *set, char *buf)
{
	if (!known)
		return "-";
	if (tcpx_cpuset_empty(set))
		return "none";
	tcpx_cpuset_format(set, buf, LIST_ROOM);
	return buf;
}

static void
format_vectors(const struct tcpx_snapshot *snap, struct tcpx_text *text, char *list)
{
	for (unsigned i = 0; i < snap->vector_count; i++) {
		const struct tcpx_snap_vector *v = &snap->vectors[i];

		tcpx_text_add(text, "vector %u %s %s %d %s %d %s", v->irq, snap->nics[v->nic].name,
			      tcpx_vector_kind_name(v->kind), v->queue,
			      tcpx_vector_source_name(v->source), v->movable,
			      set_word(v->requested_known, &v->requested, list));
		tcpx_text_add(text, " %s\n", set_word(v->effective_known, &v->effective, list));
	}
}

int
tcpx_snapshot_format(const struct tcpx_snapshot *snap, char **bytes, size_t *len)
{
	struct tcpx_text head = { .at = NULL };
	char *list = malloc(LIST_ROOM), *all;
	size_t at;

	if (!list)
		return tcpx_fail(TCPX_SUB_HOST, -ENOMEM, "write a snapshot");
	tcpx_text_add(&head, TCPX_SNAPSHOT_HEAD "\n");
	if (*snap->boot_id)
		tcpx_text_add(&head, "boot %s\n", snap->boot_id);
	if (*snap->kernel)
		tcpx_text_add(&head, "kernel %s\n", snap->kernel);
	tcpx_text_add(&head, "time %llu %llu\nmono %llu %llu\n",
		      (unsigned long long)snap->time_ns[0], (unsigned long long)snap->time_ns[1],
		      (unsigned long long)snap->mono_ns[0], (unsigned long long)snap->mono_ns[1]);
	for (unsigned i = 0; i < snap->node_count; i++)
		tcpx_text_add(&head, "node %d %s\n", snap->nodes[i].id,
			      set_word(true, &snap->nodes[i].cpus, list));
	for (unsigned i = 0; i < snap->nic_count; i++)
		tcpx_text_add(&head, "nic %s %d %s\n", snap->nics[i].name, snap->nics[i].node,
			      *snap->nics[i].driver ? snap->nics[i].driver : "-");
	format_vectors(snap, &head, list);
	free(list);
	if (head.bad) {
		tcpx_text_drop(&head);
		return tcpx_fail(TCPX_SUB_HOST, -ENOMEM, "write a snapshot");
	}

	at = head.len;
	for (unsigned i = 0; i < TCPX_SNAP_TABLES; i++)
		at += snap->table[i] ? snap->table_bytes[i] + 64 : 0;
	all = realloc(head.at, at + 1);
	if (!all) {
		tcpx_text_drop(&head);
		return tcpx_fail(TCPX_SUB_HOST, -ENOMEM, "write a snapshot of %zu bytes", at);
	}
	at = head.len;
	for (unsigned i = 0; i < TCPX_SNAP_TABLES; i++) {
		if (!snap->table[i])
			continue;
		at += (size_t)snprintf(all + at, 64, "table %s %zu\n", tcpx_snap_table_name(i),
				       snap->table_bytes[i]);
		memcpy(all + at, snap->table[i], snap->table_bytes[i]);
		at += snap->table_bytes[i];
	}
	all[at] = '\0';
	*bytes = all;
	*len = at;
	return 0;
}

const char *
tcpx_snap_table_name(enum tcpx_snap_table table)
{
	static const char *const names[TCPX_SNAP_TABLES] = {
		[TCPX_SNAP_INTERRUPTS] = "interrupts", [TCPX_SNAP_SOFTIRQS] = "softirqs",
		[TCPX_SNAP_STAT] = "stat", [TCPX_SNAP_SOFTNET] = "softnet",
	};

	return (unsigned)table < TCPX_SNAP_TABLES ? names[table] : "?";
}
