/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every plan promises, on tens of thousands of random machines. The numbers are those of
 * the promises:
 *
 *	 1  TX and RX are not empty, and of usable CPUs     9  planning again gives the same
 *	 2  a NIC's TX and RX are disjoint                 10  renumbered CPUs, renumbered plan
 *	 3  CPUs are of the group's node                   11  what is written reads back
 *	 4  head, TX, RX, tail partition the group         12  more cores, no fewer workers
 *	 5  cores are whole                                13  other groups do not care
 *	 6  slices are disjoint                            15  TX and RX differ by a core at most
 *	 7  one CPU for each interrupt                     16  no isolated CPU
 *	 8  the order of the input does not matter         17, 18  no error by the lint, no queue on small cores
 */
#include "../base/base_test.h"

#include "host/bindings.h"
#include "tune/irq/assign.h"
#include "tune/texts/bindings_lint.h"
#include "tune/texts/forms.h"

#define WORLDS 50000

/* A machine before it is one: so that it can be built in another order, or renumbered. */
struct draft {
	unsigned nodes, cores[3], threads, nics, gpus;
	int nic_node[8], gpu_node[8];
	unsigned queues[8];
	bool vectors, adjacent; /* siblings have neighbouring numbers */
	unsigned shift;         /* added to all CPU numbers           */
	struct tcpx_cpuset out; /* not allowed                        */
	struct tcpx_cpuset isolated;
	unsigned small;         /* every so many cores are; 0: none   */
};

static unsigned
below(struct tcpx_rng *rng, unsigned n)
{
	return (unsigned)tcpx_rng_below(rng, n);
}

static unsigned
all_cores(const struct draft *d)
{
	return d->cores[0] + d->cores[1] + d->cores[2];
}

static unsigned
cpu_at(const struct draft *d, unsigned core, unsigned thread)
{
	return d->shift + (d->adjacent ? core * d->threads + thread
				       : thread * all_cores(d) + core);
}

static void
draft(struct tcpx_rng *rng, struct draft *d)
{
	unsigned cpus;

	memset(d, 0, sizeof(*d));
	d->nodes = 1 + below(rng, 3);
	for (unsigned i = 0; i < d->nodes; i++)
		d->cores[i] = !i || below(rng, 8) ? 1 + below(rng, below(rng, 16) ? 10 : 64) : 0;
	d->threads = 1 + below(rng, 2);
	d->nics = 1 + below(rng, 4);
	d->gpus = below(rng, 5);
	d->vectors = !below(rng, 4);
	d->adjacent = below(rng, 2);
	for (unsigned i = 0; i < d->nics; i++) {
		d->nic_node[i] = below(rng, 10) ? (int)below(rng, d->nodes) : -1;
		d->queues[i] = 1 + below(rng, below(rng, 10) ? 4 : 24);
	}
	for (unsigned i = 0; i < d->gpus; i++)
		d->gpu_node[i] = (int)below(rng, d->nodes);
	d->small = below(rng, 4) ? 0 : 1 + below(rng, 6);
	cpus = all_cores(d) * d->threads;
	if (!below(rng, 3))
		for (unsigned n = below(rng, 1 + cpus / 2); n--;)
			tcpx_cpuset_add(&d->out, (int)below(rng, cpus));
	if (!below(rng, 6))
		for (unsigned n = below(rng, 1 + cpus / 4); n--;)
			tcpx_cpuset_add(&d->isolated, (int)below(rng, cpus));
}

static void
add_nic(struct tcpx_machine *m, const struct draft *d, unsigned i, unsigned *irq)
{
	struct tcpx_machine_nic nic = { .place.numa = d->nic_node[i], .queues_rx = d->queues[i],
					.queues_tx = d->queues[i] };

	snprintf(nic.name, sizeof(nic.name), "eth%u", i + 8);
	assert_int_equal(tcpx_machine_add_nic(m, &nic), 0);
	*irq = 100 * (i + 1);
	for (unsigned q = 0; d->vectors && q < 2 * d->queues[i] + 1; q++) {
		struct tcpx_machine_vector v = {
			.nic = m->nic_count - 1, .irq = (*irq)++, .hwirq = q, .movable = true,
			.kind = q < d->queues[i] ? TCPX_VECTOR_TX : TCPX_VECTOR_RX,
			.queue = (int)(q % d->queues[i]),
		};

		if (q == 2 * d->queues[i]) {
			v.kind = TCPX_VECTOR_MGMT;
			v.queue = -1;
		}
		assert_int_equal(tcpx_machine_add_vector(m, &v), 0);
	}
}

