/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every write of an apply and of a restore fails with every error, and is the last act
 * of its process. The remaining state is the old one, the new one, or one that the
 * journal restores.
 */
#include "affinity_bed.h"

#include <errno.h>
#include <sys/resource.h>
#include <signal.h>
#include <unistd.h>

#include "tune/irq/journal.h"

static const int errors[] = {
	EPERM, EIO, EACCES, EROFS, EINVAL, ERANGE, EOVERFLOW, ENOSPC, EAGAIN, EBUSY, ENOENT,
	ENOMEM, ENODEV, EINTR, EFBIG,
};

enum { MOST_WRITES = 40 };

static void
check_end(struct bed *b, int rc, const char *what)
{
	switch (b->outcome) {
	case TCPX_AFF_DONE:
		check(what, "rc", rc, 0);
		for (int i = 0; i < BED_ITEMS - 1; i++)
			if (b->items[i].state != TCPX_AFF_MANAGED &&
			    !tcpx_cpuset_equal(&b->sim->irqs[i].mask, &b->items[i].want))
				fail_msg("%s: %s is not where it is told to be", what,
					 b->items[i].name);
		break;
	case TCPX_AFF_ROLLED_BACK:
		if (rc >= 0 || !bed_is_old(b))
			fail_msg("%s: rc %d, rolled back, but not as before", what, rc);
		assert_int_equal(tcpx_aff_in_force(&b->files, b->journal), 0);
		break;
	case TCPX_AFF_HALF:
		assert_true(rc < 0);
		assert_int_equal(tcpx_aff_in_force(&b->files, b->journal), 1);
		b->sim->fail_at = 0;
		assert_int_equal(bed_restore(b), 0);
		assert_int_equal(b->outcome, TCPX_AFF_DONE);
		if (!bed_is_old(b))
			fail_msg("%s: the journal did not restore", what);
		break;
	default:
		fail_msg("%s: outcome %d", what, b->outcome);
	}
}

/* One error at each write; then from each write on for ever, so that undoing fails too. */
TEST_WITH(each_error_at_each_write, bed_make, bed_remove)
{
	struct bed *b = *state;
	unsigned halves = 0, rolled = 0, done = 0;

	for (size_t e = 0; e < ARRAY_LEN(errors); e++) {
		for (unsigned k = 1; k <= 7; k++) {
			for (unsigned mode = 0; mode < 4; mode++) {
				char what[96];
				int rc;

				bed_reset(b);
				b->sim->fail_at = k;
				b->sim->fail_errno = errors[e];
				b->sim->fail_count = mode & 1 ? 1000 : 1;
				b->sim->fail_after = mode & 2;
				snprintf(what, sizeof(what), "error %d at write %u, mode %u",
					 errors[e], k, mode);
				rc = bed_apply(b);
				halves += b->outcome == TCPX_AFF_HALF;
				rolled += b->outcome == TCPX_AFF_ROLLED_BACK;
				done += b->outcome == TCPX_AFF_DONE;
				check_end(b, rc, what);
			}
		}
	}
	assert_true(halves > 20 && rolled > 100 && done > 60);
}

static int
apply_and_tell(struct bed *b)
{
	(void)!freopen("/dev/null", "w", stderr);
	return bed_apply(b) == 0 ? 0 : 1;
}

static int
restore_and_tell(struct bed *b)
{
	(void)!freopen("/dev/null", "w", stderr);
	return bed_restore(b) == 0 ? 0 : 1;
}

/* Killed before and after each write of the apply; restored by another process. */
TEST_WITH(killed_at_each_write, bed_make, bed_remove)
{
	struct bed *b = *state;
	int code = SIM_KILLED;

	for (unsigned k = 1; code == SIM_KILLED; k++) {
		for (int after = 0; after < 2; after++) {
			bed_reset(b);
			b->sim->kill_at = k;
			b->sim->kill_after = after;
			code = bed_in_child(b, apply_and_tell);
			if (code != SIM_KILLED)
				break;
			b->sim->kill_at = 0;
			assert_int_equal(bed_restore(b), 0);
			assert_int_equal(b->outcome, TCPX_AFF_DONE);
			assert_true(bed_is_old(b));
			/* and a new one can be made */
			assert_int_equal(bed_apply(b), 0);
			assert_true(bed_is_new(b));
		}
		assert_true(k < MOST_WRITES);
	}
	assert_int_equal(code, 0);
}

