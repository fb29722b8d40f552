/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that peers may take together is used up by others: an open session works all the same, a new one
 * opens, who has the most in sends without a receive loses some, and an address leaves half for others.
 */
#include "rig.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"
#include "core/session/control.h"
#include "core/session/kept.h"
#include "core/session/peer.h"
#include "core/session/session.h"
#include "core/transfer/match.h"
#include "fake/slabs.h"

#define POT   (4u << 20)
#define SMALL 8192u /* as much as a frame carries */
#define LARGE (1u << 20)
#define DEEP  64    /* TCPX_CREDIT_XFERS */
#define NOTE  300u
#define FRAMES (160u << 10) /* refusals that are not acknowledged yet */

static const char *const of_host[] = { "TCPX_PEERS_MEMORY=4M", "TCPX_CHANNELS=1", "TCPX_CREDIT_XFERS=1000",
				       NULL };
static const char *const plain[] = { "TCPX_CHANNELS=1", "TCPX_CREDIT_XFERS=1000", NULL };

/* Others have all that is left. */
static uint64_t
drain(tcpx_engine *e)
{
	uint64_t rest = e->kept.limit - tcpx_quota_used(&e->kept);

	assert_true(tcpx_quota_draw(&e->kept, rest));
	return rest;
}

static void
cause_of(tcpx_xfer *x, char text[192])
{
	struct tcpx_xfer_info info = { .struct_size = sizeof(info) };

	assert_ok(tcpx_xfer_query(x, &info));
	memcpy(text, info.cause, 192);
}

static int
moves(struct rig *r, uint64_t len)
{
	int rc = rig_move(r, TCPX_OP_READ, 0, 0, len);

	return rc ? rc : rig_move(r, TCPX_OP_WRITE, 0, 0, len);
}

/* READs, as many as may be open, are each answered in the control stream if there is room. */
static void
read_deep(struct rig *r)
{
	struct tcpx_desc l = { r->near.id, 0, SMALL }, f = { r->far.far, 0, SMALL };
	tcpx_xfer *x[DEEP];

	for (int i = 0; i < DEEP; i++)
		assert_ok(tcpx_read(r->to_b, &l, 1, &f, 1, NULL, 0, &x[i]));
	for (int i = 0; i < DEEP; i++)
		assert_ok(finish(x[i]));
}

static void
wait_lane(tcpx_lane *l)
{
	while (tcpx_lane_ready(l) == -EAGAIN)
		sched_yield();
	assert_ok(tcpx_lane_ready(l));
}

/* Messages before and after their receives. */
static void
use_lane(struct rig *r)
{
	uint8_t key[TCPX_LANE_KEY];
	tcpx_lane *tx, *rx;
	tcpx_xfer *in, *out;

	assert_ok(tcpx_lane_listen(r->b, key, &rx));
	assert_ok(tcpx_lane_open(r->to_b, key, &tx));
	wait_lane(tx);
	wait_lane(rx);
	for (uint64_t len = 1; len <= LARGE; len *= 32)
		for (int first = 0; first < 2; first++) {
			if (first)
				assert_ok(tcpx_lane_post(rx, r->far.id, 0, len, &in));
			assert_ok(tcpx_lane_post(tx, r->near.id, 0, len, &out));
			if (!first)
				assert_ok(tcpx_lane_post(rx, r->far.id, 0, len, &in));
			assert_ok(finish(in));
			assert_ok(finish(out));
		}
	tcpx_lane_close(tx);
	tcpx_lane_close(rx);
}

static void
use_notes(struct rig *r)
{
	char text[NOTE + 1];
	tcpx_peer *back;

	memset(text, 'n', NOTE);
	text[NOTE] = '\0';
	assert_ok(tcpx_peer_find(r->b, "anna", &back));
	for (int i = 0; i < 5; i++) {
		assert_ok(tcpx_notify(r->to_b, text, NOTE));
		assert_note(r->b, "anna", text);
		assert_ok(tcpx_notify(back, text, NOTE));
		assert_note(r->a, "bert", text);
	}
	tcpx_peer_free(back);
}

