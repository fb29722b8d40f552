/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a lane's ends. */
#include "proto/lane.h"

#include <errno.h>

#include "base/err.h"

/* Announced receives below which the next is announced at once, so that the sender never waits;
 * how many of the others share a frame; and how many whose message has come already. */
#define ENOUGH 4
#define GATHER 4
#define BEHIND (TCPX_LANE_SLOTS / 2)
#define IN_A_ROW 8 /* messages that came in frames, or by channels: the next ones will, too */

/* ---- both ends ---- */

int
tcpx_lane_ring_post(struct tcpx_lane_ring *r, uint64_t *seq)
{
	if (r->posted - r->done >= TCPX_LANE_SLOTS || r->posted == TCPX_LANE_SEQ)
		return TCPX_ELIMIT;
	*seq = ++r->posted;
	return 0;
}

uint32_t
tcpx_lane_ring_open(const struct tcpx_lane_ring *r)
{
	return (uint32_t)(r->posted - r->done) - (uint32_t)__builtin_popcountll(r->finished);
}

static uint64_t
bit(uint64_t seq)
{
	return 1ull << seq % TCPX_LANE_SLOTS;
}

bool
tcpx_lane_ring_has(const struct tcpx_lane_ring *r, uint64_t seq)
{
	return seq > r->done && seq <= r->posted && !(r->finished & bit(seq));
}

void
tcpx_lane_ring_finish(struct tcpx_lane_ring *r, uint64_t seq)
{
	if (!tcpx_lane_ring_has(r, seq))
		return;
	r->finished |= bit(seq);
	while (r->finished & bit(r->done + 1))
		r->finished &= ~bit(++r->done);
}

/* ---- sender ---- */

int
tcpx_lane_send(struct tcpx_lane_tx *t, uint64_t *seq)
{
	int rc = tcpx_lane_ring_post(&t->ring, seq);
	uint32_t open = tcpx_lane_ring_open(&t->ring);

	t->streams = open > TCPX_LANE_FEW || (t->streams && open > 1);
	return rc;
}

int
tcpx_lane_announced(struct tcpx_lane_tx *t, uint64_t first, const uint64_t *len, uint32_t count)
{
	uint64_t ahead = t->announced > t->launched ? t->announced - t->launched : 0;

	if (first != t->announced + 1 || count > TCPX_LANE_SLOTS - ahead ||
	    count > TCPX_LANE_SEQ - t->announced)
		return TCPX_EPROTO;
	for (uint32_t i = 0; i < count; i++)
		t->room[++t->announced % TCPX_LANE_SLOTS] = len[i];
	return 0;
}

bool
tcpx_lane_next(const struct tcpx_lane_tx *t, uint64_t *seq, uint64_t *room)
{
	if (t->launched == t->ring.posted)
		return false;
	*seq = t->launched + 1;
	*room = *seq <= t->announced ? t->room[*seq % TCPX_LANE_SLOTS] : TCPX_LANE_UNKNOWN;
	return true;
}

bool
tcpx_lane_near(const struct tcpx_lane_tx *t, uint64_t seq)
{
	return seq <= t->announced + TCPX_LANE_SLOTS;
}

void
tcpx_lane_launched(struct tcpx_lane_tx *t)
{
	t->launched++;
}

int
tcpx_lane_finished(const struct tcpx_lane_tx *t, uint64_t done, uint64_t finished,
		   struct tcpx_lane_ring *there)
{
	struct tcpx_lane_ring r = { .posted = t->launched, .done = done, .finished = finished };

	if (done > t->launched)
		return TCPX_EPROTO;
	for (uint64_t seq = t->launched + 1; seq <= done + TCPX_LANE_SLOTS; seq++)
		if (finished & bit(seq))
			return TCPX_EPROTO;
	*there = r;
	return 0;
}

/* ---- receiver ---- */

int
tcpx_lane_receive(struct tcpx_lane_rx *r, uint64_t len, uint64_t *seq)
{
	int rc = len > TCPX_LANE_LEN_MAX ? -EINVAL : tcpx_lane_ring_post(&r->ring, seq);

	if (rc == 0)
		r->slot[*seq % TCPX_LANE_SLOTS] = (struct tcpx_lane_slot){ len, TCPX_LANE_UNKNOWN, 0 };
	return rc;
}

