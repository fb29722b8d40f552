/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The effect of the peer's frames on transfers. Everything from the peer is checked here
 * before it touches a table or memory; a breach of the protocol ends the session.
 */
#include "core/transfer/frames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/channel/channel.h"
#include "core/channel/frames.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/memory/builder.h"
#include "core/memory/copy.h"
#include "core/memory/list.h"
#include "core/memory/payload.h"
#include "core/session/gone.h"
#include "core/session/note.h"
#include "core/session/note_flow.h"
#include "core/session/peer.h"
#include "core/session/receive.h"
#include "core/session/session.h"
#include "core/transfer/answer.h"
#include "core/transfer/end.h"
#include "core/transfer/lane_frames.h"
#include "core/transfer/match.h"
#include "core/transfer/refuse.h"
#include "core/transfer/spread.h"
#include "core/transfer/transfer.h"

/* A READ whose bytes have all come frees its credit at the opener a little before it ends here. */
#define THEIR_LISTS      4
#define LIST_ENTRY_BYTES 24ull

/* The list is complete: the transfer begins, or ends at once. */
static void
begin(struct session *s, struct tcpx_xfer *x)
{
	uint8_t small[TCPX_NOTE_MAX];
	int rc = 0;

	if (x->op == TCPX_OP_READ && x->total <= s->engine->limit.inline_bytes &&
	    tcpx_ctrl_carries(s->control.ctrl, x->total + TCPX_TEXT_MAX) &&
	    (!list_staged(x->payload.list) || x->total == 0 || s->xfers.live == 0)) {
		rc = tcpx_list_copy_out(x->payload.list, small, x->total);
		if (rc) {
			tcpx_refuse_memory(s, x->id, rc, "read", x->payload.list);
			return;
		}
		count_add(&s->engine->count.bytes_tx, x->total);
		tcpx_xfer_known(s, x->id);
		tcpx_answer_done(s, x->id, 0, x->total, NULL, small, (uint16_t)x->total);
		return;
	}
	if (x->op == TCPX_OP_WRITE)
		rc = tcpx_xfer_map(x);
	if (rc) {
		tcpx_refuse(s, x->id, rc, "target is out of memory");
		return;
	}
	atomic_store(&x->status, -EAGAIN);
	tcpx_xfer_get(x);
	tcpx_xfer_insert(s, x, engine_now(s->engine));
	s->credit.their_list += x->post.list_bytes;
	atomic_store(&x->payload.live, x->id);
	tcpx_xfer_known(s, x->id);
	if (x->op == TCPX_OP_READ)
		tcpx_spread_chunks(s, x);
	else if (list_staged(x->payload.list) && x->chunks > 1 && s->engine->limit.spin_ns)
		tcpx_loop_wake_below(s->loop, x->chunks < s->engine->loop_count ?
						x->chunks : s->engine->loop_count);
}

/* Reads what was fed of the list, as far as the turn allows; begins the transfer when nothing is left
 * and no more follows. Until then s->xfers.opening has the reference to it. */
static int
read_list(struct session *s, struct tcpx_xfer *x)
{
	uint32_t turn = s->engine->limit.turn_cost, spent = s->control.spent;
	uint32_t most = spent < turn ? turn - spent : 0, left = most;
	int rc = tcpx_builder_read(x->rx.builder, &left);

	s->control.spent += most - left;
	s->xfers.half_read = rc == 1;
	s->xfers.opening = rc == 1 || (rc == 0 && x->rx.more) ? x : NULL;
	if (s->xfers.opening)
		return 0;
	if (rc == 0)
		rc = tcpx_builder_finish(x->rx.builder, &x->payload.list);
	if (rc == 0 && tcpx_list_check(x->payload.list) != 0)
		rc = tcpx_fail(TCPX_SUB_XFER, TCPX_EREGION,
			       "a region of the list was deregistered while it arrived");
	if (rc == TCPX_EPROTO) {
		tcpx_xfer_put(x);
		return rc;
	}
	if (rc) {
		s->xfers.skipping = x->rx.more ? x->id : 0;
		tcpx_refuse_list(s, x->id, rc, tcpx_builder_count(x->rx.builder));
	} else {
		begin(s, x);
	}
	tcpx_builder_free(x->rx.builder);
	x->rx.builder = NULL;
	tcpx_xfer_put(x);
	return 0;
}

