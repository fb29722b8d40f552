/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Undoing. The kernel chooses a vector's CPU when its old wide mask is written. To bring it
 * back to its old CPU, that CPU alone is written first, and the wide mask after the vector
 * has fired there. All vectors get the first step before any wait.
 */
#include "tune/irq/undo.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "tune/irq/balancer.h"
#include "tune/irq/state.h"
#include "tune/irq/journal.h"

enum { LOOK_MS = 5 };

int
tcpx_irqundo_lock(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);

	if (fd < 0 && errno == EACCES && geteuid() != 0)
		return tcpx_fail(TCPX_SUB_HOST, -EACCES, "moving interrupts needs root: lock file %s",
				 path);
	if (fd < 0)
		return tcpx_fail_errno(TCPX_SUB_HOST, "cannot open lock file %s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		int rc = errno == EWOULDBLOCK ? -EBUSY : -errno;

		close(fd);
		return tcpx_fail(TCPX_SUB_HOST, rc, "another apply or restore is running: lock "
				 "file %s", path);
	}
	return fd;
}

void
tcpx_irqundo_boot_id(struct tcpx_files *f, char id[40])
{
	if (f->ops->read(f, "proc/sys/kernel/random/boot_id", id, 40) <= 0)
		strcpy(id, "0");
	for (char *c = id; *c; c++)
		if (!isxdigit((unsigned char)*c) && *c != '-')
			*c = '0';
}

/* May the item be written to? Sets its state if not. */
static bool
still_there(struct tcpx_files *f, struct tcpx_aff_item *item, struct tcpx_irqstate *s)
{
	item->rc = tcpx_irqstate_read(f, item, s);
	if (item->rc < 0) {
		item->state = TCPX_AFF_FAILED;
		return false;
	}
	item->now = s->mask;
	item->now_eff = s->eff;
	if (s->exists && tcpx_irqstate_same(s, item))
		return true;
	item->state = s->exists ? TCPX_AFF_RENUMBERED : TCPX_AFF_GONE;
	item->renumbered = item->kind == TCPX_AFF_IRQ ? tcpx_irqstate_find(f, item->name) : 0;
	if (item->renumbered && item->state == TCPX_AFF_GONE)
		item->state = TCPX_AFF_RENUMBERED;
	return false;
}

/* The first step; true if its effect is to be waited for. */
static bool
send_home(struct tcpx_files *f, struct tcpx_aff_item *item, const struct tcpx_cpuset *online)
{
	struct tcpx_irqstate s;

	if (!item->written || !still_there(f, item, &s) || item->kind != TCPX_AFF_IRQ)
		return false;
	if (tcpx_cpuset_empty(&item->old_eff) || tcpx_cpuset_empty(&s.eff) ||
	    tcpx_cpuset_equal(&s.eff, &item->old_eff) ||
	    !tcpx_cpuset_within(&item->old_eff, online))
		return false;
	/* A failure here repeats in the second step, which counts. */
	return tcpx_irqstate_write(f, item, &item->old_eff) == 0;
}

static bool
is_home(struct tcpx_files *f, const struct tcpx_aff_item *item)
{
	struct tcpx_irqstate s;

	return tcpx_irqstate_read(f, item, &s) < 0 || !s.exists ||
	       tcpx_cpuset_equal(&s.eff, &item->old_eff);
}

static void
wait_home(struct tcpx_files *f, const struct tcpx_aff_item *items, unsigned count, bool *going,
	  unsigned settle_ms)
{
	uint64_t end = f->ops->now_ms(f) + settle_ms;
	bool any = true;

	while (any) {
		any = false;
		for (unsigned i = 0; i < count; i++) {
			if (going[i] && is_home(f, &items[i]))
				going[i] = false;
			any |= going[i];
		}
		if (!any || f->ops->now_ms(f) >= end)
			return;
		f->ops->wait_ms(f, LOOK_MS);
	}
}

/* The second step. */
static void
write_old(struct tcpx_files *f, struct tcpx_aff_item *item, const struct tcpx_cpuset *online)
{
	struct tcpx_cpuset mask = item->old;
	struct tcpx_irqstate s;

	if (!still_there(f, item, &s))
		return;
	if (item->kind == TCPX_AFF_IRQ)
		tcpx_cpuset_and(&mask, online);
	item->state = TCPX_AFF_FAILED;
	item->rc = -EINVAL; /* all its CPUs are offline */
	if (item->kind == TCPX_AFF_IRQ && tcpx_cpuset_empty(&mask))
		return;
	item->rc = tcpx_cpuset_equal(&s.mask, &mask) ? 0 : tcpx_irqstate_write(f, item, &mask);
	if (item->rc < 0)
		return;
	item->rc = tcpx_irqstate_read(f, item, &s);
	if (item->rc < 0)
		return;
	item->now = s.mask;
	item->now_eff = s.eff;
	if (!tcpx_cpuset_equal(&s.mask, &mask))
		item->rc = -EIO;
	else
		item->state = tcpx_cpuset_equal(&mask, &item->old) ? TCPX_AFF_RESTORED :
								     TCPX_AFF_NARROWED;
}

