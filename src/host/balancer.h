/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irqbalance, which moves interrupts every few seconds: whether it runs, and asking it by
 * its socket to leave some alone. Its list of those is replaced as a whole, so it is read
 * and merged first. Versions differ in how long a list they take (255 bytes of text in
 * some), so what it took is read back.
 */
#ifndef HOST_BALANCER_H
#define HOST_BALANCER_H

#include "host/irqaff.h"
#include "host/journal.h"

/* Its process id among the processes of proc/, or 0. Pure look at files. */
unsigned tcpx_balancer_find(struct tcpx_files *f);

/* What process @pid leaves alone, "17 44". @dir is where its socket may be; an abstract one
 * is tried next. -ENOTCONN (no socket), -EPROTO, -E2BIG, -errno; logged. */
TCPX_MUST_CHECK int tcpx_balancer_get(const char *dir, unsigned pid,
				      char bans[TCPX_JOURNAL_BANS]);
/* Has it leave alone the IRQs of @items besides @bans, or nothing but @bans on failure:
 * -E2BIG if it does not take so many, as above; logged. */
TCPX_MUST_CHECK int tcpx_balancer_ban(const char *dir, unsigned pid, const char *bans,
				      const struct tcpx_aff_item *items, unsigned count);
/* Replaces its list; "" is none. Logged. */
TCPX_MUST_CHECK int tcpx_balancer_set(const char *dir, unsigned pid, const char *bans);

/* The IRQs in what irqbalance says to "setup", between blanks. Pure. -EPROTO, -E2BIG. */
TCPX_MUST_CHECK int tcpx_balancer_parse(const char *setup, char bans[TCPX_JOURNAL_BANS]);

#define TCPX_BALANCER_DIR "/run/irqbalance"

#endif
