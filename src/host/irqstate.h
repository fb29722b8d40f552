/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One IRQ or one transmit queue's XPS mask, as the kernel's files say it: reading it,
 * telling whether it is still the same vector, and writing its mask.
 */
#ifndef HOST_IRQSTATE_H
#define HOST_IRQSTATE_H

#include "host/irqaff.h"

struct tcpx_irqstate {
	bool exists;
	char name[TCPX_AFF_NAME]; /* actions, as the kernel lists them; XPS: the interface */
	int64_t hwirq;            /* -1 unknown                           */
	struct tcpx_cpuset mask;  /* asked for                            */
	struct tcpx_cpuset eff;   /* effective; empty unknown             */
	bool managed;             /* nobody may write it                  */
	int writing;              /* 0, -EACCES or -EROFS                 */
};

/* Not there is no error: exists is false. -errno, -EINVAL (malformed); not logged. */
TCPX_MUST_CHECK int tcpx_irqstate_read(struct tcpx_files *f, const struct tcpx_aff_item *item,
				       struct tcpx_irqstate *out);
/* Whether what was read is what the item names. */
bool tcpx_irqstate_same(const struct tcpx_irqstate *state, const struct tcpx_aff_item *item);
/* The IRQ whose action is @name, if there is just one; else 0. */
unsigned tcpx_irqstate_find(struct tcpx_files *f, const char *name);
/* What the kernel says to it; EAGAIN and EBUSY are tried again TCPX_AFF_TRIES times. */
TCPX_MUST_CHECK int tcpx_irqstate_write(struct tcpx_files *f, const struct tcpx_aff_item *item,
					const struct tcpx_cpuset *mask);
/* Interrupts so far on CPUs of @cpus and on all others. -ENOENT: not told. */
TCPX_MUST_CHECK int tcpx_irqstate_count(struct tcpx_files *f, unsigned irq,
					const struct tcpx_cpuset *cpus, uint64_t *on,
					uint64_t *off);
/* A list of CPUs in a file. */
TCPX_MUST_CHECK int tcpx_irqstate_list(struct tcpx_files *f, const char *path,
				       struct tcpx_cpuset *set);

#endif