static int
feed(struct session *s, struct tcpx_xfer *x, const uint8_t *ops, size_t len, bool more)
{
	tcpx_builder_feed(x->rx.builder, ops, len);
	x->rx.more = more;
	return read_list(s, x);
}

int
tcpx_frames_rest(struct session *s)
{
	return read_list(s, s->xfers.opening);
}

/* A WRITE that is complete in its OPEN ends at once, and leaves nothing. The region cannot
 * go meanwhile: deregistering ends with this session's lock. */
static int
write_whole(struct session *s, const struct tcpx_open *o)
{
	char why[TCPX_TEXT_MAX] = "";
	struct tcpx_list *l;
	int rc;

	if (o->entry_count > TCPX_FRAME_MAX) /* a sender has none that is empty */
		return TCPX_EPROTO;
	s->control.spent += o->entry_count;
	rc = tcpx_list_read(s->engine, TCPX_MEM_REMOTE_WRITE, o->entry_count, o->total, o->list,
				o->list_len, &l);

	if (rc == TCPX_EPROTO)
		return rc;
	if (rc) {
		tcpx_refuse_list(s, o->id, rc, (uint32_t)o->entry_count);
		return 0;
	}
	rc = tcpx_list_copy_in(l, o->payload, o->total);
	if (rc)
		tcpx_refuse_memory(s, o->id, rc, "written", l);
	tcpx_list_put(l);
	if (rc)
		return 0;
	count_add(&s->engine->count.bytes_rx, o->total);
	if (o->flags & TCPX_OPEN_NOTE)
		rc = tcpx_note_push(s->peer, o->note, o->note_len);
	tcpx_xfer_known(s, o->id);
	if (rc)
		tcpx_note_why(s->peer, o->note_len, rc, why, sizeof(why));
	tcpx_answer_done(s, o->id, rc, o->total, why, NULL, 0);
	return 0;
}

/* Charges the memory that the peer's transfer takes here: its list, its note, a bit for each chunk. @why: the
 * reason if there is no room. */
static int
charge(struct tcpx_xfer *x, const struct tcpx_open *o, char why[TCPX_TEXT_MAX])
{
	uint64_t bytes = sizeof(*x) + x->post.list_bytes + x->chunks / 8 +
			 (o->flags & TCPX_OPEN_NOTE ? o->note_len : 0);

	if (!tcpx_kept_charge(x->session->peer, KEPT_LISTS, bytes)) {
		tcpx_kept_why(x->session->peer, bytes, "target's", why, TCPX_TEXT_MAX);
		return TCPX_ELIMIT;
	}
	x->kept = bytes;
	return 0;
}

static int
keep_note(struct tcpx_xfer *x, const struct tcpx_open *o)
{
	if (!(o->flags & TCPX_OPEN_NOTE))
		return 0;
	x->note.bytes = malloc(o->note_len + 1u);
	if (!x->note.bytes)
		return -ENOMEM;
	memcpy(x->note.bytes, o->note, o->note_len);
	x->note.len = o->note_len;
	x->note.there = true;
	return 0;
}

