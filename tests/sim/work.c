/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The applications of a world: post, cancel, deregister and close as planned, and check the
 * results. A transfer is judged at the moment its end is seen.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"

#define NOTE_KIND 0x70bad1e5u /* babblers say no such note */
#define LONELY_NS (50 * TCPX_MS) /* a send whose receive has failed is given up */

static uint64_t
now_of(const struct sim_world *w)
{
	return sim_now(w);
}

static int
initiator(const struct sim_xfer *x)
{
	return x->op == TCPX_OP_READ ? x->dst.engine : x->src.engine;
}

static int
target(const struct sim_xfer *x)
{
	return x->op == TCPX_OP_READ ? x->src.engine : x->dst.engine;
}

static int
handle_engine(const struct sim_xfer *x, int h)
{
	return h ? x->dst.engine : initiator(x);
}

int
sim_handle_count(const struct sim_xfer *x)
{
	return x->op == TCPX_OP_SEND ? 2 : 1;
}

static void
note_text(uint8_t *buf, uint32_t kind, uint32_t number, uint32_t len)
{
	kind += NOTE_KIND;
	memcpy(buf, &kind, 4);
	memcpy(buf + 4, &number, 4);
	for (uint32_t i = 8; i < len; i++)
		buf[i] = (uint8_t)(number + kind + i);
}

/* ---- doing ----------------------------------------------------------------------- */

static size_t
to_descs(const struct sim_world *w, const struct sim_list *l, int user, struct tcpx_desc *out)
{
	for (uint32_t i = 0; i < l->count; i++) {
		const struct sim_region *r = &w->engine[l->engine].region[l->piece[i].region];

		out[i].region = user < 0 ? r->id : r->imported[user];
		out[i].offset = l->piece[i].offset;
		out[i].len = l->piece[i].len;
	}
	return l->count;
}

static int
call_post(struct sim_world *w, struct sim_xfer *x, int h)
{
	static struct tcpx_desc local[SIM_PIECES], remote[SIM_PIECES];
	int me = handle_engine(x, h), other = h ? x->src.engine : target(x);
	tcpx_peer *peer = sim_peer(w, me, other);
	const struct sim_list *mine = x->op == TCPX_OP_READ || h ? &x->dst : &x->src;
	const struct sim_list *theirs = x->op == TCPX_OP_READ ? &x->src : &x->dst;
	size_t n = to_descs(w, mine, -1, local), m;
	uint8_t note[8192];

	if (!peer)
		return TCPX_ECLOSED; /* one of the two had closed when the other came */
	if (h)
		return tcpx_recv(peer, local, n, x->tag, &x->handle[h].xfer);
	if (x->op == TCPX_OP_SEND)
		return tcpx_send(peer, local, n, x->tag, &x->handle[h].xfer);
	m = to_descs(w, theirs, me, remote);
	note_text(note, 0, x->number, x->note_len);
	return (x->op == TCPX_OP_READ ? tcpx_read : tcpx_write)(
		peer, local, n, remote, m, x->has_note ? note : NULL,
		x->has_note ? x->note_len : 0, &x->handle[h].xfer);
}

static void
end_handle(struct sim_world *w, struct sim_xfer *x, int h, int status)
{
	struct sim_handle *other = &x->handle[!h];

	x->handle[h].ended = true;
	x->handle[h].status = status;
	if (w->verbose)
		printf("  %8.3f ms transfer %u%s ends with %s\n",
		       (double)(now_of(w) - w->begun_ns) / TCPX_MS, x->number, h ? " (recv)" : "",
		       status ? tcpx_strerror_name(status) : "success");
	if (status == 0 && !sim_memory_arrived(w, x))
		sim_fail(w, "transfer %u ended before its bytes were in place", x->number);
	if (status == 0 && h == 0 && x->own_src) /* nobody may read it any more */
		sim_memory_scramble_src(w, x);
	if (status && x->op == TCPX_OP_SEND && !other->ended && other->kill == SIM_LIVE) {
		other->kill = SIM_CANCEL;
		other->kill_ns = now_of(w) + LONELY_NS;
	}
}

