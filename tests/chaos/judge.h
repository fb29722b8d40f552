/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Was it right that a transfer ended as it did, and that a pair had no session? Judged by the
 * faults that were made and by the times in which a process did not run. Pure.
 *
 * Between two hosts there is a path for each NIC number whose NIC has a link and an address at
 * both. Two processes are apart while no path is left, or one of them does not run.
 */
#ifndef CHAOS_JUDGE_H
#define CHAOS_JUDGE_H

#include "chaos/plan.h"

#define CHAOS_OPEN UINT64_MAX /* a fault that lasts still */

struct chaos_window {
	uint64_t from, to;
	enum chaos_fault fault; /* CHAOS_FREEZE also for a process that got no CPU */
	unsigned host, nic;
};

struct chaos_judge {
	unsigned hosts, nics;
	uint64_t stall_ns, connect_ns;
	struct chaos_window *windows; /* heap */
	size_t count, cap;
};

void chaos_judge_init(struct chaos_judge *j, unsigned hosts, unsigned nics, uint64_t stall_ns,
		      uint64_t connect_ns);
void chaos_judge_fini(struct chaos_judge *j);
/* A fault that begins, and its number for chaos_judge_end(); -ENOMEM. */
int chaos_judge_begin(struct chaos_judge *j, enum chaos_fault fault, unsigned host, unsigned nic,
		      uint64_t from);
void chaos_judge_end(struct chaos_judge *j, int number, uint64_t to);

/* ns in [from, to) in which @a and @b were apart. */
uint64_t chaos_judge_apart(const struct chaos_judge *j, unsigned a, unsigned b, uint64_t from,
			   uint64_t to);
/* When the last fault of @a or @b ended: @now if one lasts; 0: there was none. */
uint64_t chaos_judge_calm_since(const struct chaos_judge *j, unsigned a, unsigned b, uint64_t now);

struct chaos_outcome {
	enum chaos_kind kind;
	unsigned host, peer;
	uint32_t peer_life;       /* the peer is started again and again                  */
	uint64_t peer_gone_ns;    /* when that life of the peer ended; 0: it lives        */
	uint64_t posted_ns, ended_ns;
	int code;
	bool cancelled;           /* the caller cancelled it                              */
	uint64_t wrong;           /* bytes, where it succeeded                            */
	char text[192];           /* the library's                                        */
};

/* NULL: right. Otherwise what is wrong with it. */
const char *chaos_judge_outcome(const struct chaos_judge *j, const struct chaos_outcome *o);

/* Longer than any deadline of the engine allows: a transfer without an end, a pair without a
 * session, since @since; faults of the two move the limit. */
bool chaos_judge_overdue(const struct chaos_judge *j, unsigned a, unsigned b, uint64_t since,
			 uint64_t now);
uint64_t chaos_judge_limit(const struct chaos_judge *j);

/* What a process holds. */
struct chaos_held {
	unsigned fds, threads;
	uint64_t heap; /* bytes; 0: not known, as under a sanitizer */
};
/* NULL, or what it has kept of what it took. */
const char *chaos_judge_held(const struct chaos_held *before, const struct chaos_held *after);

#endif