static int
open_one_sided(struct session *s, const struct tcpx_open *o)
{
	struct tcpx_engine *e = s->engine;
	unsigned need = o->op == TCPX_WIRE_READ ? TCPX_MEM_REMOTE_READ : TCPX_MEM_REMOTE_WRITE;
	uint64_t list_bytes = o->entry_count * LIST_ENTRY_BYTES;
	char why[TCPX_TEXT_MAX] = "target is out of memory";
	struct tcpx_xfer *x;
	int rc;

	if (list_bytes > e->limit.credit_list ||
	    s->credit.their_list + list_bytes > THEIR_LISTS * e->limit.credit_list)
		return TCPX_EPROTO; /* the peer ignores its credit */
	if (o->op == TCPX_WIRE_WRITE && (o->flags & TCPX_OPEN_INLINE))
		return o->flags & TCPX_OPEN_MORE ? TCPX_EPROTO : write_whole(s, o);
	rc = tcpx_xfer_new(e, &x);
	if (rc)
		return rc;
	x->target = true;
	x->post.list_bytes = list_bytes;
	x->op = o->op == TCPX_WIRE_READ ? TCPX_OP_READ : TCPX_OP_WRITE;
	x->sends = x->op == TCPX_OP_READ;
	x->id = o->id;
	x->status = TCPX_ESTATE;
	tcpx_session_get(s);
	x->session = s;
	tcpx_xfer_shape(x, o->total, o->chunk);
	rc = charge(x, o, why);
	if (rc == 0)
		rc = keep_note(x, o);
	if (rc == 0)
		rc = tcpx_builder_new(e, need, o->entry_count, o->total, &x->rx.builder);
	if (rc) {
		s->xfers.skipping = o->flags & TCPX_OPEN_MORE ? o->id : 0;
		tcpx_refuse(s, o->id, rc, why);
		tcpx_xfer_put(x);
		return 0;
	}
	return feed(s, x, o->list, o->list_len, o->flags & TCPX_OPEN_MORE);
}

static bool
open_is_sane(const struct session *s, const struct tcpx_open *o)
{
	return !s->xfers.opening && !s->xfers.skipping && !id_is_ours(s, o->id) &&
	       (o->id & ~ID_OF_ACCEPTOR) == s->xfers.opened_there + 1 &&
	       s->xfers.live <= 2 * CREDIT_KINDS * s->engine->limit.credit_xfers && /* of both sides */
	       ((o->flags & TCPX_OPEN_INLINE) ||
		(o->chunk >= 4096 && o->chunk <= s->chan.chunk_max));
}

static int
on_open(struct session *s, struct tcpx_buf *b)
{
	struct tcpx_open o;
	int rc = tcpx_open_read(b, &o);

	s->control.spent += OPEN_COST;
	if (rc)
		return rc;
	if (!open_is_sane(s, &o))
		return TCPX_EPROTO;
	if (o.op != TCPX_WIRE_SEND)
		return open_one_sided(s, &o);
	tcpx_xfer_known(s, o.id);
	return tcpx_match_send(s, &o);
}

static int
on_list(struct session *s, struct tcpx_buf *b)
{
	struct tcpx_listframe l;
	int rc = tcpx_listframe_read(b, &l);

	if (rc)
		return rc;
	if (s->xfers.skipping && l.id == s->xfers.skipping) {
		if (!l.more)
			s->xfers.skipping = 0;
		return 0;
	}
	if (!s->xfers.opening || s->xfers.opening->id != l.id)
		return TCPX_EPROTO;
	return feed(s, s->xfers.opening, l.list, l.list_len, l.more);
}

/* The target has every byte of the WRITE, and no room for its note yet. */
static bool
lacks_its_note(const struct tcpx_xfer *x, const struct tcpx_done *d)
{
	return d->code == TCPX_ELIMIT && x->op == TCPX_OP_WRITE && x->note.there &&
	       d->bytes == x->total;
}

static int
on_done(struct session *s, struct tcpx_buf *b)
{
	char text[TCPX_TEXT_MAX] = "memory cannot be written: ";
	struct tcpx_done d;
	bool noted;
	struct tcpx_xfer *x;
	int rc = tcpx_done_read(b, &d);

	if (rc)
		return rc;
	x = tcpx_xfer_find(s, d.id);
	if (!x || x->target || x->lane)
		return id_is_ours(s, d.id) && id_is_known(s, d.id) ? 0 : TCPX_EPROTO; /* cancelled */
	noted = !lacks_its_note(x, &d);
	if (d.code && noted) {
		tcpx_xfer_end(x, d.code, d.text);
		return 0;
	}
	if (x->op == TCPX_OP_READ) {
		if (d.payload_len != x->total || d.bytes != x->total)
			return TCPX_EPROTO;
		rc = tcpx_list_copy_in(x->payload.list, d.payload, x->total);
		if (rc) {
			tcpx_list_fault(x->payload.list, text + strlen(text),
					sizeof(text) - strlen(text));
			tcpx_xfer_end(x, rc, text);
			return 0;
		}
		count_add(&s->engine->count.bytes_rx, x->total);
		tcpx_answer_filled(s, x);
		return 0;
	}
	if (x->post.inlined)
		count_add(&s->engine->count.bytes_tx, x->total);
	atomic_store(&x->bytes_done, x->total);
	if (!noted) {
		tcpx_answer_filled(s, x); /* as of a READ: its note goes alone, or waits */
		return 0;
	}
	count_add(&s->engine->count.notes_tx, x->note.there);
	tcpx_xfer_end(x, 0, NULL);
	return 0;
}

