/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes on a network whose channels break and whose control connection is cut: nothing is lost, or
 * arrives twice, or out of order. Scripted network, virtual time. */
#include "nic_lab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "core/context/context.h"
#include "core/loop/loop.h"
#include "core/session/control.h"
#include "core/session/session.h"
#include "core/transfer/transfer.h"
#include "proto/eager.h"

enum { LANES = 3, DEPTH = 8, MESSAGES = 60, LARGEST = 40000, ROOM = DEPTH * LARGEST };

static const struct tcpx_fabric_script slow = { .delay_min_ns = { 20000, 20000 },
						.delay_max_ns = { 60000, 60000 },
						.segment_max = 4000 };
static char secret[64];
static const char *settings[] = { "TCPX_CHANNELS=3", "TCPX_NARROW=0", "TCPX_THREADS=1", "TCPX_PORT=0",
				  "TCPX_DEBUG=ERROR", NULL, NULL, NULL };

struct way {
	tcpx_lane *tx, *rx;
	struct mem from, to;
	tcpx_xfer *send[DEPTH], *recv[DEPTH];
	uint32_t len[DEPTH];
	uint32_t sent, received, posted; /* messages */
};

struct play {
	struct lab lab;
	struct way way[LANES];
	struct tcpx_rng rng;
	unsigned faults;
};

static bool
stands(void *arg)
{
	struct play *p = arg;

	for (int i = 0; i < LANES; i++)
		if (tcpx_lane_ready(p->way[i].tx) || tcpx_lane_ready(p->way[i].rx))
			return false;
	return true;
}

static void
post(struct play *p, struct way *w)
{
	uint32_t i = w->posted % DEPTH;

	w->len[i] = tcpx_rng_below(&p->rng, 4) ? (uint32_t)tcpx_rng_below(&p->rng, LARGEST) : 0;
	fill(w->from.at + (size_t)i * LARGEST, w->len[i], w->posted + 1);
	memset(w->to.at + (size_t)i * LARGEST, 0xdb, LARGEST);
	assert_ok(tcpx_lane_post(w->rx, w->to.id, (uint64_t)i * LARGEST, LARGEST, &w->recv[i]));
	assert_ok(tcpx_lane_post(w->tx, w->from.id, (uint64_t)i * LARGEST, w->len[i], &w->send[i]));
	w->posted++;
}

/* The oldest, if both ends have it. */
static bool
take(struct way *w)
{
	uint32_t i = w->received % DEPTH;
	const uint8_t *at = w->to.at + (size_t)i * LARGEST;

	if (w->received == w->posted || tcpx_test(w->recv[i]) == -EAGAIN ||
	    tcpx_test(w->send[i]) == -EAGAIN)
		return false;
	assert_ok(tcpx_test(w->recv[i]));
	assert_ok(tcpx_test(w->send[i]));
	assert_filled(at, w->len[i], w->received + 1);
	for (uint32_t k = w->len[i]; k < LARGEST; k++)
		assert_int_equal(at[k], 0xdb);
	tcpx_xfer_free(w->recv[i]);
	tcpx_xfer_free(w->send[i]);
	w->received++;
	return true;
}

static void
hurt(struct play *p)
{
	struct tcpx_fabric *f = p->lab.fabric;
	uint32_t data = tcpx_fabric_count(f, TCPX_FABRIC_DATA);

	p->faults++;
	if (tcpx_rng_below(&p->rng, 3) == 0 && tcpx_fabric_count(f, TCPX_FABRIC_CONTROL))
		assert_ok(tcpx_fabric_cut_control(f, 0));
	else if (data)
		assert_ok(tcpx_fabric_break_channel(f, (uint32_t)tcpx_rng_below(&p->rng, data)));
}

static bool
all_are_through(void *arg)
{
	struct play *p = arg;
	bool done = true;

	for (int i = 0; i < LANES; i++) {
		struct way *w = &p->way[i];

		while (take(w))
			;
		while (w->posted < MESSAGES && w->posted < w->received + DEPTH)
			post(p, w);
		done &= w->received == MESSAGES;
	}
	if (p->faults < 12 && tcpx_rng_below(&p->rng, 60) == 0)
		hurt(p);
	return done;
}

