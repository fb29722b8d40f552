/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving interrupts (and transmit queues' XPS masks) to planned CPUs and back. Applying is
 * a transaction in effect: what was there is on disk before anything is written, any
 * failure puts it back, and a process that is killed leaves a journal that does. It is not
 * atomic: between two writes the machine is mixed.
 *
 * A mask that was written is in force with the next interrupt only, so what is asked for
 * and what is effective are told apart everywhere.
 *
 * Threads: one call at a time on one files table; the lock file keeps processes apart.
 * Blocks: for local files, for bounded retries, and for as long as it is told to wait.
 */
#ifndef HOST_IRQAFF_H
#define HOST_IRQAFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpuset.h"
#include "base/err.h"
#include "host/files.h"

#define TCPX_AFF_ITEMS 16384    /* most items of a plan or journal             */
#define TCPX_AFF_NAME 96        /* bytes of an action's name, with the NUL     */
#define TCPX_AFF_TRIES 6        /* of a write that the kernel asks to repeat   */

enum tcpx_aff_kind {
	TCPX_AFF_IRQ, /* proc/irq/N/smp_affinity_list             */
	TCPX_AFF_XPS, /* sys/class/net/IF/queues/tx-N/xps_cpus    */
};

enum tcpx_aff_state {
	TCPX_AFF_UNTOUCHED, /* nothing was written                                  */
	TCPX_AFF_REQUESTED, /* the mask reads back; what is effective is not known  */
	TCPX_AFF_PENDING,   /* the mask reads back; in force with the next interrupt */
	TCPX_AFF_EFFECTIVE, /* in force                                             */
	TCPX_AFF_MANAGED,   /* the kernel keeps it to itself: skipped               */
	TCPX_AFF_RESTORED,  /* the old mask is back                                 */
	TCPX_AFF_NARROWED,  /* the same, without CPUs that are offline now          */
	TCPX_AFF_FAILED,    /* a write failed, or something else reads back         */
	TCPX_AFF_DRIFTED,   /* verify: another mask than planned                    */
	TCPX_AFF_OFF_PLAN,  /* verify: interrupts on other CPUs                     */
	TCPX_AFF_GONE,      /* there is no such IRQ or queue any more               */
	TCPX_AFF_RENUMBERED, /* the number belongs to another vector now            */
	TCPX_AFF_STATES
};

/* One thing to be moved. The caller zeroes it and fills in the first part. */
struct tcpx_aff_item {
	enum tcpx_aff_kind kind;
	unsigned number;         /* of the IRQ, or of the transmit queue             */
	char name[TCPX_AFF_NAME]; /* of the action; XPS: the interface. "": any      */
	int64_t hwirq;           /* -1 unknown, and always so for XPS                */
	struct tcpx_cpuset want; /* IRQ: one CPU or more; XPS: may be empty          */
	const struct tcpx_cpuset *pool; /* borrowed: CPUs to use instead of a full
	                                 * one; NULL: none                          */

	enum tcpx_aff_state state;
	struct tcpx_cpuset old;       /* before: asked for                           */
	struct tcpx_cpuset old_eff;   /* before: effective; empty: unknown           */
	struct tcpx_cpuset now;       /* at the end: asked for                       */
	struct tcpx_cpuset now_eff;   /* at the end: effective; empty: unknown       */
	bool move;                    /* apply: differs, to be written               */
	bool written;                 /* apply: was written, or may have been        */
	bool instead;                 /* apply: @want is a CPU of @pool, the planned
	                               * one was full                               */
	int rc;                       /* of what failed                              */
	unsigned renumbered;          /* IRQ that has the name now; 0: none          */
	uint64_t off_plan;            /* verify: interrupts elsewhere                */
	uint64_t on_plan;             /* verify: and where planned                   */
	int64_t since_ms;             /* verify: watch time of the last change       */
};

enum tcpx_aff_outcome {
	TCPX_AFF_DONE,
	TCPX_AFF_FINDINGS,    /* done; some items could not be, and it is harmless   */
	TCPX_AFF_REFUSED,     /* bad input; nothing was touched                      */
	TCPX_AFF_DENIED,      /* not permitted here, or in conflict; nothing touched */
	TCPX_AFF_ROLLED_BACK, /* failed; everything is as before                     */
	TCPX_AFF_HALF,        /* failed; the journal still holds what was there      */
};

struct tcpx_aff_opts {
	const char *journal;    /* path of this machine; borrowed                       */
	const char *lock;       /* path of this machine: one call at a time             */
	bool dry_run;           /* apply: read and check only                             */
	bool strict;            /* apply: a managed IRQ is an error                       */
	bool renumber;          /* apply: follow a name to its present IRQ                */
	bool ban;               /* apply: have irqbalance leave these IRQs alone          */
	const char *balancer;   /* directory of irqbalance's socket; NULL: the usual one */
	bool force;             /* restore: also of another boot, or once more          */
	unsigned settle_ms;     /* restore: wait so long for effective CPUs to follow;
	                         * verify: before counting                              */
	unsigned load_ms;       /* verify: count interrupts so long; 0: do not          */
	/* Asked between writes and while waiting; true: stop. An apply then rolls back, a
	 * restore goes on. NULL: never. */
	bool (*stop)(void *arg);
	void *stop_arg;
};

/*
 * tcpx_aff_apply - move @items to where they are wanted
 * @outcome: out: what the caller may rely on, also on failure
 * What differs is written in the order of @items; EAGAIN and EBUSY are repeated, a full CPU
 * (ENOSPC) is replaced from the pool, anything else rolls back. Fails early, with nothing
 * touched: an offline target, another name or hwirq, a journal in force, a read-only or
 * forbidden /proc/irq, a running irqbalance.
 * Return: 0 or the code of what went wrong, logged.
 */
TCPX_MUST_CHECK int tcpx_aff_apply(struct tcpx_files *f, struct tcpx_aff_item *items,
				   unsigned count, const struct tcpx_aff_opts *opts,
				   enum tcpx_aff_outcome *outcome);

/*
 * tcpx_aff_restore - put back what a journal remembers
 * @items: out: what it was about, the caller's: free()
 * First the old effective CPU alone, then, when it fires or settle_ms are over, the old
 * mask. Doing it twice is doing it once. Refused for a journal of another boot; items of
 * another name or hwirq are left alone and reported.
 * Return: as above; 0 with TCPX_AFF_FINDINGS if some were gone.
 */
TCPX_MUST_CHECK int tcpx_aff_restore(struct tcpx_files *f, const struct tcpx_aff_opts *opts,
				     struct tcpx_aff_item **items, unsigned *count,
				     enum tcpx_aff_outcome *outcome);

/* Whether @journal exists and is in force in this boot: 1 or 0; a negative code if it
 * cannot be read as one, logged. */
TCPX_MUST_CHECK int tcpx_aff_in_force(struct tcpx_files *f, const char *journal);

/*
 * tcpx_aff_verify - compare with what there is; changes nothing
 * Sets state, now, now_eff, and with load_ms on_plan and off_plan: interrupts counted
 * after settle_ms. One interrupt elsewhere is allowed to an item that was pending.
 * Return: 0 and whether all are as planned (managed ones count as such); -errno.
 */
TCPX_MUST_CHECK int tcpx_aff_verify(struct tcpx_files *f, struct tcpx_aff_item *items,
				    unsigned count, const struct tcpx_aff_opts *opts, bool *good);

/*
 * tcpx_aff_paths - where journal and lock are unless told otherwise: run/tcpx-irq below the root
 * @make: make the directory; no link leads out of the root
 * -ENAMETOOLONG, -ENOTDIR, -errno; logged.
 */
TCPX_MUST_CHECK int tcpx_aff_paths(const struct tcpx_files *f, bool make, char *journal,
				   char *lock, size_t cap);

/* "effective", "skipped-managed"; static. */
const char *tcpx_aff_state_name(enum tcpx_aff_state state);
/* "irq 38 (virtio2-input.0)", "eth1 tx-3 xps"; returns @buf. */
const char *tcpx_aff_item_text(const struct tcpx_aff_item *item, char *buf, size_t cap);

#endif
