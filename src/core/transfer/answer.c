/* SPDX-License-Identifier: Apache-2.0 */
/* The receiving side's answers: DONE, MATCHED, notes. */
#include "core/transfer/answer.h"

#include <errno.h>
#include <stdio.h>

#include "core/channel/channel.h"
#include "core/context/context.h"
#include "core/memory/copy.h"
#include "core/memory/list.h"
#include "core/memory/payload.h"
#include "core/session/control.h"
#include "core/session/note.h"
#include "core/session/note_flow.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "core/transfer/end.h"
#include "core/transfer/lane.h"
#include "core/transfer/transfer.h"

void
tcpx_answer_done(struct session *s, uint64_t id, int code, uint64_t bytes, const char *text,
		const void *payload, uint16_t payload_len)
{
	uint8_t room[TCPX_FRAME_MAX];
	struct tcpx_done d;
	struct tcpx_buf b;

	d.id = id;
	d.code = code;
	d.bytes = bytes;
	d.payload = payload;
	d.payload_len = payload_len;
	d.text[0] = '\0';
	if (text)
		snprintf(d.text, sizeof(d.text), "%s", text);
	tcpx_buf_init(&b, room, sizeof(room) - TCPX_FRAME_HEAD);
	tcpx_done_write(&b, &d);
	tcpx_control_say(s, TCPX_FR_DONE, &b);
}

void
tcpx_answer_fail(struct session *s, struct tcpx_xfer *x, int code, const char *theirs,
		const char *text)
{
	if (x->lane) {
		tcpx_lane_fail(x->lane, code, theirs);
		return;
	}
	tcpx_xfer_get(x); /* its session may fail now, and have the last one */
	if (x->target)
		tcpx_answer_done(s, x->id, code, 0, theirs, NULL, 0);
	else
		tcpx_control_say_u64(s, TCPX_FR_CANCEL, x->id);
	tcpx_xfer_end(x, code, text);
	tcpx_xfer_put(x);
}

void
tcpx_answer_unusable(struct session *s, struct tcpx_xfer *x, int code, const char *what)
{
	char text[TCPX_TEXT_MAX], where[80];

	tcpx_list_fault(x->payload.list, where, sizeof(where));
	snprintf(text, sizeof(text), "memory of the %s side %s: %s: %s", x->target ? "target's" :
		 "initiator's", what, where, tcpx_err_text(code));
	tcpx_answer_fail(s, x, code, text, text);
	tcpx_control_flush(s);
}

void
tcpx_answer_broken(struct channel *c, struct payload *p, uint64_t id, int code, const char *what)
{
	struct session *s = c->session;
	struct tcpx_xfer *x = xfer_of(p);

	pthread_mutex_lock(&s->lock);
	if (x->id == id && atomic_load(&x->status) == -EAGAIN)
		tcpx_answer_unusable(s, x, code, what);
	pthread_mutex_unlock(&s->lock);
}

void
tcpx_answer_match(struct session *s, struct tcpx_xfer *x, uint64_t id, uint64_t total,
		uint32_t chunk, const uint8_t *payload)
{
	char text[TCPX_TEXT_MAX], where[80];
	int rc = 0;

	x->id = id;
	x->target = true;
	if (total > x->payload.list->total) {
		snprintf(text, sizeof(text), "send of %llu bytes met a receive of %llu",
			 (unsigned long long)total, (unsigned long long)x->payload.list->total);
		tcpx_answer_done(s, id, TCPX_ELENGTH, 0, text, NULL, 0);
		tcpx_xfer_end(x, TCPX_ELENGTH, text);
		return;
	}
	if (tcpx_list_check(x->payload.list) != 0) {
		tcpx_answer_done(s, id, TCPX_EREGION, 0, "receiver gave its region back", NULL, 0);
		tcpx_xfer_end(x, TCPX_EREGION, "region deregistered");
		return;
	}
	tcpx_xfer_shape(x, total, chunk);
	if (payload || total == 0) {
		rc = tcpx_list_copy_in(x->payload.list, payload, total);
		if (rc) {
			tcpx_list_fault(x->payload.list, where, sizeof(where));
			snprintf(text, sizeof(text), "receiver's memory cannot be written: %s", where);
			tcpx_answer_done(s, id, rc, 0, text, NULL, 0);
			tcpx_xfer_end(x, rc, text);
			return;
		}
		count_add(&s->engine->count.bytes_rx, total);
		tcpx_answer_done(s, id, 0, total, NULL, NULL, 0);
		tcpx_xfer_end(x, 0, NULL);
		return;
	}
	rc = tcpx_xfer_map(x);
	if (rc) {
		tcpx_answer_done(s, id, rc, 0, "receiver is out of memory", NULL, 0);
		tcpx_xfer_end(x, rc, "out of memory");
		return;
	}
	tcpx_xfer_get(x);
	tcpx_xfer_insert(s, x, engine_now(s->engine));
	atomic_store(&x->payload.live, id);
	tcpx_control_say_u64(s, TCPX_FR_MATCHED, id);
}

/* All its bytes are in place, and its note may go. */
static void
end_noting(struct session *s, struct tcpx_xfer *x)
{
	int rc = tcpx_notes_send(s, x->note.bytes, x->note.len);

	count_add(&s->engine->count.notes_tx, rc == 0);
	tcpx_xfer_end(x, rc, rc ? "no memory for its note" : NULL);
}

void
tcpx_answer_filled(struct session *s, struct tcpx_xfer *x)
{
	char why[TCPX_TEXT_MAX] = "";
	int rc = 0;

	if (x->target) {
		if (x->note.there)
			rc = tcpx_note_push(s->peer, x->note.bytes, x->note.len);
		if (rc)
			tcpx_note_why(s->peer, x->note.len, rc, why, sizeof(why));
		tcpx_answer_done(s, x->id, rc, x->total, why, NULL, 0);
	} else if (x->note.there && (!tcpx_notes_may_go(s) || !tcpx_chain_empty(&s->xfers.noting))) {
		tcpx_xfer_get(x);
		tcpx_chain_add(&s->xfers.noting, &x->queue);
		tcpx_session_add_timer(s, x->times.progress_ns + s->engine->limit.stall_ns);
		return;
	} else if (x->note.there) {
		end_noting(s, x);
		return;
	}
	tcpx_xfer_end(x, rc, why);
}

int
tcpx_answer_noted(struct session *s, uint64_t count)
{
	int rc = tcpx_notes_told(s, count);

	while (rc == 0 && tcpx_notes_may_go(s) && !tcpx_chain_empty(&s->xfers.noting)) {
		struct tcpx_node *n = tcpx_chain_first(&s->xfers.noting);
		struct tcpx_xfer *x = tcpx_container(n, struct tcpx_xfer, queue);

		tcpx_chain_remove(n);
		end_noting(s, x);
		tcpx_xfer_put(x);
	}
	return rc;
}
