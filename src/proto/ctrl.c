/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A control stream, and what leaves by it: a log of whole numbered frames. The bytes [begin, sent)
 * are written, [begin, mark) are whole frames. A frame enters the log once; an acknowledgement removes it.
 */
#include "proto/ctrl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proto/ctrl_state.h"
#include "proto/frame_sum.h"

int
tcpx_ctrl_new(struct tcpx_ctrl **out)
{
	struct tcpx_ctrl *c = calloc(1, sizeof(*c));

	if (!c || tcpx_inbox_init(&c->in)) {
		free(c);
		return tcpx_fail(TCPX_SUB_BOOT, -ENOMEM, "a control stream");
	}
	c->next = 1;
	c->raw_ack = NO_ACK;
	*out = c;
	return 0;
}

void
tcpx_ctrl_free(struct tcpx_ctrl *c)
{
	if (!c)
		return;
	tcpx_byteq_fini(&c->log, &c->loan);
	tcpx_byteq_fini(&c->queue, &c->loan);
	tcpx_byteq_fini(&c->raw, &c->loan);
	tcpx_byteq_fini(&c->bulk, &c->loan);
	tcpx_loan_end(&c->loan);
	tcpx_inbox_fini(&c->in);
	free(c);
}

void
tcpx_ctrl_sum(struct tcpx_ctrl *c)
{
	c->sums = true;
}

size_t
tcpx_ctrl_memory(const struct tcpx_ctrl *c)
{
	const size_t caps[] = { c->log.cap, c->queue.cap, c->raw.cap, c->bulk.cap, c->loan.retired_cap };
	size_t sum = sizeof(*c) + tcpx_inbox_memory(&c->in);

	for (size_t i = 0; i < sizeof(caps) / sizeof(caps[0]); i++)
		sum += tcpx_byteq_free(caps[i], &c->loan);
	return sum;
}

void
tcpx_ctrl_charge(struct tcpx_ctrl *c, struct tcpx_quota *quota)
{
	c->loan.quota = quota;
}

/* ---- out: putting ------------------------------------------------------------------ */

static void
append_frame(const struct tcpx_ctrl *c, struct tcpx_byteq *s, uint8_t type, uint64_t number,
	     const void *payload, size_t len)
{
	uint8_t *at = tcpx_byteq_at(s, s->end);

	tcpx_frame_head_write(at, type, number, (uint32_t)len);
	if (payload)
		memcpy(at + TCPX_FRAME_HEAD, payload, len);
	if (c->sums && s != &c->queue && tcpx_frame_is_summed(type))
		tcpx_frame_sum(at, TCPX_FRAME_HEAD + len);
	s->end += TCPX_FRAME_HEAD + len;
}

/* Makes room for a frame in @s, which may hold @limit bytes. */
static int
room_for(struct tcpx_ctrl *c, struct tcpx_byteq *s, size_t limit, uint8_t type, size_t len)
{
	int rc;

	if (tcpx_frame_numbered(type) != (s != &c->raw))
		return tcpx_fail(TCPX_SUB_BOOT, -EINVAL, "%s frame put as one with%s number",
				 tcpx_frame_name(type), s == &c->raw ? "out a" : " a");
	if (len > tcpx_frame_most(type) - TCPX_FRAME_HEAD)
		return tcpx_fail(TCPX_SUB_BOOT, TCPX_ELIMIT, "%s frame with %zu bytes; at most %u are "
				 "allowed", tcpx_frame_name(type), len,
				 tcpx_frame_most(type) - TCPX_FRAME_HEAD);
	if (tcpx_byteq_len(s) + TCPX_FRAME_HEAD + len > limit)
		return tcpx_fail(TCPX_SUB_BOOT, TCPX_ELIMIT, "%s frame: %zu bytes of control frames wait "
				 "already; at most %zu are allowed", tcpx_frame_name(type),
				 tcpx_byteq_len(s), limit);
	rc = tcpx_byteq_reserve(s, TCPX_FRAME_HEAD + len, &c->loan, false);
	return rc ? tcpx_fail(TCPX_SUB_BOOT, rc, "no room for a %s frame", tcpx_frame_name(type)) : 0;
}

int
tcpx_ctrl_put(struct tcpx_ctrl *c, uint8_t type, const void *payload, size_t len)
{
	uint8_t *at;
	int rc = tcpx_ctrl_begin(c, type, len, &at);

	if (rc)
		return rc;
	if (len)
		memcpy(at, payload, len);
	tcpx_ctrl_commit(c, type, len);
	return 0;
}

int
tcpx_ctrl_begin(struct tcpx_ctrl *c, uint8_t type, size_t len, uint8_t **payload)
{
	int rc = room_for(c, &c->log, TCPX_CTRL_MAX, type, len);

	if (rc == 0)
		*payload = tcpx_byteq_at(&c->log, c->log.end) + TCPX_FRAME_HEAD;
	return rc;
}

