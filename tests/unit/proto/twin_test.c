/* SPDX-License-Identifier: Apache-2.0 */
/* Which of two sessions opens, whatever the order in which two sides dial, hear and answer. */
#include "base_test.h"
#include "proto/twin.h"

#define WORLDS 5000
#define STEPS  3000

/* Side 0 has the smaller incarnation. Session k is the one that side k opens. */
enum word { HELLO, ANSWER, READY };

struct world {
	struct tcpx_rng rng;
	enum tcpx_stage stage[2][2]; /* of session [k] at side [i]                   */
	uint8_t word[2][2][8];       /* on session [k] to side [i], in order         */
	uint32_t said[2][2], heard[2][2];
	bool kept[2];                /* HELLO of session [k] waits at the acceptor   */
	bool ready[2];               /* the opener's READY has come                  */
	bool answered[2];            /* the acceptor's HELLO has come                */
	bool stuck[2];               /* its channels never connect                   */
	bool gone[2];                /* given way                                    */
	bool impatient;              /* HELLOs wait no longer                        */
};

static void
say(struct world *w, int session, int to, enum word what)
{
	w->word[session][to][w->said[session][to]++] = (uint8_t)what;
}

static void
welcome(struct world *w, int session)
{
	w->kept[session] = false;
	w->stage[session][!session] = TCPX_STAGE_TALKS;
	say(w, session, session, ANSWER);
}

static void
hear(struct world *w, int session, int at)
{
	enum word what;

	if (w->heard[session][at] == w->said[session][at] || w->gone[session])
		return;
	what = w->word[session][at][w->heard[session][at]++];
	if (what == HELLO)
		w->kept[session] = true;
	else if (what == ANSWER)
		w->answered[session] = true;
	else if (session == at)
		w->stage[session][at] = TCPX_STAGE_OPEN;
	else
		w->ready[session] = true;
}

static void
give_way(struct world *w, int k)
{
	if (tcpx_twin_gives_way(k == 0, w->stage[k][k], w->stage[!k][k])) {
		w->gone[k] = true;
		w->stage[k][0] = w->stage[k][1] = TCPX_STAGE_NONE;
	}
}

/* What the opener of a session may do with it, also before it looks whether it gives way. */
static void
ask(struct world *w, int k)
{
	enum tcpx_stage *ours = &w->stage[k][k], theirs = w->stage[!k][k];

	if (*ours == TCPX_STAGE_SILENT) {
		*ours = TCPX_STAGE_TALKS;
		say(w, k, !k, HELLO);
	} else if (*ours == TCPX_STAGE_TALKS && w->answered[k] && !w->stuck[k] &&
		   tcpx_twin_may_ask(theirs)) {
		*ours = TCPX_STAGE_READY;
		say(w, k, !k, READY);
	}
}

/* ... and its acceptor. */
static void
answer(struct world *w, int k)
{
	enum tcpx_stage ours = w->stage[!k][!k], *theirs = &w->stage[k][!k];

	if (w->gone[k])
		return;
	if (w->kept[k] && (w->impatient || !tcpx_twin_keeps_hello(k == 1, ours, true)))
		welcome(w, k);
	else if (w->ready[k] && *theirs == TCPX_STAGE_TALKS && tcpx_twin_may_answer(k == 1, ours)) {
		*theirs = TCPX_STAGE_OPEN;
		say(w, k, k, READY);
	}
}

static void
step(struct world *w)
{
	int k = (int)tcpx_rng_below(&w->rng, 2);

	switch (tcpx_rng_below(&w->rng, 5)) {
	case 0:
		hear(w, k, (int)tcpx_rng_below(&w->rng, 2));
		break;
	case 1:
		ask(w, k);
		break;
	case 2:
		answer(w, k);
		break;
	case 3:
		give_way(w, k);
		break;
	default:
		w->impatient |= tcpx_rng_below(&w->rng, 50) == 0;
	}
}

static bool
is_open(const struct world *w, int k)
{
	return w->stage[k][0] == TCPX_STAGE_OPEN && w->stage[k][1] == TCPX_STAGE_OPEN;
}