static void
begin(struct play *p)
{
	uint8_t key[TCPX_LANE_KEY];

	lab_open_on(&p->lab, &tcpx_net_loop, settings, &slow);
	meet(&p->lab);
	for (int i = 0; i < LANES; i++) {
		struct way *w = &p->way[i];

		mem_open(&w->from, p->lab.a, ROOM, TCPX_MEM_LOCAL);
		mem_open(&w->to, p->lab.b, ROOM, TCPX_MEM_LOCAL);
		assert_ok(tcpx_lane_listen(p->lab.b, key, &w->rx));
		assert_ok(tcpx_lane_open(p->lab.p, key, &w->tx));
	}
	assert_true(run_until(&p->lab, stands, p, 10 * TCPX_SEC));
}

static void
end(struct play *p)
{
	for (int i = 0; i < LANES; i++) {
		tcpx_lane_close(p->way[i].tx);
		tcpx_lane_close(p->way[i].rx);
		mem_close(&p->way[i].from);
		mem_close(&p->way[i].to);
	}
	lab_close(&p->lab);
}

static void
play(uint32_t seed)
{
	struct play p = { .rng = tcpx_rng_seed(seed) };

	begin(&p);
	assert_true(run_until(&p.lab, all_are_through, &p, 100 * TCPX_SEC));
	assert_true(p.faults > 0);
	end(&p);
}

TEST(lost_connections_lose_no_message)
{
	for (uint32_t seed = 1; seed <= 40; seed++) {
		settings[5] = seed & 1 ? secret : "TCPX_CHECKSUM=1";
		settings[6] = (seed & 3) == 3 ? "TCPX_CHECKSUM=1" : NULL;
		play(seed);
	}
}

/* Bytes that an engine's control stream has to write. */
static size_t
unwritten(tcpx_engine *e)
{
	struct session *s = tcpx_session_after(e, NULL);
	const uint8_t *data;
	size_t len;

	assert_non_null(s);
	len = tcpx_ctrl_pending(s->control.ctrl, &data);
	tcpx_session_put(s);
	return len;
}

/* A thread that runs the loop by testing posts on many lanes before it tests again. */
TEST(posts_share_a_write_while_a_thread_tests)
{
	struct play p = { .rng = tcpx_rng_seed(1) };
	struct way *w = &p.way[0];
	tcpx_xfer *sent[5], *received[5];

	settings[5] = settings[6] = NULL;
	begin(&p);
	for (int lent = 0; lent < 2; lent++) {
		atomic_store(&p.lab.a->loop[0].lease.look_ns, lent ? 1 : UINT64_MAX);
		for (int i = 0; i < 5; i++) {
			assert_ok(tcpx_lane_post(p.way[i % LANES].tx, p.way[i % LANES].from.id, 0, 8,
						 &sent[i]));
			assert_int_equal(unwritten(p.lab.a), lent ? (i + 1) * (TCPX_FRAME_HEAD + TCPX_LANE_DATA_HEAD + 8) : 0);
		}
		assert_ok(tcpx_test(sent[0])); /* it has ended: the others go with it all the same */
		assert_int_equal(unwritten(p.lab.a), 0);
		for (int i = 0; i < 5; i++) {
			assert_ok(tcpx_lane_post(p.way[i % LANES].rx, p.way[i % LANES].to.id, 0, 8,
						 &received[i]));
			assert_true(run_until(&p.lab, over, received[i], TCPX_SEC));
			tcpx_xfer_free(received[i]);
			tcpx_xfer_free(sent[i]);
		}
		/* without a test the next turn writes it */
		assert_ok(tcpx_lane_post(w->tx, w->from.id, 0, 8, &sent[0]));
		assert_ok(tcpx_lane_post(w->rx, w->to.id, 0, 8, &received[0]));
		assert_true(run_until(&p.lab, over, received[0], TCPX_SEC));
		tcpx_xfer_free(received[0]);
		tcpx_xfer_free(sent[0]);
	}
	atomic_store(&p.lab.a->loop[0].lease.look_ns, UINT64_MAX);
	end(&p);
}

/* ... which do not keep each other from the stream, that takes no more than 32 KiB before it writes. */
TEST(large_posts_do_not_wait_for_a_write)
{
	struct play p = { .rng = tcpx_rng_seed(1) };
	tcpx_xfer *x;

	settings[5] = settings[6] = NULL;
	begin(&p);
	atomic_store(&p.lab.a->loop[0].lease.look_ns, 1);
	for (int i = 0; i < 5; i++) {
		assert_ok(tcpx_lane_post(p.way[0].tx, p.way[0].from.id, 0, TCPX_EAGER_FRAME, &x));
		assert_code(atomic_load(&x->status), 0);
		tcpx_xfer_free(x);
	}
	atomic_store(&p.lab.a->loop[0].lease.look_ns, UINT64_MAX);
	end(&p);
}