void
tcpx_ctrl_commit(struct tcpx_ctrl *c, uint8_t type, size_t len)
{
	append_frame(c, &c->log, type, c->next++, NULL, len);
}

int
tcpx_ctrl_put_bulk(struct tcpx_ctrl *c, uint8_t type, const void *payload, size_t len,
		   uint64_t *ticket)
{
	int rc = room_for(c, &c->queue, TCPX_CTRL_QUEUE, type, len);

	if (rc)
		return rc;
	append_frame(c, &c->queue, type, 0, payload, len);
	c->bulk_put++;
	if (ticket)
		*ticket = c->bulk_put;
	return 0;
}

int
tcpx_ctrl_bulk_room(struct tcpx_ctrl *c, size_t len)
{
	return tcpx_byteq_try(&c->queue, len, TCPX_CTRL_QUEUE, &c->loan);
}

int
tcpx_ctrl_put_raw(struct tcpx_ctrl *c, uint8_t type, const void *payload, size_t len)
{
	int rc = room_for(c, &c->raw, TCPX_CTRL_RAW, type, len);

	if (rc == 0)
		append_frame(c, &c->raw, type, 0, payload, len);
	return rc;
}

uint64_t
tcpx_ctrl_bulk_written(const struct tcpx_ctrl *c)
{
	return c->bulk_written;
}

/* ---- out: writing ------------------------------------------------------------------ */

/* May the log take what is not urgent? */
static bool
flows(const struct tcpx_ctrl *c)
{
	return !c->held && c->log.end - c->sent < TCPX_CTRL_AHEAD &&
	       tcpx_byteq_len(&c->log) < TCPX_CTRL_LOG;
}

bool
tcpx_ctrl_waits(const struct tcpx_ctrl *c)
{
	return tcpx_byteq_len(&c->raw) || (!c->held && c->log.end > c->sent) || tcpx_ctrl_bulk_due(c);
}

bool
tcpx_ctrl_bulk_due(const struct tcpx_ctrl *c)
{
	return tcpx_byteq_len(&c->queue) && flows(c);
}

bool
tcpx_ctrl_room_now(struct tcpx_ctrl *c, size_t len)
{
	return flows(c) && !tcpx_byteq_len(&c->queue) &&
	       !tcpx_byteq_try(&c->log, TCPX_FRAME_HEAD + len, TCPX_CTRL_MAX, &c->loan);
}

bool
tcpx_ctrl_carries(struct tcpx_ctrl *c, size_t len)
{
	return tcpx_byteq_reserve(&c->log, TCPX_FRAME_HEAD + len, &c->loan, true) == 0;
}

bool
tcpx_ctrl_is_unread(const struct tcpx_ctrl *c)
{
	return tcpx_byteq_len(&c->log) > TCPX_CTRL_MAX / 2 || tcpx_byteq_len(&c->queue) > TCPX_CTRL_QUEUE / 2;
}

/* Moves one bulk frame into the log. False: no memory. */
static bool
admit_one(struct tcpx_ctrl *c)
{
	struct tcpx_frame_head h = tcpx_frame_head_own(tcpx_byteq_at(&c->queue, c->queue.begin));
	const uint8_t *frame;

	if (tcpx_byteq_reserve(&c->log, h.len, &c->loan, true) ||
	    tcpx_byteq_reserve(&c->bulk, sizeof(c->next), &c->loan, true))
		return false;
	memcpy(tcpx_byteq_at(&c->bulk, c->bulk.end), &c->next, sizeof(c->next));
	c->bulk.end += sizeof(c->next);
	frame = tcpx_byteq_at(&c->queue, c->queue.begin);
	append_frame(c, &c->log, h.type, c->next++, frame + TCPX_FRAME_HEAD,
		     h.len - TCPX_FRAME_HEAD);
	tcpx_byteq_drop(&c->queue, c->queue.begin + h.len, &c->loan);
	return true;
}

static size_t
lend(struct tcpx_ctrl *c, unsigned lent, const struct tcpx_byteq *s, uint64_t from, uint64_t to,
     const uint8_t **data)
{
	c->lent = lent;
	c->lent_at = from;
	c->loan.data = s->data;
	*data = tcpx_byteq_at(s, from);
	return (size_t)(to - from);
}

/* Raw frames and the log behind them in one write: an ACK by itself would wake the
 * peer for nothing. */
static size_t
lend_both(struct tcpx_ctrl *c, const uint8_t **data)
{
	size_t raw = tcpx_byteq_len(&c->raw), log = (size_t)(c->log.end - c->sent);

	memcpy(c->joined, tcpx_byteq_at(&c->raw, c->raw.begin), raw);
	memcpy(c->joined + raw, tcpx_byteq_at(&c->log, c->sent), log);
	c->lent = LENT_BOTH;
	c->lent_at = c->sent;
	*data = c->joined;
	return raw + log;
}