static void
build(const struct draft *d, bool backwards, struct tcpx_machine *m)
{
	unsigned total = all_cores(d), irq = 0;

	tcpx_machine_init(m);
	for (unsigned i = 0; i < d->nodes; i++)
		assert_int_equal(tcpx_machine_add_node(m, (int)(backwards ? d->nodes - 1 - i : i)),
				 0);
	for (unsigned n = 0; n < total; n++) {
		unsigned i = backwards ? total - 1 - n : n;
		struct tcpx_machine_core core = { .cpu_count = (uint16_t)d->threads, .l3 = -1 };

		core.small = d->small && i % d->small == d->small / 2;
		core.node = i < d->cores[0] ? 0 : i < d->cores[0] + d->cores[1] ? 1 : 2;
		for (unsigned k = 0; k < d->threads; k++)
			core.cpu[backwards ? d->threads - 1 - k : k] = (uint16_t)cpu_at(d, i, k);
		assert_int_equal(tcpx_machine_add_core(m, &core), 0);
	}
	for (unsigned n = 0; n < d->nics; n++)
		add_nic(m, d, backwards ? d->nics - 1 - n : n, &irq);
	for (unsigned n = 0; n < d->gpus; n++) {
		unsigned i = backwards ? d->gpus - 1 - n : n;
		struct tcpx_machine_gpu gpu = { .index = (int)i, .place.numa = d->gpu_node[i] };

		assert_int_equal(tcpx_machine_add_gpu(m, &gpu), 0);
	}
	assert_int_equal(tcpx_machine_finish(m), 0);
	for (unsigned i = 0; i < d->nodes; i++)
		for (unsigned k = 0; k < d->nodes; k++)
			m->nodes[i].distance[k] = (uint8_t)(i == k ? 10 : 10 + 2 * (i + k));
	m->allowed = m->online;
	tcpx_cpuset_for_each(cpu, &d->out)
		tcpx_cpuset_remove(&m->allowed, cpu + (int)d->shift);
	tcpx_cpuset_for_each(cpu, &d->isolated)
		tcpx_cpuset_add(&m->isolated, cpu + (int)d->shift);
}

/* False where nothing may be used: -ENODEV, rightly. */
static bool
make(const struct tcpx_machine *m, const struct tcpx_plan_options *o, struct tcpx_plan *p)
{
	struct tcpx_cpuset usable = m->allowed;

	tcpx_cpuset_andnot(&usable, &m->isolated);
	if (tcpx_cpuset_empty(&usable))
		return false;
	assert_int_equal(tcpx_plan_make(m, o, p), 0);
	return true;
}

static bool
same(const struct tcpx_plan *a, const struct tcpx_plan *b)
{
	if (a->group_count != b->group_count || a->nic_count != b->nic_count ||
	    a->irq_count != b->irq_count || a->hash != b->hash)
		return false;
	return !memcmp(a->groups, b->groups, a->group_count * sizeof(*a->groups)) &&
	       !memcmp(a->nics, b->nics, a->nic_count * sizeof(*a->nics)) &&
	       (!a->irq_count ||
		!memcmp(a->irqs, b->irqs, a->irq_count * sizeof(*a->irqs)));
}

