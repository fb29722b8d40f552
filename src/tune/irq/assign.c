/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CPU for each interrupt. Each policy is a function of the group's cores, the NIC's index in
 * the group, and the queue.
 */
#include "tune/irq/assign.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define QUEUES_MAX 1024 /* rows for a NIC whose vectors are unknown */

/* A policy's view of the current NIC. */
struct seat {
	struct tcpx_plan_group *g;
	const struct tcpx_plan_cores *pool;
	const struct tcpx_plan_cores *far; /* of policy remote                        */
	unsigned index;                 /* among the NICs of the group                  */
	unsigned before_tx, before_rx;  /* queues of the earlier NICs of its group      */
};

/* Core @core of @from.., thread @thread, both in turn. */
static int
pick(const struct tcpx_plan_cores *pool, unsigned from, unsigned cores, unsigned core,
     unsigned thread)
{
	const struct tcpx_plan_core *c = &pool->at[from + core % cores];

	return c->cpu[thread % c->use];
}

/* All NICs of a group begin at the first core, each with another thread. */
static int
on_last(const struct tcpx_plan_cores *pool, unsigned cores, unsigned index, unsigned queue)
{
	return pick(pool, pool->count - cores, cores, queue, index + queue / cores);
}

/* Without a tail the receiving cores replace it. */
static int
tail(const struct seat *s, const struct tcpx_plan_irq *irq)
{
	unsigned cores = s->g->tail_cores ? s->g->tail_cores : s->g->rx_cores;

	return on_last(s->pool, cores, s->index, (unsigned)irq->queue);
}

static int
nth(const struct tcpx_cpuset *set, unsigned n)
{
	int cpu = -1;

	for (n %= tcpx_cpuset_count(set); ; n--) {
		cpu = tcpx_cpuset_next(set, cpu);
		if (!n)
			return cpu;
	}
}

static int
colocate(const struct seat *s, const struct tcpx_plan_irq *irq)
{
	if (irq->kind == TCPX_VECTOR_TX)
		return nth(&s->g->tx, s->before_tx + (unsigned)irq->queue);
	return nth(&s->g->rx, s->before_rx + (unsigned)irq->queue);
}

static int
spread(const struct seat *s, const struct tcpx_plan_irq *irq)
{
	unsigned before = s->before_tx > s->before_rx ? s->before_tx : s->before_rx;
	unsigned at = before + (unsigned)irq->queue;

	return pick(s->pool, 0, s->g->cores, at, at / s->g->cores);
}

static int
far_away(const struct seat *s, const struct tcpx_plan_irq *irq)
{
	unsigned cores = s->far->count / 3;

	if (cores > s->g->queues)
		cores = s->g->queues;
	return on_last(s->far, cores ? cores : 1, s->index, (unsigned)irq->queue);
}

static int (*const policies[TCPX_IRQ_POLICIES])(const struct seat *s,
						const struct tcpx_plan_irq *irq) = {
	[TCPX_IRQ_TAIL] = tail,     [TCPX_IRQ_COLOCATE] = colocate,
	[TCPX_IRQ_SPREAD] = spread, [TCPX_IRQ_REMOTE] = far_away,
};

/* ---- rows ---- */

static bool
serves(const struct tcpx_machine_vector *v)
{
	return v->queue >= 0 && (v->kind == TCPX_VECTOR_TX || v->kind == TCPX_VECTOR_RX ||
				 v->kind == TCPX_VECTOR_TXRX);
}

/* True: a vector may serve a queue, though its name does not say which. */
static bool
may_serve(const struct tcpx_machine_vector *v)
{
	return v->kind == TCPX_VECTOR_UNKNOWN && v->name[0];
}

static bool
listed(const struct tcpx_machine *m, unsigned nic)
{
	for (unsigned i = 0; i < m->vector_count; i++)
		if (m->vectors[i].nic == nic)
			return true;
	return false;
}

