/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list that a turn reads a part of: whatever happens before the rest is read, the transfer ends once,
 * and as it would have ended without.
 */
#include "nic_lab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/session/peer.h"
#include "core/session/session.h"

#define ENTRIES 8192
#define STEP    7u /* bytes from one to the next */
#define LEN     (ENTRIES * STEP)
#define COST    60u /* of a turn: the network is faster */

static char secret[64];
static const char *settings[] = { "TCPX_CHANNELS=2", "TCPX_NARROW=0", "TCPX_THREADS=1", "TCPX_PORT=0",
				  "TCPX_DEBUG=WARN", "TCPX_INLINE=0", NULL, NULL };

enum event { CUT, CANCEL, FREE, DEREGISTER, TARGET_CLOSES, OPENER_CLOSES, EVENTS };

struct scene {
	struct lab lab;
	struct mem near, far;
	tcpx_xfer *x;
	struct session *at_b; /* borrowed */
	unsigned left;        /* rounds with a list half read, before it is so far */
};

/* Where the i-th entry is. A regular list is one operation; in the other no step is as the one before, so
 * that it needs some frames. */
static uint32_t
place(uint32_t i, bool regular)
{
	return (regular ? i : i * (i + 1) / 2 % ENTRIES) * STEP;
}

static void
scene_open(struct scene *c, bool read, bool regular)
{
	static struct tcpx_desc far[ENTRIES];
	struct tcpx_desc near = { 0, 0, ENTRIES };

	memset(c, 0, sizeof(*c));
	lab_open(&c->lab, &tcpx_net_loop, settings);
	meet(&c->lab);
	assert_ok(lab_info(&c->lab).status);
	c->lab.b->limit.turn_cost = COST;
	c->lab.b->limit.turn_pieces = 100;
	c->at_b = session_of(c->lab.b);
	mem_open(&c->near, c->lab.a, ENTRIES, TCPX_MEM_LOCAL);
	mem_open(&c->far, c->lab.b, LEN, TCPX_MEM_REMOTE_READ | TCPX_MEM_REMOTE_WRITE);
	fill(c->near.at, ENTRIES, 1);
	fill(c->far.at, LEN, 2);
	near.region = c->near.id;
	c->far.far = mem_tell(&c->far, c->lab.b, c->lab.a);
	for (uint32_t i = 0; i < ENTRIES; i++)
		far[i] = (struct tcpx_desc){ c->far.far, place(i, regular), 1 };
	assert_ok((read ? tcpx_read : tcpx_write)(c->lab.p, &near, 1, far, ENTRIES, NULL, 0, &c->x));
}

static void
scene_close(struct scene *c)
{
	tcpx_xfer_free(c->x);
	lab_close(&c->lab);
	mem_close(&c->near);
	mem_close(&c->far);
}

static bool
so_far(void *arg)
{
	struct scene *c = arg;

	if (c->at_b->xfers.half_read && c->left)
		c->left--;
	return (c->at_b->xfers.half_read && !c->left) || tcpx_test(c->x) != -EAGAIN;
}

/* What was written there, or read from there. */
static void
assert_moved(const struct scene *c, bool read, bool regular)
{
	uint8_t want[LEN];

	fill(want, LEN, read ? 2 : 1);
	for (uint32_t i = 0; i < ENTRIES; i++) {
		uint32_t at = place(i, regular);

		assert_int_equal(c->far.at[at], want[read ? at : i]);
		assert_int_equal(c->near.at[i], want[read ? at : i]);
	}
}

static void
let_happen(struct scene *c, enum event what)
{
	switch (what) {
	case CUT:
		assert_ok(tcpx_fabric_cut_control(c->lab.fabric, 0));
		break;
	case CANCEL:
		tcpx_cancel(c->x);
		break;
	case FREE:
		tcpx_xfer_free(c->x);
		c->x = NULL;
		break;
	case DEREGISTER:
		assert_ok(tcpx_mem_deregister(c->lab.b, c->far.id));
		break;
	case TARGET_CLOSES:
		tcpx_close(c->lab.b);
		c->lab.b = NULL;
		break;
	default:
		tcpx_close(c->lab.a);
		c->lab.a = NULL;
	}
}

/* Its list alone is 190 KB. */
static bool
forgotten(void *arg)
{
	const struct scene *c = arg;

	return tcpx_quota_used(&c->at_b->peer->kept) < 16 << 10 && !c->at_b->xfers.opening && !c->at_b->xfers.skipping && c->at_b->xfers.live == 0 &&
	       c->at_b->xfers.opened_there == 1;
}

/* False: the list was read before. */
static bool
happens_after(unsigned rounds, enum event what, bool read, bool regular)
{
	struct scene c;
	bool half;

	scene_open(&c, read, regular);
	c.left = rounds;
	assert_true(run_until(&c.lab, so_far, &c, 60 * TCPX_SEC));
	half = c.at_b->xfers.half_read;
	if (half)
		let_happen(&c, what);
	if (what == CUT || !half) {
		assert_true(run_until(&c.lab, over, c.x, 60 * TCPX_SEC));
		assert_ok(tcpx_test(c.x));
		assert_moved(&c, read, regular);
		if (!read) /* its chunks need no control stream */
			assert_int_equal(counters_of(c.lab.a).ctrl_resumes, half);
	} else if (what == DEREGISTER) {
		assert_true(run_until(&c.lab, over, c.x, 60 * TCPX_SEC));
		assert_code(tcpx_test(c.x), TCPX_EREGION);
	} else if (what == CANCEL || what == FREE) {
		assert_true(run_until(&c.lab, forgotten, &c, 60 * TCPX_SEC));
	} else if (what == TARGET_CLOSES) {
		run_alone(&c.lab, c.lab.a, over, c.x, 60 * TCPX_SEC);
		assert_code(tcpx_test(c.x), TCPX_EPEERGONE);
	} else {
		c.x = NULL; /* it went with its engine */
		c.lab.p = NULL;
	}
	scene_close(&c);
	return half;
}

static void
happens_anywhere(enum event what)
{
	for (int i = 0; i < 8; i++) {
		unsigned rounds = 0;

		settings[6] = i & 4 ? secret : NULL;
		while (happens_after(rounds, what, i & 1, i & 2))
			rounds += 1 + rounds / 4;
		assert_in_range(rounds, 5, 200);
	}
}

TEST(a_cut_amid_a_list_is_not_noticed)
{
	happens_anywhere(CUT);
}

TEST(a_transfer_may_be_cancelled_amid_its_list)
{
	happens_anywhere(CANCEL);
	happens_anywhere(FREE);
}

TEST(a_region_may_go_amid_its_list)
{
	happens_anywhere(DEREGISTER);
}

TEST(either_side_may_close_amid_a_list)
{
	happens_anywhere(TARGET_CLOSES);
	happens_anywhere(OPENER_CLOSES);
}

int
main(void)
{
	char path[] = "/tmp/tcpx-share-XXXXXX";
	int fd = mkstemp(path), rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0123456789abcdef0123456789abcdef\n", 33), 33);
	close(fd);
	snprintf(secret, sizeof(secret), "TCPX_SECRET_FILE=%s", path);
	rc = run_cases(NULL, NULL);
	unlink(path);
	return rc;
}
