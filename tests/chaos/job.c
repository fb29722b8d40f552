/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every byte is known: a WRITE is compared in the other's memory, which is shared, a READ here, a
 * message where it arrives. The parent, which knows the faults, judges what failed.
 */
#include "chaos/job.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"

enum {
	TAG = 7,
	POST_NS = 2 * 1000000,  /* between two transfers of a process */
	WAIT_MS = 5,
	MARK = 0xa5,
	EVENTS = 16,
};

/* At the beginning of a message, and of a note. */
struct label {
	uint64_t id;
	uint32_t len, from, life, number; /* sender, its life, its session */
	uint64_t seq;                     /* of a note; 0: it came with a WRITE */
};

uint64_t
chaos_source_id(unsigned host, uint32_t life)
{
	return 1ull << 63 | (uint64_t)host << 32 | life;
}

static uint8_t *
buffer(const struct worker *w, const struct job *j)
{
	return w->buffers + (size_t)(j - w->job) * CHAOS_BYTES;
}

static uint8_t *
place(const struct worker *w, const struct job *j)
{
	return w->theirs + j->work.to * chaos_places_bytes(w->area) +
	       chaos_place_offset(w->me, j->place);
}

static struct chaos_outcome
outcome_of(const struct worker *w, const struct job *j, int code, uint64_t wrong)
{
	struct chaos_outcome o = {
		.kind = j->work.kind, .host = w->me, .peer = j->work.to,
		.peer_life = j->peer_life, .posted_ns = j->posted_ns,
		.ended_ns = tcpx_clock_now(&tcpx_clock_system), .code = code,
		.cancelled = j->cancelled, .wrong = wrong,
	};

	return o;
}

/* ---- starting ---------------------------------------------------------------------- */

/* A free place of the pair's; each life of ours has its own half. */
static int
place_find(const struct worker *w, const struct job *j)
{
	const struct link *l = &w->link[j->work.to];
	unsigned half = CHAOS_PLACES / 2, first = w->life % 2 * half;

	for (unsigned k = first; k < first + half; k++)
		if (l->place_free_ns[k] <= w->now)
			return (int)k;
	return -1;
}

/* A note of this process: labelled, the rest of it by its id. */
static size_t
note_make(struct worker *w, struct job *j, uint64_t seq, uint8_t *at)
{
	struct label label = {
		.id = j->id, .len = j->work.note_len, .from = w->me, .life = w->life,
		.number = w->link[j->work.to].number, .seq = seq,
	};

	chaos_fill(at, label.len, label.id);
	memcpy(at, &label, sizeof(label));
	return label.len;
}

static int
post_write(struct worker *w, struct job *j, const struct tcpx_desc *local, size_t n)
{
	struct link *l = &w->link[j->work.to];
	struct tcpx_desc remote = {
		l->target, chaos_place_offset(w->me, j->place) + j->work.offset, j->work.len,
	};
	uint8_t note[TCPX_NOTE_MAX], *theirs = place(w, j);
	size_t note_len = j->work.note_len ? note_make(w, j, 0, note) : 0;

	memset(theirs + j->work.offset - CHAOS_EDGE, MARK, j->work.len + 2 * CHAOS_EDGE);
	chaos_fill(buffer(w, j) + j->work.offset, j->work.len, j->id);
	l->place_free_ns[j->place] = UINT64_MAX;
	return tcpx_write(l->peer, local, n, &remote, 1, note_len ? note : NULL, note_len, &j->xfer);
}

static int
post_send(struct worker *w, struct job *j, const struct tcpx_desc *local, size_t n)
{
	uint64_t head[2] = { j->id, j->work.len };
	uint8_t *at = buffer(w, j) + j->work.offset;

	chaos_fill(at, j->work.len, j->id);
	memcpy(at, head, sizeof(head));
	return tcpx_send(w->link[j->work.to].peer, local, n, TAG, &j->xfer);
}

static int
post_one(struct worker *w, struct job *j)
{
	struct link *l = &w->link[j->work.to];
	uint32_t cut = j->work.cut, rest = j->work.len - cut;
	struct tcpx_desc local[2] = {
		{ w->local, (size_t)(j - w->job) * CHAOS_BYTES + j->work.offset, cut },
		{ w->local, (size_t)(j - w->job) * CHAOS_BYTES + j->work.offset + cut, rest },
	}, remote = { l->source, j->work.offset, j->work.len };
	uint8_t note[TCPX_NOTE_MAX];
	int rc;

	switch (j->work.kind) {
	case CHAOS_WRITE:
		return post_write(w, j, local, 2);
	case CHAOS_READ:
		memset(buffer(w, j) + j->work.offset - CHAOS_EDGE, MARK,
		       j->work.len + 2 * CHAOS_EDGE);
		return tcpx_read(l->peer, local, 2, &remote, 1, NULL, 0, &j->xfer);
	case CHAOS_SEND:
		return post_send(w, j, local, 2);
	case CHAOS_RECV:
		return tcpx_recv(l->peer, local, 2, TAG, &j->xfer);
	default:
		rc = tcpx_notify(l->peer, note, note_make(w, j, l->notes + 1, note));
		l->notes += !rc;
		return rc;
	}
}