static void
end_loan(struct tcpx_ctrl *c)
{
	tcpx_loan_end(&c->loan);
	c->lent = LENT_NOTHING;
}

size_t
tcpx_ctrl_pending(struct tcpx_ctrl *c, const uint8_t **data)
{
	size_t raw, log;

	end_loan(c);
	while (tcpx_ctrl_bulk_due(c) && admit_one(c)) /* else the next call tries again */
		;
	c->lent_raw = raw = tcpx_byteq_len(&c->raw);
	log = c->held ? 0 : (size_t)(c->log.end - c->sent);
	/* a half-written frame comes first: raw frames stand between frames */
	if (raw && log && c->sent > c->mark)
		return lend(c, LENT_LOG, &c->log, c->sent,
			    c->mark + tcpx_frame_head_own(tcpx_byteq_at(&c->log, c->mark)).len, data);
	if (raw && log && raw + log <= JOINED)
		return lend_both(c, data);
	if (raw)
		return lend(c, LENT_RAW, &c->raw, c->raw.begin, c->raw.end, data);
	return log ? lend(c, LENT_LOG, &c->log, c->sent, c->log.end, data) : 0;
}

/* Moves mark over the frames that are wholly written. */
static void
advance_mark(struct tcpx_ctrl *c)
{
	struct tcpx_frame_head h;
	uint64_t number;

	while (c->mark < c->sent) {
		h = tcpx_frame_head_own(tcpx_byteq_at(&c->log, c->mark));
		if (c->sent - c->mark < h.len)
			break;
		c->mark += h.len;
		c->mark_number = h.number;
	}
	if (c->mark_number > c->written)
		c->written = c->mark_number;
	while (tcpx_byteq_len(&c->bulk)) {
		memcpy(&number, tcpx_byteq_at(&c->bulk, c->bulk.begin), sizeof(number));
		if (number > c->written)
			break;
		tcpx_byteq_drop(&c->bulk, c->bulk.begin + sizeof(number), &c->loan);
		c->bulk_written++;
	}
}

void
tcpx_ctrl_written(struct tcpx_ctrl *c, size_t len)
{
	unsigned lent = c->lent;
	size_t raw = len < c->lent_raw ? len : c->lent_raw;

	end_loan(c);
	if (lent & LENT_RAW) {
		tcpx_byteq_drop(&c->raw, c->raw.begin + raw, &c->loan);
		len -= raw;
	}
	if ((lent & LENT_LOG) && c->lent_at + len > c->sent) {
		c->sent = c->lent_at + len;
		advance_mark(c);
	}
}

int
tcpx_ctrl_acknowledge(struct tcpx_ctrl *c, uint64_t number)
{
	/* the peer may acknowledge bytes before written() has reported them */
	uint64_t limit = c->lent & LENT_LOG ? c->next - 1 : c->written;
	uint64_t off = c->log.begin;

	if (number > limit)
		return tcpx_fail(TCPX_SUB_BOOT, TCPX_EPROTO, "the peer acknowledges control frame %"
				 PRIu64 "; %" PRIu64 " is the last one sent", number, limit);
	for (; c->acked < number; c->acked++)
		off += tcpx_frame_head_own(tcpx_byteq_at(&c->log, off)).len;
	if (c->mark < off) {
		c->mark = off;
		c->mark_number = number;
		if (c->sent < off)
			c->sent = off;
	}
	advance_mark(c);
	tcpx_byteq_drop(&c->log, off, &c->loan);
	return 0;
}

/* ---- connections ------------------------------------------------------------------- */

void
tcpx_ctrl_cut(struct tcpx_ctrl *c)
{
	end_loan(c);
	tcpx_byteq_drop(&c->raw, c->raw.end, &c->loan);
	c->raw_ack = NO_ACK;
	c->in.begin = c->in.end = 0;
	c->sent = c->mark;
	c->held = c->written || c->received;
}

int
tcpx_ctrl_resume(struct tcpx_ctrl *c, uint64_t peer_received)
{
	int rc;

	c->lent &= LENT_RAW; /* written() of the old connection no longer counts for the log */
	if (peer_received < c->acked)
		return tcpx_fail(TCPX_SUB_BOOT, TCPX_EPROTO, "the peer resumes after control frame %"
				 PRIu64 "; it had acknowledged %" PRIu64, peer_received, c->acked);
	rc = tcpx_ctrl_acknowledge(c, peer_received);
	if (rc)
		return rc;
	c->sent = c->mark = c->log.begin;
	c->mark_number = c->acked;
	c->held = false;
	return 0;
}