TEST(one_session_is_left)
{
	uint32_t won[2] = { 0 };

	for (uint64_t seed = 1; seed <= WORLDS; seed++) {
		struct world w = { .rng = tcpx_rng_seed(seed) };
		int stuck = (int)tcpx_rng_below(&w.rng, 3);

		w.stage[0][0] = w.stage[1][1] = TCPX_STAGE_SILENT;
		if (stuck < 2)
			w.stuck[stuck] = true;
		for (int i = 0; i < STEPS; i++) {
			step(&w);
			for (int side = 0; side < 2; side++)
				if (w.stage[0][side] == TCPX_STAGE_OPEN &&
				    w.stage[1][side] == TCPX_STAGE_OPEN)
					give_way(&w, side); /* which is the next thing it does */
			if ((w.stage[0][0] == TCPX_STAGE_OPEN && w.stage[1][0] == TCPX_STAGE_OPEN) ||
			    (w.stage[0][1] == TCPX_STAGE_OPEN && w.stage[1][1] == TCPX_STAGE_OPEN))
				fail_msg("seed %llu: both are open at a side", (unsigned long long)seed);
		}
		if (is_open(&w, 0) == is_open(&w, 1) || !w.gone[is_open(&w, 0)])
			fail_msg("seed %llu: %d and %d open", (unsigned long long)seed, is_open(&w, 0),
				 is_open(&w, 1));
		if (stuck < 2 && is_open(&w, stuck))
			fail_msg("seed %llu: one that cannot connect is open", (unsigned long long)seed);
		won[is_open(&w, 1)] += stuck == 2;
	}
	assert_true(won[0] > won[1] && won[1] > 0); /* each has been seen */
}

TEST(one_that_was_maybe_opened_by_the_peer_never_gives_way)
{
	for (int ours = TCPX_STAGE_NONE; ours <= TCPX_STAGE_OPEN; ours++)
		for (int theirs = TCPX_STAGE_NONE; theirs <= TCPX_STAGE_OPEN; theirs++) {
			bool gives = tcpx_twin_gives_way(true, ours, theirs);

			assert_true(!gives || (ours < TCPX_STAGE_READY && theirs == TCPX_STAGE_OPEN));
			gives = tcpx_twin_gives_way(false, ours, theirs);
			assert_true(!gives || (ours < TCPX_STAGE_OPEN && theirs == TCPX_STAGE_OPEN));
		}
}

/* ... and asks no more once its twin is open, but all the time before. */
TEST(one_asks_until_its_twin_opens)
{
	for (int theirs = TCPX_STAGE_NONE; theirs <= TCPX_STAGE_OPEN; theirs++)
		assert_int_equal(tcpx_twin_may_ask(theirs), theirs != TCPX_STAGE_OPEN);
}

TEST(the_larger_keeps_nobody_waiting)
{
	for (int ours = TCPX_STAGE_NONE; ours <= TCPX_STAGE_OPEN; ours++) {
		assert_false(tcpx_twin_keeps_hello(false, ours, true));
		assert_true(tcpx_twin_may_answer(false, ours));
	}
	/* the smaller does, from its first word on */
	assert_false(tcpx_twin_keeps_hello(true, TCPX_STAGE_NONE, true));
	assert_false(tcpx_twin_keeps_hello(true, TCPX_STAGE_SILENT, true));
	assert_true(tcpx_twin_keeps_hello(true, TCPX_STAGE_TALKS, false));
	assert_true(tcpx_twin_keeps_hello(true, TCPX_STAGE_READY, false));
	/* a peer that does not know whom it has dialled needs our HELLO to give way */
	assert_true(tcpx_twin_keeps_hello(true, TCPX_STAGE_OPEN, true));
	assert_false(tcpx_twin_keeps_hello(true, TCPX_STAGE_OPEN, false));
}

TEST(the_sister_that_the_peer_serves_is_joined)
{
	for (int ours = TCPX_STAGE_NONE; ours <= TCPX_STAGE_OPEN; ours++)
		for (int sister = TCPX_STAGE_NONE; sister <= TCPX_STAGE_OPEN; sister++)
			for (int stands = 0; stands < 2; stands++) {
				enum tcpx_sisters want = TCPX_SISTERS_WAIT;

				if (ours >= TCPX_STAGE_READY || sister < TCPX_STAGE_TALKS)
					want = TCPX_SISTERS_PART;
				else if (sister == TCPX_STAGE_OPEN && stands)
					want = TCPX_SISTERS_JOIN;
				assert_int_equal(tcpx_sisters_judge(ours, sister, stands), want);
			}
}
