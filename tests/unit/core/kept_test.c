/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine keeps for a peer has a limit in bytes. What is above fails the peer's own transfer
 * or note, another peer does not notice, and all is given back.
 */
#include "rig.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/context.h"
#include "core/session/kept.h"
#include "core/session/note.h"

#define ROOM     (7u << 19)  /* of 4 MiB; an eighth is for answers */
#define NOTE     8192u
#define MANY     600  /* notes or sends of 8 KiB: more than that */
#define SLACK    (128u << 10) /* queues of control frames keep some memory */
#define PIECES   160000u /* entries of 24 bytes: likewise */
#define TINY     { "TCPX_PEER_MEMORY=4M", "TCPX_CREDIT_XFERS=1000", "TCPX_CHANNELS=1", NULL }

struct crowd {
	struct rig r;
	tcpx_engine *other;
	tcpx_peer *p; /* b, at other */
};

/* @settings: of b, at whom the others aim */
static void
crowd_begin(struct crowd *c, const char *const *settings)
{
	static const char *const generous[] = { "TCPX_CREDIT_XFERS=1000", "TCPX_CHANNELS=1", NULL };

	rig_begin(&c->r, generous, settings);
	c->other = rig_open("other", generous);
	c->p = rig_connect(c->other, c->r.b);
	assert_ok(tcpx_peer_wait(c->p, WAIT_MS));
	assert_ok(tcpx_peer_wait(c->r.to_b, WAIT_MS));
}

static void
crowd_end(struct crowd *c)
{
	tcpx_peer_free(c->p);
	tcpx_close(c->other);
	rig_end(&c->r);
}

static uint64_t
kept(tcpx_engine *e)
{
	return tcpx_quota_used(&e->kept);
}

/* At the target, until so many have found room. */
static void
wait_notes(tcpx_engine *e, uint64_t count)
{
	while (counters_of(e).notes_rx < count)
		sched_yield();
}

static void
send_notes(tcpx_peer *to, int count, size_t len)
{
	char *text = calloc(1, len);

	memset(text, 'n', len);
	for (int i = 0; i < count; i++)
		assert_ok(tcpx_notify(to, text, len));
	free(text);
}

TEST(notes_of_one_cost_another_none)
{
	static const char *const few[] = { "TCPX_NOTE_LIMIT=3", NULL };
	struct crowd c;

	crowd_begin(&c, few);
	send_notes(c.r.to_b, 10, 1);
	wait_notes(c.r.b, 3);
	send_notes(c.p, 3, 1);
	wait_notes(c.r.b, 6); /* seven of the first wait */
	for (int i = 0; i < 3; i++) { /* in turn */
		assert_note(c.r.b, "anna", "n");
		assert_note(c.r.b, "other", "n");
	}
	for (int i = 0; i < 7; i++)
		assert_note(c.r.b, "anna", "n");
	assert_no_note(c.r.b);
	assert_int_equal(counters_of(c.r.b).notes_dropped, 0);
	crowd_end(&c);
}

TEST(notes_have_a_limit_in_bytes)
{
	static const char *const tiny[] = TINY;
	struct crowd c;
	tcpx_note *n;
	uint64_t idle;
	int left = 0;

	crowd_begin(&c, tiny);
	idle = kept(c.r.b);
	send_notes(c.r.to_b, MANY, NOTE);
	while (kept(c.r.b) < ROOM - SLACK)
		sched_yield();
	assert_in_range(kept(c.r.b), ROOM - SLACK, ROOM + SLACK);
	send_notes(c.p, 50, NOTE);
	wait_notes(c.r.b, ROOM / (NOTE + 500) + 50);
	assert_in_range(counters_of(c.r.b).notes_rx, 50, ROOM / NOTE + 50);
	for (int i = 0; i < MANY + 50; i++) {
		assert_ok(tcpx_note_wait(c.r.b, WAIT_MS, &n));
		left += !strcmp(tcpx_note_sender(n), "other");
		tcpx_note_free(n);
	}
	assert_int_equal(left, 50);
	assert_int_equal(counters_of(c.r.b).notes_dropped, 0);
	assert_in_range(kept(c.r.b), 0, idle + SLACK);
	crowd_end(&c);
}

/* Each costs what it costs to keep it. */
TEST(empty_notes_have_it_too)
{
	static const char *const tiny[] = TINY;
	const int count = ROOM / sizeof(struct tcpx_note) * 2;
	struct crowd c;
	tcpx_note *n;
	uint64_t idle;

	crowd_begin(&c, tiny);
	idle = kept(c.r.b);
	for (int i = 0; i < count; i++)
		assert_ok(tcpx_notify(c.r.to_b, NULL, 0));
	while (kept(c.r.b) < ROOM - SLACK)
		sched_yield();
	assert_in_range(kept(c.r.b), ROOM - SLACK, ROOM + SLACK);
	assert_in_range(counters_of(c.r.b).notes_rx, 1, (ROOM + KEPT_OWN_NOTES) / sizeof(struct tcpx_note));
	for (int i = 0; i < count; i++) {
		assert_ok(tcpx_note_wait(c.r.b, WAIT_MS, &n));
		tcpx_note_free(n);
	}
	assert_in_range(kept(c.r.b), 0, idle + SLACK);
	crowd_end(&c);
}

