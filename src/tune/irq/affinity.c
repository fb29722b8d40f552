/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The apply transaction: look, check, write the journal to disk, write masks, read back.
 * Anything but a managed IRQ that fails undoes the written masks.
 */
#include "tune/irq/affinity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tune/irq/balancer.h"
#include "tune/irq/state.h"
#include "tune/irq/undo.h"
#include "tune/irq/journal.h"

enum { UNDO_SETTLE_MS = 0 }; /* a vector that has not fired comes back by itself */

const char *
tcpx_aff_state_name(enum tcpx_aff_state state)
{
	static const char *const names[TCPX_AFF_STATES] = {
		[TCPX_AFF_UNTOUCHED] = "untouched",
		[TCPX_AFF_REQUESTED] = "requested",
		[TCPX_AFF_PENDING] = "pending",
		[TCPX_AFF_EFFECTIVE] = "effective",
		[TCPX_AFF_MANAGED] = "skipped-managed",
		[TCPX_AFF_RESTORED] = "restored",
		[TCPX_AFF_NARROWED] = "narrowed",
		[TCPX_AFF_FAILED] = "failed",
		[TCPX_AFF_DRIFTED] = "drifted",
		[TCPX_AFF_OFF_PLAN] = "off-plan",
		[TCPX_AFF_GONE] = "gone",
		[TCPX_AFF_RENUMBERED] = "renumbered",
	};

	return names[state];
}

const char *
tcpx_aff_item_text(const struct tcpx_aff_item *item, char *buf, size_t cap)
{
	if (item->kind == TCPX_AFF_XPS)
		snprintf(buf, cap, "%s tx-%u xps", item->name, item->number);
	else if (*item->name)
		snprintf(buf, cap, "irq %u (%s)", item->number, item->name);
	else
		snprintf(buf, cap, "irq %u", item->number);
	return buf;
}

struct apply {
	struct tcpx_files *f;
	struct tcpx_aff_item *items;
	unsigned count;
	const struct tcpx_aff_opts *opts;
	struct tcpx_cpuset online;
	struct tcpx_journal journal; /* its items are those of the call or NULL */
	enum tcpx_aff_outcome outcome;
};

static int
conclude(struct apply *a, enum tcpx_aff_outcome outcome, int rc)
{
	a->outcome = outcome;
	return rc;
}

static bool
stopped(const struct apply *a)
{
	return a->opts->stop && a->opts->stop(a->opts->stop_arg);
}

static int
refuse(struct apply *a, struct tcpx_aff_item *item, enum tcpx_aff_outcome outcome, int code,
       const char *why)
{
	char what[TCPX_AFF_NAME + 32];

	item->rc = code;
	return conclude(a, outcome, tcpx_fail(TCPX_SUB_HOST, code, "%s: %s; nothing was changed",
					      tcpx_aff_item_text(item, what, sizeof(what)), why));
}

static int
not_the_planned(struct apply *a, struct tcpx_aff_item *item, const struct tcpx_irqstate *s)
{
	char why[2 * TCPX_AFF_NAME + 64];
	unsigned now = item->kind == TCPX_AFF_IRQ ? tcpx_irqstate_find(a->f, item->name) : 0;

	item->renumbered = now;
	if (!s->exists)
		snprintf(why, sizeof(why), "is gone");
	else if (*item->name && strcmp(s->name, item->name))
		snprintf(why, sizeof(why), "is '%s' now", s->name);
	else
		snprintf(why, sizeof(why), "has hwirq %lld, was planned with %lld",
			 (long long)s->hwirq, (long long)item->hwirq);
	if (now)
		snprintf(why + strlen(why), sizeof(why) - strlen(why), ", the name has IRQ %u", now);
	item->state = s->exists || now ? TCPX_AFF_RENUMBERED : TCPX_AFF_GONE;
	return refuse(a, item, TCPX_AFF_REFUSED, -ESTALE, why);
}

/* With opts->renumber, an item follows its name before anything is compared. */
static int
look_at(struct apply *a, struct tcpx_aff_item *item, struct tcpx_irqstate *s)
{
	int rc = tcpx_irqstate_read(a->f, item, s);
	unsigned now;

	if (rc < 0 || (s->exists && tcpx_irqstate_same(s, item)))
		return rc;
	if (!a->opts->renumber || item->kind != TCPX_AFF_IRQ)
		return 0;
	now = tcpx_irqstate_find(a->f, item->name);
	if (!now)
		return 0;
	item->renumbered = item->number != now ? item->number : 0;
	item->number = now;
	item->hwirq = -1; /* of another boot */
	return tcpx_irqstate_read(a->f, item, s);
}

