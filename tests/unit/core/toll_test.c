/* SPDX-License-Identifier: Apache-2.0 */
/* What is refused, and a protocol that is broken, costs who did it time, and nobody else. Virtual time. */
#include "nic_lab.h"

#include <errno.h>
#include <string.h>

#include "core/session/accept.h"
#include "core/session/breach.h"
#include "core/session/control.h"
#include "core/session/peer.h"
#include "core/session/pending.h"
#include "core/session/receive.h"
#include "core/session/session.h"

#define ENTRIES 8192
#define LEN     (2 * ENTRIES)
#define PAID_NS ((ENTRIES + 500) * TCPX_TOLL_ENTRY_NS * TCPX_TOLL_TIMES) /* for such a list, and a little more */
#define MANY    200
#define LANES   1000
#define LANE_NS (REFUSE_COST * TCPX_TOLL_ENTRY_NS * TCPX_TOLL_TIMES)
#define DEEP    64

static const char *const settings[] = { "TCPX_CHANNELS=2", "TCPX_THREADS=1", "TCPX_PORT=0",
					"TCPX_DEBUG=WARN", "TCPX_INLINE=0", "TCPX_STALL_MS=1000", NULL };

/* Lists whose last entry is in a region that is gone. */
struct scene {
	struct lab lab;
	struct mem near, far, gone;
	struct tcpx_desc desc[ENTRIES];
	tcpx_xfer *x[DEEP];
	int ended;
};

static void
scene_open(struct scene *c)
{
	memset(c, 0, sizeof(*c));
	lab_open(&c->lab, &tcpx_net_loop, settings);
	meet(&c->lab);
	mem_open(&c->near, c->lab.a, ENTRIES, TCPX_MEM_LOCAL);
	mem_open(&c->far, c->lab.b, LEN, TCPX_MEM_REMOTE_WRITE);
	mem_open(&c->gone, c->lab.b, 64, TCPX_MEM_REMOTE_WRITE);
	c->far.far = mem_tell(&c->far, c->lab.b, c->lab.a);
	c->gone.far = mem_tell(&c->gone, c->lab.b, c->lab.a);
	for (uint32_t i = 0; i < ENTRIES; i++)
		c->desc[i] = (struct tcpx_desc){ c->far.far, 2 * i, 1 };
	c->desc[ENTRIES - 1].region = c->gone.far;
	c->desc[ENTRIES - 1].offset = 0;
	assert_ok(tcpx_mem_deregister(c->lab.b, c->gone.id));
}

static void
scene_close(struct scene *c)
{
	for (int i = 0; i < DEEP; i++)
		tcpx_xfer_free(c->x[i]);
	lab_close(&c->lab);
	mem_close(&c->near);
	mem_close(&c->far);
	mem_close(&c->gone);
}

static void
post(struct scene *c, int i, uint32_t entries)
{
	struct tcpx_desc near = { c->near.id, 0, entries };

	assert_ok(tcpx_write(c->lab.p, &near, 1, c->desc + ENTRIES - entries, entries, NULL, 0, &c->x[i]));
}

/* Goes on posting until MANY were refused. */
static bool
many_refused(void *arg)
{
	struct scene *c = arg;

	assert_int_equal(session_of(c->lab.b)->health.stopped_ns, 0);
	for (int i = 0; i < DEEP; i++) {
		if (c->x[i] && tcpx_test(c->x[i]) == -EAGAIN)
			continue;
		if (c->x[i])
			assert_code(tcpx_test(c->x[i]), TCPX_EREGION);
		c->ended += c->x[i] != NULL;
		tcpx_xfer_free(c->x[i]);
		c->x[i] = NULL;
		if (c->ended < MANY)
			post(c, i, ENTRIES);
	}
	return c->ended >= MANY;
}

static uint64_t
time_of(struct scene *c, bool (*done)(void *), void *arg)
{
	uint64_t begin_ns = tcpx_fabric_now(c->lab.fabric);

	assert_true(run_until(&c->lab, done, arg, 60 * TCPX_SEC));
	return tcpx_fabric_now(c->lab.fabric) - begin_ns;
}

/* The session and its control stream stand, whether the network cuts it meanwhile or not. */
TEST(refused_lists_are_paid_for)
{
	for (int cut = 0; cut < 2; cut++) {
		struct scene c;
		uint64_t took_ns, begin_ns;

		scene_open(&c);
		begin_ns = tcpx_fabric_now(c.lab.fabric);
		if (cut) {
			assert_false(run_until(&c.lab, many_refused, &c, 200 * TCPX_MS));
			assert_ok(tcpx_fabric_cut_control(c.lab.fabric, 0));
		}
		time_of(&c, many_refused, &c);
		took_ns = tcpx_fabric_now(c.lab.fabric) - begin_ns;
		assert_in_range(took_ns, MANY * PAID_NS - TCPX_TOLL_FREE_NS, 2 * MANY * PAID_NS);
		assert_ok(lab_info(&c.lab).status);
		assert_int_equal(counters_of(c.lab.a).ctrl_resumes, cut);
		scene_close(&c);
	}
}