TEST(a_list_above_it_is_refused)
{
	static const char *const tiny[] = TINY;
	struct tcpx_desc *f = calloc(PIECES, sizeof(*f)), l;
	struct crowd c;
	uint64_t idle;
	tcpx_xfer *x;

	crowd_begin(&c, tiny);
	rig_memory(&c.r, 2 * PIECES, 2 * PIECES);
	assert_ok(rig_move(&c.r, TCPX_OP_WRITE, 0, 0, 2 * PIECES));
	idle = kept(c.r.b);
	for (uint32_t i = 0; i < PIECES; i++)
		f[i] = (struct tcpx_desc){ c.r.far.far, 2 * i, 1 };
	l = (struct tcpx_desc){ c.r.near.id, 0, PIECES };
	for (int i = 0; i < 4; i++) {
		assert_ok(tcpx_write(c.r.to_b, &l, 1, f, PIECES, NULL, 0, &x));
		assert_code(finish(x), TCPX_ELIMIT);
		l.len = PIECES / 4;
		assert_ok(tcpx_write(c.r.to_b, &l, 1, f, PIECES / 4, NULL, 0, &x));
		assert_ok(finish(x));
		l.len = PIECES;
	}
	while (kept(c.r.b) > idle + SLACK)
		sched_yield();
	send_notes(c.p, 1, 1);
	assert_note(c.r.b, "other", "n");
	crowd_end(&c);
	free(f);
}

TEST(sends_without_a_receive_have_a_limit)
{
	static const char *const tiny[] = TINY;
	static tcpx_xfer *x[MANY];
	struct crowd c;
	struct tcpx_desc l;
	tcpx_peer *back;
	int refused = 0, left, full;
	uint64_t idle;

	crowd_begin(&c, tiny);
	rig_memory(&c.r, NOTE, NOTE);
	idle = kept(c.r.b);
	l = (struct tcpx_desc){ c.r.near.id, 0, NOTE };
	for (int i = 0; i < MANY; i++)
		assert_ok(tcpx_send(c.r.to_b, &l, 1, 7, &x[i]));
	send_notes(c.r.to_b, 1, 1); /* it may find no room before the sends are received */
	full = rig_move(&c.r, TCPX_OP_WRITE, 0, 0, 10) != 0; /* is behind them */
	assert_in_range(kept(c.r.b), ROOM - SLACK, ROOM + SLACK);
	assert_ok(tcpx_peer_find(c.r.b, "anna", &back));
	left = MANY - ((int)counters_of(c.r.b).refused - full);
	for (int i = 0; i < left; i++) {
		struct tcpx_desc to = { c.r.far.id, 0, NOTE };
		tcpx_xfer *in;

		assert_ok(tcpx_recv(back, &to, 1, 7, &in));
		assert_ok(finish(in));
	}
	for (int i = 0; i < MANY; i++)
		refused += finish(x[i]) == TCPX_ELIMIT;
	assert_int_equal(refused, MANY - left);
	assert_note(c.r.b, "anna", "n");
	assert_in_range(kept(c.r.b), 0, idle + SLACK);
	assert_in_range(refused, MANY - ROOM / NOTE, MANY - ROOM / (NOTE + 500));
	tcpx_peer_free(back);
	crowd_end(&c);
}

#define WHOLE (4u << 20)

/* A peer that sends what it may, as one of an address that shares half of all, and goes. */
static void
leave_notes(tcpx_engine *b, int number)
{
	uint64_t before = counters_of(b).notes_rx, share = (WHOLE / 2 - kept(b)) / 2 / (NOTE + 400);
	static const char *const plain[] = { "TCPX_CHANNELS=1", NULL };
	char name[16];
	tcpx_engine *e;
	tcpx_peer *p;

	snprintf(name, sizeof(name), "guest%d", number % 10);
	e = rig_open(name, plain);
	p = rig_connect(e, b);
	assert_ok(tcpx_peer_wait(p, WAIT_MS));
	send_notes(p, (int)share, NOTE);
	wait_notes(b, before + share);
	tcpx_peer_free(p);
	tcpx_close(e);
	while (counters_of(b).sessions > 2) /* the rig's two */
		sched_yield();
}

