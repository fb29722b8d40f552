/* SPDX-License-Identifier: Apache-2.0 */
/* Watches the processes of a run: outcomes, what lasts too long, and how they end. */
#ifndef CHAOS_WATCH_H
#define CHAOS_WATCH_H

#include "chaos/chaos.h"

/* Keeps a finding and prints it at once. */
void chaos_finding(struct chaos_run *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* One look at everything; @now is CLOCK_MONOTONIC. */
void chaos_watch(struct chaos_run *r, uint64_t now);
/* Has every pair its session? */
bool chaos_all_joined(const struct chaos_run *r);
/* Are all sessions there and all transfers ended? */
bool chaos_all_calm(const struct chaos_run *r);

#endif
