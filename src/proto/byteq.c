/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The byte queue under the control stream. At least half of the memory is free after every
 * move, so each byte moves a constant number of times on average.
 */
#include "proto/byteq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define CAP_MIN  4096u
#define CAP_KEEP (64u << 10) /* kept when empty */
#define ANSWERS_PART 4 /* of a queue's memory is kept for answers */

static bool
is_lent(const struct tcpx_byteq *s, const struct tcpx_loan *loan)
{
	return s->data && s->data == loan->data;
}

size_t
tcpx_byteq_free(size_t cap, const struct tcpx_loan *loan)
{
	return loan->quota && cap > TCPX_BYTEQ_OWN ? 0 : cap;
}

static void
give(const struct tcpx_loan *loan, size_t cap)
{
	if (!tcpx_byteq_free(cap, loan))
		tcpx_quota_give(loan->quota, cap);
}

static bool
charge(const struct tcpx_loan *loan, size_t cap, bool can_wait)
{
	return tcpx_byteq_free(cap, loan) ||
	       (can_wait ? tcpx_quota_charge : tcpx_quota_draw)(loan->quota, cap);
}

/* Charges for @most bytes, or for @least if the quota refuses. Returns them; 0: for neither. */
static size_t
charge_for(const struct tcpx_loan *loan, size_t most, size_t least, bool can_wait)
{
	if (charge(loan, most, can_wait))
		return most;
	return least < most && charge(loan, least, can_wait) ? least : 0;
}

static void
leave_memory(struct tcpx_byteq *s, struct tcpx_loan *loan)
{
	if (is_lent(s, loan)) {
		loan->retired = s->data;
		loan->retired_cap = s->cap;
	} else {
		free(s->data);
		give(loan, s->cap);
	}
}

static size_t
memory_for(size_t len)
{
	size_t cap = CAP_MIN;

	while (len > cap / 2)
		cap *= 2;
	return cap;
}

static void
move_down(struct tcpx_byteq *s)
{
	memmove(s->data, tcpx_byteq_at(s, s->begin), tcpx_byteq_len(s));
	s->origin = s->begin;
}

int
tcpx_byteq_reserve(struct tcpx_byteq *s, size_t len, struct tcpx_loan *loan, bool can_wait)
{
	size_t live = tcpx_byteq_len(s), kept = can_wait ? s->cap / ANSWERS_PART : 0;
	size_t cap = s->cap ? s->cap : CAP_MIN, least = cap, usable = s->cap - kept;
	bool moves = s->data && !is_lent(s, loan) && live + len <= usable;
	uint8_t *data;

	if (s->data && s->end - s->origin + len <= usable)
		return 0;
	/* Grows by four, not by two, where the allocator maps fresh pages each time. */
	if (live + len > cap / 2) {
		least = memory_for(live + len);
		cap = memory_for(live + len + (live && cap >= TCPX_BYTEQ_OWN ? kept : 0));
	}
	cap = moves && cap == s->cap ? 0 : charge_for(loan, cap, least, can_wait);
	if (!cap) {
		if (moves) /* more often than is good for speed, if there is no more memory */
			move_down(s);
		return moves ? 0 : TCPX_ELIMIT;
	}
	data = malloc(cap);
	if (!data) {
		give(loan, cap);
		return -ENOMEM;
	}
	if (live)
		memcpy(data, tcpx_byteq_at(s, s->begin), live);
	leave_memory(s, loan);
	s->data = data;
	s->cap = cap;
	s->origin = s->begin;
	return 0;
}

int
tcpx_byteq_try(struct tcpx_byteq *s, size_t len, size_t most, struct tcpx_loan *loan)
{
	const struct tcpx_quota *q = loan->quota;
	size_t cap = len > most ? SIZE_MAX : memory_for(len);
	int rc;

	if (cap == SIZE_MAX || (!tcpx_byteq_free(cap, loan) && (cap > q->limit - q->reserve ||
								(q->whole && cap > q->whole->limit / 2))))
		return TCPX_ELIMIT;
	if (tcpx_byteq_len(s) + len > most)
		return -EAGAIN;
	rc = tcpx_byteq_reserve(s, len, loan, true);
	return rc == TCPX_ELIMIT ? -EAGAIN : rc;
}

void
tcpx_byteq_drop(struct tcpx_byteq *s, uint64_t off, const struct tcpx_loan *loan)
{
	s->begin = off;
	if (tcpx_byteq_len(s) || is_lent(s, loan))
		return;
	s->origin = s->begin;
	if (s->cap > CAP_KEEP)
		tcpx_byteq_fini(s, loan);
}

void
tcpx_byteq_fini(struct tcpx_byteq *s, const struct tcpx_loan *loan)
{
	free(s->data);
	give(loan, s->cap);
	s->data = NULL;
	s->cap = 0;
	s->origin = s->begin;
}

void
tcpx_loan_end(struct tcpx_loan *loan)
{
	free(loan->retired);
	give(loan, loan->retired_cap);
	*loan = (struct tcpx_loan){ .quota = loan->quota };
}