static int
check_item(struct apply *a, struct tcpx_aff_item *item)
{
	struct tcpx_irqstate s;
	int rc = look_at(a, item, &s);

	if (rc < 0)
		return refuse(a, item, rc == -EACCES || rc == -EPERM ? TCPX_AFF_DENIED :
			      TCPX_AFF_REFUSED, rc, "cannot be read");
	if (!s.exists || !tcpx_irqstate_same(&s, item))
		return not_the_planned(a, item, &s);
	if (item->kind == TCPX_AFF_IRQ && tcpx_cpuset_empty(&item->want))
		return refuse(a, item, TCPX_AFF_REFUSED, -EINVAL, "is planned on no CPU");
	if (!tcpx_cpuset_within(&item->want, &a->online))
		return refuse(a, item, TCPX_AFF_REFUSED, -EINVAL, "is planned on a CPU that is "
			      "not online");
	if (!*item->name)
		memcpy(item->name, s.name, sizeof(item->name));
	item->hwirq = s.hwirq;
	item->old = item->now = s.mask;
	item->old_eff = item->now_eff = s.eff;
	item->move = !tcpx_cpuset_equal(&s.mask, &item->want);
	if (s.managed) {
		item->move = false;
		item->state = TCPX_AFF_MANAGED;
		if (a->opts->strict)
			return refuse(a, item, TCPX_AFF_DENIED, -EPERM, "is managed by the kernel, "
				      "which moves it by itself alone");
		return 0;
	}
	if (item->move && s.writing < 0 && !a->opts->dry_run)
		return refuse(a, item, TCPX_AFF_DENIED, s.writing, s.writing == -EROFS ?
			      "is read-only here, as in containers" : "may be written by root only");
	return 0;
}

static int
by_place(const void *a, const void *b)
{
	const struct tcpx_aff_item *const *x = a, *const *y = b;

	if ((*x)->kind != (*y)->kind)
		return (*x)->kind < (*y)->kind ? -1 : 1;
	if ((*x)->number != (*y)->number)
		return (*x)->number < (*y)->number ? -1 : 1;
	return (*x)->kind == TCPX_AFF_XPS ? strcmp((*x)->name, (*y)->name) : 0;
}

/* Undoing in reverse is only right if nothing is written twice. */
static int
check_twice(struct apply *a)
{
	struct tcpx_aff_item **sorted = malloc((a->count ? a->count : 1) * sizeof(*sorted));
	int rc = 0;

	if (!sorted)
		return conclude(a, TCPX_AFF_REFUSED, -ENOMEM);
	for (unsigned i = 0; i < a->count; i++)
		sorted[i] = &a->items[i];
	qsort(sorted, a->count, sizeof(*sorted), by_place);
	for (unsigned i = 1; i < a->count && rc == 0; i++)
		if (by_place(&sorted[i - 1], &sorted[i]) == 0)
			rc = refuse(a, sorted[i], TCPX_AFF_REFUSED, -EEXIST, "is planned twice");
	free(sorted);
	return rc;
}

static int
check_all(struct apply *a)
{
	int rc = tcpx_irqstate_list(a->f, "sys/devices/system/cpu/online", &a->online);

	if (rc < 0)
		return conclude(a, TCPX_AFF_REFUSED, tcpx_fail(TCPX_SUB_HOST, rc,
				"cannot read the list of online CPUs"));
	for (unsigned i = 0; i < a->count && rc == 0; i++)
		rc = check_item(a, &a->items[i]);
	return rc < 0 ? rc : check_twice(a);
}

static int
check_journal(struct apply *a)
{
	int rc = tcpx_aff_in_force(a->f, a->opts->journal);

	if (rc < 0)
		return conclude(a, TCPX_AFF_REFUSED, rc);
	if (rc)
		return conclude(a, TCPX_AFF_REFUSED, tcpx_fail(TCPX_SUB_HOST, -EEXIST,
				"journal %s holds what an earlier apply has changed; restore "
				"that first", a->opts->journal));
	return 0;
}