static unsigned
pairs(const struct tcpx_machine_nic *nic)
{
	unsigned n = nic->queues_rx > nic->queues_tx ? nic->queues_rx : nic->queues_tx;

	return n < QUEUES_MAX ? n : QUEUES_MAX;
}

/* Rows of the vectors of NIC @at for which @serving says yes, in their order, at @to, or
 * their number when that is NULL. */
static unsigned
rows_that(const struct tcpx_machine *m, unsigned at, unsigned nic,
	  bool (*serving)(const struct tcpx_machine_vector *v), struct tcpx_plan_irq *to)
{
	unsigned count = 0;

	for (unsigned i = 0; i < m->vector_count; i++) {
		const struct tcpx_machine_vector *v = &m->vectors[i];

		if (v->nic != at || !serving(v))
			continue;
		if (to) {
			to[count] = (struct tcpx_plan_irq){
				.nic = nic, .irq = v->irq, .hwirq = v->hwirq, .kind = v->kind,
				.queue = v->queue, .movable = v->movable, .cpu = -1,
			};
			memcpy(to[count].name, v->name, sizeof(v->name));
			if (serving == may_serve) {
				to[count].kind = TCPX_VECTOR_TXRX;
				to[count].queue = (int)count;
			}
		}
		count++;
	}
	return count;
}

/* The rows of @nic at @to, or their number when that is NULL. */
static unsigned
rows_of(const struct tcpx_machine *m, struct tcpx_plan *p, unsigned nic, struct tcpx_plan_irq *to)
{
	unsigned at = (unsigned)tcpx_machine_nic_find(m, p->nics[nic].name);
	unsigned count = rows_that(m, at, nic, serves, to);

	if (count)
		return count;
	if (listed(m, at)) {
		count = rows_that(m, at, nic, may_serve, to);
		p->nics[nic].irq_note = count ? "no name of a vector is known here to say its queue: spread in order"
					      : "left out: no vector of it is known to serve a queue";
		return count;
	}
	for (; count < pairs(&m->nics[at]); count++)
		if (to)
			to[count] = (struct tcpx_plan_irq){
				.nic = nic, .irq = -1, .hwirq = -1, .kind = TCPX_VECTOR_TXRX,
				.queue = (int)count, .movable = true, .cpu = -1,
			};
	if (!count)
		p->nics[nic].irq_note = "left out: neither its vectors nor its queues are known";
	return count;
}

static int
compare(const void *a, const void *b)
{
	const struct tcpx_plan_irq *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->queue != y->queue)
		return x->queue < y->queue ? -1 : 1;
	return x->irq < y->irq ? -1 : x->irq > y->irq;
}

/* ---- facts of other places for policies ---- */

/* The farthest other node with usable cores; the next one of equals. */
static int
far_node(const struct tcpx_machine *m, int node, const struct tcpx_cpuset *usable)
{
	int from = tcpx_machine_node_find(m, node), best = -1, best_distance = -1;

	for (unsigned i = 1; from >= 0 && i < m->node_count; i++) {
		unsigned at = ((unsigned)from + i) % m->node_count;
		struct tcpx_cpuset cpus;

		tcpx_machine_node_cpus(m, m->nodes[at].id, &cpus);
		if (tcpx_cpuset_overlap(&cpus, usable) &&
		    m->nodes[from].distance[at] > best_distance) {
			best = m->nodes[at].id;
			best_distance = m->nodes[from].distance[at];
		}
	}
	return best;
}

static int
far_pool(const struct tcpx_plan *p, const struct tcpx_machine *m, const struct tcpx_plan_group *g,
	 struct tcpx_plan_cores *pool)
{
	int node = g->node < 0 ? -1 : far_node(m, g->node, &p->usable);
	bool partial = false;

	if (node < 0)
		return tcpx_fail(TCPX_SUB_HOST, -ENODEV, "plan: policy remote needs NICs of a known "
				 "node, and usable CPUs on another one");
	return tcpx_plan_cores_of(m, node, false, &p->usable, p->options.first_threads, pool,
				  &partial);
}

