/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The initiator's side of a transfer: from the call to an OPEN on the control stream and
 * chunks in the ring. A post above the peer's credit, or before the session stands, waits
 * here, in order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"

#define FRAME_ROOM (TCPX_FRAME_MAX - TCPX_FRAME_HEAD)

/* Memory that a list entry costs at the target: its fragment and prefix sum. */
#define ENTRY_BYTES (sizeof(struct tcpx_frag) + sizeof(uint64_t))

static uint8_t
wire_op(enum tcpx_op op)
{
	return op == TCPX_OP_READ ? TCPX_WIRE_READ :
	       op == TCPX_OP_SEND ? TCPX_WIRE_SEND : TCPX_WIRE_WRITE;
}

/* Copying a little from or to a GPU within a call takes as long as copying much, and whoever
 * calls waits: right for a lone message, wrong for one of many, which share a batch. */
static bool
worth_inline(const struct session *s, const struct tcpx_xfer *x)
{
	bool gpu = list_staged(x->list) || (x->remote && list_staged(x->remote));

	return !gpu || x->total == 0 || s->live <= 1;
}

/* Small payload travels in the OPEN when it fits behind note and list. */
static bool
fits_inline(const struct session *s, const struct tcpx_xfer *x, const struct tcpx_buf *b,
	    bool list_done)
{
	return worth_inline(s, x) && x->sends && list_done && x->total <= x->engine->limit.inline_bytes &&
	       x->total + 64 <= tcpx_buf_left(b);
}

static int
put_list(struct session *s, struct tcpx_xfer *x, size_t at)
{
	uint8_t room[FRAME_ROOM];
	struct tcpx_buf b;
	bool done;
	int rc;

	do {
		tcpx_buf_init(&b, room, sizeof(room));
		tcpx_listframe_write(&b, x->id);
		done = tcpx_oplist_copy(&x->remote->ops, &at, &b);
		tcpx_listframe_finish(&b, !done);
		rc = tcpx_control_put_bulk(s, TCPX_FR_LIST, &b, &x->open_ticket);
		if (rc)
			return rc;
	} while (!done);
	return 0;
}

static int
put_open(struct session *s, struct tcpx_xfer *x)
{
	uint8_t room[FRAME_ROOM], payload[TCPX_NOTE_MAX];
	struct tcpx_buf b;
	size_t at = 0;
	bool done = true, carries = x->has_note && x->op == TCPX_OP_WRITE;
	struct tcpx_open o = {
		.id = x->id, .op = wire_op(x->op), .total = x->total, .chunk = x->chunk,
		.tag = x->tag, .entry_count = x->remote ? (uint32_t)x->remote->entry_count : 0,
		.flags = carries ? TCPX_OPEN_NOTE : 0,
		.note = x->note, .note_len = carries ? (uint16_t)x->note_len : 0,
	};
	int rc;

	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_open_write(&b, &o);
	if (x->remote)
		done = tcpx_oplist_copy(&x->remote->ops, &at, &b);
	x->inlined = fits_inline(s, x, &b, done) &&
		     tcpx_list_copy_out(x->list, payload, x->total) == 0;
	if (x->inlined)
		o.flags |= TCPX_OPEN_INLINE;
	if (!done)
		o.flags |= TCPX_OPEN_MORE;
	tcpx_open_finish(&b, o.flags, x->inlined ? payload : NULL,
			 x->inlined ? (uint16_t)x->total : 0);
	rc = tcpx_control_put_bulk(s, TCPX_FR_OPEN, &b, &x->open_ticket);
	return rc || done ? rc : put_list(s, x, at);
}

/* Of the channels whose rate is known; 0 if none is. */
static uint64_t
slowest_Bps(const struct session *s)
{
	uint64_t slowest = 0;
	uint32_t k;

	for (k = 0; k < s->channels; k++) {
		const struct channel *c = s->tx[k];

		if (c && c->state == CHAN_UP && c->rate.Bps &&
		    (slowest == 0 || c->rate.Bps < slowest))
			slowest = c->rate.Bps;
	}
	return slowest;
}

/* Below so many bytes a staged transfer is done sooner by few threads than by all, which
 * take turns at the GPU's copy engine and at the caches. */
#define CROWD_BYTES  (32u << 20)

/*
 * Staged memory costs two copies a chunk to start and to notice. So the chunks of transfers that
 * are open together are cut as if they were one: they keep all channels busy between them (16 of
 * 1 MiB queued: 12.4 GB/s when each was cut for itself, 21.3 so; of 4 MiB: 15.9 and 31.3).
 */
