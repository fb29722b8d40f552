/* SPDX-License-Identifier: Apache-2.0 */
/* Posts that wait for a GPU's event, and streams of a GPU that wait for a transfer. */
#include "gpu_rig.h"

#include <errno.h>

/* ---- posts that wait ---- */

struct waiting {
	struct gpu_rig r;
	struct area *near, *far;
	tcpx_list *l, *f;
	tcpx_xfer *x;
	uint64_t event; /* when it happens */
};

static void
wait_begin(struct waiting *w, enum tcpx_op op, const char *const *set)
{
	struct tcpx_desc d;

	gpu_begin(&w->r, &tcpx_net_loop, 2, NULL, set);
	w->near = gpu_area(&w->r, 0, 0, 8000, 1);
	w->far = gpu_area(&w->r, 1, 1, 8000, 2);
	d = (struct tcpx_desc){ w->near->id, 0, 8000 };
	assert_ok(tcpx_list_prepare(w->r.side[0].e, &d, 1, &w->l));
	d = (struct tcpx_desc){ w->far->far[0], 0, 8000 };
	assert_ok(tcpx_list_prepare(w->r.side[0].e, &d, 1, &w->f));
	assert_ok(tcpx_xfer_prepare(w->r.side[0].to[1], op, w->l, w->f, &w->x));
	w->event = gpu_now(&w->r) + 20 * TCPX_MS;
	assert_ok(tcpx_xfer_post_after(w->x, &w->event, NULL, 0));
	gpu_pass(&w->r, 10 * TCPX_MS);
	assert_code(tcpx_test(w->x), -EAGAIN);
	assert_filled(op == TCPX_OP_WRITE ? w->far->at : w->near->at, 8000,
		      op == TCPX_OP_WRITE ? 2 : 1);
}

static void
wait_end(struct waiting *w)
{
	tcpx_xfer_free(w->x);
	tcpx_list_free(w->l);
	tcpx_list_free(w->f);
	gpu_end(&w->r);
}

TEST(no_byte_is_touched_before_the_event)
{
	static const char *const inlined[] = { "TCPX_INLINE=8K", NULL };

	for (int i = 0; i < 4; i++) {
		struct waiting w;

		wait_begin(&w, i & 1 ? TCPX_OP_READ : TCPX_OP_WRITE, i & 2 ? inlined : NULL);
		fill(i & 1 ? w.far->at : w.near->at, 8000, 7); /* an earlier look gets this */
		assert_ok(gpu_wait(&w.r, w.x));
		assert_true(gpu_now(&w.r) >= w.event);
		assert_filled(i & 1 ? w.near->at : w.far->at, 8000, 7);
		/* the same again, at once */
		fill(i & 1 ? w.far->at : w.near->at, 8000, 8);
		assert_ok(tcpx_xfer_post_after(w.x, NULL, NULL, 0));
		assert_ok(gpu_wait(&w.r, w.x));
		assert_filled(i & 1 ? w.near->at : w.far->at, 8000, 8);
		wait_end(&w);
	}
}

TEST(one_that_waits_can_be_ended)
{
	for (int how = 0; how < 3; how++) {
		static const int codes[] = { TCPX_ECANCELED, TCPX_EREGION, TCPX_EPEERGONE };
		struct waiting w;

		wait_begin(&w, TCPX_OP_WRITE, NULL);
		if (how == 0)
			tcpx_cancel(w.x);
		else if (how == 1)
			assert_ok(tcpx_mem_deregister(w.r.side[0].e, w.near->id));
		else
			gpu_close(&w.r, 1);
		assert_code(how == 2 ? gpu_wait(&w.r, w.x) : tcpx_test(w.x), codes[how]);
		assert_true(gpu_now(&w.r) < w.event);
		assert_int_equal(atomic_load(&w.r.side[0].e->registry.after_event), 0);
		gpu_pass(&w.r, 30 * TCPX_MS);
		assert_filled(w.far->at, 8000, 2);
		if (how == 2)
			w.r.count = 1;
		wait_end(&w);
		if (how == 2)
			assert_null(w.r.side[1].e);
	}
}

static int
broken_event(struct tcpx_device *dev, void *event)
{
	(void)dev;
	(void)event;
	return -EIO;
}