/* Refusals that last for longer than a silence may. */
TEST(who_pays_is_not_taken_for_silent)
{
	struct scene c;

	scene_open(&c);
	for (int i = 0; i < 3; i++) {
		time_of(&c, many_refused, &c);
		c.ended = 0;
	}
	assert_ok(lab_info(&c.lab).status);
	assert_int_equal(counters_of(c.lab.a).ctrl_resumes, 0);
	assert_int_equal(c.lab.stalled, 0);
	scene_close(&c);
}

/* A region goes while transfers name it: others are as fast as before. */
TEST(a_few_refusals_cost_nothing)
{
	struct scene c;

	scene_open(&c);
	assert_false(run_until(&c.lab, never, NULL, 200 * TCPX_MS));
	for (int i = 0; i < 100; i++) {
		post(&c, 0, 1);
		assert_in_range(time_of(&c, over, c.x[0]), 0, TCPX_MS / 10);
		assert_code(tcpx_test(c.x[0]), TCPX_EREGION);
		tcpx_xfer_free(c.x[0]);
	}
	c.x[0] = NULL;
	scene_close(&c);
}

struct asking {
	struct lab lab;
	tcpx_lane *newest;
	int ended;
};

/* Goes on asking for lanes that nobody listens for. */
static bool
asked_in_vain(void *arg)
{
	const uint8_t key[TCPX_LANE_KEY] = { 1 };
	struct asking *c = arg;

	if (c->newest && tcpx_lane_ready(c->newest) == -EAGAIN)
		return false;
	if (c->newest)
		assert_code(tcpx_lane_ready(c->newest), -ENOENT);
	c->ended += c->newest != NULL;
	tcpx_lane_close(c->newest);
	c->newest = NULL;
	if (c->ended == LANES)
		return true;
	assert_ok(tcpx_lane_open(c->lab.p, key, &c->newest));
	return false;
}

TEST(lanes_that_nobody_listens_for_are_paid_for)
{
	struct asking c = { .ended = 0 };
	uint64_t begin_ns;

	lab_open(&c.lab, &tcpx_net_loop, settings);
	meet(&c.lab);
	begin_ns = tcpx_fabric_now(c.lab.fabric);
	assert_true(run_until(&c.lab, asked_in_vain, &c, 60 * TCPX_SEC));
	assert_in_range(tcpx_fabric_now(c.lab.fabric) - begin_ns, LANES * LANE_NS - TCPX_TOLL_FREE_NS,
			2 * LANES * LANE_NS);
	assert_ok(lab_info(&c.lab).status);
	assert_int_equal(counters_of(c.lab.a).ctrl_resumes, 0);
	lab_close(&c.lab);
}

/* ---- a protocol that is broken ---- */

static bool
has_ended(void *arg)
{
	return lab_info(arg).status != 0;
}

/* How long until the opener has a session again. */
static uint64_t
time_to_meet(struct lab *t)
{
	uint64_t begin_ns = tcpx_fabric_now(t->fabric);

	t->p = rig_add(t->a, t->b);
	assert_true(run_until(t, is_decided, t, 10 * TCPX_SEC));
	assert_ok(lab_info(t).status);
	return tcpx_fabric_now(t->fabric) - begin_ns;
}

static void
break_protocol(struct lab *t)
{
	struct session *s = session_of(t->a);

	pthread_mutex_lock(&s->lock);
	assert_ok(tcpx_control_put(s, TCPX_FR_NOTED, NULL));
	tcpx_control_flush(s);
	pthread_mutex_unlock(&s->lock);
	assert_true(run_until(t, has_ended, t, TCPX_SEC));
	assert_code(lab_info(t).status, TCPX_EPROTO);
	tcpx_peer_free(t->p);
	t->p = NULL;
}

/* One that comes again as another incarnation has started again. */
TEST(who_breaks_the_protocol_waits_longer_each_time)
{
	struct lab t;

	lab_open(&t, &tcpx_net_loop, settings);
	assert_in_range(time_to_meet(&t), 0, 20 * TCPX_MS);
	for (uint64_t wait_ms = 100; wait_ms <= 800; wait_ms *= 2) {
		break_protocol(&t);
		assert_in_range(time_to_meet(&t), wait_ms * TCPX_MS * 9 / 10, (wait_ms + 20) * TCPX_MS);
	}
	break_protocol(&t);
	lab_restart_opener(&t, &tcpx_net_loop, settings);
	assert_in_range(time_to_meet(&t), 0, 20 * TCPX_MS);
	lab_close(&t);
}

