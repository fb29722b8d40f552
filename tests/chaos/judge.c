/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codes and times against faults. A session may be lost by silence only where the two were
 * apart for three quarters of its deadline; the rest is what back-off and detection may add.
 */
#include "chaos/judge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tcpx/err.h"

/* What malloc keeps for a thread counts as used: up to 230 KiB. */
enum { HEAP_SLACK = 512 * 1024 };

void
chaos_judge_init(struct chaos_judge *j, unsigned hosts, unsigned nics, uint64_t stall_ns,
		 uint64_t connect_ns)
{
	memset(j, 0, sizeof(*j));
	j->hosts = hosts;
	j->nics = nics;
	j->stall_ns = stall_ns;
	j->connect_ns = connect_ns;
}

void
chaos_judge_fini(struct chaos_judge *j)
{
	free(j->windows);
	j->windows = NULL;
	j->count = j->cap = 0;
}

int
chaos_judge_begin(struct chaos_judge *j, enum chaos_fault fault, unsigned host, unsigned nic,
		  uint64_t from)
{
	if (j->count == j->cap) {
		size_t cap = j->cap ? 2 * j->cap : 64;
		struct chaos_window *more = realloc(j->windows, cap * sizeof(*more));

		if (!more)
			return -ENOMEM;
		j->windows = more;
		j->cap = cap;
	}
	j->windows[j->count] = (struct chaos_window){ from, CHAOS_OPEN, fault, host, nic };
	return (int)j->count++;
}

void
chaos_judge_end(struct chaos_judge *j, int number, uint64_t to)
{
	if (number >= 0)
		j->windows[number].to = to;
}

static bool
stops_process(enum chaos_fault fault)
{
	return fault == CHAOS_FREEZE || fault == CHAOS_KILL || fault == CHAOS_RESTART;
}

/* Are they apart at @t? Sets *until to when that may change, if it is sooner. */
static bool
apart_at(const struct chaos_judge *j, unsigned a, unsigned b, uint64_t t, uint64_t *until)
{
	unsigned dead = 0;
	bool stopped = false;

	for (size_t i = 0; i < j->count; i++) {
		const struct chaos_window *w = &j->windows[i];

		if (w->host != a && w->host != b)
			continue;
		if (w->from > t && w->from < *until)
			*until = w->from;
		if (w->from > t || w->to <= t)
			continue;
		if (w->to < *until)
			*until = w->to;
		if (stops_process(w->fault))
			stopped = true;
		else if (w->fault == CHAOS_ALL_NICS)
			dead = (1u << j->nics) - 1;
		else if (w->fault == CHAOS_LINK || w->fault == CHAOS_ADDRESS)
			dead |= 1u << w->nic;
	}
	return stopped || dead == (1u << j->nics) - 1;
}

uint64_t
chaos_judge_apart(const struct chaos_judge *j, unsigned a, unsigned b, uint64_t from, uint64_t to)
{
	uint64_t sum = 0, until;

	for (uint64_t t = from; t < to; t = until) {
		until = to;
		if (apart_at(j, a, b, t, &until))
			sum += until - t;
	}
	return sum;
}

uint64_t
chaos_judge_calm_since(const struct chaos_judge *j, unsigned a, unsigned b, uint64_t now)
{
	uint64_t since = 0;

	for (size_t i = 0; i < j->count; i++) {
		const struct chaos_window *w = &j->windows[i];

		if ((w->host == a || w->host == b) && w->from <= now) {
			uint64_t to = w->to < now ? w->to : now;

			since = to > since ? to : since;
		}
	}
	return since;
}

/* The time apart that a code of silence needs, among the last of @deadline. */
static bool
were_apart(const struct chaos_judge *j, const struct chaos_outcome *o, uint64_t deadline)
{
	uint64_t back = 3 * deadline, need = deadline - deadline / 4, apart;
	uint64_t from = o->ended_ns > back ? o->ended_ns - back : 0;

	apart = chaos_judge_apart(j, o->host, o->peer, from, o->ended_ns);
	if (o->peer_gone_ns && o->peer_gone_ns < o->ended_ns)
		apart += o->ended_ns - o->peer_gone_ns;
	return apart >= need;
}

static bool
peer_has_gone(const struct chaos_outcome *o)
{
	return o->peer_gone_ns && o->peer_gone_ns <= o->ended_ns;
}

/* The peer takes no notes while it does not run. */
static bool
peer_stood(const struct chaos_judge *j, const struct chaos_outcome *o)
{
	return chaos_judge_apart(j, o->peer, o->peer, o->posted_ns, o->ended_ns) > 0;
}

const char *
chaos_judge_outcome(const struct chaos_judge *j, const struct chaos_outcome *o)
{
	switch (o->code) {
	case 0:
		return o->wrong ? "wrong bytes" : NULL;
	case TCPX_ECANCELED: /* of the sender, or of a receiver that closes */
		return o->cancelled || o->kind == CHAOS_RECV ||
		       (o->kind == CHAOS_SEND && peer_has_gone(o)) ? NULL : "nobody cancelled it";
	case TCPX_EPEERGONE:
		return peer_has_gone(o) ? NULL : "the peer had not gone";
	case TCPX_ESTALLED:
	case TCPX_ENOCHANNEL:
		return were_apart(j, o, j->stall_ns) ? NULL : "they were not apart for so long";
	case TCPX_ETIMEDOUT:
		return were_apart(j, o, j->connect_ns) ? NULL : "they were not apart for so long";
	case TCPX_ELIMIT:
		return o->kind == CHAOS_WRITE && peer_stood(j, o) ? NULL : "the peer took notes";
	default:
		return "no fault here gives this code";
	}
}

uint64_t
chaos_judge_limit(const struct chaos_judge *j)
{
	return 3 * (j->stall_ns > j->connect_ns ? j->stall_ns : j->connect_ns) +
	       10000000000ull;
}

bool
chaos_judge_overdue(const struct chaos_judge *j, unsigned a, unsigned b, uint64_t since,
		    uint64_t now)
{
	uint64_t calm = chaos_judge_calm_since(j, a, b, now);

	return now - (calm > since ? calm : since) > chaos_judge_limit(j);
}

const char *
chaos_judge_held(const struct chaos_held *before, const struct chaos_held *after)
{
	if (after->fds > before->fds)
		return "descriptors";
	if (after->threads > before->threads)
		return "threads";
	if (after->heap > before->heap + HEAP_SLACK)
		return "memory";
	return NULL;
}