static void
post(struct sim_world *w, struct sim_xfer *x, int h)
{
	struct sim_handle *handle = &x->handle[h];
	int rc = TCPX_ECLOSED;

	handle->posted = true;
	if (w->verbose)
		printf("  %8.3f ms transfer %u: %s of %llu bytes, e%d[%u] to e%d[%u]\n",
		       (double)(now_of(w) - w->begun_ns) / TCPX_MS, x->number,
		       h ? "recv" : x->op == TCPX_OP_READ ? "read" :
		       x->op == TCPX_OP_WRITE ? "write" : "send",
		       (unsigned long long)x->moved, x->src.engine, x->src.count,
		       x->dst.engine, x->dst.count);
	if (!w->engine[handle_engine(x, h)].closed)
		rc = call_post(w, x, h);
	if (rc)
		end_handle(w, x, h, rc);
	else if (handle->watched)
		tcpx_xfer_watch(handle->xfer, handle);
}

static void
kill_handle(struct sim_world *w, struct sim_xfer *x, int h)
{
	struct sim_handle *handle = &x->handle[h];
	int status = tcpx_test(handle->xfer);

	if (status != -EAGAIN) {
		end_handle(w, x, h, status);
		return;
	}
	handle->killed = true;
	status = TCPX_ECANCELED;
	if (handle->kill == SIM_CANCEL) {
		tcpx_cancel(handle->xfer);
		status = tcpx_test(handle->xfer);
		if (status == -EAGAIN)
			sim_fail(w, "transfer %u is in progress after cancel", x->number);
	} else {
		tcpx_xfer_free(handle->xfer);
		handle->xfer = NULL;
	}
	end_handle(w, x, h, status);
	if (status == 0)
		return;
	if (h == 1 || x->op == TCPX_OP_READ)
		sim_memory_scramble_dst(w, x);
	else if (x->own_src)
		sim_memory_scramble_src(w, x);
}

static void
notify(struct sim_world *w, struct sim_note *n, uint32_t number)
{
	struct sim_engine *from = &w->engine[n->from];
	uint8_t text[8192];
	tcpx_peer *peer;

	n->posted = true;
	n->rc = TCPX_ECLOSED;
	note_text(text, 1, number, n->len);
	if (from->closed)
		return;
	peer = sim_peer(w, n->from, n->to);
	n->life = sim_peer_life(w, n->from, n->to, peer);
	n->turn = w->notes_posted++;
	n->rc = tcpx_notify(peer, text, n->len);
}

static void
deregister(struct sim_world *w)
{
	struct sim_engine *e = &w->engine[w->deregister_engine];
	struct sim_region *r = &e->region[w->deregister_region];
	int rc;

	w->deregister_ns = SIM_NEVER;
	if (e->closed)
		return;
	sim_work_look(w); /* what has ended is judged while its memory is there */
	if (w->verbose)
		printf("  %8.3f ms e%d deregisters region %d\n",
		       (double)(now_of(w) - w->begun_ns) / TCPX_MS, w->deregister_engine,
		       w->deregister_region);
	rc = tcpx_mem_deregister(e->engine, r->id);
	if (rc)
		sim_fail(w, "deregister gave %s", tcpx_strerror_name(rc));
	sim_memory_freeze(r);
}

