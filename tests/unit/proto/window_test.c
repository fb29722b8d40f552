/* SPDX-License-Identifier: Apache-2.0 */
/* The window: every pair of state and event, and slots freed in order. */
#include <errno.h>

#include "base_test.h"
#include "base/err.h"
#include "proto/window.h"

/* The lives of a slot; whatever is not in here must be refused. */
static const struct {
	enum tcpx_slot_state from;
	enum tcpx_slot_event ev;
	enum tcpx_slot_state to;
} steps[] = {
	{ TCPX_SLOT_FREE, TCPX_EV_LAND, TCPX_SLOT_LANDED },
	{ TCPX_SLOT_FREE, TCPX_EV_PLACED, TCPX_SLOT_SPENT },
	{ TCPX_SLOT_LANDED, TCPX_EV_PLACED, TCPX_SLOT_SPENT },
	{ TCPX_SLOT_LANDED, TCPX_EV_LAUNCH, TCPX_SLOT_UNPACKING },
	{ TCPX_SLOT_UNPACKING, TCPX_EV_UNPACKED, TCPX_SLOT_SPENT },
	{ TCPX_SLOT_SPENT, TCPX_EV_RELEASE, TCPX_SLOT_FREE },
	{ TCPX_SLOT_FREE, TCPX_EV_PICK, TCPX_SLOT_PICKED },
	{ TCPX_SLOT_PICKED, TCPX_EV_SEND, TCPX_SLOT_SENDING },
	{ TCPX_SLOT_SENDING, TCPX_EV_SENT, TCPX_SLOT_SENT },
	{ TCPX_SLOT_SENT, TCPX_EV_RECEIVED, TCPX_SLOT_RECEIVED },
	{ TCPX_SLOT_RECEIVED, TCPX_EV_APPLIED, TCPX_SLOT_FREE },
	{ TCPX_SLOT_LANDED, TCPX_EV_ABORT, TCPX_SLOT_FREE },
	{ TCPX_SLOT_SPENT, TCPX_EV_ABORT, TCPX_SLOT_FREE },
	{ TCPX_SLOT_PICKED, TCPX_EV_ABORT, TCPX_SLOT_FREE },
	{ TCPX_SLOT_SENDING, TCPX_EV_ABORT, TCPX_SLOT_FREE },
	{ TCPX_SLOT_SENT, TCPX_EV_ABORT, TCPX_SLOT_FREE },
	{ TCPX_SLOT_RECEIVED, TCPX_EV_ABORT, TCPX_SLOT_FREE },
};

/* Where the step leads; TCPX_SLOT_STATES: nowhere. */
static enum tcpx_slot_state
wanted(enum tcpx_slot_state from, enum tcpx_slot_event ev)
{
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		if (steps[i].from == from && steps[i].ev == ev)
			return steps[i].to;
	}
	return TCPX_SLOT_STATES;
}

/* A window whose only slot in use is brought into @state. */
static uint64_t
window_in(struct tcpx_window *w, enum tcpx_slot_state state)
{
	static const enum tcpx_slot_event life[2][4] = {
		{ TCPX_EV_LAND, TCPX_EV_LAUNCH, TCPX_EV_UNPACKED },
		{ TCPX_EV_PICK, TCPX_EV_SEND, TCPX_EV_SENT, TCPX_EV_RECEIVED },
	};
	bool sends = state >= TCPX_SLOT_PICKED;
	int n = (int)state - (sends ? TCPX_SLOT_PICKED : TCPX_SLOT_LANDED);
	uint64_t seq;

	assert_int_equal(tcpx_window_init(w, 4), 0);
	assert_int_equal(tcpx_window_claim(w, life[sends][0], &seq), 0);
	for (int i = 1; i <= n; i++)
		assert_int_equal(tcpx_window_step(w, seq, life[sends][i]), 0);
	assert_int_equal(tcpx_window_state(w, seq), state);
	return seq;
}