static uint32_t
chunk_of(struct session *s, const struct tcpx_xfer *x)
{
	bool staged = list_staged(x->list) || (x->remote && list_staged(x->remote));
	uint32_t min = staged ? TCPX_CHUNK_STAGED_MIN : TCPX_CHUNK_MIN;
	uint32_t max = staged ? TCPX_CHUNK_STAGED_MAX : TCPX_CHUNK_MAX;
	uint32_t channels = x->sends ? s->tx_up : s->rx_up;
	uint64_t bytes = x->list->total + (staged ? s->live_bytes : 0);

	if (s->engine->limit.chunk || max > s->chunk_max)
		max = s->chunk_max;
	if (staged && bytes < CROWD_BYTES && channels > POST_FEW_CHANNELS)
		channels = POST_FEW_CHANNELS;
	return tcpx_chunk_size(bytes, channels, min, max, s->engine->limit.chunk,
			       x->sends ? slowest_Bps(s) : 0);
}

/* The reference of the chain that it waited in becomes the table's. True: the channel that
 * takes its first chunk will write its OPEN, with others', while copies are under way. */
static bool
launch(struct session *s, struct tcpx_xfer *x, uint64_t now_ns)
{
	int rc;

	x->id = ++s->opened_here | (s->opener ? 0 : ID_OF_ACCEPTOR);
	tcpx_xfer_shape(x, x->list->total, chunk_of(s, x));
	s->used_xfers++;
	s->used_list += x->list_bytes;
	tcpx_xfer_insert(s, x, now_ns);
	if (x->chunks == UINT32_MAX) {
		tcpx_xfer_end(x, TCPX_ELIMIT, "too many chunks; raise TCPX_CHUNK");
		return false;
	}
	rc = x->sends ? 0 : tcpx_xfer_map(x);
	if (rc == 0)
		rc = put_open(s, x);
	if (!x->inlined) /* else its memory has been read by now */
		atomic_store(&x->live, x->id);
	if (rc) /* the peer may have half a list: no later operation could be told apart */
		tcpx_session_fail(s, rc, "%s", "control stream cannot take an operation");
	else if (x->op == TCPX_OP_WRITE && !x->inlined)
		tcpx_post_ready(s, x);
	return rc == 0 && x->drr.next && list_staged(x->list);
}

static bool
may_launch(const struct session *s, const struct tcpx_xfer *x)
{
	return s->state == SESS_OPEN && s->used_xfers < s->credit_xfers &&
	       (s->used_list + x->list_bytes <= s->credit_list || s->used_list == 0);
}

void
tcpx_post_waiting(struct session *s, uint64_t now_ns)
{
	struct tcpx_node *n;
	bool any = false, later = true;

	if (s->pumping)
		return;
	s->pumping = true;
	while ((n = tcpx_chain_first(&s->waiting))) {
		struct tcpx_xfer *x = tcpx_container(n, struct tcpx_xfer, queue);

		if (!may_launch(s, x))
			break;
		tcpx_chain_remove(n);
		any = true;
		later &= launch(s, x, now_ns);
	}
	s->pumping = false;
	if (!any || !later)
		tcpx_control_flush(s);
}

static int
keep_note(struct tcpx_xfer *x, const void *note, size_t len)
{
	uint8_t *copy;

	if (len > TCPX_NOTE_MAX || (len && !note))
		return tcpx_fail(TCPX_SUB_XFER, -EINVAL, "note of %zu bytes, at most %u allowed",
				 len, TCPX_NOTE_MAX);
	if (note && (!x->note || len > x->note_cap)) {
		copy = malloc(len + 1);
		if (!copy)
			return -ENOMEM;
		free(x->note);
		x->note = copy;
		x->note_cap = (uint32_t)len;
	}
	if (note)
		memcpy(x->note, note, len);
	x->note_len = (uint32_t)len;
	x->has_note = note != NULL;
	return 0;
}

