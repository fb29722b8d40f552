/* SPDX-License-Identifier: Apache-2.0 */
/* A topology of libhwloc as a machine value. */
#include "tune/plan/hwloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune/plan/hwloc_api.h"
#include "tool/tool.h"

#define PCI_TEXT 16

struct import {
	struct hwloc_api api;
	struct hwloc_topology *t;
	struct tcpx_machine m;
};

static struct hwloc_object *
object(const struct import *in, int depth, unsigned i)
{
	return in->api.get_obj_by_depth(in->t, depth, i);
}

/* ---- nodes and cores -------------------------------------------------------------- */

static int
add_nodes(struct import *in)
{
	unsigned count = in->api.get_nbobjs_by_depth(in->t, HWLOC_DEPTH_NODE);
	int rc = 0;

	for (unsigned i = 0; i < count && rc == 0; i++)
		rc = tcpx_machine_add_node(&in->m, (int)object(in, HWLOC_DEPTH_NODE, i)->os_index);
	return rc;
}

/* Complete ones only: of each node to each. */
static void
set_distances(struct import *in)
{
	struct tcpx_machine *m = &in->m;
	struct hwloc_distances *d;
	unsigned found = 1;

	if (in->api.distances_get_by_depth(in->t, HWLOC_DEPTH_NODE, &found, &d, HWLOC_LATENCIES,
					   0) < 0 || found == 0)
		return;
	for (unsigned i = 0; i < d->count && d->count == m->node_count; i++)
		for (unsigned j = 0; j < d->count; j++) {
			int from = tcpx_machine_node_find(m, (int)d->object[i]->os_index);
			int to = tcpx_machine_node_find(m, (int)d->object[j]->os_index);
			uint64_t v = d->value[(size_t)i * d->count + j];

			if (from >= 0 && to >= 0)
				m->nodes[from].distance[to] = v <= UINT8_MAX ? (uint8_t)v : 0;
		}
	in->api.distances_release(in->t, d);
}

static int
add_core(struct import *in, const struct hwloc_object *o)
{
	struct tcpx_machine_core core = { .l3 = -1 };

	core.node = in->api.bitmap_next(o->nodeset, -1);
	for (const struct hwloc_object *up = o; up; up = up->parent)
		if (up->type == HWLOC_L3)
			core.l3 = (int)up->logical_index;
	for (int cpu = -1; (cpu = in->api.bitmap_next(o->cpuset, cpu)) >= 0;) {
		if (cpu >= TCPX_CPUS_MAX || core.cpu_count == TCPX_MACHINE_SIBLINGS)
			return -ERANGE;
		core.cpu[core.cpu_count++] = (uint16_t)cpu;
	}
	return tcpx_machine_add_core(&in->m, &core);
}

/* Without cores each CPU is one. */
static int
add_cores(struct import *in)
{
	const struct hwloc_bitmap *allowed = in->api.topology_get_allowed_cpuset(in->t);
	int depth = in->api.get_type_depth(in->t, HWLOC_CORE), rc = 0;

	if (depth < 0)
		depth = in->api.get_type_depth(in->t, HWLOC_PU);
	for (unsigned i = 0; rc == 0 && i < in->api.get_nbobjs_by_depth(in->t, depth); i++)
		rc = add_core(in, object(in, depth, i));
	in->m.allowed = in->m.online;
	tcpx_cpuset_for_each(cpu, &in->m.online)
		if (!in->api.bitmap_isset(allowed, (unsigned)cpu))
			tcpx_cpuset_remove(&in->m.allowed, cpu);
	return rc;
}

/* ---- devices ---------------------------------------------------------------------- */

/* The node of all near cores; -1 if they are of several. */
static int
node_of(const struct import *in, const struct hwloc_object *o)
{
	int node = -1;

	while (o && !o->cpuset)
		o = o->parent;
	for (unsigned i = 0; o && i < in->m.core_count; i++) {
		const struct tcpx_machine_core *core = &in->m.cores[i];

		if (!in->api.bitmap_isset(o->cpuset, core->cpu[0]))
			continue;
		if (node >= 0 && node != core->node)
			return -1;
		node = core->node;
	}
	return node;
}

static void
format_pci(const struct hwloc_pci *pci, char *text)
{
	snprintf(text, PCI_TEXT, "%04x:%02x:%02x.%x", pci->domain, pci->bus, pci->dev & 31u,
		 pci->func & 7u);
}

/* From the host bridge down; "" if none is above the device. */
static void
format_path(const struct hwloc_object *device, char *path)
{
	char text[PCI_TEXT], longer[TCPX_MACHINE_PATH + PCI_TEXT];

	format_pci(&device->attr->pci, path);
	for (const struct hwloc_object *up = device->parent; up && up->type == HWLOC_BRIDGE;
	     up = up->parent) {
		bool host = up->attr->bridge.up_end == HWLOC_END_HOST;

		if (host)
			snprintf(text, sizeof(text), "pci%04x:%02x", up->attr->bridge.domain,
				 up->attr->bridge.bus);
		else
			format_pci(&up->attr->bridge.up, text);
		snprintf(longer, sizeof(longer), "%s/%s", text, path);
		if (strlen(longer) >= TCPX_MACHINE_PATH)
			break;
		memcpy(path, longer, strlen(longer) + 1);
		if (host)
			return;
	}
	path[0] = '\0';
}

