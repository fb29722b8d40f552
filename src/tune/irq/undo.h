/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing old masks back, for a restore and for a failed apply; and the lock that keeps
 * two of them apart.
 */
#ifndef TUNE_IRQ_UNDO_H
#define TUNE_IRQ_UNDO_H

#include "tune/irq/affinity.h"

/*
 * tcpx_irqundo - write back the old masks of all items that are marked @written, last first
 * Sets state, rc, now and now_eff of those. An item that is gone or has become another
 * vector is left alone.
 * Return: how many writes failed; *findings counts the items that were gone or renumbered.
 */
TCPX_MUST_CHECK unsigned tcpx_irqundo(struct tcpx_files *f, struct tcpx_aff_item *items,
				      unsigned count, unsigned settle_ms, unsigned *findings);

/* The descriptor that holds the lock: close() it. -EBUSY: another process holds it. Logged. */
TCPX_MUST_CHECK int tcpx_irqundo_lock(const char *path);

/* The id of this boot; "none" where the machine has none. */
void tcpx_irqundo_boot_id(struct tcpx_files *f, char id[40]);

#endif