/* A rollback that is killed, at each of its writes. */
TEST_WITH(killed_while_rolling_back, bed_make, bed_remove)
{
	struct bed *b = *state;

	for (unsigned fail = 2; fail <= 5; fail++) {
		for (unsigned k = fail + 1; k < 2 * fail; k++) {
			bed_reset(b);
			b->sim->fail_at = fail;
			b->sim->fail_errno = ERANGE;
			b->sim->kill_at = k;
			b->sim->kill_after = k & 1;
			assert_int_equal(bed_in_child(b, apply_and_tell), SIM_KILLED);
			b->sim->kill_at = b->sim->fail_at = 0;
			assert_int_equal(bed_restore(b), 0);
			assert_true(bed_is_old(b));
		}
	}
}

/* A restore that is killed is made again. */
TEST_WITH(killed_while_restoring, bed_make, bed_remove)
{
	struct bed *b = *state;
	int code = SIM_KILLED;

	for (unsigned k = 1; code == SIM_KILLED; k++) {
		bed_reset(b);
		b->opts.settle_ms = 20;
		assert_int_equal(bed_apply(b), 0);
		sim_fire_all(b->sim);
		b->sim->kill_at = b->sim->writes + k;
		b->sim->kill_after = k & 1;
		code = bed_in_child(b, restore_and_tell);
		b->sim->kill_at = 0;
		assert_int_equal(bed_restore(b), 0);
		assert_true(bed_is_old(b));
		assert_true(k < MOST_WRITES);
	}
	assert_int_equal(code, 0);
}

/* Errors of a restore are reported, and a second restore does the rest. */
TEST_WITH(each_error_while_restoring, bed_make, bed_remove)
{
	struct bed *b = *state;

	for (size_t e = 0; e < ARRAY_LEN(errors); e++) {
		for (unsigned k = 1; k <= 5; k++) {
			int rc;

			bed_reset(b);
			assert_int_equal(bed_apply(b), 0);
			b->sim->fail_at = b->sim->writes + k;
			b->sim->fail_count = 1000;
			b->sim->fail_errno = errors[e];
			rc = bed_restore(b);
			check("restore", "rc", rc, -EIO);
			assert_int_equal(b->outcome, TCPX_AFF_HALF);
			b->sim->fail_at = 0;
			assert_int_equal(bed_restore(b), 0);
			assert_true(bed_is_old(b));
		}
	}
}

/* The disk takes so many bytes of the journal and no more. */
static int
apply_on_a_full_disk(struct bed *b)
{
	struct rlimit limit = { (rlim_t)b->opts.settle_ms, RLIM_INFINITY };
	int rc;

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
		return 3;
	rc = bed_apply(b);
	return rc == 0 ? 0 : rc == -EFBIG && b->outcome == TCPX_AFF_ROLLED_BACK ? 1 : 2;
}

TEST_WITH(a_journal_that_does_not_fit_stops_everything, bed_make, bed_remove)
{
	struct bed *b = *state;
	char draft[128];

	for (unsigned room = 0; room < 300; room += 37) {
		int code;

		bed_reset(b);
		b->opts.settle_ms = room; /* carries the limit to the child */
		code = bed_in_child(b, apply_on_a_full_disk);
		check("full disk", "code", code, code == 0 ? 0 : 1);
		if (code == 0)
			continue;
		assert_int_equal(b->sim->writes, 0);
		assert_int_not_equal(access(b->journal, F_OK), 0);
		snprintf(draft, sizeof(draft), "%s.new", b->journal);
		assert_int_not_equal(access(draft, F_OK), 0);
	}
}