unsigned
tcpx_irqundo(struct tcpx_files *f, struct tcpx_aff_item *items, unsigned count,
	     unsigned settle_ms, unsigned *findings)
{
	bool *going = calloc(count ? count : 1, sizeof(*going));
	struct tcpx_cpuset online;
	unsigned failed = 0;

	*findings = 0;
	if (tcpx_irqstate_list(f, "sys/devices/system/cpu/online", &online) < 0) {
		tcpx_cpuset_init(&online);
		tcpx_cpuset_add_range(&online, 0, TCPX_CPUS_MAX - 1);
	}
	/* Without memory only the old CPUs are lost, not the old masks. */
	for (unsigned i = 0; going && settle_ms && i < count; i++)
		going[i] = send_home(f, &items[i], &online);
	if (going && settle_ms)
		wait_home(f, items, count, going, settle_ms);
	free(going);

	/* The last first: what a journal has twice becomes what it was before all. */
	for (unsigned i = count; i-- > 0;) {
		struct tcpx_aff_item *item = &items[i];

		if (!item->written)
			continue;
		write_old(f, item, &online);
		failed += item->state == TCPX_AFF_FAILED;
		*findings += item->state == TCPX_AFF_GONE || item->state == TCPX_AFF_RENUMBERED ||
			     item->state == TCPX_AFF_NARROWED;
	}
	return failed;
}

static int
reach_outcome(enum tcpx_aff_outcome *outcome, enum tcpx_aff_outcome what, int rc)
{
	*outcome = what;
	return rc;
}

/* Reads the journal and decides whether there is work: 1, 0, or an error. */
static int
take_journal(struct tcpx_files *f, const struct tcpx_aff_opts *opts, struct tcpx_journal *j)
{
	char boot_id[40];
	int rc = tcpx_journal_load(opts->journal, j);

	if (rc == -ENOENT)
		return tcpx_fail(TCPX_SUB_HOST, rc, "no journal %s: nothing was applied, or "
				 "elsewhere", opts->journal);
	if (rc < 0)
		return rc;
	if (!tcpx_journal_unfinished(j) && !opts->force)
		return 0;
	tcpx_irqundo_boot_id(f, boot_id);
	if (strcmp(boot_id, j->boot_id) && !opts->force) {
		rc = tcpx_fail(TCPX_SUB_HOST, -ESTALE, "journal %s is of another boot (%s, now %s): "
			       "what it remembers ended with that", opts->journal, j->boot_id,
			       boot_id);
		tcpx_journal_fini(j);
		return rc;
	}
	return 1;
}

static int
restore_locked(struct tcpx_files *f, const struct tcpx_aff_opts *opts, struct tcpx_journal *j,
	       enum tcpx_aff_outcome *outcome)
{
	const char *dir = opts->balancer ? opts->balancer : TCPX_BALANCER_DIR;
	unsigned failed, findings;
	int rc = 0;

	for (unsigned i = 0; i < j->count; i++)
		j->items[i].written = true;
	failed = tcpx_irqundo(f, j->items, j->count, opts->settle_ms, &findings);
	/* A restarted irqbalance has an empty list. */
	if (j->balancer && tcpx_balancer_find(f) == j->balancer &&
	    tcpx_balancer_set(dir, j->balancer, j->bans) < 0)
		findings++;
	j->state = failed ? TCPX_JOURNAL_HALF : TCPX_JOURNAL_RESTORED;
	if (failed)
		rc = tcpx_fail(TCPX_SUB_HOST, -EIO, "%u of %u could not be restored; journal %s "
			       "still holds them", failed, j->count, opts->journal);
	if (tcpx_journal_store(opts->journal, j) < 0)
		findings++;
	return reach_outcome(outcome, failed ? TCPX_AFF_HALF :
			     findings ? TCPX_AFF_FINDINGS : TCPX_AFF_DONE, rc);
}

int
tcpx_aff_restore(struct tcpx_files *f, const struct tcpx_aff_opts *opts,
		 struct tcpx_aff_item **items, unsigned *count, enum tcpx_aff_outcome *outcome)
{
	struct tcpx_journal j = { .items = NULL };
	int lock = tcpx_irqundo_lock(opts->lock), rc;

	*items = NULL;
	*count = 0;
	if (lock < 0)
		return reach_outcome(outcome, TCPX_AFF_DENIED, lock);
	rc = take_journal(f, opts, &j);
	if (rc <= 0)
		rc = reach_outcome(outcome, rc < 0 ? TCPX_AFF_REFUSED : TCPX_AFF_DONE, rc);
	else
		rc = restore_locked(f, opts, &j, outcome);
	close(lock);
	*items = j.items;
	*count = j.count;
	return rc;
}

int
tcpx_aff_in_force(struct tcpx_files *f, const char *journal)
{
	struct tcpx_journal j;
	char boot_id[40];
	int rc = tcpx_journal_load(journal, &j);

	if (rc == -ENOENT)
		return 0;
	if (rc < 0)
		return rc;
	tcpx_irqundo_boot_id(f, boot_id);
	rc = tcpx_journal_unfinished(&j) && !strcmp(j.boot_id, boot_id);
	tcpx_journal_fini(&j);
	return rc;
}
