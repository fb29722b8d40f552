/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving interrupts (and transmit queues' XPS masks) to planned CPUs and back. Applying acts
 * as a transaction: the old state is on disk before anything is written, any failure restores
 * it, and a killed process leaves a journal for that. It is not atomic: between two writes the
 * machine is mixed.
 *
 * A written mask takes effect with the next interrupt only, so requested and effective CPUs
 * are separate everywhere.
 *
 * Threads: one call at a time on one files table; the lock file keeps processes apart.
 * Blocks: for local files, for bounded retries, and for the requested waiting times.
 */
#ifndef TUNE_IRQ_AFFINITY_H
#define TUNE_IRQ_AFFINITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/err.h"
#include "tune/irq/files.h"

#define TCPX_AFF_ITEMS 16384    /* most items of a plan or journal             */
#define TCPX_AFF_NAME 96        /* bytes of an action's name, with the NUL     */
#define TCPX_AFF_TRIES 6        /* writes that the kernel asks to repeat       */

enum tcpx_aff_kind {
	TCPX_AFF_IRQ, /* proc/irq/N/smp_affinity_list             */
	TCPX_AFF_XPS, /* sys/class/net/IF/queues/tx-N/xps_cpus    */
};

enum tcpx_aff_state {
	TCPX_AFF_UNTOUCHED, /* nothing was written                                  */
	TCPX_AFF_REQUESTED, /* the mask reads back; the effective CPU is unknown    */
	TCPX_AFF_PENDING,   /* the mask reads back; effective with the next interrupt */
	TCPX_AFF_EFFECTIVE, /* effective                                            */
	TCPX_AFF_MANAGED,   /* managed by the kernel: skipped                       */
	TCPX_AFF_RESTORED,  /* the old mask is back                                 */
	TCPX_AFF_NARROWED,  /* the same, without CPUs that are offline now          */
	TCPX_AFF_FAILED,    /* a write failed, or another mask reads back           */
	TCPX_AFF_DRIFTED,   /* verify: another mask than planned                    */
	TCPX_AFF_OFF_PLAN,  /* verify: interrupts on other CPUs                     */
	TCPX_AFF_GONE,      /* the IRQ or queue no longer exists                    */
	TCPX_AFF_RENUMBERED, /* the number belongs to another vector now            */
	TCPX_AFF_STATES
};

/* One IRQ or queue to move. The caller zeroes it and fills in the first part. */
struct tcpx_aff_item {
	enum tcpx_aff_kind kind;
	unsigned number;         /* of the IRQ, or of the transmit queue             */
	char name[TCPX_AFF_NAME]; /* of the action; XPS: the interface. "": any      */
	int64_t hwirq;           /* -1 unknown, and always so for XPS                */
	struct tcpx_cpuset want; /* IRQ: one CPU or more; XPS: may be empty          */
	const struct tcpx_cpuset *pool; /* borrowed: CPUs that replace a full one; NULL: none */

	enum tcpx_aff_state state;
	struct tcpx_cpuset old;       /* before: requested                           */
	struct tcpx_cpuset old_eff;   /* before: effective; empty: unknown           */
	struct tcpx_cpuset now;       /* at the end: requested                       */
	struct tcpx_cpuset now_eff;   /* at the end: effective; empty: unknown       */
	bool move;                    /* apply: differs, to be written               */
	bool written;                 /* apply: was written, or may have been        */
	bool instead;                 /* apply: @want is a CPU of @pool, because the
				       * planned one was full */
	int rc;                       /* of the failure                              */
	unsigned renumbered;          /* the IRQ with that name now; 0: none         */
	uint64_t off_plan;            /* verify: interrupts elsewhere                */
	uint64_t on_plan;             /* verify: interrupts on planned CPUs          */
};

enum tcpx_aff_outcome {
	TCPX_AFF_DONE,
	TCPX_AFF_FINDINGS,    /* done; some items could not be, which is harmless    */
	TCPX_AFF_REFUSED,     /* bad input; nothing was touched                      */
	TCPX_AFF_DENIED,      /* not permitted here, or in conflict; nothing touched */
	TCPX_AFF_ROLLED_BACK, /* failed; everything is as before                     */
	TCPX_AFF_HALF,        /* failed; the journal still holds the old state       */
};

struct tcpx_aff_opts {
	const char *journal;    /* path of this machine; borrowed                       */
	const char *lock;       /* path of this machine: one call at a time             */
	bool dry_run;           /* apply: read and check only                             */
	bool strict;            /* apply: a managed IRQ is an error                       */
	bool renumber;          /* apply: follow a name to its present IRQ                */
	bool ban;               /* apply: make irqbalance leave these IRQs alone          */
	const char *balancer;   /* directory of irqbalance's socket; NULL: the usual one */
	bool force;             /* restore: also of another boot, or once more          */
	unsigned settle_ms;     /* restore: time for effective CPUs to follow; verify:
				 * before counting */
	unsigned load_ms;       /* verify: time of counting interrupts; 0: no counting  */
	/* Called between writes and while waiting; true: stop. An apply then rolls back, a
	 * restore goes on. NULL: never. */
	bool (*stop)(void *arg);
	void *stop_arg;
};

/*
 * tcpx_aff_apply - move @items to the wanted CPUs
 * @outcome: out: the state of the machine, also on failure
 * Items that differ are written in the order of @items. EAGAIN and EBUSY are repeated, a full
 * CPU (ENOSPC) is replaced from the pool, other failures roll back. Fails early, with nothing
 * touched: an offline target, another name or hwirq, a journal in force, a read-only or
 * forbidden /proc/irq, a running irqbalance.
 * Return: 0 or the code of the failure, logged.
 */
TCPX_MUST_CHECK int tcpx_aff_apply(struct tcpx_files *f, struct tcpx_aff_item *items,
				   unsigned count, const struct tcpx_aff_opts *opts,
				   enum tcpx_aff_outcome *outcome);

/*
 * tcpx_aff_restore - restore the state in a journal
 * @items: out: the journal's items, the caller's: free()
 * First the old effective CPU alone, then, when it fires or settle_ms are over, the old
 * mask. Repeating it is harmless. Refused for a journal of another boot; items of another
 * name or hwirq are left alone and reported.
 * Return: as above; 0 with TCPX_AFF_FINDINGS if some were gone.
 */
TCPX_MUST_CHECK int tcpx_aff_restore(struct tcpx_files *f, const struct tcpx_aff_opts *opts,
				     struct tcpx_aff_item **items, unsigned *count,
				     enum tcpx_aff_outcome *outcome);

/* Does @journal exist, and is it in force in this boot? 1 or 0; a negative code for a
 * malformed one, logged. */
TCPX_MUST_CHECK int tcpx_aff_in_force(struct tcpx_files *f, const char *journal);

/*
 * tcpx_aff_verify - compare with the machine; changes nothing
 * Sets state, now, now_eff, and with load_ms on_plan and off_plan: interrupts counted
 * after settle_ms. One interrupt elsewhere is allowed to an item that was pending.
 * Return: 0 and whether all are as planned (managed ones count as such); -errno.
 */
TCPX_MUST_CHECK int tcpx_aff_verify(struct tcpx_files *f, struct tcpx_aff_item *items,
				    unsigned count, const struct tcpx_aff_opts *opts, bool *good);

/*
 * tcpx_aff_paths - default paths of journal and lock: run/tcpx-irq below the root
 * @make: make the directory; no link leaves the root
 * -ENAMETOOLONG, -ENOTDIR, -errno; logged.
 */
TCPX_MUST_CHECK int tcpx_aff_paths(const struct tcpx_files *f, bool make, char *journal,
				   char *lock, size_t cap);

/* "effective", "skipped-managed"; static. */
const char *tcpx_aff_state_name(enum tcpx_aff_state state);
/* "irq 38 (virtio2-input.0)", "eth1 tx-3 xps"; returns @buf. */
const char *tcpx_aff_item_text(const struct tcpx_aff_item *item, char *buf, size_t cap);

#endif