static int
enqueue(struct session *s, struct tcpx_xfer *x)
{
	int rc = s->state == SESS_FAILED ? s->cause : tcpx_list_check(x->list);

	if (rc == 0 && x->remote)
		rc = tcpx_list_check(x->remote);
	if (rc == 0 && x->list_bytes > s->engine->limit.credit_list)
		rc = tcpx_fail(TCPX_SUB_XFER, TCPX_ELIMIT,
			       "a remote list of %zu entries needs %llu bytes, "
			       "TCPX_CREDIT_LIST_BYTES allows %llu", x->remote->entry_count,
			       (unsigned long long)x->list_bytes,
			       (unsigned long long)s->engine->limit.credit_list);
	if (rc)
		return rc;
	x->post_ns = engine_now(s->engine);
	x->ready_ns = 0;
	atomic_store_explicit(&x->bytes_done, 0, memory_order_relaxed);
	atomic_store_explicit(&x->tests, 0, memory_order_relaxed);
	if (!atomic_load(&x->observed) && !atomic_exchange(&x->observed, true))
		tcpx_event_drop(s->engine); /* its last end was never looked at */
	atomic_store_explicit(&x->status, -EAGAIN, memory_order_release);
	count_add(&s->engine->count.xfers_posted, 1);
	tcpx_xfer_get(x);
	if (x->event) {
		tcpx_chain_add(&s->eventful, &x->queue);
		atomic_fetch_add(&s->engine->eventful, 1);
		tcpx_loop_wake(s->loop);
	} else {
		tcpx_chain_add(&s->waiting, &x->queue);
	}
	tcpx_post_waiting(s, x->post_ns);
	return 0;
}

void
tcpx_post_events(struct session *s)
{
	struct gpus *g = &s->engine->gpus;
	int rc;

	s->pumping = true; /* else ending one could take others out under this walk */
	tcpx_chain_each(n, after, &s->eventful) {
		struct tcpx_xfer *x = tcpx_container(n, struct tcpx_xfer, queue);

		rc = g->ops->event(g->dev, x->event);
		if (rc == -EAGAIN)
			continue;
		x->event = NULL;
		atomic_fetch_sub(&s->engine->eventful, 1);
		if (rc) {
			tcpx_xfer_end(x, rc, "the event it was posted after has failed");
			continue;
		}
		tcpx_chain_remove(n);
		tcpx_chain_add(&s->waiting, n);
	}
	s->pumping = false;
	tcpx_post_waiting(s, engine_now(s->engine));
}

