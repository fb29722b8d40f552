/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Common parts of the tests of applying: a kernel in software in shared memory, which
 * survives a killed process, a directory for the journal, and a plan.
 */
#ifndef HOST_AFFINITY_BED_H
#define HOST_AFFINITY_BED_H

#include "../base/base_test.h"

#include "fake/simkernel.h"
#include "tune/irq/affinity.h"

enum { BED_ITEMS = 6 }; /* five IRQs, of which one is managed, and one transmit queue */

struct bed {
	struct sim *sim;
	struct sim before; /* as it was made */
	struct tcpx_files files;
	char dir[64], journal[96], lock[96];
	struct tcpx_aff_opts opts;
	struct tcpx_aff_item items[BED_ITEMS];
	enum tcpx_aff_outcome outcome;
};

/* cmocka's set-up and tear-down; *state is the bed. */
int bed_make(void **state);
int bed_remove(void **state);

/* Puts machine and plan back to the beginning and removes the journal. */
void bed_reset(struct bed *b);
int bed_apply(struct bed *b);
int bed_restore(struct bed *b);
/* The masks of all IRQs and queues are as they were; or as planned. */
bool bed_is_old(const struct bed *b);
bool bed_is_new(const struct bed *b);
/* Runs @act in a child process and returns its exit code. */
int bed_in_child(struct bed *b, int (*act)(struct bed *b));
void bed_write_journal(struct bed *b, const char *text);

#endif
