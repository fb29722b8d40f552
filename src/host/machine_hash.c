/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The identity of a planned machine as numbers: the facts that the planner reads and that
 * survive a reboot.
 */
#include <string.h>

#include "host/machine.h"

#define BEGIN 0xcbf29ce484222325ull

/* FNV-1a over numbers and texts, delimited so that they cannot run into each other. */
static void
mix_number(uint64_t *hash, int64_t v)
{
	*hash = (*hash ^ (uint64_t)v) * 0x100000001b3ull;
	*hash ^= *hash >> 29; /* so that high bytes count */
}

static void
mix_text(uint64_t *hash, const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	for (size_t i = 0; i < strlen(text) + 1; i++)
		*hash = (*hash ^ p[i]) * 0x100000001b3ull;
}

/* The first CPU of a core that is online; -1: none is. */
static int
first_cpu(const struct tcpx_machine *m, const struct tcpx_machine_core *core)
{
	for (unsigned k = 0; k < core->cpu_count; k++)
		if (tcpx_cpuset_has(&m->online, core->cpu[k]))
			return core->cpu[k];
	return -1;
}

/* An L3 group by one of its CPUs, since its number depends on the reader. */
static int
l3_group(const struct tcpx_machine *m, int l3)
{
	for (unsigned i = 0; l3 >= 0 && i < m->core_count; i++)
		if (m->cores[i].l3 == l3 && first_cpu(m, &m->cores[i]) >= 0)
			return first_cpu(m, &m->cores[i]);
	return -1;
}

/* Online CPUs only: a text may name others, the kernel's files do not. A core's index does
 * not count, so the hash is a sum. */
static uint64_t
hash_cpus(const struct tcpx_machine *m)
{
	uint64_t hash = BEGIN, cpus = 0;

	for (unsigned i = 0; i < m->core_count; i++) {
		const struct tcpx_machine_core *core = &m->cores[i];

		for (unsigned k = 0; k < core->cpu_count; k++) {
			uint64_t one = BEGIN;

			if (!tcpx_cpuset_has(&m->online, core->cpu[k]))
				continue;
			mix_number(&one, core->cpu[k]);
			mix_number(&one, first_cpu(m, core));
			mix_number(&one, core->node);
			mix_number(&one, l3_group(m, core->l3));
			mix_number(&one, tcpx_cpuset_has(&m->isolated, core->cpu[k]));
			if (core->small) /* else a hash is that of earlier versions */
				mix_number(&one, 1);
			cpus += one;
		}
	}
	mix_number(&hash, (int64_t)cpus);
	mix_number(&hash, m->node_count);
	for (unsigned i = 0; i < m->node_count; i++)
		for (unsigned k = 0; k < m->node_count; k++)
			mix_number(&hash, m->nodes[i].distance[k]);
	return hash;
}

/* A NIC without a device has no interrupts, and comes and goes: tunnels, bonds. */
static bool
has_device(const struct tcpx_machine_nic *nic)
{
	return *nic->place.pci || *nic->driver;
}

static uint64_t
hash_nics(const struct tcpx_machine *m)
{
	uint64_t hash = BEGIN;

	for (unsigned i = 0; i < m->nic_count; i++) {
		if (!has_device(&m->nics[i]))
			continue;
		mix_text(&hash, m->nics[i].name);
		mix_text(&hash, m->nics[i].driver);
		mix_text(&hash, m->nics[i].place.pci);
		mix_number(&hash, m->nics[i].place.numa);
	}
	return hash;
}

static uint64_t
hash_gpus(const struct tcpx_machine *m)
{
	uint64_t hash = BEGIN;

	mix_number(&hash, m->gpu_count);
	for (unsigned i = 0; i < m->gpu_count; i++) {
		mix_text(&hash, m->gpus[i].place.pci);
		mix_number(&hash, m->gpus[i].place.numa);
	}
	return hash;
}

/* Vectors are in the order of numbers that a boot gave them: the hash is a sum. */
static uint64_t
hash_queues(const struct tcpx_machine *m)
{
	uint64_t hash = BEGIN, vectors = 0;

	for (unsigned i = 0; i < m->nic_count; i++) {
		if (!has_device(&m->nics[i]))
			continue;
		mix_text(&hash, m->nics[i].name);
		mix_number(&hash, m->nics[i].queues_rx);
		mix_number(&hash, m->nics[i].queues_tx);
	}
	for (unsigned i = 0; i < m->vector_count; i++) {
		const struct tcpx_machine_vector *v = &m->vectors[i];
		uint64_t one = BEGIN;

		if (v->kind != TCPX_VECTOR_TX && v->kind != TCPX_VECTOR_RX &&
		    v->kind != TCPX_VECTOR_TXRX)
			continue; /* the planner ignores it */
		mix_text(&one, m->nics[v->nic].name);
		mix_number(&one, v->kind);
		mix_number(&one, v->queue);
		vectors += one;
	}
	mix_number(&hash, (int64_t)vectors);
	return hash;
}

uint64_t
tcpx_machine_hash_part(const struct tcpx_machine *m, enum tcpx_machine_part part)
{
	switch (part) {
	case TCPX_MACHINE_PART_CPUS:
		return hash_cpus(m);
	case TCPX_MACHINE_PART_NICS:
		return hash_nics(m);
	case TCPX_MACHINE_PART_GPUS:
		return hash_gpus(m);
	default:
		return hash_queues(m);
	}
}

uint64_t
tcpx_machine_hash(const struct tcpx_machine *m)
{
	uint64_t hash = BEGIN;

	for (int part = 0; part < TCPX_MACHINE_PARTS; part++)
		mix_number(&hash, (int64_t)tcpx_machine_hash_part(m,
							(enum tcpx_machine_part)part));
	return hash;
}

const char *
tcpx_machine_part_name(enum tcpx_machine_part part)
{
	static const char *const names[TCPX_MACHINE_PARTS] = { "cpus", "nics", "gpus", "queues" };

	return (unsigned)part < TCPX_MACHINE_PARTS ? names[part] : "?";
}
