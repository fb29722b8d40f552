/* SPDX-License-Identifier: Apache-2.0 */
/* Connections that are lost before the session is open: the opener begins again, or resumes where
 * the acceptor may have the session open. */
#include "nic_lab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/session/accept.h"
#include "core/session/half_open.h"
#include "core/session/session.h"

#define LEN 100000

static const struct tcpx_net_ops *const nets[] = { &tcpx_net_loop, &tcpx_net_loop_comm };
/* Frames come in pieces, so there are many moments between two of them. */
static const struct tcpx_fabric_script slow = { .delay_min_ns = { 20000, 20000 },
						.delay_max_ns = { 60000, 60000 },
						.segment_max = 200 };
static char secret[64];
static const char *settings[] = { "TCPX_CHANNELS=3", "TCPX_NARROW=0", "TCPX_THREADS=2", "TCPX_PORT=0",
				  "TCPX_DEBUG=WARN", NULL, NULL };

static bool
is_open(void *arg)
{
	return lab_info(arg).status == 0;
}

struct turns {
	struct lab *t;
	unsigned left;
};

static bool
have_passed(void *arg)
{
	struct turns *w = arg;

	return w->left-- == 0 || is_open(w->t);
}

static void
assert_moves(struct lab *t)
{
	struct tcpx_desc l = { 0, 0, LEN }, f = l;
	struct mem from, to;
	tcpx_xfer *x;

	mem_open(&from, t->a, LEN, TCPX_MEM_LOCAL);
	mem_open(&to, t->b, LEN, TCPX_MEM_REMOTE_WRITE);
	fill(from.at, LEN, 1);
	fill(to.at, LEN, 2);
	l.region = from.id;
	f.region = mem_tell(&to, t->b, t->a);
	assert_ok(tcpx_write(t->p, &l, 1, &f, 1, NULL, 0, &x));
	assert_true(run_until(t, over, x, 9 * TCPX_SEC));
	assert_ok(tcpx_test(x));
	assert_filled(to.at, LEN, 1);
	tcpx_xfer_free(x);
	mem_close(&from);
	mem_close(&to);
}

enum what { CONTROL, ALL, DATA, WHATS };

static void
cut(struct lab *t, enum what what)
{
	if (what == ALL)
		tcpx_fabric_break_all(t->fabric, true);
	for (uint32_t n = tcpx_fabric_count(t->fabric, TCPX_FABRIC_DATA); what == DATA && n > 0; n--)
		assert_ok(tcpx_fabric_break_channel(t->fabric, n - 1));
	if (what == CONTROL && tcpx_fabric_count(t->fabric, TCPX_FABRIC_CONTROL))
		assert_ok(tcpx_fabric_cut_control(t->fabric, 0));
}

/* The session that an engine has open; 0: none. */
static uint64_t
open_session(tcpx_engine *e)
{
	struct session *s = NULL;
	uint64_t id = 0;

	while ((s = tcpx_session_after(e, s)))
		if (s->state == SESS_OPEN)
			id = s->id;
	return id;
}

/* Some connections are reset after so many turns. What the acceptor has open by then stays. False: the
 * opener has it open, too. */
static bool
survives_a_cut_after(unsigned turns, const struct tcpx_net_ops *net, enum what what, unsigned *kept)
{
	struct turns w = { .left = turns };
	struct tcpx_counters c;
	uint64_t there;
	bool opened;
	struct lab t;

	lab_open_on(&t, net, settings, &slow);
	w.t = &t;
	t.p = rig_add(t.a, t.b);
	assert_true(run_until(&t, have_passed, &w, 10 * TCPX_SEC));
	opened = is_open(&t);
	there = open_session(t.b);
	if (!opened)
		cut(&t, what);
	assert_true(run_until(&t, is_decided, &t, 60 * TCPX_SEC));
	if (lab_info(&t).status)
		fail_msg("cut after %u turns: %s", turns, lab_info(&t).cause);
	assert_moves(&t);
	c = counters_of(t.a);
	assert_int_equal(c.sessions, 1);
	if (there && !opened) {
		(*kept)++;
		assert_true(open_session(t.a) == there && open_session(t.b) == there);
		assert_int_equal(c.ctrl_resumes, what != DATA);
	}
	lab_close(&t);
	return !opened;
}

TEST(a_session_opens_wherever_it_was_cut)
{
	for (int i = 0; i < 4 * WHATS; i++) {
		unsigned turns = 0, kept = 0;

		settings[5] = i & 1 ? secret : NULL;
		while (survives_a_cut_after(turns, nets[i & 2 ? 1 : 0], (enum what)(i / 4), &kept))
			turns++;
		assert_in_range(turns, 15, 1000);
		assert_true(kept > 0);
	}
}