/* Its time limit is sooner: it hears at once how long it would have to wait. */
TEST(who_would_wait_for_too_long_is_refused_at_once)
{
	static const char *const hasty[] = { "TCPX_CHANNELS=2", "TCPX_THREADS=1", "TCPX_PORT=0",
					     "TCPX_DEBUG=WARN", "TCPX_CONNECT_MS=90", NULL };
	uint64_t begin_ns;
	struct lab t;

	lab_open_two(&t, &tcpx_net_loop, hasty, settings);
	time_to_meet(&t);
	break_protocol(&t);
	begin_ns = tcpx_fabric_now(t.fabric);
	t.p = rig_add(t.a, t.b);
	assert_true(run_until(&t, is_decided, &t, TCPX_SEC));
	assert_code(lab_info(&t).status, TCPX_ELIMIT);
	assert_in_range(tcpx_fabric_now(t.fabric) - begin_ns, 0, 10 * TCPX_MS);
	assert_non_null(strstr(t.last, "its sessions broke the protocol: again in "));
	assert_non_null(strstr(t.last, " ms, which is after TCPX_CONNECT_MS"));
	lab_close(&t);
}

/* An opener whose turn does not come in time comes again when the refusal says, and no
 * sooner. */
TEST(a_turn_that_is_later_says_when)
{
	static const char *const brief[] = { "TCPX_CHANNELS=2", "TCPX_THREADS=1", "TCPX_PORT=0",
					     "TCPX_DEBUG=WARN", "TCPX_HANDSHAKE_MS=1000",
					     "TCPX_CONNECT_MS=60000", NULL };
	struct breach_row *row;
	uint64_t now_ns;
	struct lab t;

	lab_open(&t, &tcpx_net_loop, brief);
	now_ns = tcpx_fabric_now(t.fabric);
	row = t.b->listeners->breaches.addr;
	for (int n = 0; n < NICS; n++) {
		row[n] = (struct breach_row){ .from = t.nic[0][n].addr, .let_in_ns = now_ns + 8 * TCPX_SEC };
		row[n].made = (struct tcpx_breaches){ 2 * TCPX_BREACH_FEW, now_ns };
	}
	assert_in_range(time_to_meet(&t), 8 * TCPX_SEC, 8 * TCPX_SEC + 60 * TCPX_MS);
	assert_int_equal(counters_of(t.b).refused, 1);
	lab_close(&t);
}

/* Under another incarnation each time: a few are free, and the next ones come at intervals that others share. */
TEST(who_breaks_it_under_many_names_is_slowed_down)
{
	struct lab t;

	lab_open(&t, &tcpx_net_loop, settings);
	for (int i = 0; i < 3 * TCPX_BREACH_FEW; i++) {
		uint64_t least = i <= TCPX_BREACH_FEW ? 0 : BREACH_NS / TCPX_BREACH_TURN - 10 * TCPX_MS;

		assert_in_range(time_to_meet(&t), least, BREACH_NS / 2);
		break_protocol(&t);
		lab_restart_opener(&t, &tcpx_net_loop, settings);
	}
	assert_in_range(time_to_meet(&t), 0, BREACH_NS / 2);
	lab_close(&t);
}

/* Those from the same address wait; one that has had its turn, or has not said HELLO, is passed over. */
TEST(a_turn_comes_after_those_that_wait)
{
	struct listeners all = { .pending_count = 0 };
	struct tcpx_engine e = { .listeners = &all };
	struct loop l = { .engine = &e };
	struct pending_conn g[4];
	struct tcpx_hello hello;

	tcpx_node_init(&all.pending);
	for (int i = 0; i < 4; i++) {
		g[i] = (struct pending_conn){ .loop = &l, .from = { .family = 4, .ip = { i == 0 } } };
		tcpx_chain_add(&all.pending, &g[i].node);
	}
	g[0].hello = g[1].hello = &hello;
	assert_true(tcpx_pending_is_first(&g[0]));
	assert_true(tcpx_pending_is_first(&g[1]));
	assert_false(tcpx_pending_is_first(&g[2]));
	assert_false(tcpx_pending_is_first(&g[3]));
	g[1].let_in = true;
	assert_true(tcpx_pending_is_first(&g[3]));
	g[3].hello = &hello;
	assert_true(tcpx_pending_is_first(&g[2]));
}
