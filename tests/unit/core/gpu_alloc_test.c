/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One allocation fails. A GPU whose set-up failed can be tried again. A session that
 * ends during a walk over callers' events removes nothing under that walk. A chunk that a
 * lost channel gives back, and that nothing can keep, ends its transfer or its lane on both
 * sides. Calls are wrapped at link time.
 */
#include "gpu_rig.h"

#include <errno.h>
#include <stdlib.h>

#include "core/context/context.h"
#include "core/session/session.h"

#define LEN   100000
#define TRIES 500

static int left = -1; /* good allocations until one fails; below 0: none does */

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);

void *
__wrap_calloc(size_t n, size_t size)
{
	return left >= 0 && left-- == 0 ? NULL : __real_calloc(n, size);
}

static bool grows = true; /* what realloc() is asked for */

void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);

void *
__wrap_realloc(void *p, size_t size)
{
	return grows ? __real_realloc(p, size) : NULL;
}

/* True: all went well, and so did the n-th allocation. */
static bool
ready_with(int n)
{
	struct gpu_rig r;
	struct area *near, *far;
	uint8_t *memory = malloc(LEN);
	uint64_t id;
	bool whole;
	int rc;

	gpu_begin(&r, &tcpx_net_loop, 2, NULL, NULL);
	r.side[0].gpu.range[0].addr = memory;
	r.side[0].gpu.range[0].len = LEN;
	r.side[0].gpu.range[0].place = 0;
	r.side[0].gpu.range_count = 1;
	left = n;
	rc = tcpx_mem_register(r.side[0].e, memory, LEN, TCPX_MEM_LOCAL, &id);
	whole = left >= 0;
	left = -1;
	assert_true(rc == -ENOMEM || rc == 0);
	/* whatever was missing is made now */
	near = gpu_area(&r, 0, 0, LEN, 1);
	far = gpu_area(&r, 1, 1, LEN, 2);
	for (int i = 0; i < 4; i++)
		assert_ok(gpu_finish(&r, gpu_post(&r, i & 1 ? TCPX_OP_READ : TCPX_OP_WRITE, near,
						  far, i & 2 ? LEN : 5000)));
	gpu_end(&r);
	free(memory);
	return whole;
}

TEST(a_gpu_that_was_not_readied_is_tried_again)
{
	int n = 0;

	while (n < TRIES && !ready_with(n))
		n++;
	assert_in_range(n, 5, TRIES - 1);
}

/* ---- events ---- */

enum { HAPPENS, BREAKS, NEVER, EVENTS };

static int event[EVENTS]; /* only their addresses mean anything */
static bool now;

/* What is posted after the first event finds no memory. */
static int
look(struct tcpx_device *dev, void *at)
{
	(void)dev;
	assert_in_range((uintptr_t)at, (uintptr_t)event, (uintptr_t)&event[NEVER]);
	if (!now || at == &event[NEVER])
		return -EAGAIN;
	if (at == &event[BREAKS])
		return -EIO;
	left = 0;
	return 0;
}

TEST(a_session_may_end_while_events_are_looked_at)
{
	static const int codes[EVENTS] = { -ENOMEM, -EIO, -ENOMEM };
	struct gpu_rig r;
	struct area *near, *far;
	struct tcpx_desc d;
	tcpx_list *l, *f;
	tcpx_xfer *x[EVENTS];

	gpu_begin(&r, &tcpx_net_loop, 2, NULL, NULL);
	near = gpu_area(&r, 0, 0, LEN, 1);
	far = gpu_area(&r, 1, 1, LEN, 2);
	r.ops.event = look;
	d = (struct tcpx_desc){ near->id, 0, LEN };
	assert_ok(tcpx_list_prepare(r.side[0].e, &d, 1, &l));
	d = (struct tcpx_desc){ far->far[0], 0, LEN };
	assert_ok(tcpx_list_prepare(r.side[0].e, &d, 1, &f));
	for (int i = 0; i < EVENTS; i++) {
		assert_ok(tcpx_xfer_prepare(r.side[0].to[1], TCPX_OP_READ, l, f, &x[i]));
		assert_ok(tcpx_xfer_post_after(x[i], &event[i], NULL, 0));
	}
	gpu_pass(&r, TCPX_MS);
	for (int i = 0; i < EVENTS; i++)
		assert_code(tcpx_test(x[i]), -EAGAIN);
	now = true;
	for (int i = 0; i < EVENTS; i++)
		assert_code(gpu_finish(&r, x[i]), codes[i]);
	assert_int_equal(atomic_load(&r.side[0].e->registry.after_event), 0);
	tcpx_list_free(l);
	tcpx_list_free(f);
	gpu_end(&r);
}

/* ---- chunks to be sent again ---- */

/* Its channels break with chunks in flight. */
static void
lose_channels(struct gpu_rig *r)
{
	gpu_pass(r, TCPX_MS);
	grows = false;
	while (tcpx_fabric_break_channel(r->fabric, 0) == 0)
		;
	gpu_pass(r, TCPX_SEC);
	grows = true;
}

TEST(a_transfer_ends_on_both_sides)
{
	for (int op = 0; op < 2; op++) {
		struct gpu_rig r;
		struct area *near, *far;
		tcpx_xfer *x;

		gpu_begin(&r, &tcpx_net_loop, 2, NULL, NULL);
		near = gpu_area(&r, 0, HOST, LEN, 1);
		far = gpu_area(&r, 1, HOST, LEN, 2);
		tcpx_fabric_hold(r.fabric, TCPX_FABRIC_DATA, 20 * TCPX_MS);
		x = gpu_post(&r, op ? TCPX_OP_READ : TCPX_OP_WRITE, near, far, LEN);
		lose_channels(&r);
		assert_code(gpu_finish(&r, x), -ENOMEM);
		for (int i = 0; i < 2; i++) {
			struct session *s = tcpx_session_after(r.side[i].e, NULL);

			assert_int_equal(s->xfers.live, 0);
			tcpx_session_put(s);
		}
		gpu_end(&r);
	}
}

TEST(a_lane_ends_on_both_sides)
{
	struct gpu_rig r;
	struct area *from, *to;
	tcpx_lane *tx, *rx;
	tcpx_xfer *x[4];
	uint8_t key[TCPX_LANE_KEY];

	gpu_begin(&r, &tcpx_net_loop, 2, NULL, NULL);
	from = gpu_area(&r, 0, HOST, LEN, 1);
	to = gpu_area(&r, 1, HOST, LEN, 2);
	assert_ok(tcpx_lane_listen(r.side[1].e, key, &rx));
	assert_ok(tcpx_lane_open(r.side[0].to[1], key, &tx));
	gpu_pass(&r, 10 * TCPX_MS);
	for (int i = 0; i < 3; i++)
		assert_ok(tcpx_lane_post(rx, to->id, 0, LEN, &x[i]));
	gpu_pass(&r, TCPX_MS);
	tcpx_fabric_hold(r.fabric, TCPX_FABRIC_DATA, 20 * TCPX_MS);
	assert_ok(tcpx_lane_post(tx, from->id, 0, LEN, &x[3]));
	lose_channels(&r);
	for (int i = 0; i < 4; i++) {
		assert_code(tcpx_test(x[i]), -ENOMEM);
		tcpx_xfer_free(x[i]);
	}
	assert_code(tcpx_lane_ready(tx), -ENOMEM);
	assert_code(tcpx_lane_ready(rx), -ENOMEM);
	tcpx_lane_close(tx);
	tcpx_lane_close(rx);
	gpu_end(&r);
}
