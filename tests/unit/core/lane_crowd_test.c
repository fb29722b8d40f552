/* SPDX-License-Identifier: Apache-2.0 */
/* Long messages of lanes that come faster than one thread carries them in frames share the channels. Scripted
 * network, virtual time. */
#include "nic_lab.h"

#include <errno.h>
#include <string.h>

#include "core/context/context.h"
#include "core/session/session.h"
#include "core/transfer/lane.h"
#include "core/transfer/transfer.h"

#define LEN       (100u << 10)           /* more than may go by a channel before its receive */
#define PACE_NS   (uint64_t)(LEN / 4)    /* at 4 GB/s: 25.6 us */
#define LANES     2
#define POSTS_MAX 16

static const struct tcpx_fabric_script quick = { .delay_min_ns = { 1000, 1000 },
						 .delay_max_ns = { 1000, 1000 } };
static const struct tcpx_fabric_script far = { .delay_min_ns = { TCPX_MS, TCPX_MS },
					       .delay_max_ns = { TCPX_MS, TCPX_MS } };
static const char *const settings[] = { "TCPX_CHANNELS=1", "TCPX_THREADS=1", "TCPX_PORT=0",
					"TCPX_DEBUG=ERROR", NULL };

struct play {
	struct lab lab;
	struct session *s; /* the sender's */
	tcpx_lane *tx[LANES], *rx[LANES];
	struct mem from, to;
	tcpx_xfer *x[POSTS_MAX];
	uint32_t posted;
};

static bool
stand(void *arg)
{
	struct play *p = arg;
	bool ready = true;

	for (int i = 0; i < LANES; i++)
		ready &= !tcpx_lane_ready(p->tx[i]) && !tcpx_lane_ready(p->rx[i]);
	return ready;
}

static void
begin(struct play *p, const struct tcpx_fabric_script *script)
{
	uint8_t key[TCPX_LANE_KEY];

	memset(p, 0, sizeof(*p));
	lab_open_on(&p->lab, &tcpx_net_loop, settings, script);
	meet(&p->lab);
	p->lab.a->limit.long_frames = true;
	p->s = tcpx_session_after(p->lab.a, NULL);
	mem_open(&p->from, p->lab.a, LEN, TCPX_MEM_LEND);
	mem_open(&p->to, p->lab.b, LEN, TCPX_MEM_LOCAL);
	for (int i = 0; i < LANES; i++) {
		assert_ok(tcpx_lane_listen(p->lab.b, key, &p->rx[i]));
		assert_ok(tcpx_lane_open(p->lab.p, key, &p->tx[i]));
	}
	assert_true(run_until(&p->lab, stand, p, TCPX_SEC));
	(void)run_until(&p->lab, never, NULL, 10 * TCPX_MS); /* nothing was sent lately */
}

static void
end(struct play *p)
{
	while (p->posted > 0)
		tcpx_xfer_free(p->x[--p->posted]);
	tcpx_session_put(p->s);
	for (int i = 0; i < LANES; i++) {
		tcpx_lane_close(p->tx[i]);
		tcpx_lane_close(p->rx[i]);
	}
	mem_close(&p->from);
	mem_close(&p->to);
	lab_close(&p->lab);
}

static void
pause_ns(struct play *p, uint64_t ns)
{
	(void)run_until(&p->lab, never, NULL, ns);
}

static tcpx_xfer *
post(struct play *p, int lane)
{
	tcpx_xfer *x;

	assert_ok(tcpx_lane_post(p->tx[lane], p->from.id, 0, LEN, &x));
	p->x[p->posted++] = x;
	return x;
}

/* Into a receive that its sender knows of. It has ended in the post, if it went in a frame. */
static bool
goes_in_a_frame(struct play *p)
{
	return atomic_load(&post(p, 0)->status) == 0;
}

TEST(those_that_come_too_fast)
{
	struct play p;

	begin(&p, &quick);
	for (int i = 0; i < 6; i++) {
		assert_ok(tcpx_lane_post(p.rx[0], p.to.id, 0, LEN, &p.x[p.posted]));
		p.posted++;
	}
	pause_ns(&p, TCPX_MS);
	assert_true(goes_in_a_frame(&p));
	pause_ns(&p, PACE_NS + 2000);
	assert_true(goes_in_a_frame(&p));
	pause_ns(&p, PACE_NS - 2000);
	assert_false(goes_in_a_frame(&p));
	pause_ns(&p, TCPX_MS / 2); /* slow enough, but for a millisecond */
	assert_false(goes_in_a_frame(&p));
	pause_ns(&p, TCPX_MS);
	assert_true(goes_in_a_frame(&p));
	end(&p);
}

static bool
control_is_up(void *arg)
{
	const struct session *s = arg;

	return s->control.up && !s->control.resuming;
}

static bool
control_is_gone(void *arg)
{
	return !control_is_up(arg);
}

/* Two that wait are tried again and again, and are two all the same. */
TEST(those_that_wait_are_counted_once)
{
	tcpx_xfer *first, *second;
	struct play p;

	begin(&p, &far);
	assert_ok(tcpx_fabric_cut_control(p.lab.fabric, 0));
	assert_true(run_until(&p.lab, control_is_gone, p.s, TCPX_SEC));
	first = post(&p, 0);
	pause_ns(&p, PACE_NS + 2000);
	second = post(&p, 1);
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&p.s->lock);
		tcpx_lanes_launch(p.s);
		pthread_mutex_unlock(&p.s->lock);
	}
	assert_int_equal(p.s->lanes.crowd_ns, 0);
	assert_code(atomic_load(&second->status), -EAGAIN);
	assert_true(run_until(&p.lab, control_is_up, p.s, 5 * TCPX_SEC));
	assert_true(run_until(&p.lab, over, first, TCPX_SEC));
	end(&p);
}