static unsigned
queues_of(const struct tcpx_plan_irq *row, unsigned count, enum tcpx_vector_kind other)
{
	unsigned most = 0;

	for (unsigned i = 0; i < count; i++)
		if (row[i].kind != other && (unsigned)row[i].queue >= most)
			most = (unsigned)row[i].queue + 1;
	return most;
}

static unsigned
rows_in(const struct tcpx_plan *p, unsigned nic, const struct tcpx_plan_irq **first)
{
	unsigned count = 0;

	for (unsigned i = 0; i < p->irq_count; i++) {
		if (p->irqs[i].nic != nic)
			continue;
		if (!count++)
			*first = &p->irqs[i];
	}
	return count;
}

static void
seat_of(const struct tcpx_plan *p, unsigned nic, struct seat *s)
{
	s->index = p->nics[nic].index;
	s->before_tx = s->before_rx = 0;
	for (unsigned i = 0; i < nic; i++) {
		const struct tcpx_plan_irq *row = NULL;
		unsigned count;

		if (&p->groups[p->nics[i].group] != s->g)
			continue;
		count = rows_in(p, i, &row);
		s->before_tx += queues_of(row, count, TCPX_VECTOR_RX);
		s->before_rx += queues_of(row, count, TCPX_VECTOR_TX);
	}
}

static int
place_nic(struct tcpx_plan *p, const struct tcpx_machine *m, unsigned nic)
{
	struct tcpx_plan_cores far = { 0 };
	struct seat s = { .g = &p->groups[p->nics[nic].group], .far = &far,
			  .pool = &p->orders[p->nics[nic].group] };
	int rc = 0;

	if (p->options.policy == TCPX_IRQ_REMOTE)
		rc = far_pool(p, m, s.g, &far);
	if (p->options.policy != TCPX_IRQ_TAIL)
		seat_of(p, nic, &s);
	s.index = p->nics[nic].index;
	for (unsigned i = 0; rc == 0 && i < p->irq_count; i++)
		if (p->irqs[i].nic == nic)
			p->irqs[i].cpu = policies[p->options.policy](&s, &p->irqs[i]);
	free(far.at);
	return rc;
}

static int
place_all(struct tcpx_plan *p, const struct tcpx_machine *m)
{
	unsigned room = 0;
	int rc = 0;

	if (p->options.policy == TCPX_IRQ_KEEP)
		return 0;
	for (unsigned i = 0; i < p->nic_count; i++)
		room += rows_of(m, p, i, NULL);
	p->irqs = calloc(room ? room : 1, sizeof(*p->irqs));
	if (!p->irqs)
		return -ENOMEM;
	for (unsigned i = 0; i < p->nic_count; i++) {
		unsigned count = rows_of(m, p, i, p->irqs + p->irq_count);

		if (count > 1)
			qsort(p->irqs + p->irq_count, count, sizeof(*p->irqs), compare);
		p->irq_count += count;
	}
	for (unsigned i = 0; rc == 0 && i < p->nic_count; i++)
		rc = place_nic(p, m, i);
	return rc;
}

int
tcpx_plan_make(const struct tcpx_machine *m, const struct tcpx_plan_options *options,
	       struct tcpx_plan *out)
{
	struct tcpx_plan p;
	int rc = tcpx_plan_cpus(m, options, &p);

	if (rc)
		return rc;
	rc = place_all(&p, m);
	if (rc)
		tcpx_plan_fini(&p);
	else
		*out = p;
	return rc;
}

void
tcpx_plan_xps(const struct tcpx_plan *p, const struct tcpx_plan_nic *nic, unsigned queue,
	      struct tcpx_cpuset *out)
{
	unsigned at = 0;

	tcpx_cpuset_init(out);
	tcpx_cpuset_for_each(cpu, &p->groups[nic->group].tx)
		if (at++ % (nic->queues_tx ? nic->queues_tx : 1) == queue)
			tcpx_cpuset_add(out, cpu);
}
