/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Putting masks back, for a restore and for an apply that failed; and the lock that keeps
 * two of them apart.
 */
#ifndef HOST_IRQUNDO_H
#define HOST_IRQUNDO_H

#include "host/irqaff.h"

/*
 * tcpx_irqundo - write back the old masks of all items that are marked @written, last first
 * Sets state, rc, now and now_eff of those. An item that is gone or has become another
 * vector is left alone.
 * Return: how many writes failed; *findings counts those that were gone or renumbered.
 */
TCPX_MUST_CHECK unsigned tcpx_irqundo(struct tcpx_files *f, struct tcpx_aff_item *items,
				      unsigned count, unsigned settle_ms, unsigned *findings);

/* The descriptor that holds the lock: close() it. -EBUSY: another process does. Logged. */
TCPX_MUST_CHECK int tcpx_irqundo_lock(const char *path);

/* The id of this boot; "none" where the machine does not tell. */
void tcpx_irqundo_boot_id(struct tcpx_files *f, char id[40]);

#endif