int
tcpx_post_xfer(struct tcpx_xfer *x, const void *note, size_t note_len)
{
	struct session *s;
	int rc;

	if (atomic_load(&x->status) == -EAGAIN)
		return tcpx_fail(TCPX_SUB_XFER, TCPX_ESTATE, "post of a transfer in progress");
	if (atomic_load(&x->engine->stopping))
		return TCPX_ECLOSED;
	rc = keep_note(x, note, note_len);
	if (rc)
		return rc;
	rc = tcpx_peer_bind(x);
	if (rc)
		return rc;
	s = x->session;
	pthread_mutex_lock(&s->lock);
	rc = enqueue(s, x);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* ---- public ---- */

/* A transfer of two lists, neither posted nor owned by a session yet. Takes over both
 * list references, also on failure. */
static int
make(struct tcpx_peer *peer, enum tcpx_op op, struct tcpx_list *local, struct tcpx_list *remote,
     struct tcpx_xfer **out)
{
	struct tcpx_xfer *x;
	int rc = 0;

	if (remote && remote->total != local->total)
		rc = tcpx_fail(TCPX_SUB_XFER, -EINVAL,
			       "local list has %llu bytes, remote list %llu: must be equal",
			       (unsigned long long)local->total, (unsigned long long)remote->total);
	if (rc == 0)
		rc = tcpx_xfer_new(peer->engine, &x);
	if (rc) {
		tcpx_list_put(local);
		tcpx_list_put(remote);
		return rc;
	}
	x->op = op;
	x->sends = op == TCPX_OP_WRITE || op == TCPX_OP_SEND;
	x->list = local;
	x->remote = remote;
	x->list_bytes = 0;
	x->user = true;
	tcpx_peer_get(peer);
	x->peer = peer;
	*out = x;
	return 0;
}

/* The application holds it from now on: closing the engine frees what it keeps. */
static void
hand_out(struct tcpx_xfer *x, struct tcpx_xfer **out)
{
	pthread_mutex_lock(&x->engine->lock);
	tcpx_chain_add(&x->engine->xfers, &x->handle);
	pthread_mutex_unlock(&x->engine->lock);
	*out = x;
}

static int
post_new(struct tcpx_peer *peer, enum tcpx_op op, const struct tcpx_desc *local, size_t nlocal,
	 const struct tcpx_desc *remote, size_t nremote, const void *note, size_t note_len,
	 uint64_t tag, struct tcpx_xfer **out)
{
	struct tcpx_list *l, *r = NULL;
	struct tcpx_xfer *x;
	bool two_sided = op == TCPX_OP_SEND || op == TCPX_OP_RECV;
	int rc;

	rc = tcpx_list_new(peer->engine, local, nlocal, false, &l);
	if (rc)
		return rc;
	if (!two_sided) {
		rc = tcpx_list_new(peer->engine, remote, nremote, true, &r);
		if (rc) {
			tcpx_list_put(l);
			return rc;
		}
	}
	rc = make(peer, op, l, r, &x);
	if (rc)
		return rc;
	x->tag = tag;
	x->list_bytes = r ? r->entry_count * ENTRY_BYTES : 0;
	rc = op == TCPX_OP_RECV ? tcpx_match_recv(peer, x) : tcpx_post_xfer(x, note, note_len);
	if (rc) {
		tcpx_xfer_put(x);
		return rc;
	}
	hand_out(x, out);
	return 0;
}

int
tcpx_write(tcpx_peer *peer, const struct tcpx_desc *local, size_t nlocal,
	   const struct tcpx_desc *remote, size_t nremote, const void *note, size_t note_len,
	   tcpx_xfer **xfer)
{
	return post_new(peer, TCPX_OP_WRITE, local, nlocal, remote, nremote, note, note_len, 0,
			xfer);
}

int
tcpx_read(tcpx_peer *peer, const struct tcpx_desc *local, size_t nlocal,
	  const struct tcpx_desc *remote, size_t nremote, const void *note, size_t note_len,
	  tcpx_xfer **xfer)
{
	return post_new(peer, TCPX_OP_READ, local, nlocal, remote, nremote, note, note_len, 0,
			xfer);
}

int
tcpx_send(tcpx_peer *peer, const struct tcpx_desc *local, size_t nlocal, uint64_t tag,
	  tcpx_xfer **xfer)
{
	return post_new(peer, TCPX_OP_SEND, local, nlocal, NULL, 0, NULL, 0, tag, xfer);
}

int
tcpx_recv(tcpx_peer *peer, const struct tcpx_desc *local, size_t nlocal, uint64_t tag,
	  tcpx_xfer **xfer)
{
	return post_new(peer, TCPX_OP_RECV, local, nlocal, NULL, 0, NULL, 0, tag, xfer);
}

int
tcpx_xfer_prepare(tcpx_peer *peer, enum tcpx_op op, tcpx_list *local, tcpx_list *remote,
		  tcpx_xfer **xfer)
{
	bool one_sided = op == TCPX_OP_WRITE || op == TCPX_OP_READ;
	struct tcpx_xfer *x;
	int rc;

	if (!one_sided || !local || !remote || local->imported || !remote->imported)
		return tcpx_fail(TCPX_SUB_XFER, -EINVAL,
				 "prepare: op %d must be write or read, with a local list and a list "
				 "of imported regions", op);
	atomic_fetch_add(&local->refs, 1);
	atomic_fetch_add(&remote->refs, 1);
	rc = make(peer, op, local, remote, &x);
	if (rc)
		return rc;
	atomic_store(&x->status, TCPX_ESTATE); /* not posted yet */
	hand_out(x, xfer);
	return 0;
}

int
tcpx_xfer_post(tcpx_xfer *x, const void *note, size_t note_len)
{
	return tcpx_xfer_post_after(x, NULL, note, note_len);
}

int
tcpx_xfer_post_after(tcpx_xfer *x, void *event, const void *note, size_t note_len)
{
	int rc;

	if (atomic_load(&x->status) == -EAGAIN)
		return tcpx_fail(TCPX_SUB_XFER, TCPX_ESTATE, "post of a transfer in progress");
	if (event && !x->engine->gpus.used)
		return tcpx_fail(TCPX_SUB_XFER, -ENOTSUP,
				 "an event to post after, and no GPU memory is registered");
	if (x->op == TCPX_OP_RECV || x->op == TCPX_OP_SEND)
		return tcpx_fail(TCPX_SUB_XFER, -EINVAL, "only prepared transfers are posted again");
	x->list_bytes = x->remote->entry_count * ENTRY_BYTES;
	x->event = event;
	rc = tcpx_post_xfer(x, note, note_len);
	if (rc)
		x->event = NULL;
	return rc;
}