void
sim_work_close_engine(struct sim_world *w, int engine)
{
	struct sim_engine *e = &w->engine[engine];
	struct tcpx_counters c = { .struct_size = sizeof(c) };

	if (e->closed)
		return;
	sim_work_look(w);
	if (tcpx_query(e->engine, &c) == 0) {
		w->totals->resumes += c.ctrl_resumes;
		w->totals->channels_lost += c.channels_lost;
		w->totals->healed += c.channels_healed;
		w->totals->suspected += c.channels_suspected;
		w->totals->resent += c.chunks_resent;
		w->totals->chunks_corrupt += c.chunks_corrupt;
		w->totals->frames_corrupt += c.frames_corrupt;
	}
	tcpx_close(e->engine);
	e->closed = true;
	for (uint32_t i = 0; i < w->xfer_count; i++)
		for (int h = 0; h < sim_handle_count(&w->xfer[i]); h++) {
			struct sim_xfer *x = &w->xfer[i];

			if (handle_engine(x, h) != engine)
				continue;
			x->handle[h].xfer = NULL; /* freed with the engine */
			if (x->handle[h].posted && !x->handle[h].ended)
				end_handle(w, x, h, TCPX_ECLOSED);
		}
	for (int i = 0; i < SIM_REGIONS; i++)
		sim_memory_freeze(&e->region[i]);
	sim_lanes_engine_closed(w, engine);
}

void
sim_work_do(struct sim_world *w)
{
	uint64_t now = now_of(w);

	for (uint32_t i = 0; i < w->xfer_count; i++)
		for (int h = 0; h < sim_handle_count(&w->xfer[i]); h++) {
			struct sim_handle *handle = &w->xfer[i].handle[h];

			if (!handle->posted && handle->post_ns <= now)
				post(w, &w->xfer[i], h);
			if (handle->posted && !handle->ended && handle->kill != SIM_LIVE &&
			    handle->kill_ns <= now)
				kill_handle(w, &w->xfer[i], h);
		}
	for (uint32_t i = 0; i < w->note_count; i++)
		if (!w->note[i].posted && w->note[i].post_ns <= now)
			notify(w, &w->note[i], i);
	if (w->deregister_ns <= now)
		deregister(w);
	if (w->close_ns <= now) {
		w->close_ns = SIM_NEVER;
		sim_work_close_engine(w, w->close_engine);
	}
}

uint64_t
sim_work_next_ns(const struct sim_world *w)
{
	uint64_t next = w->deregister_ns < w->close_ns ? w->deregister_ns : w->close_ns;

	for (uint32_t i = 0; i < w->xfer_count; i++)
		for (int h = 0; h < sim_handle_count(&w->xfer[i]); h++) {
			const struct sim_handle *handle = &w->xfer[i].handle[h];

			if (!handle->posted && handle->post_ns < next)
				next = handle->post_ns;
			if (handle->posted && !handle->ended && handle->kill != SIM_LIVE &&
			    handle->kill_ns < next)
				next = handle->kill_ns;
		}
	for (uint32_t i = 0; i < w->note_count; i++)
		if (!w->note[i].posted && w->note[i].post_ns < next)
			next = w->note[i].post_ns;
	return next;
}

/* ---- looking --------------------------------------------------------------------- */

static void
take_note(struct sim_world *w, int engine, tcpx_note *note)
{
	uint8_t want[8192];
	uint32_t kind = UINT32_MAX, number = 0, want_len;
	int from, to;
	size_t len;
	const uint8_t *data = tcpx_note_data(note, &len);

	if (len >= 8) {
		memcpy(&kind, data, 4);
		memcpy(&number, data + 4, 4);
		kind -= NOTE_KIND;
	}
	if (kind > 1 || number >= (kind ? w->note_count : w->xfer_count)) {
		if (!w->babble || engine > 0)
			sim_fail(w, "a note of %zu bytes that nobody sent", len);
		return;
	}
	from = kind ? w->note[number].from : initiator(&w->xfer[number]);
	to = kind ? w->note[number].to : target(&w->xfer[number]);
	want_len = kind ? w->note[number].len : w->xfer[number].note_len;
	note_text(want, kind, number, want_len);
	if (to != engine || len != want_len || memcmp(data, want, len) ||
	    tcpx_note_sender(note)[1] != '0' + w->engine[from].name)
		sim_fail(w, "note %u of kind %u came wrong", number, kind);
	if ((*(kind ? &w->note[number].seen : &w->xfer[number].notes_seen))++)
		sim_fail(w, "note %u of kind %u came twice", number, kind);
	if (!kind && !sim_memory_arrived(w, &w->xfer[number]))
		sim_fail(w, "the note of transfer %u came before its data", number);
	w->totals->notes++;
}

