/* SPDX-License-Identifier: Apache-2.0 */
/* Verifying on a kernel in software: each state, and where interrupts are counted. */
#include "affinity_bed.h"

#include <errno.h>

static bool
verify(struct bed *b)
{
	bool good;

	assert_int_equal(tcpx_aff_verify(&b->files, b->items, BED_ITEMS, &b->opts, &good), 0);
	return good;
}

TEST_WITH(each_state_is_told, bed_make, bed_remove)
{
	struct bed *b = *state;
	unsigned writes;

	assert_false(verify(b)); /* nothing was applied */
	assert_int_equal(b->items[0].state, TCPX_AFF_DRIFTED);
	assert_int_equal(b->items[2].state, TCPX_AFF_MANAGED);
	assert_int_equal(bed_apply(b), 0);
	writes = b->sim->writes;
	assert_true(verify(b));
	assert_int_equal(b->items[0].state, TCPX_AFF_PENDING);
	sim_fire_all(b->sim);
	sim_find(b->sim, 31)->no_eff = true;
	assert_true(verify(b));
	assert_int_equal(b->items[0].state, TCPX_AFF_EFFECTIVE);
	assert_int_equal(b->items[1].state, TCPX_AFF_REQUESTED);
	assert_int_equal(b->items[5].state, TCPX_AFF_EFFECTIVE);

	sim_free(b->sim, 30);
	sim_renumber(b->sim, 31, 80);
	strcpy(sim_find(b->sim, 33)->name, "other");
	tcpx_cpuset_init(&b->sim->queues[0].mask);
	assert_false(verify(b));
	assert_int_equal(b->items[0].state, TCPX_AFF_GONE);
	assert_int_equal(b->items[1].state, TCPX_AFF_RENUMBERED);
	assert_int_equal(b->items[1].renumbered, 80);
	assert_int_equal(b->items[3].state, TCPX_AFF_RENUMBERED);
	assert_int_equal(b->items[5].state, TCPX_AFF_DRIFTED);
	assert_int_equal(b->sim->writes, writes);
}

/* The kernel programs one of several CPUs. */
TEST_WITH(any_cpu_of_the_plan_is_good, bed_make, bed_remove)
{
	struct bed *b = *state;

	tcpx_cpuset_add_range(&b->items[0].want, 4, 7);
	assert_int_equal(bed_apply(b), 0);
	sim_fire_all(b->sim);
	assert_int_equal(tcpx_cpuset_count(&b->items[0].want), 4);
	assert_true(verify(b));
	assert_int_equal(tcpx_cpuset_count(&b->items[0].now_eff), 1);
	assert_int_equal(b->items[0].state, TCPX_AFF_EFFECTIVE);
}

/* One interrupt on the old CPU belongs to a move; two do not. */
TEST_WITH(interrupts_elsewhere_are_counted, bed_make, bed_remove)
{
	struct bed *b = *state;

	assert_int_equal(bed_apply(b), 0);
	for (int i = 0; i < BED_ITEMS - 1; i++)
		b->sim->irqs[i].every_ms = 10;
	b->opts.load_ms = 100;
	assert_true(verify(b));
	assert_int_equal(b->items[0].state, TCPX_AFF_EFFECTIVE);
	assert_int_equal(b->items[0].off_plan, 1);
	assert_int_equal(b->items[0].on_plan, 9);
	assert_true(verify(b));
	assert_int_equal(b->items[0].off_plan, 0);
	assert_int_equal(b->items[0].on_plan, 10);

	/* Settling first leaves nothing to allow. */
	bed_reset(b);
	assert_int_equal(bed_apply(b), 0);
	for (int i = 0; i < BED_ITEMS - 1; i++)
		b->sim->irqs[i].every_ms = 10;
	b->opts.load_ms = 100;
	b->opts.settle_ms = 50;
	assert_true(verify(b));
	assert_int_equal(b->items[0].off_plan, 0);
}

/* Something that moves a vector and back between two looks is seen in the counts. */
TEST_WITH(a_vector_that_fires_elsewhere_is_off_plan, bed_make, bed_remove)
{
	struct bed *b = *state;

	assert_int_equal(bed_apply(b), 0);
	sim_fire_all(b->sim);
	sim_find(b->sim, 30)->every_ms = 10;
	sim_find(b->sim, 30)->eff = 2; /* though its mask says 4 */
	b->sim->irqs[0].every_ms = 10;
	b->opts.load_ms = 5;
	assert_true(verify(b));
	assert_int_equal(b->items[0].state, TCPX_AFF_PENDING);
	sim_find(b->sim, 30)->no_eff = true;
	b->opts.load_ms = 20;
	assert_false(verify(b));
	assert_int_equal(b->items[0].state, TCPX_AFF_OFF_PLAN);
}

TEST_WITH(irqbalance_is_drift, bed_make, bed_remove)
{
	struct bed *b = *state;

	assert_int_equal(bed_apply(b), 0);
	sim_fire_all(b->sim);
	assert_true(verify(b));
	b->sim->balancing = true;
	b->opts.settle_ms = 11000;
	assert_false(verify(b));
	assert_int_equal(b->items[0].state, TCPX_AFF_DRIFTED);
	assert_int_equal(b->items[2].state, TCPX_AFF_MANAGED);
}

static bool
at_once(void *arg)
{
	(void)arg;
	return true;
}

TEST_WITH(waiting_can_be_stopped, bed_make, bed_remove)
{
	struct bed *b = *state;
	bool good = true;

	b->opts.stop = at_once;
	b->opts.settle_ms = 1u << 30;
	assert_int_equal(tcpx_aff_verify(&b->files, b->items, BED_ITEMS, &b->opts, &good), -EINTR);
	assert_false(good);
}