TEST(an_open_session_works_when_others_have_all)
{
	struct tcpx_peer_info info = { .struct_size = sizeof(info) };
	struct rig r, other;
	uint64_t taken;

	rig_begin(&r, plain, of_host);
	assert_ok(tcpx_peer_wait(r.to_b, WAIT_MS));
	rig_memory(&r, LARGE, LARGE);
	taken = drain(r.b);
	for (int round = 0; round < 3; round++) {
		assert_ok(moves(&r, 16));
		assert_ok(moves(&r, SMALL));
		assert_ok(moves(&r, LARGE));
		read_deep(&r);
		use_lane(&r);
		use_notes(&r);
	}
	/* a new one opens, works and says BYE */
	other = r;
	other.a = rig_open("other", plain);
	other.to_b = rig_add(other.a, r.b);
	assert_ok(tcpx_peer_wait(other.to_b, WAIT_MS));
	mem_open(&other.near, other.a, LARGE, TCPX_MEM_LOCAL);
	other.far.far = mem_tell(&r.far, r.b, other.a);
	assert_ok(moves(&other, 16));
	assert_ok(moves(&other, LARGE));
	tcpx_peer_free(other.to_b);
	tcpx_close(other.a);
	mem_close(&other.near);
	while (counters_of(r.b).sessions > 1)
		sched_yield();
	assert_ok(tcpx_peer_query(r.to_b, &info));
	assert_ok(info.status);
	assert_int_equal(counters_of(r.a).ctrl_resumes, 0);
	tcpx_quota_give(&r.b->kept, taken);
	rig_end(&r);
}

/* More waits for a peer than its own memory takes. */
TEST(a_session_without_room_for_its_frames_says_whose_room_it_is)
{
	static const uint8_t bytes[1000];
	struct session *s;
	struct rig r;
	uint64_t taken;

	rig_begin(&r, plain, of_host);
	assert_ok(tcpx_peer_wait(r.to_b, WAIT_MS));
	s = tcpx_session_after(r.b, NULL);
	taken = drain(r.b);
	pthread_mutex_lock(&s->lock);
	while (tcpx_ctrl_put(s->control.ctrl, TCPX_FR_DONE, bytes, sizeof(bytes)) == 0)
		;
	assert_int_equal(s->state, SESS_OPEN);
	for (int i = 0; i < 100 && s->state == SESS_OPEN; i++) /* the last words of a queue are short */
		tcpx_control_say_u64(s, TCPX_FR_NOTED, 0);
	assert_int_equal(s->state, SESS_FAILED);
	assert_code(s->cause, TCPX_ELIMIT);
	assert_non_null(strstr(s->cause_text, "TCPX_PEERS_MEMORY"));
	pthread_mutex_unlock(&s->lock);
	tcpx_session_put(s);
	tcpx_quota_give(&r.b->kept, taken);
	rig_end(&r);
}

/* An engine that sends what has no receive at b. */
struct sender {
	tcpx_engine *e;
	tcpx_peer *to, *named; /* by b, or NULL: then it counts for its address, 127.0.0.1 */
	struct mem mem;
	tcpx_xfer *x[200];
	int sent, refused;
};

static void
sender_open(struct sender *s, const char *name, tcpx_engine *b, bool named)
{
	memset(s, 0, sizeof(*s));
	s->e = rig_open(name, plain);
	s->named = named ? rig_add(b, s->e) : NULL;
	if (named)
		assert_ok(tcpx_peer_wait(s->named, WAIT_MS));
	s->to = rig_add(s->e, b);
	assert_ok(tcpx_peer_wait(s->to, WAIT_MS));
	mem_open(&s->mem, s->e, SMALL, TCPX_MEM_LOCAL);
	memset(s->mem.at, name[0], SMALL);
}