TEST(an_event_that_fails_ends_its_transfer)
{
	struct waiting w;

	wait_begin(&w, TCPX_OP_READ, NULL);
	w.r.ops.event = broken_event;
	assert_code(gpu_wait(&w.r, w.x), -EIO);
	assert_int_equal(atomic_load(&w.r.side[0].e->registry.after_event), 0);
	w.r.ops.event = tcpx_device_slow.event;
	assert_ok(tcpx_xfer_post(w.x, NULL, 0));
	assert_ok(gpu_wait(&w.r, w.x));
	assert_filled(w.near->at, 8000, 2);
	wait_end(&w);
}

TEST(an_event_needs_a_gpu)
{
	struct gpu_rig r;
	struct area *near, *far;
	struct tcpx_desc d;
	tcpx_list *l, *f;
	tcpx_xfer *x;

	gpu_begin(&r, &tcpx_net_loop, 2, NULL, NULL);
	near = gpu_area(&r, 0, HOST, 100, 1);
	far = gpu_area(&r, 1, HOST, 100, 2);
	d = (struct tcpx_desc){ near->id, 0, 100 };
	assert_ok(tcpx_list_prepare(r.side[0].e, &d, 1, &l));
	d = (struct tcpx_desc){ far->far[0], 0, 100 };
	assert_ok(tcpx_list_prepare(r.side[0].e, &d, 1, &f));
	assert_ok(tcpx_xfer_prepare(r.side[0].to[1], TCPX_OP_WRITE, l, f, &x));
	assert_code(tcpx_xfer_post_after(x, &d, NULL, 0), -ENOTSUP);
	assert_code(tcpx_xfer_stream_wait(x, &d), TCPX_ESTATE);
	gpu_end(&r);
}

/* ---- streams that wait ---- */

static bool
raised(const struct gpu_rig *r)
{
	return *r->side[0].gpu.word >= r->side[0].gpu.word_value;
}

TEST(a_stream_goes_on_however_a_transfer_ends)
{
	struct gpu_rig r;
	struct area *near, *far;
	tcpx_xfer *x;
	int stream;

	gpu_begin(&r, &tcpx_net_loop, 2, NULL, NULL);
	near = gpu_area(&r, 0, 0, 100000, 1);
	far = gpu_area(&r, 1, 1, 100000, 2);
	for (int how = 0; how < 4; how++) {
		x = gpu_post(&r, TCPX_OP_WRITE, near, far, 100000);
		assert_ok(tcpx_xfer_stream_wait(x, &stream));
		gpu_turns(&r, 3);
		assert_false(raised(&r));
		if (how == 1)
			tcpx_cancel(x);
		else if (how == 2)
			assert_ok(tcpx_mem_deregister(r.side[0].e, near->id));
		else if (how == 0)
			assert_ok(gpu_wait(&r, x));
		if (how < 3) {
			assert_true(raised(&r));
			assert_ok(tcpx_xfer_stream_wait(x, &stream)); /* late: at once */
			assert_true(raised(&r));
		}
		tcpx_xfer_free(x);
		assert_true(raised(&r));
		if (how == 2)
			near = gpu_area(&r, 0, 0, 100000, 1);
	}
	gpu_end(&r);
}

TEST(words_are_used_again)
{
	struct gpu_rig r;
	struct area *near, *far;
	tcpx_xfer *x;
	int stream;

	gpu_begin(&r, &tcpx_net_loop, 2, NULL, NULL);
	near = gpu_area(&r, 0, 0, 100, 1);
	far = gpu_area(&r, 1, 1, 100, 2);
	for (int i = 0; i < 5000; i++) {
		x = gpu_post(&r, TCPX_OP_WRITE, near, far, 100);
		assert_ok(tcpx_xfer_stream_wait(x, &stream));
		assert_false(raised(&r));
		assert_ok(gpu_wait(&r, x));
		assert_true(raised(&r));
		tcpx_xfer_free(x);
	}
	gpu_end(&r);
}

TEST(a_handle_with_a_word_may_be_left_to_the_engine)
{
	struct gpu_rig r;
	tcpx_xfer *x;
	int stream;

	gpu_begin(&r, &tcpx_net_loop, 2, NULL, NULL);
	x = gpu_post(&r, TCPX_OP_WRITE, gpu_area(&r, 0, 0, 100, 1), gpu_area(&r, 1, 1, 100, 2),
		     100);
	assert_ok(tcpx_xfer_stream_wait(x, &stream));
	gpu_end(&r);
}