static int
check_balancer(struct apply *a)
{
	unsigned pid = tcpx_balancer_find(a->f);
	const char *dir = a->opts->balancer ? a->opts->balancer : TCPX_BALANCER_DIR;

	if (!pid)
		return 0;
	if (!a->opts->ban)
		return conclude(a, TCPX_AFF_DENIED, tcpx_fail(TCPX_SUB_HOST, -EBUSY,
				"irqbalance (process %u) runs and would move them again: stop it, "
				"or have it told to leave them alone", pid));
	a->journal.balancer = pid;
	if (a->opts->dry_run)
		return 0;
	return conclude(a, TCPX_AFF_DENIED, tcpx_balancer_get(dir, pid, a->journal.bans));
}

/* Managed items stay out: there is nothing to undo. */
static int
write_journal(struct apply *a)
{
	struct tcpx_journal *j = &a->journal;

	j->items = malloc((a->count ? a->count : 1) * sizeof(*j->items));
	if (!j->items)
		return -ENOMEM;
	for (unsigned i = 0; i < a->count; i++)
		if (a->items[i].move)
			j->items[j->count++] = a->items[i];
	tcpx_irqundo_boot_id(a->f, j->boot_id);
	j->time = (int64_t)time(NULL);
	return tcpx_journal_store(a->opts->journal, j);
}

static int
mark_journal(struct apply *a, enum tcpx_journal_state state)
{
	unsigned k = 0;

	for (unsigned i = 0; i < a->count; i++)
		if (a->items[i].move)
			a->journal.items[k++].want = a->items[i].want;
	a->journal.state = state;
	return tcpx_journal_store(a->opts->journal, &a->journal);
}

/* Undoes, and records the result in the journal. @rc is the reason. */
static int
roll_back(struct apply *a, int rc)
{
	const char *dir = a->opts->balancer ? a->opts->balancer : TCPX_BALANCER_DIR;
	unsigned findings, failed;

	failed = tcpx_irqundo(a->f, a->items, a->count, UNDO_SETTLE_MS, &findings);
	if (a->journal.balancer && tcpx_balancer_find(a->f) == a->journal.balancer &&
	    tcpx_balancer_set(dir, a->journal.balancer, a->journal.bans) < 0)
		failed++;
	/* Without this record the journal asks for more than needed: undoing
	 * again is harmless. */
	if (mark_journal(a, failed ? TCPX_JOURNAL_HALF : TCPX_JOURNAL_ROLLED_BACK) < 0 && failed)
		tcpx_warn(TCPX_SUB_HOST, "journal %s is still good for a restore",
			  a->opts->journal);
	if (failed)
		tcpx_warn(TCPX_SUB_HOST, "%u could not be put back; journal %s holds what was "
			  "there", failed, a->opts->journal);
	return conclude(a, failed ? TCPX_AFF_HALF : TCPX_AFF_ROLLED_BACK, rc);
}

/* -ENOSPC: the CPU has no vector left; another of the pool may have one. */
static int
write_instead(struct apply *a, struct tcpx_aff_item *item)
{
	int cpu = tcpx_cpuset_first(&item->want), rc = -ENOSPC;
	unsigned left = item->pool ? tcpx_cpuset_count(item->pool) : 0;
	struct tcpx_cpuset try;

	for (; left > 0 && rc == -ENOSPC; left--) {
		cpu = tcpx_cpuset_next(item->pool, cpu);
		if (cpu < 0)
			cpu = tcpx_cpuset_first(item->pool);
		if (tcpx_cpuset_has(&item->want, cpu) || !tcpx_cpuset_has(&a->online, cpu))
			continue;
		tcpx_cpuset_init(&try);
		tcpx_cpuset_add(&try, cpu);
		rc = tcpx_irqstate_write(a->f, item, &try);
		if (rc == 0) {
			item->want = try;
			item->instead = true;
		}
	}
	return rc;
}

static int
write_item(struct apply *a, struct tcpx_aff_item *item)
{
	char what[TCPX_AFF_NAME + 32];
	int rc;

	item->written = true; /* or may have been: undoing looks before it writes */
	rc = tcpx_irqstate_write(a->f, item, &item->want);
	if (rc == -ENOSPC)
		rc = write_instead(a, item);
	/* EPERM since 2024, EIO before: managed, though its mode did not show it. */
	if ((rc == -EPERM || rc == -EIO) && item->kind == TCPX_AFF_IRQ && !a->opts->strict) {
		item->state = TCPX_AFF_MANAGED;
		item->rc = rc;
		return 0;
	}
	if (rc < 0) {
		item->rc = rc;
		tcpx_fail(TCPX_SUB_HOST, rc, "cannot move %s; rolling back",
			  tcpx_aff_item_text(item, what, sizeof(what)));
	}
	return rc;
}

