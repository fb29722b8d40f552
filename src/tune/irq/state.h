/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One IRQ or one transmit queue's XPS mask in the kernel's files: reading it, checking that
 * it is still the same vector, and writing its mask.
 */
#ifndef TUNE_IRQ_STATE_H
#define TUNE_IRQ_STATE_H

#include "tune/irq/affinity.h"

struct tcpx_irqstate {
	bool exists;
	char name[TCPX_AFF_NAME]; /* actions, as the kernel lists them; XPS: the interface */
	int64_t hwirq;            /* -1 unknown                           */
	struct tcpx_cpuset mask;  /* requested                            */
	struct tcpx_cpuset eff;   /* effective; empty unknown             */
	bool managed;             /* not writable by anyone               */
	int writing;              /* 0, -EACCES or -EROFS                 */
};

/* A missing IRQ is no error: exists is false. -errno, -EINVAL (malformed); not logged. */
TCPX_MUST_CHECK int tcpx_irqstate_read(struct tcpx_files *f, const struct tcpx_aff_item *item,
				       struct tcpx_irqstate *out);
/* Is it the IRQ or queue that the item names? */
bool tcpx_irqstate_same(const struct tcpx_irqstate *state, const struct tcpx_aff_item *item);
/* The IRQ whose action is @name, if there is exactly one; else 0. */
unsigned tcpx_irqstate_find(struct tcpx_files *f, const char *name);
/* The kernel's answer to a write; EAGAIN and EBUSY are retried TCPX_AFF_TRIES times. */
TCPX_MUST_CHECK int tcpx_irqstate_write(struct tcpx_files *f, const struct tcpx_aff_item *item,
					const struct tcpx_cpuset *mask);
/* Interrupts so far on CPUs of @cpus and on all others. -ENOENT: unknown. */
TCPX_MUST_CHECK int tcpx_irqstate_count(struct tcpx_files *f, unsigned irq,
					const struct tcpx_cpuset *cpus, uint64_t *on,
					uint64_t *off);
/* Reads a list of CPUs from a file. */
TCPX_MUST_CHECK int tcpx_irqstate_list(struct tcpx_files *f, const char *path,
				       struct tcpx_cpuset *set);

#endif
