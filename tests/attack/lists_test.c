/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that has a key, and frames of a hundred bytes that name lists of a million entries. What
 * it was not granted costs it its session, and what it was granted never costs others their turn.
 */
#include "foe.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "core/channel/kind.h"
#include "core/engine/engine.h"
#include "core/memory/memory.h"
#include "core/memory/region.h"
#include "core/memory/payload.h"
#include "core/session/control.h"
#include "core/session/receive.h"
#include "core/session/session.h"
#include "net/registry.h"
#include "proto/runs.h"

#define LEN   (4u << 20)
#define LONG  650000u  /* entries of a list that TCPX_CREDIT_LIST_BYTES=16M allows */
#define SHORT 2500u    /* with 64K */
#define READS 4
#define TINY  2000
#define TIMES 20 /* transfers of as many pieces as a chunk has bytes */

static atomic_uint turns;
static atomic_size_t pieces, most_pieces; /* of the host's memory: in this turn; in any */

static int
count_turn(struct tcpx_poller *p, struct tcpx_net_event *ev, int max, int64_t timeout_ns)
{
	turns++;
	if (pieces > most_pieces)
		most_pieces = pieces;
	pieces = 0;
	return tcpx_net_sock.poller_wait(p, ev, max, timeout_ns);
}

static ssize_t
count_recv(struct tcpx_chan *c, struct iovec *iov, int iov_count)
{
	pieces += (size_t)iov_count;
	return tcpx_net_sock.stream->recv(c, iov, iov_count);
}

static int
count_send(struct tcpx_chan *c, struct tcpx_tx_msg *m)
{
	pieces += (size_t)m->iov_count;
	return tcpx_net_sock.stream->send(c, m);
}

struct world {
	tcpx_engine *host, *evil;
	tcpx_peer *p;
	struct mem far;
	struct tcpx_region_ref ref; /* of far, as frames name it */
};

