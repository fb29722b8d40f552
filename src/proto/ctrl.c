/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control stream as two cursors. Outgoing: a log of whole numbered frames; the bytes
 * [begin, sent) are written, [begin, mark) are whole frames. Incoming: one buffer and the
 * highest number in order. A frame enters the log once; an acknowledgement removes it.
 */
#include "proto/ctrl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proto/byteq.h"
#include "proto/frame_sum.h"

#define ACK_BYTES  (256u << 10) /* received since the last ACK was put */
#define ACK_FRAMES 64u
#define NO_ACK     UINT64_MAX
#define JOINED     4096u /* raw and numbered bytes that one call writes */
#define IN_BYTES   (2u * TCPX_FRAME_MAX)
#define IN_WIDE    (TCPX_FRAME_HEAD + TCPX_LANE_DATA_HEAD + TCPX_LANE_DATA_MAX + TCPX_FRAME_MAX)

enum { LENT_NOTHING, LENT_LOG, LENT_RAW, LENT_BOTH = LENT_LOG | LENT_RAW };

struct tcpx_ctrl {
	bool sums;                 /* frames are summed, both ways               */
	/* out */
	struct tcpx_byteq log;    /* numbered frames from acked + 1 on          */
	struct tcpx_byteq queue;  /* bulk frames without a number yet           */
	struct tcpx_byteq raw;    /* unnumbered frames, dropped as written      */
	struct tcpx_byteq bulk;   /* u64 numbers of bulk frames not yet written */
	uint64_t next;             /* number of the next frame to enter the log  */
	uint64_t acked;            /* all up to here are received by the peer    */
	uint64_t sent;             /* log offset of the next byte to write       */
	uint64_t mark;             /* log offset <= sent: end of the written whole frames */
	uint64_t mark_number;      /* number of the last frame before mark       */
	uint64_t written;          /* highest mark_number ever                   */
	uint64_t bulk_put, bulk_written;
	uint64_t raw_ack;          /* raw offset of the newest ACK, NO_ACK none  */
	bool held;                 /* cut and not resumed                        */
	struct tcpx_loan loan;
	unsigned lent;
	uint64_t lent_at;          /* log offset                                 */
	size_t lent_raw;           /* bytes of raw, before those of the log      */
	/* in */
	uint64_t received;
	uint64_t ack_sent;         /* of received, the number in our last ACK    */
	uint64_t unacked_bytes;
	size_t in_begin, in_end, in_cap;
	uint8_t joined[JOINED];
	uint8_t *in;               /* owned                                      */
	uint8_t *wider;            /* owned: takes its place; NULL: none         */
};

