/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel in software answers as Linux 6.18 with 2 CPUs was measured to. */
#include "../base/base_test.h"

#include <errno.h>

#include "fake/simkernel.h"

static struct sim sim;

static int
make_sim(void **state)
{
	sim_init(&sim, 2);
	sim_add(&sim, 38, "virtio2-input.0", 49153, 1);
	sim_add(&sim, 36, "virtio1-req.0", 49152, 1)->managed = true;
	return 0;
}

TEST_WITH(lists_are_taken_and_refused, make_sim, NULL)
{
	static const struct {
		const char *text;
		int rc;
		const char *reads;
	} rows[] = {
		{ "0", 0, "0" },
		{ "1", 0, "1" },
		{ "0-1", 0, "0-1" },
		{ "5", -ERANGE, NULL },
		{ "1,5", -ERANGE, NULL },
		{ "0-5000", -ERANGE, NULL },
		{ "8-21,112-125", -ERANGE, NULL },
		{ "", -EINVAL, NULL },
		{ "a", -EINVAL, NULL },
		{ "1-0", -EINVAL, NULL },
		{ "-1", -EINVAL, NULL },
		{ "0-1:0/2", -EINVAL, NULL },
		{ "18446744073709551616", -EOVERFLOW, NULL },
		{ "0,,1", 0, "0-1" },
		{ "0 1", 0, "0-1" },
		{ " 0", 0, "0" },
		{ "0-1:1/2", 0, "0" },
		{ "all", 0, "0-1" },
		{ "N", 0, "1" },
		{ "0\njunk", 0, "0" },
	};
	struct tcpx_files f = sim_files(&sim);
	char text[64];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(f.ops->write(&f, "proc/irq/38/smp_affinity_list", "0-1"), 0);
		check(rows[i].text, "rc", f.ops->write(&f, "proc/irq/38/smp_affinity_list",
						       rows[i].text), rows[i].rc);
		assert_true(f.ops->read(&f, "proc/irq/38/smp_affinity_list", text,
					sizeof(text)) > 0);
		check_text(rows[i].text, text, rows[i].rc ? "0-1" : rows[i].reads);
	}
	assert_int_equal(f.ops->write(&f, "proc/irq/36/smp_affinity_list", "0"), -EPERM);
	assert_int_equal(f.ops->write(&f, "proc/irq/77/smp_affinity_list", "0"), -ENOENT);
}

TEST_WITH(masks_are_taken_and_refused, make_sim, NULL)
{
	static const struct {
		const char *text;
		int rc;
	} rows[] = {
		{ "1", 0 }, { "3", 0 }, { "03,", 0 }, { "0", -EINVAL }, { "0x1", -EINVAL },
		{ "ffffffff", -EOVERFLOW }, { "100000000", -EOVERFLOW },
		{ "00000000,00000002", 0 },
	};
	struct tcpx_files f = sim_files(&sim);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(rows[i].text, "rc", f.ops->write(&f, "proc/irq/38/smp_affinity",
						       rows[i].text), rows[i].rc);
}

/* The table of four moves: asked for at once, effective after the next interrupt, which
 * still goes to the old CPU. */
TEST_WITH(what_is_written_waits_for_an_interrupt, make_sim, NULL)
{
	struct tcpx_files f = sim_files(&sim);
	struct sim_irq *v = sim_find(&sim, 38);

	assert_int_equal(f.ops->write(&f, "proc/irq/38/smp_affinity_list", "0"), 0);
	assert_int_equal(v->eff, 1);
	sim_fire(&sim, 38);
	assert_int_equal(v->eff, 0);
	assert_int_equal(v->counts[1], 1);
	sim_fire(&sim, 38);
	assert_int_equal(v->counts[0], 1);
	assert_int_equal(f.ops->write(&f, "proc/irq/38/smp_affinity_list", "0-1"), 0);
	sim_fire(&sim, 38);
	assert_int_equal(v->eff, 0); /* a wide mask leaves it where it is */
}

TEST_WITH(the_kth_write_fails, make_sim, NULL)
{
	struct tcpx_files f = sim_files(&sim);

	sim.fail_at = 2;
	sim.fail_errno = ENOSPC;
	assert_int_equal(f.ops->write(&f, "proc/irq/38/smp_affinity_list", "0"), 0);
	assert_int_equal(f.ops->write(&f, "proc/irq/38/smp_affinity_list", "1"), -ENOSPC);
	assert_true(tcpx_cpuset_has(&sim_find(&sim, 38)->mask, 0));
	assert_int_equal(f.ops->write(&f, "proc/irq/38/smp_affinity_list", "1"), 0);
}