static void
world_open(struct world *w, const char *credit)
{
	static struct tcpx_net_ops ops;
	static struct tcpx_stream_chan_ops stream;
	const char *const settings[] = { "TCPX_NICS=127.0.1.1", "TCPX_CHANNELS=1", "TCPX_THREADS=1",
					 "TCPX_STATS=off", credit, NULL };
	struct engine_env env = { .clock = tcpx_clock_system, .net = &ops };
	struct tcpx_engine_opts opts = TCPX_ENGINE_OPTS_INIT;
	struct region g;

	ops = tcpx_net_sock;
	ops.poller_wait = count_turn;
	stream = *tcpx_net_sock.stream;
	stream.recv = count_recv;
	stream.send = count_send;
	ops.stream = &stream;
	opts.settings = settings;
	opts.listen = "127.0.3.1:0";
	assert_ok(tcpx_engine_open(&opts, &env, &w->host));
	w->evil = open_with("evil", NULL, "TCPX_CHANNELS=1");
	w->p = rig_add(w->evil, w->host);
	assert_ok(tcpx_peer_wait(w->p, WAIT_MS));
	mem_open(&w->far, w->host, LEN, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
	assert_int_equal(tcpx_region_get(&w->host->memory->regions, w->far.id, &g), 0);
	w->ref = g.ref;
}

static void
world_close(struct world *w)
{
	tcpx_peer_free(w->p);
	tcpx_close(w->evil);
	tcpx_close(w->host);
	mem_close(&w->far);
}

/* An OPEN whose list is every second byte; the last entry is @past bytes further. */
static void
put_open(struct session *s, uint8_t op, uint32_t entries, const struct tcpx_region_ref *ref,
	 uint64_t past)
{
	struct tcpx_open o = { .op = op, .total = entries, .chunk = 4096, .entry_count = entries };
	struct tcpx_runs_writer w;
	uint8_t room[512], *at;
	struct tcpx_buf b;

	o.id = ++s->xfers.opened_here | (s->opener ? 0 : ID_OF_ACCEPTOR);
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_open_write(&b, &o);
	at = room + b.pos;
	tcpx_runs_write_init(&w);
	for (uint32_t i = 0; i < entries; i++) {
		struct tcpx_run_entry e = { 0, 2ull * i + (i == entries - 1 ? past : 0), 1 };

		assert_true(tcpx_runs_write(&w, ref, &e, &at, room + sizeof(room)));
	}
	assert_true(tcpx_runs_write(&w, ref, NULL, &at, room + sizeof(room)));
	b.pos = (size_t)(at - room);
	tcpx_open_finish(&b, 0, NULL, 0);
	assert_int_equal(tcpx_control_put_bulk(s, TCPX_FR_OPEN, &b, NULL), 0);
}

static void
put_opens(struct world *w, int count, uint8_t op, uint32_t entries, uint64_t past)
{
	struct session *s = session_of(w->evil);

	pthread_mutex_lock(&s->lock);
	for (int i = 0; i < count; i++)
		put_open(s, op, entries, &w->ref, past);
	tcpx_control_flush(s);
	pthread_mutex_unlock(&s->lock);
}

/* Puts an OPEN with a byte of payload for its last entry; the others are empty. */
static void
put_inline(struct world *w, uint32_t entries)
{
	struct tcpx_open o = { .op = TCPX_WIRE_WRITE, .total = 1, .entry_count = entries };
	struct session *s = session_of(w->evil);
	struct tcpx_runs_writer rw;
	uint8_t room[512], *at;
	struct tcpx_buf b;

	pthread_mutex_lock(&s->lock);
	o.id = ++s->xfers.opened_here | (s->opener ? 0 : ID_OF_ACCEPTOR);
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_open_write(&b, &o);
	at = room + b.pos;
	tcpx_runs_write_init(&rw);
	for (uint32_t i = 0; i < entries; i++) {
		struct tcpx_run_entry e = { 0, 0, i == entries - 1 };

		assert_true(tcpx_runs_write(&rw, &w->ref, &e, &at, room + sizeof(room)));
	}
	assert_true(tcpx_runs_write(&rw, &w->ref, NULL, &at, room + sizeof(room)));
	b.pos = (size_t)(at - room);
	tcpx_open_finish(&b, TCPX_OPEN_INLINE, "x", 1);
	assert_int_equal(tcpx_control_put_bulk(s, TCPX_FR_OPEN, &b, NULL), 0);
	tcpx_control_flush(s);
	pthread_mutex_unlock(&s->lock);
}

/* Puts an OPEN that has nothing of its list yet, a CANCEL of it, and then the list's frames. */
static void
put_cancelled(struct world *w)
{
	static const uint8_t rest[100] = { 0 };
	struct tcpx_open o = { .op = TCPX_WIRE_READ, .total = SHORT, .chunk = 4096,
			       .entry_count = SHORT };
	struct session *s = session_of(w->evil);
	uint8_t room[512];
	struct tcpx_buf b;

	pthread_mutex_lock(&s->lock);
	o.id = ++s->xfers.opened_here | (s->opener ? 0 : ID_OF_ACCEPTOR);
	tcpx_buf_init(&b, room, sizeof(room));
	tcpx_open_write(&b, &o);
	tcpx_open_finish(&b, TCPX_OPEN_MORE, NULL, 0);
	assert_int_equal(tcpx_control_put_bulk(s, TCPX_FR_OPEN, &b, NULL), 0);
	tcpx_control_say_u64(s, TCPX_FR_CANCEL, o.id);
	for (int more = 2; more >= 0; more--) {
		tcpx_buf_init(&b, room, sizeof(room));
		tcpx_listframe_write(&b, o.id);
		tcpx_buf_put_bytes(&b, rest, sizeof(rest));
		tcpx_listframe_finish(&b, more);
		assert_int_equal(tcpx_control_put_bulk(s, TCPX_FR_LIST, &b, NULL), 0);
	}
	tcpx_control_flush(s);
	pthread_mutex_unlock(&s->lock);
}

static void
assert_breach(struct world *w)
{
	tcpx_note *n;
	int rc, patience = WAIT_MS;

	for (; (rc = tcpx_peer_wait(w->p, WAIT_MS)) == 0; patience--) {
		assert_true(patience);
		assert_code(tcpx_note_wait(w->evil, 1, &n), -EAGAIN);
	}
	assert_code(rc, TCPX_EPROTO);
}

TEST(lists_beyond_the_credit_cost_the_session)
{
	struct world w;

	world_open(&w, "TCPX_CREDIT_LIST_BYTES=64K");
	put_opens(&w, 4, TCPX_WIRE_WRITE, SHORT, 0);
	assert_ok(tcpx_notify(w.p, "alive", 5));
	assert_note(w.host, "evil", "alive");
	put_opens(&w, 1, TCPX_WIRE_WRITE, SHORT, 0);
	assert_breach(&w);
	world_close(&w);
}

/* A sender never opens a list that is longer than the whole grant. */
TEST(a_list_beyond_the_whole_credit_costs_the_session)
{
	enum { FITS = 65536 / 24 };
	struct world w;

	world_open(&w, "TCPX_CREDIT_LIST_BYTES=64K");
	put_opens(&w, 1, TCPX_WIRE_WRITE, FITS, 0);
	assert_ok(tcpx_notify(w.p, "alive", 5));
	assert_note(w.host, "evil", "alive");
	put_opens(&w, 1, TCPX_WIRE_WRITE, FITS + 1, 0);
	assert_breach(&w);
	world_close(&w);
}

/* A list with its payload is read in one turn. It has fewer entries than a frame has bytes. */
TEST(empty_entries_before_a_payload_cost_the_session)
{
	struct world w;

	world_open(&w, "TCPX_CREDIT_LIST_BYTES=16M");
	put_inline(&w, TCPX_FRAME_MAX);
	assert_ok(tcpx_notify(w.p, "alive", 5));
	assert_note(w.host, "evil", "alive");
	put_inline(&w, TCPX_FRAME_MAX + 1);
	assert_breach(&w);
	world_close(&w);
}

/* CANCEL may come before the list is complete: its rest is passed over. Another is opened. */
TEST(a_transfer_may_be_cancelled_in_the_middle_of_its_list)
{
	struct world w;

	world_open(&w, "TCPX_CREDIT_LIST_BYTES=64K");
	for (int i = 0; i < 10; i++)
		put_cancelled(&w);
	assert_ok(tcpx_notify(w.p, "alive", 5));
	assert_note(w.host, "evil", "alive");
	put_opens(&w, 1, TCPX_WIRE_READ, 1, LEN);
	while (counters_of(w.host).refused < 1)
		sched_yield();
	assert_ok(tcpx_notify(w.p, "alive", 5));
	assert_note(w.host, "evil", "alive");
	world_close(&w);
}

TEST(a_turn_has_few_of_many_long_lists)
{
	struct world w;
	unsigned before;

	world_open(&w, "TCPX_CREDIT_LIST_BYTES=16M");
	before = turns;
	put_opens(&w, READS, TCPX_WIRE_READ, LONG, LEN); /* refused at their last entry */
	while (counters_of(w.host).refused < READS)
		sched_yield();
	assert_in_range(turns - before, READS * (LONG / TURN_BUDGET) / 2, /* two a wait */
			READS * (LONG / TURN_BUDGET) * 10);           /* and none while they are paid for */
	world_close(&w);
}

/* The list is read in a moment; its pieces cost a tenth of a microsecond each, for as long as they come. */
TEST(a_turn_moves_few_of_many_pieces)
{
	enum { PIECES = 65536 };
	struct tcpx_desc *far = calloc(PIECES, sizeof(*far)), near = { 0, 0, PIECES };
	struct mem mine;
	struct world w;
	uint64_t id;

	world_open(&w, "TCPX_CREDIT_LIST_BYTES=16M");
	mem_open(&mine, w.evil, PIECES, TCPX_MEM_LOCAL);
	near.region = mine.id;
	id = mem_tell(&w.far, w.host, w.evil);
	for (uint32_t i = 0; i < PIECES; i++)
		far[i] = (struct tcpx_desc){ id, 2 * i, 1 };
	for (int i = 0; i < 2 * TIMES; i++) {
		tcpx_xfer *x;

		assert_ok((i % 2 ? tcpx_read : tcpx_write)(w.p, &near, 1, far, PIECES, NULL, 0, &x));
		assert_ok(finish(x));
	}
	assert_in_range(most_pieces, 1, 4 * (CHANNEL_PIECES + CORE_IOV));
	mem_close(&mine);
	free(far);
	world_close(&w);
}

/* Cheap to send, and each costs a look at a region, a line of the log and an answer. */
TEST(a_turn_has_few_of_many_tiny_opens)
{
	struct world w;
	unsigned before;

	world_open(&w, "TCPX_CREDIT_LIST_BYTES=16M");
	w.ref.key[0] ^= 1;
	before = turns;
	for (int i = 0; i < TINY / 100; i++)
		put_opens(&w, 100, TCPX_WIRE_READ, 1, 0);
	while (counters_of(w.host).refused < TINY)
		sched_yield();
	assert_in_range(turns - before, TINY / 11 - 4, 10 * TINY);
	world_close(&w);
}

/* Its connection breaks while nothing is read from it: what it said last is heard, later. */
TEST(who_pays_may_leave)
{
	struct session *s;
	struct world w;

	world_open(&w, "TCPX_CREDIT_LIST_BYTES=16M");
	s = session_of(w.host);
	tcpx_session_get(s);
	put_opens(&w, 2, TCPX_WIRE_READ, LONG, LEN);
	tcpx_close(w.evil);
	while (atomic_load(&s->state) != SESS_FAILED)
		sched_yield();
	pthread_mutex_lock(&s->lock);
	assert_code(s->cause, TCPX_EPEERGONE);
	pthread_mutex_unlock(&s->lock);
	tcpx_session_put(s);
	tcpx_close(w.host);
	mem_close(&w.far);
}