static void
start(struct worker *w, struct job *j)
{
	struct chaos_pending *p = &w->own->pending[j - w->job];
	struct chaos_outcome o;
	int rc;

	j->peer_life = w->link[j->work.to].life;
	j->id = (uint64_t)w->me << 56 | (uint64_t)(w->life & 0xffff) << 40 | ++w->ids;
	j->posted_ns = tcpx_clock_now(&tcpx_clock_system);
	j->cancel_ns = j->work.cancel_us ? j->posted_ns + j->work.cancel_us * 1000ull : 0;
	j->cancelled = false;
	j->xfer = NULL;
	rc = post_one(w, j);
	if (rc) {
		o = outcome_of(w, j, rc, 0);
		tcpx_last_error(w->engine, o.text, sizeof(o.text));
		chaos_tell(w, &o);
		j->xfer = NULL;
		if (j->work.kind == CHAOS_WRITE)
			w->link[j->work.to].place_free_ns[j->place] = w->now;
		return;
	}
	if (!j->xfer) { /* a note */
		atomic_fetch_add(&w->own->done[CHAOS_NOTE], 1);
		return;
	}
	atomic_store(&p->peer, j->work.to);
	atomic_store(&p->kind, j->work.kind);
	atomic_store(&p->doomed_ns, 0);
	atomic_store(&p->since_ns, j->posted_ns);
	tcpx_xfer_watch(j->xfer, j);
}

static bool
link_stands(const struct worker *w, unsigned b)
{
	return w->link[b].peer && !w->link[b].failed && !atomic_load(&w->own->down_ns[b]);
}

static void
post_receives(struct worker *w)
{
	for (unsigned b = 0; b < w->area->hosts; b++) {
		struct job *j = &w->job[CHAOS_DEPTH + b];

		if (b == w->me || j->xfer || !link_stands(w, b))
			continue;
		j->work = (struct chaos_work){
			.kind = CHAOS_RECV, .to = b, .offset = CHAOS_EDGE,
			.len = CHAOS_BYTES - 2 * CHAOS_EDGE, .cut = 4096,
		};
		memset(buffer(w, j), MARK, CHAOS_BYTES);
		start(w, j);
	}
}

void
chaos_job_post(struct worker *w, bool more)
{
	struct job *j = NULL;
	int k;

	post_receives(w);
	for (unsigned i = 0; i < CHAOS_DEPTH && !j; i++)
		if (!w->job[i].xfer)
			j = &w->job[i];
	if (!j || !more || w->now < w->post_ns)
		return;
	w->post_ns = w->now + POST_NS;
	chaos_work_next(&w->rng, w->area->hosts, w->me, &j->work);
	if (!link_stands(w, j->work.to))
		return;
	if (j->work.kind == CHAOS_WRITE) {
		k = place_find(w, j);
		if (k < 0)
			return;
		j->place = (unsigned)k;
	}
	start(w, j);
}

/* ---- ending ------------------------------------------------------------------------ */

static uint64_t
marks_wrong(const uint8_t *at, size_t len)
{
	uint64_t wrong = 0;

	for (size_t i = 0; i < len; i++)
		wrong += at[i] != MARK;
	return wrong;
}

static uint64_t
wrong_around(const uint8_t *at, size_t len, uint64_t id)
{
	return marks_wrong(at - CHAOS_EDGE, CHAOS_EDGE) + chaos_wrong_from(at, len, id, 0) +
	       marks_wrong(at + len, CHAOS_EDGE);
}

static uint64_t
wrong_message(const struct worker *w, const struct job *j)
{
	struct tcpx_xfer_info info = TCPX_XFER_INFO_INIT;
	const uint8_t *at = buffer(w, j) + j->work.offset;
	uint8_t begin[16];
	uint64_t head[2], wrong;

	tcpx_xfer_query(j->xfer, &info);
	memcpy(head, at, sizeof(head));
	if (head[1] != info.bytes_total || head[1] > j->work.len || head[1] < 16)
		return info.bytes_total + 1;
	chaos_fill(begin, sizeof(begin), head[0]);
	memcpy((uint8_t *)at, begin, sizeof(begin)); /* then all of it is by the id */
	wrong = chaos_wrong_from(at, head[1], head[0], 0);
	return wrong + marks_wrong(at + head[1], CHAOS_EDGE);
}