enum tcpx_lane_when
tcpx_lane_due(const struct tcpx_lane_rx *r)
{
	uint64_t waiting = r->ring.posted - r->announced;
	uint64_t open = r->announced > r->ring.done ? r->announced - r->ring.done : 0;

	if (waiting >= BEHIND)
		return TCPX_LANE_NOW;
	if (r->ring.posted == r->ring.done || !waiting || (waiting < GATHER && open >= ENOUGH))
		return TCPX_LANE_NOT;
	return r->small >= IN_A_ROW ? TCPX_LANE_SOON : TCPX_LANE_NOW;
}

bool
tcpx_lane_is_large(const struct tcpx_lane_rx *r)
{
	return r->large >= IN_A_ROW;
}

uint32_t
tcpx_lane_tell(struct tcpx_lane_rx *r, uint64_t *first, uint64_t len[TCPX_LANE_SLOTS])
{
	uint32_t count = 0;

	*first = r->announced + 1;
	while (r->announced < r->ring.posted)
		len[count++] = r->slot[++r->announced % TCPX_LANE_SLOTS].len;
	return count;
}

int
tcpx_lane_fits(const struct tcpx_lane_rx *r, uint64_t seq, uint32_t chunk, uint32_t len)
{
	const struct tcpx_lane_slot *s = &r->slot[seq % TCPX_LANE_SLOTS];
	uint64_t end = tcpx_lane_offset(chunk) + len;
	bool last = chunk & TCPX_LANE_LAST;

	if ((seq > r->announced && !(chunk & TCPX_LANE_EARLY)) ||
	    !tcpx_lane_ring_has(&r->ring, seq))
		return TCPX_EFRAME;
	if (last ? s->total != TCPX_LANE_UNKNOWN : len == 0 || len % TCPX_LANE_UNIT || end >= s->total)
		return TCPX_EFRAME;
	if (last && len == 0 && end)
		return TCPX_EFRAME; /* only an empty message has an empty chunk */
	return end > s->len ? TCPX_ELENGTH : 0;
}

int
tcpx_lane_early(struct tcpx_lane_rx *r, uint64_t seq, bool known)
{
	const struct tcpx_lane_slot *s = &r->slot[seq % TCPX_LANE_SLOTS];

	if (r->kept & bit(seq) || seq > r->announced + (known ? 0 : TCPX_LANE_SLOTS))
		return TCPX_EPROTO;
	if (seq > r->ring.posted)
		r->kept |= bit(seq);
	else if (!tcpx_lane_ring_has(&r->ring, seq) || s->got)
		return TCPX_EPROTO;
	r->small += r->small < IN_A_ROW;
	r->large = 0;
	return 0;
}

int
tcpx_lane_begins(struct tcpx_lane_rx *r, uint64_t seq)
{
	int rc = tcpx_lane_early(r, seq, false);

	if (rc == 0)
		r->small = 0;
	return rc;
}

bool
tcpx_lane_keeps(const struct tcpx_lane_rx *r, uint64_t seq)
{
	return r->kept & bit(seq);
}

void
tcpx_lane_forget(struct tcpx_lane_rx *r, uint64_t seq)
{
	r->kept &= ~bit(seq);
}

int
tcpx_lane_applied(struct tcpx_lane_rx *r, uint64_t seq, uint32_t chunk, uint32_t len)
{
	struct tcpx_lane_slot *s = &r->slot[seq % TCPX_LANE_SLOTS];
	int rc = tcpx_lane_fits(r, seq, chunk, len);

	if (rc)
		return TCPX_EFRAME; /* it fitted when it began to arrive */
	r->small = 0;
	if (chunk & TCPX_LANE_LAST)
		s->total = tcpx_lane_offset(chunk) + len;
	s->got += len;
	if (s->got > s->total)
		return TCPX_EFRAME;
	if (s->got != s->total)
		return 0;
	r->large = s->total > TCPX_LANE_LARGE ? r->large + (r->large < IN_A_ROW) : 0;
	return 1;
}
