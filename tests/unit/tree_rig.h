/* SPDX-License-Identifier: Apache-2.0 */
/* A machine of tests/fixtures as a tree that is read back. */
#ifndef UNIT_TREE_RIG_H
#define UNIT_TREE_RIG_H

#include "fixture.h"
#include "tune/facts/topo.h"
#include "machine/spec.h"
#include "machine/tree.h"

struct rig {
	struct tcpx_machine spec;
	struct fixture tree;
	struct tcpx_topo *topo;
};

/* The tree of a text, not yet read. */
static inline void
rig_write(struct rig *rig, const char *text)
{
	assert_int_equal(tcpx_spec_parse(text, "spec", &rig->spec), 0);
	fixture_init(&rig->tree);
	assert_int_equal(tcpx_tree_write(&rig->spec, rig->tree.root), 0);
	rig->topo = NULL;
}

static inline void
rig_read(struct rig *rig)
{
	tcpx_topo_free(rig->topo);
	assert_int_equal(tcpx_topo_read(rig->tree.root, &rig->topo), 0);
}

static inline void
rig_load(struct rig *rig, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s.spec", TCPX_FIXTURES, name);
	assert_int_equal(tcpx_spec_load(path, &rig->spec), 0);
	fixture_init(&rig->tree);
	assert_int_equal(tcpx_tree_write(&rig->spec, rig->tree.root), 0);
	rig->topo = NULL;
	rig_read(rig);
}

static inline void
rig_free(struct rig *rig)
{
	tcpx_topo_free(rig->topo);
	tcpx_machine_fini(&rig->spec);
	assert_int_equal(tcpx_tree_remove(rig->tree.root), 0);
}

/* What was read is what was written, except what a tree cannot hold. */
static inline void
rig_compare(const struct rig *rig, const char *name)
{
	const struct tcpx_machine *a = &rig->spec;
	struct tcpx_machine b;

	assert_int_equal(tcpx_topo_machine(rig->topo, &b), 0);
	check(name, "online", tcpx_cpuset_equal(&a->online, &b.online), 1);
	check(name, "allowed", tcpx_cpuset_equal(&a->allowed, &b.allowed), 1);
	check(name, "isolated", tcpx_cpuset_equal(&a->isolated, &b.isolated), 1);
	check(name, "nodes", b.node_count, a->node_count);
	check(name, "NICs", b.nic_count, a->nic_count);
	check(name, "GPUs", b.gpu_count, a->gpu_count);
	check(name, "vectors", b.vector_count, a->vector_count);
	for (unsigned i = 0; i < a->node_count; i++)
		check(name, "distance", memcmp(a->nodes[i].distance, b.nodes[i].distance,
					       a->node_count), 0);
	for (unsigned i = 0; i < a->nic_count; i++) {
		const struct tcpx_machine_nic *x = &a->nics[i], *y = &b.nics[i];

		check_text(name, y->name, x->name);
		check_text(x->name, y->driver, x->driver);
		check_text(x->name, y->place.pci, x->place.pci);
		check_text(x->name, y->place.path, x->place.path);
		check(x->name, "node", y->place.numa, a->node_count == 1 ? a->nodes[0].id : x->place.numa);
		check(x->name, "rx", y->queues_rx, x->queues_rx);
		check(x->name, "tx", y->queues_tx, x->queues_tx);
		if (x->queues_max)
			check(x->name, "max", y->queues_max, x->queues_max);
	}
	for (unsigned i = 0; i < a->gpu_count; i++) {
		check(name, "node of GPU", b.gpus[i].place.numa, a->gpus[i].place.numa);
		check_text(name, b.gpus[i].place.pci, a->gpus[i].place.pci);
		check_text(name, b.gpus[i].place.path, a->gpus[i].place.path);
	}
	for (unsigned i = 0; i < a->vector_count; i++) {
		const struct tcpx_machine_vector *x = &a->vectors[i], *y = &b.vectors[i];

		check(name, "IRQ", y->irq, x->irq);
		check(name, "hwirq", y->hwirq, x->hwirq);
		check(name, "kind", y->kind, x->kind);
		check(name, "queue", y->queue, x->queue);
		check(name, "movable", y->movable, x->movable);
		check_text(name, y->name, x->name);
		if (x->source != TCPX_VECTOR_NOT)
			check(name, "source", y->source, x->source);
	}
	tcpx_machine_fini(&b);
}

#endif