static void
sender_send(struct sender *s, int count)
{
	struct tcpx_desc l = { s->mem.id, 0, SMALL };

	for (int i = 0; i < count; i++)
		assert_ok(tcpx_send(s->to, &l, 1, 7, &s->x[s->sent++]));
	assert_ok(tcpx_notify(s->to, "sent", 4)); /* goes behind them */
}

static void
sender_close(struct sender *s)
{
	for (int i = 0; i < s->sent; i++)
		tcpx_xfer_free(s->x[i]);
	tcpx_peer_free(s->to);
	tcpx_peer_free(s->named);
	tcpx_close(s->e);
	mem_close(&s->mem);
}

/* Receives of the first @count sends at @b, whose memory @to is; those behind are refused, as is said why. */
static void
expect(struct sender *s, tcpx_engine *b, struct mem *to, const char *name, int count)
{
	struct tcpx_desc f = { to->id, 0, SMALL };
	tcpx_peer *from;
	tcpx_xfer *in;
	char why[192];

	assert_ok(tcpx_peer_find(b, name, &from));
	for (int i = 0; i < count; i++) {
		assert_ok(tcpx_recv(from, &f, 1, 7, &in));
		assert_ok(finish(in));
		assert_int_equal(to->at[SMALL - 1], name[0]);
		assert_ok(tcpx_wait(s->x[i], WAIT_MS));
	}
	for (int i = count; i < s->sent; i++) {
		assert_code(tcpx_wait(s->x[i], WAIT_MS), TCPX_ELIMIT);
		cause_of(s->x[i], why);
		assert_non_null(strstr(why, "TCPX_PEERS_MEMORY"));
		assert_non_null(strstr(why, "KiB (sends "));
	}
	tcpx_peer_free(from);
}

static int
kept_sends(tcpx_engine *b, const char *name)
{
	tcpx_peer *p;
	int n;

	assert_ok(tcpx_peer_find(b, name, &p));
	n = (int)(atomic_load(&p->keeps[KEPT_SENDS]) / (sizeof(struct unexpected) + SMALL));
	tcpx_peer_free(p);
	return n;
}

TEST(who_has_the_most_in_sends_loses_the_newest_first)
{
	struct sender large, small, late;
	tcpx_engine *b = rig_open("bert", of_host);
	int first;
	struct mem to;
	uint64_t taken;

	mem_open(&to, b, SMALL, TCPX_MEM_LOCAL);
	sender_open(&large, "large", b, false);
	sender_open(&small, "small", b, false);
	sender_send(&large, 100);
	assert_note(b, "large", "sent");
	sender_send(&small, 10);
	assert_note(b, "small", "sent");
	sender_open(&late, "new", b, true);
	taken = drain(b);
	assert_int_equal(counters_of(b).refused, 0);
	sender_send(&late, 5);
	assert_note(b, "new", "sent");
	first = kept_sends(b, "large");
	assert_in_range(first, 85, 95); /* as much must be free as the new one has */
	assert_int_equal(kept_sends(b, "small"), 10);
	expect(&late, b, &to, "new", 5);
	expect(&small, b, &to, "small", 10);
	expect(&large, b, &to, "large", first);
	sender_close(&large);
	sender_close(&small);
	sender_close(&late);
	while (tcpx_quota_used(&b->kept) > taken)
		sched_yield();
	tcpx_quota_give(&b->kept, taken);
	tcpx_close(b);
	mem_close(&to);
}

