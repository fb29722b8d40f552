/* SPDX-License-Identifier: Apache-2.0 */
/* Which channel gets a staging buffer, and which is woken when one is free: pools without
 * sockets or GPUs. */
#include "cases.h"

#include <stdlib.h>
#include <string.h>

#include "core/loop/loop.h"
#include "core/memory/memory.h"
#include "core/memory/staging.h"

#define LARGE (1u << 20)

/* One loop with three large slots each way; two channels of one session, one of another. */
struct world {
	struct tcpx_engine e;
	struct memory m;
	struct batches b;
	struct loop l;
	struct work work[3];
	struct copy_client c[3];
};

static void
nothing(struct work *w, uint64_t now_ns)
{
	(void)w;
	(void)now_ns;
}

static struct world *
begin(uint32_t sessions)
{
	struct world *w = calloc(1, sizeof(*w));
	const struct tcpx_device_params none = { .library = NULL };

	assert_non_null(w);
	w->e.clock = tcpx_clock_system;
	w->e.loop = &w->l;
	w->e.loop_count = 1;
	w->e.registry.session_count = sessions;
	w->e.limit.chunk_max = LARGE;
	w->e.limit.staging = 6 * LARGE;
	w->e.limit.stall_ns = 10 * TCPX_SEC;
	w->e.memory = &w->m;
	w->m.batches = &w->b;
	w->m.host_ops = &tcpx_device_host;
	w->l.engine = &w->e;
	w->l.timer_ns = UINT64_MAX;
	tcpx_node_init(&w->l.queue.works);
	tcpx_node_init(&w->l.queue.ahead);
	pthread_mutex_init(&w->l.queue.lock, NULL);
	w->l.lease.stepper = pthread_self(); /* nobody has to be woken */
	w->l.lease.stepping = true;
	assert_int_equal(tcpx_device_host.open(&none, &w->m.host), 0);
	assert_int_equal(tcpx_batches_open(&w->l), 0);
	assert_int_equal(tcpx_staging_open(&w->e, &tcpx_device_host, w->m.host), 0);
	for (int i = 0; i < 3; i++) {
		w->work[i].run = nothing;
		w->c[i] = (struct copy_client){ .loop = &w->l, .work = &w->work[i],
						.session = &w->c[i / 2 * 2] };
		tcpx_node_init(&w->c[i].waiting);
	}
	return w;
}

static void
end(struct world *w)
{
	tcpx_batches_fini(&w->l);
	tcpx_staging_close(&w->e);
	tcpx_device_host.close(w->m.host);
	pthread_mutex_destroy(&w->l.queue.lock);
	free(w);
}

static struct staging_buffer *
get(struct world *w, int c, enum tcpx_flow flow)
{
	return tcpx_staging_get(&w->c[c], flow, 0, LARGE);
}

TEST(one_direction_of_one_session_may_have_all)
{
	struct world *w = begin(1);

	for (int i = 0; i < 3; i++)
		assert_non_null(get(w, i % 2, TCPX_FLOW_PACK));
	assert_null(get(w, 0, TCPX_FLOW_PACK));
	end(w);
}

TEST(while_both_directions_work_two_are_enough)
{
	struct world *w = begin(1);
	struct staging_buffer *other;

	other = get(w, 0, TCPX_FLOW_UNPACK);
	assert_non_null(get(w, 0, TCPX_FLOW_PACK));
	assert_non_null(get(w, 1, TCPX_FLOW_PACK));
	assert_null(get(w, 1, TCPX_FLOW_PACK));
	tcpx_staging_put(&w->l, other); /* the other direction rests: the third is for who waits */
	assert_true(w->work[1].queued);
	assert_non_null(get(w, 1, TCPX_FLOW_PACK));
	end(w);
}

/* Whatever else goes on in the loop, the peer that moves gets a slot. */
TEST(a_session_that_keeps_its_slots_leaves_one_to_others)
{
	struct world *w = begin(2);

	assert_non_null(get(w, 2, TCPX_FLOW_UNPACK));
	assert_non_null(get(w, 0, TCPX_FLOW_PACK));
	assert_non_null(get(w, 1, TCPX_FLOW_PACK));
	assert_null(get(w, 0, TCPX_FLOW_PACK));
	assert_null(get(w, 1, TCPX_FLOW_PACK));
	assert_non_null(get(w, 2, TCPX_FLOW_PACK));
	end(w);
}

TEST(who_may_not_have_it_is_not_woken_for_it)
{
	struct world *w = begin(2);
	struct staging_buffer *last;

	assert_non_null(get(w, 0, TCPX_FLOW_PACK));
	assert_non_null(get(w, 1, TCPX_FLOW_PACK));
	last = get(w, 2, TCPX_FLOW_PACK);
	assert_null(get(w, 0, TCPX_FLOW_PACK));
	tcpx_staging_put(&w->l, last);
	assert_false(w->work[0].queued);
	end(w);
}

TEST(a_reserve_grows_with_sessions_up_to_a_quarter)
{
	static const struct {
		uint32_t count, sessions, reserve;
	} rows[] = { { 2, 1, 0 },  { 2, 2, 1 },  { 2, 9, 1 },  { 8, 2, 1 },
		     { 8, 3, 2 },  { 8, 99, 2 }, { 64, 5, 4 }, { 64, 99, 16 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(tcpx_staging_reserve(rows[i].count, rows[i].sessions),
				 rows[i].reserve);
}

/* The deadline of a transfer leaves that wait out, and no wait for slots of its own session. */
TEST(a_wait_for_slots_of_others_is_known)
{
	struct world *w = begin(2);
	struct staging_buffer *a;

	w->e.registry.session_count = 1; /* the second is new */
	a = get(w, 0, TCPX_FLOW_PACK);
	assert_non_null(get(w, 0, TCPX_FLOW_PACK));
	assert_non_null(get(w, 1, TCPX_FLOW_PACK));
	w->e.registry.session_count = 2;
	assert_null(get(w, 1, TCPX_FLOW_PACK));
	assert_int_equal(w->c[1].short_ns, 0);
	assert_null(get(w, 2, TCPX_FLOW_PACK));
	assert_true(w->c[2].short_ns == UINT64_MAX);
	tcpx_staging_put(&w->l, a);
	assert_true(w->work[2].queued);
	assert_true(w->c[2].short_ns != UINT64_MAX);
	end(w);
}

/* Slots of a dead connection rest; they hinder nobody and come back. */
TEST(cold_slots_do_not_count_and_come_back)
{
	struct world *w = begin(1);
	struct staging_buffer *a, *b;

	assert_non_null(get(w, 0, TCPX_FLOW_UNPACK));
	a = get(w, 0, TCPX_FLOW_PACK);
	b = get(w, 0, TCPX_FLOW_PACK);
	tcpx_staging_put_lent(&w->l, a, 0);
	tcpx_staging_put_lent(&w->l, b, 0);
	assert_non_null(get(w, 1, TCPX_FLOW_PACK));
	assert_null(get(w, 1, TCPX_FLOW_PACK));
	tcpx_staging_timer(&w->l, 5 * TCPX_SEC - 1);
	assert_false(w->work[1].queued);
	tcpx_staging_timer(&w->l, 5 * TCPX_SEC);
	assert_true(w->work[1].queued);
	assert_non_null(get(w, 1, TCPX_FLOW_PACK));
	end(w);
}