static uint64_t
count_wrong(const struct worker *w, const struct job *j)
{
	const uint8_t *at = buffer(w, j) + j->work.offset;
	uint64_t source = chaos_source_id(j->work.to, j->peer_life);
	uint64_t wrong = 0;

	switch (j->work.kind) {
	case CHAOS_WRITE:
		return wrong_around(place(w, j) + j->work.offset, j->work.len, j->id);
	case CHAOS_READ:
		wrong = marks_wrong(at - CHAOS_EDGE, CHAOS_EDGE) +
			marks_wrong(at + j->work.len, CHAOS_EDGE);
		return wrong + chaos_wrong_from(at, j->work.len, source, j->work.offset);
	case CHAOS_RECV:
		return wrong_message(w, j);
	default:
		return 0; /* the receiver compares */
	}
}

static void
take_back(struct worker *w, struct job *j, int code)
{
	struct tcpx_xfer_info info = TCPX_XFER_INFO_INIT;
	struct chaos_outcome o = outcome_of(w, j, code, code ? 0 : count_wrong(w, j));
	bool sure = code == 0;

	tcpx_xfer_query(j->xfer, &info);
	if (!code && tcpx_test(j->xfer))
		o.code = tcpx_test(j->xfer); /* the event said otherwise */
	snprintf(o.text, sizeof(o.text), "%s", info.cause);
	if (o.code || o.wrong)
		chaos_tell(w, &o);
	if (!o.code) {
		atomic_fetch_add(&w->own->done[j->work.kind], 1);
		atomic_fetch_add(&w->own->bytes, info.bytes_total);
	}
	if (j->work.kind == CHAOS_WRITE) /* late bytes may still come to it */
		w->link[j->work.to].place_free_ns[j->place] =
			w->now + (sure ? 0 : 2 * w->area->stall_ms * 1000000ull);
	tcpx_xfer_free(j->xfer);
	j->xfer = NULL;
	atomic_store(&w->own->pending[j - w->job].since_ns, 0);
}

void
chaos_job_reap(struct worker *w)
{
	struct tcpx_event e[EVENTS];
	size_t n = EVENTS;

	for (unsigned i = 0; i < CHAOS_JOBS; i++) {
		struct job *j = &w->job[i];

		if (j->xfer && j->cancel_ns && j->cancel_ns <= w->now && !j->cancelled) {
			j->cancelled = true;
			tcpx_cancel(j->xfer);
			atomic_fetch_add(&w->own->cancelled, 1);
		}
	}
	if (tcpx_event_wait(w->engine, WAIT_MS, e, sizeof(e[0]), &n))
		return;
	for (size_t i = 0; i < n; i++)
		take_back(w, e[i].user, e[i].status);
}

unsigned
chaos_jobs_open(const struct worker *w)
{
	unsigned n = 0;

	for (unsigned i = 0; i < CHAOS_DEPTH; i++)
		n += w->job[i].xfer != NULL;
	return n;
}

/* ---- notes ------------------------------------------------------------------------- */

static void
wrong_note(struct worker *w, const struct label *l, const char *what)
{
	struct chaos_outcome o = {
		.kind = CHAOS_NOTE, .host = w->me, .peer = l->from, .peer_life = l->life,
		.posted_ns = w->now, .ended_ns = w->now, .wrong = 1,
	};

	snprintf(o.text, sizeof(o.text), "note %s: life %u, session %u, number %llu, after %u, %u, "
		 "%llu", what, l->life, l->number, (unsigned long long)l->seq,
		 w->link[l->from].from_life, w->link[l->from].from_number,
		 (unsigned long long)w->link[l->from].from_notes);
	chaos_tell(w, &o);
}

static void
note_look(struct worker *w, const uint8_t *data, size_t len)
{
	struct label label = { 0 };
	struct link *l;

	memcpy(&label, data, len < sizeof(label) ? len : sizeof(label));
	if (len < sizeof(label) || label.len != len || label.from >= w->area->hosts) {
		label.from = (w->me + 1) % w->area->hosts;
		wrong_note(w, &label, "mangled");
		return;
	}
	l = &w->link[label.from];
	if (chaos_wrong_from(data + sizeof(label), len - sizeof(label), label.id, sizeof(label)))
		wrong_note(w, &label, "with wrong bytes");
	if (!label.seq)
		return;
	if (l->from_life != label.life || l->from_number != label.number)
		l->from_notes = 0;
	l->from_life = label.life;
	l->from_number = label.number;
	if (label.seq != l->from_notes + 1)
		wrong_note(w, &label, "lost, twice or out of order");
	l->from_notes = label.seq;
}

void
chaos_notes_take(struct worker *w)
{
	tcpx_note *note;

	while (!tcpx_note_get(w->engine, &note)) {
		size_t len;
		const uint8_t *data = tcpx_note_data(note, &len);

		note_look(w, data, len);
		tcpx_note_free(note);
	}
}