/* 1 to 5, 15, 16 of one group. */
static void
check_group(uint64_t seed, const struct tcpx_machine *m, const struct tcpx_plan *p, unsigned at)
{
	const struct tcpx_plan_group *g = &p->groups[at];
	struct tcpx_cpuset all = g->head;

	check_random(seed, tcpx_cpuset_within(&g->pool, &m->allowed));
	check_random(seed, !tcpx_cpuset_overlap(&g->pool, &m->isolated));
	check_random(seed, g->tx_cores && g->rx_cores);
	check_random(seed, !tcpx_cpuset_empty(&g->tx) && !tcpx_cpuset_empty(&g->rx));
	if (g->flags & TCPX_PLAN_SHARED) {
		check_random(seed, g->cores == 1);
		return;
	}
	check_random(seed, !tcpx_cpuset_overlap(&g->tx, &g->rx));
	check_random(seed, !tcpx_cpuset_overlap(&g->head, &g->tail));
	tcpx_cpuset_or(&all, &g->tail);
	check_random(seed, !tcpx_cpuset_overlap(&all, &g->tx) &&
			   !tcpx_cpuset_overlap(&all, &g->rx));
	tcpx_cpuset_or(&all, &g->tx);
	tcpx_cpuset_or(&all, &g->rx);
	check_random(seed, tcpx_cpuset_equal(&all, &g->pool));
	check_random(seed, g->cores == g->head_cores + g->tx_cores + g->rx_cores + g->tail_cores);
	check_random(seed, g->rx_cores - g->tx_cores <= 1);
	if (g->node >= 0) {
		tcpx_machine_node_cpus(m, g->node, &all);
		check_random(seed, tcpx_cpuset_within(&g->pool, &all));
	}
}

/* 5 */
static void
check_whole(uint64_t seed, const struct tcpx_machine *m, const struct tcpx_plan_group *g)
{
	const struct tcpx_cpuset *sets[] = { &g->head, &g->tx, &g->rx, &g->tail };

	for (unsigned i = 0; i < m->core_count; i++)
		for (unsigned k = 0; k < 4; k++) {
			unsigned in = 0, usable = 0;

			for (unsigned t = 0; t < m->cores[i].cpu_count; t++) {
				int cpu = m->cores[i].cpu[t];

				in += tcpx_cpuset_has(sets[k], cpu);
				usable += tcpx_cpuset_has(&m->allowed, cpu) &&
					  !tcpx_cpuset_has(&m->isolated, cpu);
			}
			check_random(seed, !in || in == usable);
		}
}

/* 7 */
static void
check_irqs(uint64_t seed, const struct tcpx_machine *m, const struct draft *d,
	   const struct tcpx_plan *p)
{
	unsigned want = 0;

	for (unsigned i = 0; i < d->nics; i++)
		want += d->queues[i] * (d->vectors ? 2 : 1);
	if (p->options.policy == TCPX_IRQ_KEEP)
		want = 0;
	check_random(seed, p->irq_count == want);
	for (unsigned i = 0; i < p->irq_count; i++) {
		const struct tcpx_plan_irq *irq = &p->irqs[i];

		check_random(seed, tcpx_cpuset_has(&m->allowed, irq->cpu) &&
				   !tcpx_cpuset_has(&m->isolated, irq->cpu));
		if (p->options.policy == TCPX_IRQ_TAIL)
			check_random(seed, tcpx_cpuset_has(&p->groups[p->nics[irq->nic].group].pool,
							   irq->cpu));
	}
}

/* 11 */
static void
check_texts(uint64_t seed, const struct tcpx_plan *p)
{
	struct tcpx_bindings b;
	char *text;

	for (unsigned rx = 0; rx < 2; rx++) {
		if (tcpx_plan_bindings(p, rx, &text))
			continue; /* too scattered for the plugin */
		check_random(seed, tcpx_bindings_parse(text, "own", &b) == 0);
		check_random(seed, b.count == p->nic_count);
		for (unsigned i = 0; i < p->nic_count; i++) {
			const struct tcpx_plan_group *g = &p->groups[p->nics[i].group];
			const struct tcpx_cpuset *set = tcpx_bindings_of(&b, p->nics[i].name);

			check_random(seed, set && tcpx_cpuset_equal(set, rx ? &g->rx : &g->tx));
		}
		for (const char *at = text; (at = strpbrk(at, ":,")) != NULL; at++)
			check_random(seed, strspn(at + 1, "0123456789") &&
					   at[1 + strspn(at + 1, "0123456789")] == '-');
		tcpx_bindings_fini(&b);
		free(text);
	}
}