static int
read_back(struct apply *a, struct tcpx_aff_item *item)
{
	char what[TCPX_AFF_NAME + 32];
	struct tcpx_irqstate s;
	int rc = tcpx_irqstate_read(a->f, item, &s);

	if (rc == 0 && (!s.exists || !tcpx_irqstate_same(&s, item)))
		rc = -ESTALE;
	if (rc == 0) {
		item->now = s.mask;
		item->now_eff = s.eff;
		if (!tcpx_cpuset_equal(&s.mask, &item->want))
			rc = -EIO;
	}
	if (rc < 0) {
		item->rc = rc;
		return tcpx_fail(TCPX_SUB_HOST, rc, "%s does not read back as written; rolling "
				 "back", tcpx_aff_item_text(item, what, sizeof(what)));
	}
	if (item->kind == TCPX_AFF_XPS)
		item->state = TCPX_AFF_EFFECTIVE;
	else if (tcpx_cpuset_empty(&s.eff))
		item->state = TCPX_AFF_REQUESTED;
	else
		item->state = tcpx_cpuset_within(&s.eff, &item->want) ? TCPX_AFF_EFFECTIVE :
									TCPX_AFF_PENDING;
	return 0;
}

static int
write_all(struct apply *a)
{
	int rc = 0;

	for (unsigned i = 0; i < a->count && rc == 0; i++) {
		if (stopped(a))
			rc = tcpx_fail(TCPX_SUB_HOST, -EINTR, "stopped after %u of %u; rolling "
				       "back", i, a->count);
		else if (a->items[i].move)
			rc = write_item(a, &a->items[i]);
	}
	for (unsigned i = 0; i < a->count && rc == 0; i++)
		if (a->items[i].state != TCPX_AFF_MANAGED)
			rc = read_back(a, &a->items[i]);
	if (rc == 0 && stopped(a))
		rc = tcpx_fail(TCPX_SUB_HOST, -EINTR, "stopped; rolling back");
	return rc;
}

static int
change(struct apply *a)
{
	const char *dir = a->opts->balancer ? a->opts->balancer : TCPX_BALANCER_DIR;
	int rc = write_journal(a);

	if (rc < 0)
		return conclude(a, TCPX_AFF_ROLLED_BACK, rc);
	if (a->journal.balancer) {
		rc = tcpx_balancer_ban(dir, a->journal.balancer, a->journal.bans, a->items,
				       a->count);
		if (rc < 0) {
			(void)roll_back(a, rc);
			return conclude(a, a->outcome == TCPX_AFF_HALF ? TCPX_AFF_HALF :
					TCPX_AFF_DENIED, rc);
		}
	}
	rc = write_all(a);
	if (rc < 0)
		return roll_back(a, rc);
	/* Applied, even if this cannot be recorded: an open journal restores as well. */
	if (mark_journal(a, TCPX_JOURNAL_APPLIED) < 0)
		tcpx_warn(TCPX_SUB_HOST, "journal %s calls this apply unfinished",
			  a->opts->journal);
	return conclude(a, TCPX_AFF_DONE, 0);
}

int
tcpx_aff_apply(struct tcpx_files *f, struct tcpx_aff_item *items, unsigned count,
	       const struct tcpx_aff_opts *opts, enum tcpx_aff_outcome *outcome)
{
	struct apply a = { .f = f, .items = items, .count = count, .opts = opts };
	bool any = false;
	int rc = 0, lock = -1;

	if (!opts->dry_run) {
		lock = tcpx_irqundo_lock(opts->lock);
		if (lock < 0) {
			*outcome = TCPX_AFF_DENIED;
			return lock;
		}
		rc = check_journal(&a);
	}
	rc = rc < 0 ? rc : check_all(&a);
	for (unsigned i = 0; i < count; i++)
		any |= items[i].move;
	if (rc == 0)
		rc = check_balancer(&a);
	if (rc == 0) {
		conclude(&a, TCPX_AFF_DONE, 0);
		/* Without a move no journal is needed. */
		if (!opts->dry_run && (any || a.journal.balancer))
			rc = change(&a);
		else
			for (unsigned i = 0; i < count && rc == 0 && !opts->dry_run; i++)
				if (items[i].state != TCPX_AFF_MANAGED)
					rc = read_back(&a, &items[i]);
	}
	tcpx_journal_fini(&a.journal);
	if (lock >= 0)
		close(lock);
	*outcome = a.outcome;
	return rc;
}