TEST(every_step_is_as_the_table_says)
{
	char pair[64];

	for (int s = TCPX_SLOT_LANDED; s < TCPX_SLOT_STATES; s++) {
		for (int ev = 0; ev < TCPX_SLOT_EVENTS; ev++) {
			enum tcpx_slot_state to = wanted(s, ev);
			struct tcpx_window w;
			uint64_t seq = window_in(&w, s);
			int rc = tcpx_window_step(&w, seq, ev);

			snprintf(pair, sizeof(pair), "%s while %s", tcpx_slot_event_name(ev),
				 tcpx_slot_state_name(s));
			check(pair, "rc", rc, to == TCPX_SLOT_STATES ? TCPX_ESTATE : 0);
			check(pair, "state", tcpx_window_state(&w, seq),
			      to == TCPX_SLOT_STATES ? (enum tcpx_slot_state)s : to);
			check(pair, "used", tcpx_window_used(&w), to != TCPX_SLOT_FREE);
			tcpx_window_fini(&w);
		}
	}
}

TEST(only_land_placed_and_pick_post)
{
	for (int ev = 0; ev <= TCPX_SLOT_EVENTS; ev++) {
		bool posts = ev == TCPX_EV_LAND || ev == TCPX_EV_PLACED || ev == TCPX_EV_PICK;
		struct tcpx_window w;
		uint64_t seq = 77;

		assert_int_equal(tcpx_window_init(&w, 1), 0);
		check(tcpx_slot_event_name(ev), "rc", tcpx_window_claim(&w, ev, &seq),
		      posts ? 0 : TCPX_ESTATE);
		check(tcpx_slot_event_name(ev), "seq", seq, posts ? 1 : 77);
		tcpx_window_fini(&w);
	}
}

TEST(refusal_names_state_and_event)
{
	struct tcpx_window w;
	char text[256];

	tcpx_window_step(&w, window_in(&w, TCPX_SLOT_UNPACKING), TCPX_EV_RELEASE);
	tcpx_err_last(text, sizeof(text));
	check_has(text, "message 1: RELEASE while UNPACKING");
	tcpx_window_fini(&w);
}

TEST(limits_are_checked)
{
	struct tcpx_window w;

	assert_int_equal(tcpx_window_init(&w, 0), -EINVAL);
	assert_int_equal(tcpx_window_init(&w, 65537), -EINVAL);
	assert_int_equal(tcpx_window_init(&w, 65536), 0);
	tcpx_window_fini(&w);
	tcpx_window_fini(&w);
	assert_int_equal(tcpx_window_init(&w, 5), 0);
	assert_int_equal(w.size, 8);
	tcpx_window_fini(&w);
}

TEST(window_never_exceeds_its_limit)
{
	struct tcpx_window w;
	uint64_t seq = 0;

	assert_int_equal(tcpx_window_init(&w, 5), 0);
	for (uint64_t i = 1; i <= 5; i++) {
		assert_false(tcpx_window_full(&w));
		assert_int_equal(tcpx_window_claim(&w, TCPX_EV_PICK, &seq), 0);
		assert_int_equal(seq, i);
	}
	assert_true(tcpx_window_full(&w));
	assert_int_equal(tcpx_window_claim(&w, TCPX_EV_PICK, &seq), TCPX_ELIMIT);
	assert_int_equal(seq, 5);
	assert_int_equal(tcpx_window_step(&w, 1, TCPX_EV_ABORT), 0);
	assert_int_equal(tcpx_window_claim(&w, TCPX_EV_PICK, &seq), 0);
	assert_int_equal(seq, 6);
	tcpx_window_fini(&w);
}