/* 18 */
static void
check_kinds(uint64_t seed, const struct tcpx_machine *m, const struct tcpx_plan *p)
{
	for (unsigned i = 0; i < m->core_count; i++)
		for (unsigned g = 0; g < p->group_count && m->cores[i].small; g++)
			check_random(seed, p->groups[g].flags & TCPX_PLAN_ON_SMALL ||
				     !(tcpx_cpuset_has(&p->groups[g].tx, m->cores[i].cpu[0]) ||
				       tcpx_cpuset_has(&p->groups[g].rx, m->cores[i].cpu[0])));
}

/* 17: what a plan emits has no error by the lint. */
static void
check_lint(uint64_t seed, const struct tcpx_machine *m, const struct tcpx_plan *p)
{
	char *tx = NULL, *rx = NULL;
	struct tcpx_lint lint;

	if (tcpx_plan_bindings(p, false, &tx) == 0 && tcpx_plan_bindings(p, true, &rx) == 0) {
		check_random(seed, tcpx_lint_bindings(m, p, tx, rx, &lint) == 0);
		check_random(seed, !lint.count || lint.at[0].level != TCPX_LINT_ERROR); /* worst first */
		tcpx_lint_fini(&lint);
	}
	free(tx);
	free(rx);
}

static void
silence(void *arg, int level, const char *line)
{
}

static struct tcpx_plan_options
random_options(struct tcpx_rng *rng, const struct draft *d)
{
	struct tcpx_plan_options o = TCPX_PLAN_DEFAULTS;

	o.policy = (enum tcpx_irq_policy)below(rng, TCPX_IRQ_REMOTE);
	o.share_nic = below(rng, 2);
	if (!below(rng, 4))
		o.head = (int)below(rng, 12);
	if (!below(rng, 4))
		o.tail = (int)below(rng, 12);
	return o;
}

TEST(every_plan_keeps_its_promises)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	tcpx_log_sink(silence, NULL);
	for (unsigned n = 0; n < WORLDS; n++) {
		struct tcpx_plan_options o;
		struct tcpx_machine m;
		struct tcpx_plan p;
		struct draft d;

		draft(&rng, &d);
		o = random_options(&rng, &d);
		build(&d, false, &m);
		if (make(&m, &o, &p)) {
			for (unsigned i = 0; i < p.group_count; i++)
				check_group(seed, &m, &p, i);
			check_whole(seed, &m, &p.groups[n % p.group_count]);
			check_irqs(seed, &m, &d, &p);
			if (o.share_nic) /* 6 */
				for (unsigned i = 1; i < p.group_count; i++)
					check_random(seed, p.groups[i].node != p.groups[i - 1].node ||
						     !tcpx_cpuset_overlap(&p.groups[i].pool,
									  &p.groups[i - 1].pool));
			check_kinds(seed, &m, &p);
			if (n % 8 == 1)
				check_lint(seed, &m, &p);
			if (n % 8 == 0)
				check_texts(seed, &p);
			tcpx_plan_fini(&p);
		}
		tcpx_machine_fini(&m);
	}
	tcpx_log_sink(NULL, NULL);
}

/* 8, 9: a plan says nothing of what is in force, so that the second one is of the same facts. */
TEST(the_order_of_the_input_does_not_matter)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (unsigned n = 0; n < 2000; n++) {
		struct tcpx_machine a, b;
		struct tcpx_plan pa, pb, again;
		struct tcpx_plan_options o;
		struct draft d;

		draft(&rng, &d);
		o = random_options(&rng, &d);
		build(&d, false, &a);
		build(&d, true, &b);
		if (make(&a, &o, &pa) && make(&b, &o, &pb) && make(&a, &o, &again)) {
			check_random(seed, same(&pa, &pb));
			check_random(seed, same(&pa, &again));
			tcpx_plan_fini(&pa);
			tcpx_plan_fini(&pb);
			tcpx_plan_fini(&again);
		}
		tcpx_machine_fini(&a);
		tcpx_machine_fini(&b);
	}
}

/* The number of the CPU after a renumbering that keeps the order of cores. */
static int
renumber(const struct draft *from, const struct draft *to, int cpu)
{
	for (unsigned i = 0; i < all_cores(from); i++)
		for (unsigned k = 0; k < from->threads; k++)
			if ((int)cpu_at(from, i, k) == cpu)
				return (int)cpu_at(to, i, k);
	return -1;
}

