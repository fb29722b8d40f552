/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irqbalance moves interrupts every few seconds. These functions find it, and ask it by its
 * socket to leave some alone. Its list of those is replaced as a whole, so it is read and
 * merged first. Versions differ in the length of the list (255 bytes of text in some), so
 * the accepted list is read back.
 */
#ifndef TUNE_IRQ_BALANCER_H
#define TUNE_IRQ_BALANCER_H

#include "tune/irq/affinity.h"
#include "tune/irq/journal.h"

/* Its process id in proc/, or 0. Only reads files. */
unsigned tcpx_balancer_find(struct tcpx_files *f);

/* The IRQs that process @pid leaves alone, "17 44". @dir is the directory of its socket; an
 * abstract one is tried next. -ENOTCONN (no socket), -EPROTO, -E2BIG, -errno; logged. */
TCPX_MUST_CHECK int tcpx_balancer_get(const char *dir, unsigned pid,
				      char bans[TCPX_JOURNAL_BANS]);
/* Makes it leave alone the IRQs of @items besides @bans; on failure only @bans. -E2BIG if
 * it does not take so many, others as above; logged. */
TCPX_MUST_CHECK int tcpx_balancer_ban(const char *dir, unsigned pid, const char *bans,
				      const struct tcpx_aff_item *items, unsigned count);
/* Replaces its list; "" for none. Logged. */
TCPX_MUST_CHECK int tcpx_balancer_set(const char *dir, unsigned pid, const char *bans);

/* Parses the IRQs in irqbalance's answer to "setup", between blanks. Pure. -EPROTO, -E2BIG. */
TCPX_MUST_CHECK int tcpx_balancer_parse(const char *setup, char bans[TCPX_JOURNAL_BANS]);

#define TCPX_BALANCER_DIR "/run/irqbalance"

#endif