int
tcpx_ctrl_new(struct tcpx_ctrl **out)
{
	struct tcpx_ctrl *c = calloc(1, sizeof(*c));

	if (c)
		c->in = malloc(IN_BYTES);
	if (!c || !c->in) {
		free(c);
		return tcpx_fail(TCPX_SUB_BOOT, -ENOMEM, "a control stream");
	}
	c->in_cap = IN_BYTES;
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
	free(c->wider);
	free(c->in);
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
	return sizeof(*c) + (c->wider ? IN_WIDE : c->in_cap) +
	       (c->loan.quota ? 0 : c->log.cap + c->queue.cap + c->raw.cap + c->bulk.cap +
						 c->loan.retired_cap);
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
	int rc = room_for(c, &c->log, TCPX_CTRL_MAX, type, len);

	if (rc == 0)
		append_frame(c, &c->log, type, c->next++, payload, len);
	return rc;
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

/* Moves one bulk frame into the log. False: no memory. */
static bool
admit_one(struct tcpx_ctrl *c)
{
	struct tcpx_frame_head h = tcpx_frame_head_own(tcpx_byteq_at(&c->queue, c->queue.begin));
	const uint8_t *frame;

	if (tcpx_byteq_reserve(&c->log, h.len, &c->loan, false) ||
	    tcpx_byteq_reserve(&c->bulk, sizeof(c->next), &c->loan, false))
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

/* The peer has everything up to @number: drops it from the log. */
static int
acknowledge(struct tcpx_ctrl *c, uint64_t number)
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

/* ---- in ---------------------------------------------------------------------------- */

static bool
is_wide(const struct tcpx_ctrl *c)
{
	return c->wider || c->in_cap == IN_WIDE;
}

/* The room that there is may be borrowed: the wider one takes its place later. */
int
tcpx_ctrl_widen(struct tcpx_ctrl *c)
{
	if (!is_wide(c))
		c->wider = malloc(IN_WIDE);
	return is_wide(c) ? 0 : tcpx_fail(TCPX_SUB_BOOT, -ENOMEM, "room for messages in frames");
}

/* What is not yet taken begins at the front of @to. */
static void
move_in(struct tcpx_ctrl *c, uint8_t *to)
{
	memmove(to, c->in + c->in_begin, c->in_end - c->in_begin);
	c->in_end -= c->in_begin;
	c->in_begin = 0;
}

size_t
tcpx_ctrl_room(struct tcpx_ctrl *c, uint8_t **data)
{
	if (c->wider) {
		move_in(c, c->wider);
		free(c->in);
		c->in = c->wider;
		c->in_cap = IN_WIDE;
		c->wider = NULL;
	}
	if (c->in_begin == c->in_end)
		c->in_begin = c->in_end = 0;
	if (c->in_begin && c->in_cap - c->in_end < c->in_cap / 2)
		move_in(c, c->in);
	*data = c->in + c->in_end;
	return c->in_cap - c->in_end;
}

void
tcpx_ctrl_arrived(struct tcpx_ctrl *c, size_t len)
{
	c->in_end += len;
}

static int
take_ack(struct tcpx_ctrl *c, const uint8_t *payload, size_t len)
{
	struct tcpx_buf b;

	if (len != 8)
		return tcpx_fail(TCPX_SUB_BOOT, TCPX_EPROTO, "ACK frame with %zu bytes instead of 8", len);
	tcpx_buf_init_const(&b, payload, len);
	return acknowledge(c, tcpx_buf_get_u64(&b));
}

/* Counts a numbered frame. 1: new; 0: seen before; TCPX_EPROTO: a gap. */
static int
take_number(struct tcpx_ctrl *c, const struct tcpx_frame_head *h)
{
	if (h->number <= c->received)
		return 0;
	if (h->number != c->received + 1)
		return tcpx_fail(TCPX_SUB_BOOT, TCPX_EPROTO, "control frame %" PRIu64 " (%s) after %" PRIu64,
				 h->number, tcpx_frame_name(h->type), c->received);
	c->received = h->number;
	c->unacked_bytes += h->len;
	return 1;
}

int
tcpx_ctrl_next(struct tcpx_ctrl *c, struct tcpx_frame_head *head, const uint8_t **payload)
{
	for (;;) {
		const uint8_t *at = c->in + c->in_begin;
		size_t have = c->in_end - c->in_begin;
		struct tcpx_frame_head h;
		int rc = (c->sums ? tcpx_frame_sum_read : tcpx_frame_head_read)(at, have, &h);

		if (!rc && h.len > TCPX_FRAME_MAX && !is_wide(c))
			rc = TCPX_EPROTO;
		if (rc == -EAGAIN || (!rc && h.len > have))
			return 0;
		if (rc)
			return rc == TCPX_EDATA ? rc :
			       tcpx_fail(TCPX_SUB_BOOT, rc, "bytes on the control stream after "
					 "frame %" PRIu64 " that are not a frame", c->received);
		if (h.type == TCPX_FR_ACK)
			rc = take_ack(c, at + TCPX_FRAME_HEAD, h.len - TCPX_FRAME_HEAD);
		else
			rc = tcpx_frame_numbered(h.type) ? take_number(c, &h) : 1;
		if (rc < 0)
			return rc;
		c->in_begin += h.len;
		if (rc) {
			*head = h;
			*payload = at + TCPX_FRAME_HEAD;
			return 1;
		}
	}
}

uint64_t
tcpx_ctrl_received(const struct tcpx_ctrl *c)
{
	return c->received;
}

bool
tcpx_ctrl_ack_due(const struct tcpx_ctrl *c)
{
	return c->unacked_bytes >= ACK_BYTES || c->received - c->ack_sent >= ACK_FRAMES;
}

bool
tcpx_ctrl_ack_owed(const struct tcpx_ctrl *c)
{
	return c->received > c->ack_sent;
}

int
tcpx_ctrl_put_ack(struct tcpx_ctrl *c)
{
	uint8_t payload[8], *ack;
	struct tcpx_buf b;
	uint64_t at = c->raw.end;
	int rc;

	tcpx_buf_init(&b, payload, sizeof(payload));
	tcpx_buf_put_u64(&b, c->received);
	if (c->raw_ack != NO_ACK && c->raw_ack >= c->raw.begin && !(c->lent & LENT_RAW)) {
		/* an ACK that is not yet being written: update its number */
		ack = tcpx_byteq_at(&c->raw, c->raw_ack);
		memcpy(ack + TCPX_FRAME_HEAD, payload, sizeof(payload));
		if (c->sums)
			tcpx_frame_sum(ack, TCPX_FRAME_HEAD + sizeof(payload));
	} else {
		rc = tcpx_ctrl_put_raw(c, TCPX_FR_ACK, payload, sizeof(payload));
		if (rc)
			return rc;
		c->raw_ack = at;
	}
	c->ack_sent = c->received;
	c->unacked_bytes = 0;
	return 0;
}

/* ---- connections ------------------------------------------------------------------- */

void
tcpx_ctrl_cut(struct tcpx_ctrl *c)
{
	end_loan(c);
	tcpx_byteq_drop(&c->raw, c->raw.end, &c->loan);
	c->raw_ack = NO_ACK;
	c->in_begin = c->in_end = 0;
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
	rc = acknowledge(c, peer_received);
	if (rc)
		return rc;
	c->sent = c->mark = c->log.begin;
	c->mark_number = c->acked;
	c->held = false;
	return 0;
}