static int
add_nic(struct import *in, const struct hwloc_object *o)
{
	struct tcpx_machine_nic nic = { .place.numa = node_of(in, o) };
	const struct hwloc_object *device = o;

	if (!o->name || strlen(o->name) >= sizeof(nic.name))
		return -EINVAL;
	snprintf(nic.name, sizeof(nic.name), "%s", o->name);
	nic.place.numa_source = nic.place.numa < 0 ? TCPX_NUMA_UNKNOWN : TCPX_NUMA_CPULIST;
	while (device && device->type != HWLOC_PCI)
		device = device->parent;
	if (device) {
		format_pci(&device->attr->pci, nic.place.pci);
		format_path(device, nic.place.path);
	}
	return tcpx_machine_add_nic(&in->m, &nic);
}

static int
compare_pci(const void *a, const void *b)
{
	const struct tcpx_machine_gpu *x = a, *y = b;

	return strcmp(x->place.pci, y->place.pci);
}

/* Numbered by their addresses, as on the machine itself. */
static int
add_gpus(struct import *in)
{
	unsigned count = in->api.get_nbobjs_by_depth(in->t, HWLOC_DEPTH_PCI), n = 0;
	struct tcpx_machine_gpu *gpus = calloc(count + 1, sizeof(*gpus));
	int rc = gpus ? 0 : -ENOMEM;

	for (unsigned i = 0; rc == 0 && i < count; i++) {
		const struct hwloc_object *o = object(in, HWLOC_DEPTH_PCI, i);
		const struct hwloc_pci *pci = &o->attr->pci;

		if (pci->vendor_id != 0x10de || (pci->class_id != 0x0300 && pci->class_id != 0x0302))
			continue;
		gpus[n].place.numa = node_of(in, o);
		format_pci(pci, gpus[n].place.pci);
		format_path(o, gpus[n++].place.path);
	}
	if (n > 1)
		qsort(gpus, n, sizeof(*gpus), compare_pci);
	for (unsigned i = 0; rc == 0 && i < n; i++) {
		gpus[i].index = (int)i;
		rc = tcpx_machine_add_gpu(&in->m, &gpus[i]);
	}
	free(gpus);
	return rc;
}

static int
add_devices(struct import *in)
{
	unsigned count = in->api.get_nbobjs_by_depth(in->t, HWLOC_DEPTH_OS);
	int rc = 0;

	for (unsigned i = 0; i < count && rc == 0; i++) {
		const struct hwloc_object *o = object(in, HWLOC_DEPTH_OS, i);

		if (o->attr->os == HWLOC_OS_NETWORK)
			rc = add_nic(in, o);
	}
	return rc ? rc : add_gpus(in);
}

/* ---- all of it -------------------------------------------------------------------- */

static int
import_machine(struct import *in)
{
	int rc = add_nodes(in);

	if (rc == 0)
		rc = add_cores(in);
	if (rc == 0)
		rc = add_devices(in);
	if (rc == 0)
		rc = tcpx_machine_finish(&in->m);
	if (rc == 0)
		set_distances(in); /* after that nodes have their indices */
	return rc;
}

static int
load(struct import *in, const char *xml, const char *synthetic)
{
	int rc;

	errno = EINVAL;
	rc = xml ? in->api.topology_set_xml(in->t, xml)
	     : synthetic ? in->api.topology_set_synthetic(in->t, synthetic) : 0;
	if (rc == 0)
		rc = in->api.topology_set_flags(in->t, HWLOC_FLAG_DISALLOWED);
	if (rc == 0)
		rc = in->api.topology_set_io_types_filter(in->t, HWLOC_KEEP_IMPORTANT);
	if (rc == 0)
		rc = in->api.topology_load(in->t);
	return rc < 0 ? (errno ? -errno : -EINVAL) : 0;
}

int
hwloc_machine(const char *command, const char *xml, const char *synthetic,
	      struct tcpx_machine *out)
{
	const char *what = xml ? xml : synthetic ? synthetic : "", *name = xml ? strrchr(xml, '/') : NULL;
	struct import in = { .t = NULL };
	int rc = hwloc_api_load(command, &in.api);

	if (rc)
		return rc;
	tcpx_machine_init(&in.m);
	snprintf(in.m.name, sizeof(in.m.name), "%s", name ? name + 1 : xml ? xml : "synthetic");
	if (in.api.topology_init(&in.t) < 0) {
		rc = tool_fail(TOOL_DENIED, command, "no memory for hwloc's topology");
	} else {
		rc = load(&in, xml, synthetic);
		if (rc)
			rc = tool_fail(TOOL_USAGE, command, "hwloc does not take %s \"%.200s\": %s",
				       xml ? "the XML file" : "the description", what,
				       strerror(-rc));
		else if ((rc = import_machine(&in)) != 0)
			rc = tool_fail(TOOL_USAGE, command, "\"%.200s\" is no machine that is "
				       "understood: %s", what, strerror(-rc));
		in.api.topology_destroy(in.t);
	}
	if (rc)
		tcpx_machine_fini(&in.m);
	else
		*out = in.m;
	hwloc_api_unload(&in.api);
	return rc;
}
