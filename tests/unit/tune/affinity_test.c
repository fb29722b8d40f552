/* SPDX-License-Identifier: Apache-2.0 */
/* Applying a plan and undoing it on a kernel in software: checks before, writes, messages. */
#include "affinity_bed.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tune/irq/journal.h"

static void
set_list(struct tcpx_cpuset *set, const char *list)
{
	assert_int_equal(tcpx_cpuset_parse(list, set), 0);
}

static const char *
read_journal(struct bed *b)
{
	static char text[4096];
	FILE *f = fopen(b->journal, "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

TEST_WITH(a_plan_is_applied_and_taken_back, bed_make, bed_remove)
{
	struct bed *b = *state;
	static const enum tcpx_aff_state want[BED_ITEMS] = {
		TCPX_AFF_PENDING, TCPX_AFF_PENDING, TCPX_AFF_MANAGED, TCPX_AFF_PENDING,
		TCPX_AFF_PENDING, TCPX_AFF_EFFECTIVE,
	};

	assert_int_equal(bed_apply(b), 0);
	assert_int_equal(b->outcome, TCPX_AFF_DONE);
	assert_true(bed_is_new(b));
	for (int i = 0; i < BED_ITEMS; i++)
		check(b->items[i].name, "state", b->items[i].state, want[i]);
	assert_int_equal(tcpx_aff_in_force(&b->files, b->journal), 1);
	assert_int_equal(b->sim->writes, 5);

	assert_int_equal(bed_restore(b), 0);
	assert_int_equal(b->outcome, TCPX_AFF_DONE);
	assert_true(bed_is_old(b));
	assert_int_equal(tcpx_aff_in_force(&b->files, b->journal), 0);
	assert_int_equal(captured_count("\n"), 0);
}

TEST_WITH(restoring_twice_is_restoring_once, bed_make, bed_remove)
{
	struct bed *b = *state;
	unsigned writes;

	assert_int_equal(bed_apply(b), 0);
	assert_int_equal(bed_restore(b), 0);
	writes = b->sim->writes;
	assert_int_equal(bed_restore(b), 0);
	assert_int_equal(b->outcome, TCPX_AFF_DONE);
	assert_int_equal(b->sim->writes, writes);
	b->opts.force = true;
	assert_int_equal(bed_restore(b), 0);
	assert_int_equal(b->sim->writes, writes); /* already there */
	assert_true(bed_is_old(b));
}

/* The vectors fire in between, so the effective CPUs must be brought back, too. */
TEST_WITH(effective_cpus_come_back, bed_make, bed_remove)
{
	struct bed *b = *state;

	assert_int_equal(bed_apply(b), 0);
	sim_fire_all(b->sim);
	assert_int_equal(sim_find(b->sim, 30)->eff, 4);
	sim_find(b->sim, 30)->every_ms = 7;
	sim_find(b->sim, 33)->every_ms = 40;
	b->opts.settle_ms = 200;
	assert_int_equal(bed_restore(b), 0);
	assert_true(bed_is_old(b));
	assert_int_equal(sim_find(b->sim, 30)->eff, 1);
	assert_int_equal(sim_find(b->sim, 33)->eff, 4);
	assert_int_equal(sim_find(b->sim, 31)->eff, 5); /* idle: it stays where it is */
}

TEST_WITH(a_dry_run_writes_nothing, bed_make, bed_remove)
{
	struct bed *b = *state;

	b->opts.dry_run = true;
	b->sim->read_only = true; /* it may be looked at by anybody */
	assert_int_equal(bed_apply(b), 0);
	assert_int_equal(b->sim->writes, 0);
	assert_int_not_equal(access(b->journal, F_OK), 0);
	assert_true(b->items[0].move);
	assert_int_equal(b->items[2].state, TCPX_AFF_MANAGED);
}

TEST_WITH(what_is_there_already_is_not_written, bed_make, bed_remove)
{
	struct bed *b = *state;

	for (int i = 0; i < BED_ITEMS - 1; i++)
		b->items[i].want = b->sim->online;
	assert_int_equal(bed_apply(b), 0);
	assert_int_equal(b->sim->writes, 1); /* the queue */
	assert_int_equal(b->items[0].state, TCPX_AFF_EFFECTIVE);
}

enum wrong {
	RENAMED, OTHER_HWIRQ, GONE, OFFLINE, NO_CPU, TWICE, READ_ONLY, STRICT, BALANCER, NO_QUEUE,
	IN_FORCE, LOCKED, OTHERS_JOURNAL, WRONGS
};

static int
make_wrong(struct bed *b, enum wrong wrong)
{
	int fd = -1;

	switch (wrong) {
	case RENAMED:
		strcpy(b->sim->irqs[3].name, "eth9-TxRx-0");
		break;
	case OTHER_HWIRQ:
		b->sim->irqs[3].hwirq = 7;
		break;
	case GONE:
		sim_free(b->sim, 33);
		break;
	case OFFLINE:
		tcpx_cpuset_remove(&b->sim->online, 7);
		break;
	case NO_CPU:
		tcpx_cpuset_init(&b->items[1].want);
		break;
	case TWICE:
		b->items[3].number = 30;
		b->items[3].hwirq = -1;
		*b->items[3].name = '\0';
		break;
	case READ_ONLY:
		b->sim->read_only = true;
		break;
	case STRICT:
		b->opts.strict = true;
		break;
	case BALANCER:
		b->sim->balancer = 812;
		break;
	case NO_QUEUE:
		b->sim->queues[0].single = true;
		break;
	case IN_FORCE:
		bed_write_journal(b, "tcpx-irq-journal 1\nboot 11111111-2222-3333-4444-555555555555\n"
				  "time 1\nend 0\nstate applied\n");
		break;
	case LOCKED:
		fd = open(b->lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
		break;
	case OTHERS_JOURNAL:
		bed_write_journal(b, "tcpx-irq-journal 1\nboot 1\ntime 1\nend 0\n");
		assert_int_equal(chmod(b->journal, 0666), 0);
		break;
	case WRONGS:
		break;
	}
	return fd;
}

/* Each is reported before anything is touched. */
TEST_WITH(what_does_not_fit_is_refused, bed_make, bed_remove)
{
	static const struct {
		enum tcpx_aff_outcome outcome;
		int rc;
		const char *says;
	} rows[WRONGS] = {
		[RENAMED] = { TCPX_AFF_REFUSED, -ESTALE, "irq 33 (eth2-TxRx-0): is 'eth9-TxRx-0' now" },
		[OTHER_HWIRQ] = { TCPX_AFF_REFUSED, -ESTALE, "has hwirq 7, was planned with 103" },
		[GONE] = { TCPX_AFF_REFUSED, -ESTALE, "irq 33 (eth2-TxRx-0): is gone" },
		[OFFLINE] = { TCPX_AFF_REFUSED, -EINVAL, "not online" },
		[NO_CPU] = { TCPX_AFF_REFUSED, -EINVAL, "on no CPU" },
		[TWICE] = { TCPX_AFF_REFUSED, -EEXIST, "planned twice" },
		[READ_ONLY] = { TCPX_AFF_DENIED, -EROFS, "read-only here" },
		[STRICT] = { TCPX_AFF_DENIED, -EPERM, "managed by the kernel" },
		[BALANCER] = { TCPX_AFF_DENIED, -EBUSY, "irqbalance (process 812) runs" },
		[NO_QUEUE] = { TCPX_AFF_REFUSED, -ESTALE, "eth1 tx-3 xps: is gone" },
		[IN_FORCE] = { TCPX_AFF_REFUSED, -EEXIST, "restore that first" },
		[LOCKED] = { TCPX_AFF_DENIED, -EBUSY, "another apply or restore is running" },
		[OTHERS_JOURNAL] = { TCPX_AFF_REFUSED, -EPERM, "others may write to it" },
	};
	struct bed *b = *state;

	for (int i = 0; i < WRONGS; i++) {
		int fd;

		bed_reset(b);
		fd = make_wrong(b, (enum wrong)i);
		check(rows[i].says, "rc", bed_apply(b), rows[i].rc);
		check(rows[i].says, "outcome", b->outcome, rows[i].outcome);
		check_has(captured, rows[i].says);
		check(rows[i].says, "lines", captured_count("\n"), 1);
		check(rows[i].says, "writes", b->sim->writes, 0);
		if (fd >= 0)
			close(fd);
	}
}

TEST_WITH(a_renumbered_vector_is_followed_if_allowed, bed_make, bed_remove)
{
	struct bed *b = *state;

	sim_renumber(b->sim, 33, 77);
	assert_int_equal(bed_apply(b), -ESTALE);
	assert_int_equal(b->items[3].renumbered, 77);
	assert_int_equal(b->items[3].state, TCPX_AFF_RENUMBERED);
	check_has(captured, "the name has IRQ 77");
	bed_reset(b);
	sim_renumber(b->sim, 33, 77);
	b->opts.renumber = true;
	assert_int_equal(bed_apply(b), 0);
	assert_int_equal(b->items[3].number, 77);
	assert_true(bed_is_new(b));
}

TEST_WITH(a_busy_vector_is_tried_again, bed_make, bed_remove)
{
	struct bed *b = *state;

	b->sim->fail_at = 2;
	b->sim->fail_count = 3;
	b->sim->fail_errno = EBUSY;
	assert_int_equal(bed_apply(b), 0);
	assert_true(bed_is_new(b));
	assert_int_equal(b->sim->writes, 8);
	bed_reset(b);
	b->sim->fail_at = 2;
	b->sim->fail_count = TCPX_AFF_TRIES;
	b->sim->fail_errno = EAGAIN;
	assert_int_equal(bed_apply(b), -EAGAIN);
	assert_int_equal(b->outcome, TCPX_AFF_ROLLED_BACK);
	assert_true(bed_is_old(b));
}

TEST_WITH(a_full_cpu_is_replaced_from_the_pool, bed_make, bed_remove)
{
	struct bed *b = *state;
	struct tcpx_cpuset want;

	b->sim->fail_at = 3; /* irq 33, planned on 7; the next of 4-7 is 4 */
	b->sim->fail_errno = ENOSPC;
	assert_int_equal(bed_apply(b), 0);
	set_list(&want, "4");
	assert_true(b->items[3].instead);
	assert_true(tcpx_cpuset_equal(&b->items[3].want, &want));
	assert_true(bed_is_new(b));
	check_has(read_journal(b), "irq 33 0-7 4 4 103 eth2-TxRx-0\n");
	assert_int_equal(bed_restore(b), 0);
	assert_true(bed_is_old(b));
	/* The next one has gone offline since the plan was made. */
	bed_reset(b);
	set_list(&b->items[0].want, "5");
	tcpx_cpuset_remove(&b->sim->online, 4);
	b->sim->fail_at = 3;
	b->sim->fail_errno = ENOSPC;
	assert_int_equal(bed_apply(b), 0);
	set_list(&want, "5");
	assert_true(tcpx_cpuset_equal(&b->items[3].want, &want));
	assert_true(bed_is_new(b));
	/* All of the pool is full. */
	bed_reset(b);
	b->sim->fail_at = 3;
	b->sim->fail_count = 4;
	b->sim->fail_errno = ENOSPC;
	assert_int_equal(bed_apply(b), -ENOSPC);
	assert_int_equal(b->outcome, TCPX_AFF_ROLLED_BACK);
	assert_true(bed_is_old(b));
}

/* What was accepted and is not there is not called applied. */
TEST_WITH(a_write_that_was_lost_is_noticed, bed_make, bed_remove)
{
	struct bed *b = *state;

	for (unsigned k = 1; k <= 5; k++) {
		bed_reset(b);
		b->sim->lose_at = k;
		assert_int_equal(bed_apply(b), -EIO);
		assert_int_equal(b->outcome, TCPX_AFF_ROLLED_BACK);
		assert_true(bed_is_old(b));
		check_has(captured, "does not read back as written");
	}
}

TEST_WITH(a_managed_vector_with_a_writable_mode_is_skipped, bed_make, bed_remove)
{
	struct bed *b = *state;

	b->sim->irqs[2].mode = 0644;
	assert_int_equal(bed_apply(b), 0);
	assert_int_equal(b->items[2].state, TCPX_AFF_MANAGED);
	assert_true(bed_is_new(b));
	assert_int_equal(bed_restore(b), 0);
	assert_int_equal(b->outcome, TCPX_AFF_DONE);
}

TEST_WITH(restoring_reports_what_it_could_not_do, bed_make, bed_remove)
{
	struct bed *b = *state;

	assert_int_equal(bed_apply(b), 0);
	sim_free(b->sim, 30);
	sim_renumber(b->sim, 31, 90);
	strcpy(sim_find(b->sim, 33)->name, "somebody-else");
	assert_int_equal(bed_restore(b), 0);
	assert_int_equal(b->outcome, TCPX_AFF_FINDINGS);
	assert_int_equal(tcpx_cpuset_first(&sim_find(b->sim, 33)->mask), 7); /* not ours */
	assert_int_equal(tcpx_cpuset_count(&sim_find(b->sim, 34)->mask), 8);
}

TEST_WITH(offline_cpus_are_left_out_of_a_restore, bed_make, bed_remove)
{
	struct bed *b = *state;
	struct tcpx_cpuset want;

	set_list(&sim_find(b->sim, 30)->mask, "2-3");
	assert_int_equal(bed_apply(b), 0);
	tcpx_cpuset_remove(&b->sim->online, 3);
	assert_int_equal(bed_restore(b), 0);
	assert_int_equal(b->outcome, TCPX_AFF_FINDINGS);
	set_list(&want, "2");
	assert_true(tcpx_cpuset_equal(&sim_find(b->sim, 30)->mask, &want));

	bed_reset(b);
	set_list(&sim_find(b->sim, 30)->mask, "3");
	assert_int_equal(bed_apply(b), 0);
	tcpx_cpuset_remove(&b->sim->online, 3);
	assert_int_equal(bed_restore(b), -EIO);
	assert_int_equal(b->outcome, TCPX_AFF_HALF);
	tcpx_cpuset_add(&b->sim->online, 3);
	assert_int_equal(bed_restore(b), 0);
	assert_int_equal(b->outcome, TCPX_AFF_DONE);
}

TEST_WITH(a_journal_of_another_boot_is_refused, bed_make, bed_remove)
{
	struct bed *b = *state;

	assert_int_equal(bed_apply(b), 0);
	strcpy(b->sim->boot_id, "99999999-2222-3333-4444-555555555555");
	assert_int_equal(bed_restore(b), -ESTALE);
	assert_int_equal(b->outcome, TCPX_AFF_REFUSED);
	assert_true(bed_is_new(b));
	/* It does not stand in the way of a new one. */
	b->opts.force = true;
	assert_int_equal(bed_restore(b), 0);
	assert_true(bed_is_old(b));
	bed_reset(b);
	assert_int_equal(bed_apply(b), 0);
	strcpy(b->sim->boot_id, "99999999-2222-3333-4444-555555555555");
	assert_int_equal(bed_apply(b), 0);
}

static bool
count_down(void *arg)
{
	return (*(int *)arg)-- == 0;
}

/* Asked to stop at any step, it leaves the old state, or the whole new one. */
TEST_WITH(stopping_rolls_back, bed_make, bed_remove)
{
	struct bed *b = *state;
	bool done = false;

	for (int k = 0; !done; k++) {
		int left = k, rc;

		bed_reset(b);
		b->opts.stop = count_down;
		b->opts.stop_arg = &left;
		rc = bed_apply(b);
		done = rc == 0;
		check("stop", "step", rc, done ? 0 : -EINTR);
		assert_true(done ? bed_is_new(b) : bed_is_old(b));
		assert_int_equal(b->outcome, done ? TCPX_AFF_DONE : TCPX_AFF_ROLLED_BACK);
		assert_true(k < 20);
	}
}

/* By its first line, which is what was there before all: so the last is undone first. */
TEST_WITH(what_a_journal_has_twice_becomes_what_it_was_first, bed_make, bed_remove)
{
	struct bed *b = *state;
	struct sim_irq *v = sim_find(b->sim, 30);

	tcpx_cpuset_init(&v->mask);
	assert_int_equal(tcpx_cpuset_add(&v->mask, 6), 0);
	bed_write_journal(b, "tcpx-irq-journal 1\nboot 11111111-2222-3333-4444-555555555555\ntime 1\n"
			  "irq 30 2 - 5 100 eth1-TxRx-0\nirq 30 5 - 6 100 eth1-TxRx-0\nend 2\n"
			  "state applied\n");
	assert_int_equal(bed_restore(b), 0);
	assert_int_equal(b->outcome, TCPX_AFF_DONE);
	assert_int_equal(tcpx_cpuset_first(&v->mask), 2);
	assert_int_equal(tcpx_cpuset_count(&v->mask), 1);
}
