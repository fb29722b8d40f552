/* SPDX-License-Identifier: Apache-2.0 */
/* Machines as values: growing arrays, and one order for everything. */
#include "host/machine.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PATH_NAMES 32 /* components of the deepest device path */

void
tcpx_machine_init(struct tcpx_machine *m)
{
	memset(m, 0, sizeof(*m));
}

void
tcpx_machine_fini(struct tcpx_machine *m)
{
	free(m->cores);
	free(m->nics);
	free(m->gpus);
	free(m->vectors);
	tcpx_machine_init(m);
}

/* Makes room for one more of @size bytes. */
static int
grow(void **array, unsigned count, unsigned *room, unsigned most, size_t size)
{
	unsigned want = *room ? *room * 2 : 8;
	void *bigger;

	if (count >= most)
		return -ERANGE;
	if (count < *room)
		return 0;
	bigger = realloc(*array, want * size);
	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	*room = want;
	return 0;
}

static int
compare_u16(const void *a, const void *b)
{
	return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

int
tcpx_machine_add_core(struct tcpx_machine *m, const struct tcpx_machine_core *core)
{
	struct tcpx_machine_core own = *core;
	int rc;

	if (!own.cpu_count || own.cpu_count > TCPX_MACHINE_SIBLINGS)
		return -EINVAL;
	qsort(own.cpu, own.cpu_count, sizeof(own.cpu[0]), compare_u16);
	for (unsigned i = 0; i < own.cpu_count; i++) {
		if (own.cpu[i] >= TCPX_CPUS_MAX)
			return -ERANGE;
		if (tcpx_cpuset_has(&m->online, own.cpu[i]) ||
		    (i && own.cpu[i] == own.cpu[i - 1]))
			return -EEXIST;
	}
	rc = grow((void **)&m->cores, m->core_count, &m->core_room, TCPX_CPUS_MAX, sizeof(own));
	if (rc)
		return rc;
	m->cores[m->core_count++] = own;
	for (unsigned i = 0; i < own.cpu_count; i++)
		tcpx_cpuset_add(&m->online, own.cpu[i]);
	return 0;
}

int
tcpx_machine_add_node(struct tcpx_machine *m, int id)
{
	if (tcpx_machine_node_find(m, id) >= 0)
		return -EEXIST;
	if (id < 0 || m->node_count == TCPX_HOST_NODES)
		return -ERANGE;
	memset(&m->nodes[m->node_count], 0, sizeof(m->nodes[0]));
	m->nodes[m->node_count++].id = id;
	return 0;
}

/* A name from a text, which becomes the name of a file in a tree. */
static bool
is_name(const char *text)
{
	return !strchr(text, '/') && strcmp(text, ".") != 0 && strcmp(text, "..") != 0;
}

/* Names between slashes, the last one @pci; none that leads up. */
static bool
is_path(const char *path, const char *pci)
{
	char name[TCPX_MACHINE_PATH];
	unsigned names = 0;

	if (!*path)
		return true;
	for (const char *at = path;; at += strcspn(at, "/") + 1) {
		size_t len = strcspn(at, "/");

		memcpy(name, at, len);
		name[len] = '\0';
		if (!len || !is_name(name) || ++names > PATH_NAMES)
			return false;
		if (!at[len])
			return names > 1 && !strcmp(name, pci);
	}
}

int
tcpx_machine_add_nic(struct tcpx_machine *m, const struct tcpx_machine_nic *nic)
{
	int rc;

	if (tcpx_machine_nic_find(m, nic->name) >= 0)
		return -EEXIST;
	if (!*nic->name || !is_name(nic->name) || !is_name(nic->driver) ||
	    !is_name(nic->place.pci) ||
	    !is_path(nic->place.path, nic->place.pci))
		return -EINVAL;
	rc = grow((void **)&m->nics, m->nic_count, &m->nic_room, TCPX_MACHINE_NICS,
		  sizeof(*nic));
	if (rc == 0)
		m->nics[m->nic_count++] = *nic;
	return rc;
}

int
tcpx_machine_add_gpu(struct tcpx_machine *m, const struct tcpx_machine_gpu *gpu)
{
	int rc;

	for (unsigned i = 0; i < m->gpu_count; i++)
		if (m->gpus[i].index == gpu->index)
			return -EEXIST;
	if (!is_name(gpu->place.pci) || !is_path(gpu->place.path, gpu->place.pci))
		return -EINVAL;
	rc = grow((void **)&m->gpus, m->gpu_count, &m->gpu_room, TCPX_MACHINE_GPUS,
		  sizeof(*gpu));
	if (rc == 0)
		m->gpus[m->gpu_count++] = *gpu;
	return rc;
}

int
tcpx_machine_add_vector(struct tcpx_machine *m, const struct tcpx_machine_vector *vector)
{
	int rc;

	if (vector->nic >= m->nic_count)
		return -ENOENT;
	for (unsigned i = m->vector_count; i-- > 0;)
		if (m->vectors[i].irq == vector->irq)
			return -EEXIST;
	rc = grow((void **)&m->vectors, m->vector_count, &m->vector_room, TCPX_MACHINE_VECTORS,
		  sizeof(*vector));
	if (rc == 0)
		m->vectors[m->vector_count++] = *vector;
	return rc;
}

int
tcpx_machine_name_compare(const char *a, const char *b)
{
	while (*a && *b) {
		size_t la, lb;

		if (!isdigit((unsigned char)*a) || !isdigit((unsigned char)*b)) {
			if (*a != *b)
				return (unsigned char)*a - (unsigned char)*b;
			a++;
			b++;
			continue;
		}
		a += strspn(a, "0");
		b += strspn(b, "0");
		la = strspn(a, "0123456789");
		lb = strspn(b, "0123456789");
		if (la != lb)
			return la < lb ? -1 : 1;
		for (; la; la--, a++, b++)
			if (*a != *b)
				return *a - *b;
	}
	return (unsigned char)*a - (unsigned char)*b;
}

/* Names that differ only by leading zeros are different. */
static int
compare_names(const char *a, const char *b)
{
	int c = tcpx_machine_name_compare(a, b);

	return c ? c : strcmp(a, b);
}

static int
compare_cores(const void *a, const void *b)
{
	const struct tcpx_machine_core *x = a, *y = b;

	return (int)x->cpu[0] - (int)y->cpu[0];
}

static int
compare_gpus(const void *a, const void *b)
{
	const struct tcpx_machine_gpu *x = a, *y = b;

	return x->index < y->index ? -1 : x->index > y->index;
}

static int
compare_nics(const void *a, const void *b)
{
	const struct tcpx_machine_nic *x = a, *y = b;

	return compare_names(x->name, y->name);
}

static int
compare_vectors(const void *a, const void *b)
{
	const struct tcpx_machine_vector *x = a, *y = b;

	if (x->nic != y->nic)
		return x->nic < y->nic ? -1 : 1;
	return x->irq < y->irq ? -1 : x->irq > y->irq;
}

static void
sort(void *array, unsigned count, size_t size, int (*compare)(const void *, const void *))
{
	if (count > 1)
		qsort(array, count, size, compare);
}

static void
sort_nics(struct tcpx_machine *m)
{
	unsigned place[TCPX_MACHINE_NICS];

	for (unsigned i = 0; i < m->nic_count; i++) {
		place[i] = 0;
		for (unsigned k = 0; k < m->nic_count; k++)
			place[i] += compare_nics(&m->nics[k], &m->nics[i]) < 0;
	}
	for (unsigned i = 0; i < m->vector_count; i++)
		m->vectors[i].nic = place[m->vectors[i].nic];
	sort(m->nics, m->nic_count, sizeof(m->nics[0]), compare_nics);
}

static void
sort_nodes(struct tcpx_machine *m)
{
	struct tcpx_machine_node old[TCPX_HOST_NODES];
	unsigned place[TCPX_HOST_NODES];

	memcpy(old, m->nodes, sizeof(old));
	for (unsigned i = 0; i < m->node_count; i++) {
		place[i] = 0;
		for (unsigned k = 0; k < m->node_count; k++)
			place[i] += old[k].id < old[i].id;
	}
	for (unsigned i = 0; i < m->node_count; i++) {
		m->nodes[place[i]].id = old[i].id;
		for (unsigned k = 0; k < m->node_count; k++)
			m->nodes[place[i]].distance[place[k]] = old[i].distance[k];
	}
}

int
tcpx_machine_finish(struct tcpx_machine *m)
{
	for (unsigned i = 0; i < m->core_count; i++)
		if (m->cores[i].node >= 0 && tcpx_machine_node_find(m, m->cores[i].node) < 0) {
			int rc = tcpx_machine_add_node(m, m->cores[i].node);

			if (rc)
				return rc;
		}
	if (m->node_count > 1)
		sort_nodes(m);
	if (m->nic_count > 1)
		sort_nics(m);
	sort(m->cores, m->core_count, sizeof(m->cores[0]), compare_cores);
	sort(m->gpus, m->gpu_count, sizeof(m->gpus[0]), compare_gpus);
	sort(m->vectors, m->vector_count, sizeof(m->vectors[0]), compare_vectors);
	return 0;
}

int
tcpx_machine_nic_find(const struct tcpx_machine *m, const char *name)
{
	for (unsigned i = 0; i < m->nic_count; i++)
		if (!strcmp(m->nics[i].name, name))
			return (int)i;
	return -1;
}

int
tcpx_machine_node_find(const struct tcpx_machine *m, int id)
{
	for (unsigned i = 0; i < m->node_count; i++)
		if (m->nodes[i].id == id)
			return (int)i;
	return -1;
}

void
tcpx_machine_node_cpus(const struct tcpx_machine *m, int node, struct tcpx_cpuset *out)
{
	tcpx_cpuset_init(out);
	for (unsigned i = 0; i < m->core_count; i++)
		for (unsigned k = 0; m->cores[i].node == node && k < m->cores[i].cpu_count; k++)
			tcpx_cpuset_add(out, m->cores[i].cpu[k]);
	tcpx_cpuset_and(out, &m->online);
}

static const char *const kind_names[TCPX_VECTOR_KINDS] = { "unknown", "tx", "rx", "txrx",
							   "mgmt" };
static const char *const source_names[TCPX_VECTOR_SOURCES] = { "netdev", "name", "order",
							       "none" };

const char *
tcpx_vector_kind_name(enum tcpx_vector_kind kind)
{
	return (unsigned)kind < TCPX_VECTOR_KINDS ? kind_names[kind] : "?";
}

const char *
tcpx_vector_source_name(enum tcpx_vector_source source)
{
	return (unsigned)source < TCPX_VECTOR_SOURCES ? source_names[source] : "?";
}