static bool
readable(tcpx_engine *e)
{
	struct pollfd p = { .fd = tcpx_event_fd(e), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* Returns how many were taken. */
static uint32_t
take_events(struct sim_world *w, tcpx_engine *e)
{
	uint32_t taken = 0;
	struct tcpx_event ev[3];
	size_t n = 3;

	for (; !tcpx_event_get(e, ev, sizeof(ev[0]), &n); taken += (uint32_t)n, n = 3)
		for (size_t i = 0; i < n; i++) {
			struct sim_handle *h = ev[i].user;

			if (!h)
				sim_fail(w, "the end of a transfer that is not watched is told");
			else if (!h->xfer || ev[i].xfer != h->xfer)
				sim_fail(w, "the end of a transfer that was freed is told");
			else if (h->told++)
				sim_fail(w, "the end of a transfer is told twice");
			else if (ev[i].status != tcpx_test(h->xfer))
				sim_fail(w, "an event says %d, test %d", ev[i].status,
					 tcpx_test(h->xfer));
			else if (h->watch_again)
				tcpx_xfer_watch(h->xfer, h); /* must add no second event */
		}
	return taken;
}

/* Returns how many were taken. */
static uint32_t
take_notes(struct sim_world *w, uint32_t e)
{
	uint32_t taken = 0;
	tcpx_note *note;

	for (; sim_host_takes_notes(w, e) && !tcpx_note_get(w->engine[e].engine, &note); taken++) {
		take_note(w, (int)e, note);
		tcpx_note_free(note);
	}
	return taken;
}

/* Returns how many ends were new, of transfers that are not watched. */
static uint32_t
test_handles(struct sim_world *w, uint32_t e)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < w->xfer_count; i++)
		for (int h = 0; h < sim_handle_count(&w->xfer[i]); h++) {
			struct sim_handle *handle = &w->xfer[i].handle[h];
			int status;

			if (!handle->xfer || (uint32_t)handle_engine(&w->xfer[i], h) != e)
				continue;
			status = tcpx_test(handle->xfer);
			if (handle->ended && status != handle->status)
				sim_fail(w, "transfer %u ended again: %d, now %d", i,
					 handle->status, status);
			if (handle->ended || status == -EAGAIN)
				continue;
			found += !handle->watched;
			end_handle(w, &w->xfer[i], h, status);
		}
	return found;
}

void
sim_work_look(struct sim_world *w)
{
	for (uint32_t e = 0; e < w->engine_count; e++) {
		uint32_t waited;
		bool up;

		if (w->engine[e].closed)
			continue;
		up = readable(w->engine[e].engine);
		waited = take_events(w, w->engine[e].engine);
		waited += take_notes(w, e);
		waited += test_handles(w, e);
		waited += sim_lanes_look(w, (int)e);
		waited += sim_deals_look(w, e);
		if (up != (waited > 0) && w->fabric && sim_host_takes_notes(w, e))
			sim_fail(w, "e%u: %u events, notes and ends wait, its descriptor is %sreadable",
				 e, waited, up ? "" : "not ");
	}
}

bool
sim_work_ended(const struct sim_world *w)
{
	for (uint32_t i = 0; i < w->xfer_count; i++)
		for (int h = 0; h < sim_handle_count(&w->xfer[i]); h++)
			if (!w->xfer[i].handle[h].ended)
				return false;
	for (uint32_t i = 0; i < w->note_count; i++)
		if (!w->note[i].posted)
			return false;
	return true;
}
