/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data for undoing an apply: a text of lines, so that it can be read after a crash and,
 * if need be, by a person with a shell loop.
 *
 *	tcpx-irq-journal 1
 *	boot 5d1c...                              id of the boot that it belongs to
 *	time 1763765000                           seconds since 1970; for people
 *	balancer 812 17 44                        irqbalance's pid and the IRQs that it left
 *	                                          alone before
 *	irq 38 0-1 1 0 49153 virtio2-input.0      number, old list, old effective list, new
 *	                                          list, hwirq, name; "-": none or unknown
 *	xps 3 ff 0 f - eth1                       the same with masks: queue ... interface
 *	end 2                                     lines between "time" and here
 *	state applied                             its state; of several, the last one
 *
 * It is on disk as a whole before the first write to the kernel, and replaced as a whole when
 * its state changes. A file without "end" was cut and is refused.
 */
#ifndef TUNE_IRQ_JOURNAL_H
#define TUNE_IRQ_JOURNAL_H

#include "tune/irq/affinity.h"

#define TCPX_JOURNAL_BYTES (16u << 20) /* longest journal */
#define TCPX_JOURNAL_BANS 512          /* bytes of irqbalance's list, with the NUL */

enum tcpx_journal_state {
	TCPX_JOURNAL_OPEN,        /* begun: some writes may have been made  */
	TCPX_JOURNAL_APPLIED,     /* all were                               */
	TCPX_JOURNAL_HALF,        /* undoing failed in part                 */
	TCPX_JOURNAL_ROLLED_BACK, /* undone completely                      */
	TCPX_JOURNAL_RESTORED,    /* undone completely                      */
	TCPX_JOURNAL_STATES
};

struct tcpx_journal {
	char boot_id[40];
	int64_t time;
	enum tcpx_journal_state state;
	unsigned balancer;               /* process id; 0: none             */
	char bans[TCPX_JOURNAL_BANS];    /* "17 44"; "" none                */
	struct tcpx_aff_item *items;     /* heap; kind, number, name, hwirq, want, old,
	                                  * old_eff are meaningful          */
	unsigned count;
};

/* Parses the text of a journal. Pure. @j is written on success only; its items are given
 * back with tcpx_journal_fini(). -EINVAL (reason in @why), -ENOMEM. */
TCPX_MUST_CHECK int tcpx_journal_parse(const char *text, struct tcpx_journal *j, char *why,
				       size_t why_cap);
/* Formats the text, with its state unless it is open; heap, the caller's. NULL: no memory. */
char *tcpx_journal_format(const struct tcpx_journal *j);
void tcpx_journal_fini(struct tcpx_journal *j);

/* Is there still something to undo? */
bool tcpx_journal_unfinished(const struct tcpx_journal *j);

/*
 * tcpx_journal_load - read a journal of this machine
 * Refuses a file that another user could have written: a link, a file of another owner, one
 * that group or others may write. -ENOENT is not logged; -EPERM, -EINVAL, -errno are.
 */
TCPX_MUST_CHECK int tcpx_journal_load(const char *path, struct tcpx_journal *j);
/* Writes it to disk, whole or not at all: file, name and directory. Replaces. Logged. */
TCPX_MUST_CHECK int tcpx_journal_store(const char *path, const struct tcpx_journal *j);

#endif