/* The third finds the stream full, which is written then. */
static struct session *
fill_stream(struct play *p, tcpx_xfer *x[3])
{
	struct session *s;

	settings[5] = settings[6] = NULL;
	begin(p);
	s = tcpx_session_after(p->lab.a, NULL);
	s->control.up = false; /* nothing is written meanwhile */
	for (int i = 0; i < 3; i++)
		assert_ok(tcpx_lane_post(p->way[0].tx, p->way[0].from.id, 0, TCPX_EAGER_FRAME, &x[i]));
	assert_code(atomic_load(&x[1]->status), 0);
	s->control.up = true;
	pthread_mutex_lock(&s->lock);
	tcpx_control_flush(s);
	pthread_mutex_unlock(&s->lock);
	assert_code(atomic_load(&x[2]->status), -EAGAIN);
	return s;
}

static void
empty_stream(struct play *p, struct session *s, tcpx_xfer *x[3])
{
	for (int i = 0; i < 3; i++)
		tcpx_xfer_free(x[i]);
	tcpx_session_put(s);
	end(p);
}

/* A message that finds the stream full goes when that is written, though nobody announces its receive. */
TEST(what_finds_no_room_goes_once_there_is_some)
{
	struct play p = { .rng = tcpx_rng_seed(1) };
	struct session *s;
	tcpx_xfer *x[3];

	s = fill_stream(&p, x);
	assert_true(run_until(&p.lab, over, x[2], TCPX_MS));
	empty_stream(&p, s, x);
}

/* ... and is written by the work that puts it: no later frame is needed. */
TEST(what_goes_then_is_written)
{
	struct play p = { .rng = tcpx_rng_seed(1) };
	struct session *s;
	tcpx_xfer *x[3];

	s = fill_stream(&p, x);
	tcpx_control_flush_work(&s->control.flush_work, 0);
	assert_code(atomic_load(&x[2]->status), 0);
	assert_int_equal(unwritten(p.lab.a), 0);
	empty_stream(&p, s, x);
}

static bool
control_is_gone(void *arg)
{
	struct session *s = tcpx_session_after(arg, NULL);
	bool gone = !s->control.up;

	tcpx_session_put(s);
	return gone;
}

/* What is posted without a connection goes with the next one: its sender has nothing else to say then, and
 * says no ping for a long time. */
TEST(posts_of_a_cut_go_with_the_next_connection)
{
	struct play p = { .rng = tcpx_rng_seed(1) };
	tcpx_xfer *sent[3], *received;

	settings[5] = settings[6] = NULL;
	begin(&p);
	assert_ok(tcpx_fabric_cut_control(p.lab.fabric, 0));
	assert_true(run_until(&p.lab, control_is_gone, p.lab.a, TCPX_SEC));
	for (int i = 0; i < 3; i++) {
		assert_ok(tcpx_lane_post(p.way[0].tx, p.way[0].from.id, 0, 8, &sent[i]));
		assert_code(tcpx_test(sent[i]), -EAGAIN);
	}
	for (int i = 0; i < 3; i++) {
		assert_true(run_until(&p.lab, over, sent[i], 5 * TCPX_SEC));
		assert_ok(tcpx_test(sent[i]));
	}
	(void)run_until(&p.lab, never, NULL, TCPX_MS);
	assert_int_equal(unwritten(p.lab.a), 0);
	for (int i = 0; i < 3; i++) {
		assert_ok(tcpx_lane_post(p.way[0].rx, p.way[0].to.id, 0, 8, &received));
		assert_ok(tcpx_test(received)); /* it had come */
		tcpx_xfer_free(received);
		tcpx_xfer_free(sent[i]);
	}
	end(&p);
}

int
main(void)
{
	char path[] = "/tmp/tcpx-lane-XXXXXX";
	int fd = mkstemp(path), rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0123456789abcdef0123456789abcdef\n", 33), 33);
	close(fd);
	snprintf(secret, sizeof(secret), "TCPX_SECRET_FILE=%s", path);
	rc = run_cases(NULL, NULL);
	unlink(path);
	return rc;
}
