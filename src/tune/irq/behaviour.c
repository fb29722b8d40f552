/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verifying a plan by the kernel's behaviour rather than by written masks: the mask, the
 * programmed CPU, and, over some time, the CPUs that counted interrupts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tune/irq/affinity.h"
#include "tune/irq/state.h"

enum { STEP_MS = 100 }; /* delay until a request to stop is seen */

struct count {
	uint64_t on, off;
	bool known, was_pending;
};

static bool
wait_for(struct tcpx_files *f, const struct tcpx_aff_opts *opts, unsigned ms)
{
	uint64_t end = f->ops->now_ms(f) + ms, now;

	while ((now = f->ops->now_ms(f)) < end) {
		if (opts->stop && opts->stop(opts->stop_arg))
			return false;
		f->ops->wait_ms(f, end - now < STEP_MS ? (unsigned)(end - now) : STEP_MS);
	}
	return true;
}

static enum tcpx_aff_state
judge(struct tcpx_files *f, struct tcpx_aff_item *item, const struct tcpx_irqstate *s)
{
	item->renumbered = 0;
	if (!s->exists || !tcpx_irqstate_same(s, item)) {
		item->renumbered = item->kind == TCPX_AFF_IRQ ?
			tcpx_irqstate_find(f, item->name) : 0;
		return s->exists || item->renumbered ? TCPX_AFF_RENUMBERED : TCPX_AFF_GONE;
	}
	if (s->managed)
		return TCPX_AFF_MANAGED;
	if (!tcpx_cpuset_equal(&s->mask, &item->want))
		return TCPX_AFF_DRIFTED;
	if (item->kind == TCPX_AFF_XPS)
		return TCPX_AFF_EFFECTIVE;
	if (tcpx_cpuset_empty(&s->eff))
		return TCPX_AFF_REQUESTED;
	return tcpx_cpuset_within(&s->eff, &item->want) ? TCPX_AFF_EFFECTIVE : TCPX_AFF_PENDING;
}

/* Reads the state of all items. A failure is recorded in its item alone. */
static void
look(struct tcpx_files *f, struct tcpx_aff_item *items, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct tcpx_aff_item *item = &items[i];
		struct tcpx_irqstate s;
		enum tcpx_aff_state state = TCPX_AFF_FAILED;

		item->rc = tcpx_irqstate_read(f, item, &s);
		if (item->rc == 0) {
			item->now = s.mask;
			item->now_eff = s.eff;
			state = judge(f, item, &s);
		}
		item->state = state;
	}
}

static void
count_all(struct tcpx_files *f, const struct tcpx_aff_item *items, unsigned count,
	  struct count *c)
{
	for (unsigned i = 0; i < count; i++) {
		enum tcpx_aff_state state = items[i].state;

		c[i].known = items[i].kind == TCPX_AFF_IRQ && state != TCPX_AFF_GONE &&
			     state != TCPX_AFF_RENUMBERED && state != TCPX_AFF_FAILED &&
			     tcpx_irqstate_count(f, items[i].number, &items[i].want, &c[i].on,
						 &c[i].off) == 0;
		c[i].was_pending = state == TCPX_AFF_PENDING;
	}
}

static void
compare(struct tcpx_aff_item *items, unsigned count, const struct count *before,
	const struct count *after)
{
	for (unsigned i = 0; i < count; i++) {
		struct tcpx_aff_item *item = &items[i];
		uint64_t allowed = before[i].was_pending ? 1 : 0;

		/* A count that has fallen is of a vector made anew: no comparison. */
		if (!before[i].known || !after[i].known || after[i].on < before[i].on ||
		    after[i].off < before[i].off)
			continue;
		item->on_plan = after[i].on - before[i].on;
		item->off_plan = after[i].off - before[i].off;
		if (item->off_plan > allowed && (item->state == TCPX_AFF_EFFECTIVE ||
						 item->state == TCPX_AFF_REQUESTED ||
						 item->state == TCPX_AFF_PENDING))
			item->state = TCPX_AFF_OFF_PLAN;
	}
}

int
tcpx_aff_verify(struct tcpx_files *f, struct tcpx_aff_item *items, unsigned count,
		const struct tcpx_aff_opts *opts, bool *good)
{
	struct count *before = calloc(count ? count : 1, sizeof(*before));
	struct count *after = calloc(count ? count : 1, sizeof(*after));
	int rc = before && after ? 0 : -ENOMEM;

	if (rc == 0 && opts->settle_ms && !wait_for(f, opts, opts->settle_ms))
		rc = -EINTR;
	if (rc == 0)
		look(f, items, count);
	if (rc == 0 && opts->load_ms) {
		count_all(f, items, count, before);
		(void)wait_for(f, opts, opts->load_ms); /* stopped: the time so far counts */
		look(f, items, count);
		count_all(f, items, count, after);
		compare(items, count, before, after);
	}
	*good = rc == 0;
	for (unsigned i = 0; i < count; i++)
		*good &= items[i].state == TCPX_AFF_EFFECTIVE || items[i].state == TCPX_AFF_REQUESTED ||
			 items[i].state == TCPX_AFF_MANAGED || items[i].state == TCPX_AFF_PENDING;
	free(before);
	free(after);
	return rc;
}