/* Sessions of one address share half of it, and the first of them leaves room for the next. */
TEST(an_address_leaves_half_for_others)
{
	static const char *const roomy[] = { "TCPX_PEERS_MEMORY=4M", "TCPX_CREDIT_XFERS=1000", NULL };
	static const char *const names[] = { "w", "x", "y", "z" };
	static const uint64_t share[] = { POT / 4, POT / 8, POT / 16, (POT - 7 * POT / 16) / 2 };
	tcpx_engine *b = rig_open("bert", roomy);
	struct sender s[4];

	for (int i = 0; i < 4; i++) {
		sender_open(&s[i], names[i], b, i == 3);
		sender_send(&s[i], 200);
		assert_note(b, names[i], "sent");
		assert_in_range((uint64_t)kept_sends(b, names[i]) * (sizeof(struct unexpected) + SMALL), share[i] - FRAMES, share[i] + FRAMES);
	}
	for (int i = 0; i < 4; i++)
		sender_close(&s[i]);
	tcpx_close(b);
}

TEST(with_limits_of_0_neither_notes_nor_sends_are_kept)
{
	static const char *const none[] = { "TCPX_NOTE_LIMIT=0", "TCPX_SEND_LIMIT=0", NULL };
	tcpx_engine *b = rig_open("bert", none);
	struct tcpx_desc f;
	struct sender s;
	struct mem to;
	tcpx_peer *from;
	tcpx_xfer *in;
	char why[192];

	sender_open(&s, "anna", b, false);
	mem_open(&to, b, SMALL, TCPX_MEM_LOCAL);
	for (int i = 0; i < 200; i++)
		assert_ok(tcpx_notify(s.to, s.mem.at, SMALL));
	sender_send(&s, 3);
	while (counters_of(b).notes_dropped < 201)
		sched_yield();
	assert_no_note(b);
	for (int i = 0; i < 3; i++) {
		assert_code(tcpx_wait(s.x[i], WAIT_MS), TCPX_ELIMIT);
		cause_of(s.x[i], why);
		assert_non_null(strstr(why, "TCPX_SEND_LIMIT"));
	}
	assert_int_equal(atomic_load(&b->pot->own), 0);
	assert_ok(tcpx_peer_find(b, "anna", &from)); /* a receive that waits is met */
	f = (struct tcpx_desc){ to.id, 0, SMALL };
	assert_ok(tcpx_recv(from, &f, 1, 7, &in));
	sender_send(&s, 1);
	assert_ok(finish(in));
	tcpx_peer_free(from);
	sender_close(&s);
	tcpx_close(b);
	mem_close(&to);
}

/* All that a peer has here but what the next pieces go into. */
TEST(memory_goes_back_as_notes_and_sends_are_taken)
{
	enum { NOTES = 300, LEN = 8000, SENDS = 100 };
	tcpx_engine *b = rig_open("bert", plain);
	struct tcpx_note *n;
	struct sender s;
	struct mem to;
	int before;

	mem_open(&to, b, SMALL, TCPX_MEM_LOCAL);
	sender_open(&s, "anna", b, false);
	before = atomic_load(&slabs);
	for (int i = 0; i < NOTES; i++)
		assert_ok(tcpx_notify(s.to, s.mem.at, LEN));
	while (counters_of(b).notes_rx < NOTES)
		sched_yield();
	assert_true(atomic_load(&slabs) - before >= (int)(NOTES * LEN / TCPX_SLAB_BYTES));
	for (int i = 0; i < NOTES; i++) {
		assert_ok(tcpx_note_wait(b, WAIT_MS, &n));
		tcpx_note_free(n);
	}
	assert_int_equal(atomic_load(&slabs) - before, 1);
	sender_send(&s, SENDS);
	assert_note(b, "anna", "sent");
	assert_true(atomic_load(&slabs) - before >= (int)(SENDS * SMALL / TCPX_SLAB_BYTES));
	expect(&s, b, &to, "anna", SENDS);
	assert_int_equal(atomic_load(&slabs) - before, 2);
	sender_close(&s);
	while (counters_of(b).sessions > 0)
		sched_yield();
	tcpx_close(b);
	assert_int_equal(atomic_load(&slabs), before);
	mem_close(&to);
}
