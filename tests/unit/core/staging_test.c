/* SPDX-License-Identifier: Apache-2.0 */
/* Who gets a staging slot, and who is woken when one is free: pools without sockets or GPUs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/core.h"

#define LARGE (1u << 20)

/* One loop with three large slots each way; two channels of one session, one of another. */
struct world {
	struct tcpx_engine e;
	struct loop l;
	struct session s[2];
	struct channel c[3];
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
	w->e.loop = &w->l;
	w->e.loop_count = 1;
	w->e.session_count = sessions;
	w->e.limit.chunk_max = LARGE;
	w->e.limit.staging = 6 * LARGE;
	w->e.limit.stall_ns = 10 * TCPX_SEC;
	w->l.engine = &w->e;
	w->l.timer_ns = UINT64_MAX;
	tcpx_node_init(&w->l.work);
	pthread_mutex_init(&w->l.work_lock, NULL);
	w->l.stepper = pthread_self(); /* nobody has to be woken */
	w->l.stepping = true;
	tcpx_batches_init(&w->l.batches);
	assert_int_equal(tcpx_device_host.open(&none, &w->e.dev), 0);
	assert_int_equal(tcpx_staging_open(&w->e, &tcpx_device_host, w->e.dev), 0);
	for (int i = 0; i < 3; i++) {
		w->c[i].loop = &w->l;
		w->c[i].session = &w->s[i / 2];
		w->c[i].work.run = nothing;
		tcpx_node_init(&w->c[i].starving);
	}
	return w;
}

static void
end(struct world *w)
{
	tcpx_staging_close(&w->e);
	tcpx_device_host.close(w->e.dev);
	pthread_mutex_destroy(&w->l.batches.lock);
	pthread_mutex_destroy(&w->l.work_lock);
	free(w);
}

static struct slot *
get(struct world *w, int c, enum tcpx_flow flow)
{
	return tcpx_slot_get(&w->c[c], flow, LARGE);
}

static void
one_direction_of_one_session_may_have_all(void **state)
{
	struct world *w = begin(1);

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_non_null(get(w, i % 2, TCPX_FLOW_PACK));
	assert_null(get(w, 0, TCPX_FLOW_PACK));
	end(w);
}

static void
while_both_directions_work_two_are_enough(void **state)
{
	struct world *w = begin(1);
	struct slot *other;

	(void)state;
	other = get(w, 0, TCPX_FLOW_UNPACK);
	assert_non_null(get(w, 0, TCPX_FLOW_PACK));
	assert_non_null(get(w, 1, TCPX_FLOW_PACK));
	assert_null(get(w, 1, TCPX_FLOW_PACK));
	tcpx_slot_put(&w->l, other); /* the other direction rests: the third is for who waits */
	assert_true(w->c[1].work.queued);
	assert_non_null(get(w, 1, TCPX_FLOW_PACK));
	end(w);
}

/* Whatever else goes on in the loop, the peer that moves gets a slot. */
static void
a_session_that_keeps_its_slots_leaves_one_to_others(void **state)
{
	struct world *w = begin(2);

	(void)state;
	assert_non_null(get(w, 2, TCPX_FLOW_UNPACK));
	assert_non_null(get(w, 0, TCPX_FLOW_PACK));
	assert_non_null(get(w, 1, TCPX_FLOW_PACK));
	assert_null(get(w, 0, TCPX_FLOW_PACK));
	assert_null(get(w, 1, TCPX_FLOW_PACK));
	assert_non_null(get(w, 2, TCPX_FLOW_PACK));
	end(w);
}

static void
who_may_not_have_it_is_not_woken_for_it(void **state)
{
	struct world *w = begin(2);
	struct slot *last;

	(void)state;
	assert_non_null(get(w, 0, TCPX_FLOW_PACK));
	assert_non_null(get(w, 1, TCPX_FLOW_PACK));
	last = get(w, 2, TCPX_FLOW_PACK);
	assert_null(get(w, 0, TCPX_FLOW_PACK));
	tcpx_slot_put(&w->l, last);
	assert_false(w->c[0].work.queued);
	end(w);
}

/* Slots of a dead connection rest; they hinder nobody and come back. */
static void
cold_slots_do_not_count_and_come_back(void **state)
{
	struct world *w = begin(1);
	struct slot *a, *b;

	(void)state;
	assert_non_null(get(w, 0, TCPX_FLOW_UNPACK));
	a = get(w, 0, TCPX_FLOW_PACK);
	b = get(w, 0, TCPX_FLOW_PACK);
	tcpx_slot_cool(&w->l, a, 0);
	tcpx_slot_cool(&w->l, b, 0);
	assert_non_null(get(w, 1, TCPX_FLOW_PACK));
	assert_null(get(w, 1, TCPX_FLOW_PACK));
	tcpx_staging_timer(&w->l, 5 * TCPX_SEC - 1);
	assert_false(w->c[1].work.queued);
	tcpx_staging_timer(&w->l, 5 * TCPX_SEC);
	assert_true(w->c[1].work.queued);
	assert_non_null(get(w, 1, TCPX_FLOW_PACK));
	end(w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_direction_of_one_session_may_have_all),
		cmocka_unit_test(while_both_directions_work_two_are_enough),
		cmocka_unit_test(a_session_that_keeps_its_slots_leaves_one_to_others),
		cmocka_unit_test(who_may_not_have_it_is_not_woken_for_it),
		cmocka_unit_test(cold_slots_do_not_count_and_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