/* The NIC of the control connection goes down before READY has come: the other one carries on. */
TEST(an_opener_that_waits_for_ready_in_silence_resumes)
{
	struct turns w = { .left = 0 };
	uint64_t there = 0, from_ns;
	struct lab t;

	settings[5] = NULL;
	lab_open_on(&t, &tcpx_net_loop, settings, &slow);
	w.t = &t;
	t.p = rig_add(t.a, t.b);
	for (; !there; there = open_session(t.b), w.left = 1)
		assert_true(run_until(&t, have_passed, &w, 10 * TCPX_SEC));
	assert_int_equal(lab_info(&t).status, -EAGAIN);
	assert_ok(tcpx_fabric_set_nic_up(t.fabric, &t.b->nics.at[0].addr, false));
	from_ns = tcpx_fabric_now(t.fabric);
	assert_true(run_until(&t, is_decided, &t, 30 * TCPX_SEC));
	assert_ok(lab_info(&t).status);
	assert_in_range(tcpx_fabric_now(t.fabric) - from_ns, 0, 5 * TCPX_SEC);
	assert_true(open_session(t.a) == there);
	assert_moves(&t);
	lab_close(&t);
}

static bool
is_half_open(void *arg)
{
	return ((struct lab *)arg)->b->listeners->half_open_count == 1;
}

/* The acceptor has too many such handshakes, and this one takes long. */
TEST(an_opener_that_was_sent_away_for_want_of_room_begins_again)
{
	for (int i = 0; i < 4; i++) {
		struct lab t;

		settings[5] = i & 1 ? secret : NULL;
		lab_open_on(&t, nets[i / 2], settings, &slow);
		t.p = rig_add(t.a, t.b);
		assert_true(run_until(&t, is_half_open, &t, 10 * TCPX_SEC));
		assert_int_equal(lab_info(&t).status, -EAGAIN);
		t.b->listeners->half_open_max = 1;
		tcpx_half_open_room(t.b, tcpx_fabric_now(t.fabric) + 3600 * TCPX_SEC);
		assert_int_equal(t.b->listeners->half_open_count, 0);
		assert_true(run_until(&t, is_decided, &t, 10 * TCPX_SEC));
		assert_ok(lab_info(&t).status);
		assert_moves(&t);
		assert_int_equal(counters_of(t.b).refused, 1);
		lab_close(&t);
	}
}

/* Its second attempt finds nobody: that is proof, where a reset alone was none. */
TEST(one_whose_peer_dies_meanwhile_misses_it_soon)
{
	struct turns w = { .left = 15 };
	uint64_t took_ns;
	struct lab t;

	settings[5] = NULL;
	lab_open_on(&t, &tcpx_net_loop, settings, &slow);
	w.t = &t;
	t.p = rig_add(t.a, t.b);
	assert_true(run_until(&t, have_passed, &w, 10 * TCPX_SEC));
	assert_int_equal(lab_info(&t).status, -EAGAIN);
	tcpx_fabric_break_all(t.fabric, true);
	tcpx_fabric_refuse_all(t.fabric, true);
	took_ns = run_alone(&t, t.a, is_decided, &t, 60 * TCPX_SEC);
	assert_code(lab_info(&t).status, TCPX_EPEERGONE);
	assert_non_null(strstr(lab_info(&t).cause, "nobody listens at its addresses"));
	assert_in_range(took_ns, TCPX_SEC, 4 * TCPX_SEC);
	lab_close(&t);
}

static bool
in_order(const struct tcpx_chan *c)
{
	(void)c;
	return true;
}

/* A process is killed in the middle of a move: its kernel resets the control stream, for bytes that
 * were not read, and closes a channel that had none. */
TEST(a_process_that_was_killed_is_missed_soon)
{
	for (int closes = 0; closes < 2; closes++) {
		struct tcpx_net_ops net = tcpx_net_loop;
		struct move m;
		struct lab t;

		net.chan_closed = closes ? in_order : NULL;
		lab_open(&t, &net, lab_settings);
		meet(&t);
		lab_move_begin(&t, &m);
		tcpx_fabric_break_all(t.fabric, true);
		tcpx_fabric_refuse_all(t.fabric, true);
		assert_in_range(run_alone(&t, t.a, over, m.x, 60 * TCPX_SEC) / TCPX_MS,
				closes ? 500 : 2500, closes ? 1000 : 3000);
		assert_code(tcpx_test(m.x), TCPX_EPEERGONE);
		tcpx_xfer_free(m.x);
		lab_close(&t);
		mem_close(&m.from);
		mem_close(&m.to);
	}
}

/* It closes its own sessions in some turns of its loops, in which those of others may not begin. */
TEST(an_acceptor_that_closes_leaves_no_connection)
{
	settings[5] = NULL;
	for (unsigned turns = 0; turns < 60; turns++) {
		struct turns w = { .left = turns };
		tcpx_peer *back;
		struct lab t;

		lab_open_on(&t, &tcpx_net_loop, settings, &slow);
		w.t = &t;
		back = rig_add(t.b, t.a);
		t.p = rig_add(t.a, t.b);
		assert_true(run_until(&t, have_passed, &w, 10 * TCPX_SEC));
		tcpx_peer_free(back);
		tcpx_close(t.b);
		if (tcpx_fabric_count(t.fabric, TCPX_FABRIC_CONTROL))
			fail_msg("closed after %u turns: a connection is left", turns);
		t.b = NULL;
		lab_close(&t);
	}
}

int
main(void)
{
	char path[] = "/tmp/tcpx-cut-XXXXXX";
	int fd = mkstemp(path), rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0123456789abcdef0123456789abcdef\n", 33), 33);
	close(fd);
	snprintf(secret, sizeof(secret), "TCPX_SECRET_FILE=%s", path);
	rc = run_cases(NULL, NULL);
	unlink(path);
	return rc;
}