static int
write_with_note(struct crowd *c, const char *note)
{
	struct tcpx_desc l = { c->r.near.id, 0, 8 }, f = { c->r.far.far, 0, 8 };
	tcpx_xfer *x;

	assert_ok(tcpx_write(c->r.to_b, &l, 1, &f, 1, note, NOTE, &x));
	return finish(x);
}

/* They go out in the order in which they came: those of who left first are missing first. */
static void
guests_leave_notes(bool full)
{
	static const char *const small[] = { "TCPX_PEERS_MEMORY=4M", "TCPX_CHANNELS=1", NULL };
	int of[10] = { 0 }, mine = 0, guests = 0;
	char note[NOTE] = "w";
	struct crowd c;
	uint64_t came, others = 0;
	tcpx_note *n;

	crowd_begin(&c, small);
	rig_memory(&c.r, 8, 8);
	while (WHOLE / 2 - kept(c.r.b) > SLACK && guests < 10)
		leave_notes(c.r.b, guests++);
	assert_in_range(guests, 3, 9);
	if (full)
		others = WHOLE - kept(c.r.b);
	assert_true(tcpx_quota_draw(&c.r.b->kept, others));
	came = counters_of(c.r.b).notes_rx;
	assert_int_equal(counters_of(c.r.b).notes_dropped, 0);
	for (int i = 0; i < 50; i++)
		assert_ok(write_with_note(&c, note));
	assert_in_range(kept(c.r.b), 0, WHOLE);
	while (tcpx_note_get(c.r.b, &n) == 0) {
		if (!strcmp(tcpx_note_sender(n), "anna"))
			mine++;
		else
			of[tcpx_note_sender(n)[5] - '0']++;
		tcpx_note_free(n);
	}
	assert_int_equal(mine, 50);
	assert_in_range(counters_of(c.r.b).notes_dropped, 30, came / 2 + 50); /* as much is free as its address has */
	tcpx_quota_give(&c.r.b->kept, others);
	for (int i = 1; i < guests; i++)
		came -= (uint64_t)of[i];
	assert_int_equal(came - (uint64_t)of[0], counters_of(c.r.b).notes_dropped);
	assert_in_range(kept(c.r.b), 0, SLACK);
	crowd_end(&c);
}

/* Whether others have used up all, or those the half of their address. */
TEST(notes_of_those_that_left_keep_nobody_out)
{
	guests_leave_notes(false);
	guests_leave_notes(true);
}

/* Entries that follow no rule: 4 to 5 bytes each, packed. */
static void
shuffle(struct tcpx_desc *f, uint32_t count, uint64_t far)
{
	uint64_t seed = 7;

	for (uint32_t i = 0; i < count; i++)
		f[i] = (struct tcpx_desc){ far, 2 * i, 1 };
	for (uint32_t i = count - 1; i > 0; i--) {
		struct tcpx_desc d = f[i];
		uint32_t k;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		k = (uint32_t)((seed >> 33) % (i + 1));
		f[i] = f[k];
		f[k] = d;
	}
}

/* This engine's own lists fill what it keeps for a peer: they wait for each other, and none costs
 * another transfer. */
TEST(own_lists_wait_for_room)
{
	static const char *const tiny[] = TINY;
	static const char *const grants[] = { "TCPX_CREDIT_LIST_BYTES=256M", "TCPX_PEER_MEMORY=1G",
					      "TCPX_PEERS_MEMORY=4G", "TCPX_CHANNELS=1", NULL };
	enum { LISTS = 30, HUGE_LIST = 650000 };
	struct tcpx_desc *f = calloc(HUGE_LIST, sizeof(*f)), l;
	tcpx_xfer *x[LISTS];
	struct rig r;

	rig_begin(&r, tiny, grants);
	rig_memory(&r, 2 * HUGE_LIST, 2 * HUGE_LIST);
	assert_ok(rig_move(&r, TCPX_OP_WRITE, 0, 0, 8));
	shuffle(f, PIECES, r.far.far);
	l = (struct tcpx_desc){ r.near.id, 0, PIECES };
	for (int i = 0; i < LISTS; i++)
		assert_ok(tcpx_write(r.to_b, &l, 1, f, PIECES, NULL, 0, &x[i]));
	for (int i = 0; i < LISTS; i++)
		assert_ok(finish(x[i]));
	shuffle(f, HUGE_LIST, r.far.far); /* more than it may ever have */
	l.len = HUGE_LIST;
	assert_ok(tcpx_write(r.to_b, &l, 1, f, HUGE_LIST, NULL, 0, &x[0]));
	assert_code(finish(x[0]), TCPX_ELIMIT);
	assert_ok(rig_move(&r, TCPX_OP_WRITE, 0, 0, 8));
	assert_int_equal(counters_of(r.a).sessions, 1);
	rig_end(&r);
	free(f);
}