static int
on_cancel(struct session *s, uint64_t id)
{
	struct tcpx_xfer *x;

	if (id_is_ours(s, id))
		return TCPX_EPROTO;
	if (s->xfers.opening && s->xfers.opening->id == id) {
		x = s->xfers.opening;
		s->xfers.opening = NULL;
		s->xfers.skipping = id;
		tcpx_refuse_charge(s, tcpx_builder_count(x->rx.builder));
		tcpx_xfer_known(s, id);
		tcpx_xfer_put(x);
		return 0;
	}
	x = tcpx_xfer_find(s, id);
	if (x && x->target)
		tcpx_xfer_end(x, TCPX_ECANCELED, "cancelled by the sender");
	else
		tcpx_match_forget(s->peer, s, id);
	return id_is_known(s, id) ? 0 : TCPX_EPROTO;
}

static int
on_matched(struct session *s, uint64_t id)
{
	struct tcpx_xfer *x = tcpx_xfer_find(s, id);

	if (!x)
		return id_is_ours(s, id) && id_is_known(s, id) ? 0 : TCPX_EPROTO;
	if (x->op != TCPX_OP_SEND || x->post.inlined || x->times.ready_ns)
		return TCPX_EPROTO;
	tcpx_spread_chunks(s, x);
	return 0;
}

/* A session that the peer no longer uses may be opened again; that of a closed engine may not. */
static int
on_bye(struct session *s, struct tcpx_buf *b)
{
	char text[TCPX_TEXT_MAX], why[TCPX_TEXT_MAX + TCPX_NAME_MAX + 32];
	int32_t code;

	if (tcpx_refuse_read(b, &code, text, NULL) != 0 || code == 0)
		return TCPX_EPROTO;
	snprintf(why, sizeof(why), "peer %s ended the session: %s", s->peer->name, text);
	if (code == TCPX_EPEERGONE)
		tcpx_session_peer_gone(s, why);
	else
		tcpx_session_fail(s, code, "%s", why);
	return 0;
}

int
tcpx_frames_handle(struct session *s, const struct tcpx_frame_head *h, const uint8_t *payload)
{
	size_t len = h->len - TCPX_FRAME_HEAD;
	struct tcpx_buf b;

	tcpx_buf_init_const(&b, payload, len);
	switch (h->type) {
	case TCPX_FR_OPEN:
		return on_open(s, &b);
	case TCPX_FR_LIST:
		return on_list(s, &b);
	case TCPX_FR_DONE:
		return on_done(s, &b);
	case TCPX_FR_NOTE:
		if (len > TCPX_NOTE_MAX)
			return TCPX_EPROTO;
		return tcpx_notes_arrived(s, payload, len);
	case TCPX_FR_NOTED:
		return len == 8 ? tcpx_answer_noted(s, tcpx_buf_get_u64(&b)) : TCPX_EPROTO;
	case TCPX_FR_CANCEL:
		return len == 8 ? on_cancel(s, tcpx_buf_get_u64(&b)) : TCPX_EPROTO;
	case TCPX_FR_MATCHED:
		return len == 8 ? on_matched(s, tcpx_buf_get_u64(&b)) : TCPX_EPROTO;
	case TCPX_FR_CHANNEL_DOWN ... TCPX_FR_MESSAGE:
	case TCPX_FR_CHANNEL_ASK ... TCPX_FR_WIDTH:
		return tcpx_channel_frame(s, h->type, &b);
	case TCPX_FR_LANE_OPEN ... TCPX_FR_LANE_DONE:
		return tcpx_lane_frame(s, h->type, &b);
	case TCPX_FR_BYE:
		return on_bye(s, &b);
	default:
		return TCPX_EPROTO;
	}
}