/* 10: by shifting, and by other numbers for siblings. Not for policies that depend
 * on CPU numbers. */
TEST(renumbering_cpus_renumbers_the_plan)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (unsigned n = 0; n < 1000; n++) {
		struct tcpx_plan_options o = TCPX_PLAN_DEFAULTS;
		struct tcpx_machine a, b;
		struct tcpx_plan pa, pb;
		struct draft d, e;

		draft(&rng, &d);
		tcpx_cpuset_init(&d.out);
		tcpx_cpuset_init(&d.isolated);
		e = d;
		e.shift = below(&rng, 1000);
		e.adjacent = !d.adjacent;
		o.share_nic = below(&rng, 2);
		build(&d, false, &a);
		build(&e, false, &b);
		assert_true(make(&a, &o, &pa) && make(&b, &o, &pb));
		check_random(seed, pa.group_count == pb.group_count && pa.irq_count == pb.irq_count);
		for (unsigned i = 0; i < pa.group_count; i++) {
			struct tcpx_cpuset tx;

			tcpx_cpuset_init(&tx);
			tcpx_cpuset_for_each(cpu, &pa.groups[i].tx)
				tcpx_cpuset_add(&tx, renumber(&d, &e, cpu));
			check_random(seed, tcpx_cpuset_equal(&tx, &pb.groups[i].tx));
		}
		for (unsigned i = 0; i < pa.irq_count; i += 7)
			check_random(seed, renumber(&d, &e, pa.irqs[i].cpu) == pb.irqs[i].cpu);
		tcpx_plan_fini(&pa);
		tcpx_plan_fini(&pb);
		tcpx_machine_fini(&a);
		tcpx_machine_fini(&b);
	}
}

/* 12, for every size up to where nothing new happens. */
TEST(more_cores_never_mean_fewer_workers)
{
	for (unsigned world = 0; world < 64; world++) {
		struct tcpx_plan_options o = TCPX_PLAN_DEFAULTS;
		unsigned tx = 0, rx = 0;

		if (world & 32)
			o.head = (int)(world & 7);
		o.share_nic = world & 16;
		for (unsigned cores = 4; cores <= 80; cores++) {
			struct draft d = { .nodes = 1, .cores = { cores }, .threads = 1, .nics = 2,
					   .gpus = world & 7,
					   .queues = { 1 + world % 13 * 3, 4 } };
			struct tcpx_machine m;
			struct tcpx_plan p;

			build(&d, false, &m);
			assert_true(make(&m, &o, &p));
			if (p.groups[0].tx_cores < tx || p.groups[0].rx_cores < rx)
				fail_msg("world %u, %u cores: TX %u after %u, RX %u after %u", world,
					 cores, p.groups[0].tx_cores, tx, p.groups[0].rx_cores, rx);
			tx = p.groups[0].tx_cores;
			rx = p.groups[0].rx_cores;
			tcpx_plan_fini(&p);
			tcpx_machine_fini(&m);
		}
	}
}

/* 13 */
TEST(a_lost_cpu_is_its_own_groups_matter)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (unsigned n = 0; n < 2000; n++) {
		struct tcpx_plan_options o = TCPX_PLAN_DEFAULTS;
		struct tcpx_machine m;
		struct tcpx_plan a, b;
		struct draft d;
		int lost;

		draft(&rng, &d);
		build(&d, false, &m);
		if (make(&m, &o, &a)) {
			const struct tcpx_plan_group *g = &a.groups[below(&rng, a.group_count)];

			lost = tcpx_cpuset_first(&g->pool);
			if (g->cores > 2) /* else its NICs may have another home */
				tcpx_cpuset_remove(&m.allowed, lost);
			if (make(&m, &o, &b)) {
				check_random(seed, a.group_count == b.group_count);
				for (unsigned i = 0; i < a.group_count; i++)
					check_random(seed, tcpx_cpuset_has(&a.groups[i].pool, lost) ||
						     !memcmp(&a.groups[i], &b.groups[i],
							     sizeof(a.groups[i])));
				tcpx_plan_fini(&b);
			}
			tcpx_plan_fini(&a);
		}
		tcpx_machine_fini(&m);
	}
}