TEST(sequences_outside_are_free_and_refused)
{
	static const uint64_t outside[] = { 0, 1, 4, 5, UINT64_MAX };
	struct tcpx_window w;
	uint64_t seq;

	assert_int_equal(tcpx_window_init(&w, 4), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(tcpx_window_claim(&w, TCPX_EV_LAND, &seq), 0);
	assert_int_equal(tcpx_window_step(&w, 1, TCPX_EV_ABORT), 0);
	for (size_t i = 0; i < ARRAY_LEN(outside); i++) {
		assert_int_equal(tcpx_window_state(&w, outside[i]), TCPX_SLOT_FREE);
		assert_int_equal(tcpx_window_step(&w, outside[i], TCPX_EV_LAND), TCPX_ESTATE);
	}
	assert_int_equal(tcpx_window_step(&w, 2, TCPX_SLOT_EVENTS), TCPX_ESTATE);
	tcpx_window_fini(&w);
}

TEST(oldest_blocks_those_behind_it)
{
	struct tcpx_window w;
	uint64_t seq;

	assert_int_equal(tcpx_window_init(&w, 4), 0);
	assert_int_equal(tcpx_window_oldest(&w), 0);
	for (uint64_t i = 1; i <= 3; i++) {
		tcpx_window_claim(&w, TCPX_EV_LAND, &seq);
		tcpx_window_step(&w, seq, TCPX_EV_LAUNCH);
	}
	tcpx_window_step(&w, 2, TCPX_EV_UNPACKED);
	assert_int_equal(tcpx_window_step(&w, 2, TCPX_EV_RELEASE), TCPX_ESTATE);
	assert_int_equal(tcpx_window_step(&w, 2, TCPX_EV_ABORT), TCPX_ESTATE);
	assert_int_equal(tcpx_window_oldest(&w), 1);
	tcpx_window_step(&w, 1, TCPX_EV_UNPACKED);
	assert_int_equal(tcpx_window_step(&w, 1, TCPX_EV_RELEASE), 0);
	assert_int_equal(tcpx_window_oldest(&w), 2);
	assert_int_equal(tcpx_window_step(&w, 2, TCPX_EV_RELEASE), 0);
	assert_int_equal(w.released, 2);
	assert_int_equal(tcpx_window_used(&w), 1);
	tcpx_window_fini(&w);
}

/* Random steps: the window agrees with a plain array of states. */
TEST(any_walk_agrees_with_a_model)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	enum tcpx_slot_state model[512] = { 0 };
	uint64_t next = 1, oldest = 1, seq;
	struct tcpx_window w;

	assert_int_equal(tcpx_window_init(&w, 6), 0);
	for (int i = 0; i < 4000 && next < ARRAY_LEN(model); i++) {
		enum tcpx_slot_event ev = tcpx_rng_below(&rng, TCPX_SLOT_EVENTS);
		uint64_t at = oldest + tcpx_rng_below(&rng, 7);
		enum tcpx_slot_state to;
		bool ok;

		if (tcpx_rng_below(&rng, 4) == 0) {
			to = wanted(TCPX_SLOT_FREE, ev);
			ok = to != TCPX_SLOT_STATES && next - oldest < 6;
			check_random(seed, (tcpx_window_claim(&w, ev, &seq) == 0) == ok);
			if (ok)
				model[next++] = to;
			continue;
		}
		to = at < next ? wanted(model[at], ev) : TCPX_SLOT_STATES;
		ok = to != TCPX_SLOT_STATES && (to != TCPX_SLOT_FREE || at == oldest);
		check_random(seed, (tcpx_window_step(&w, at, ev) == 0) == ok);
		if (ok)
			model[at] = to;
		oldest += oldest < next && model[oldest] == TCPX_SLOT_FREE;
		for (uint64_t s = oldest; s < next; s++)
			check_random(seed, tcpx_window_state(&w, s) == model[s]);
		check_random(seed, tcpx_window_used(&w) == next - oldest);
	}
	tcpx_window_fini(&w);
}

int
main(void)
{
	tcpx_log_setup("NONE", NULL, NULL); /* refusals are what is tested */
	return run_cases(NULL, NULL);
}
