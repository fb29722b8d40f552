/* SPDX-License-Identifier: Apache-2.0 */
/* When a path is given up, and when a lost channel is tried again. Times in ms. */
#include "base_test.h"
#include "proto/path.h"

#define MS  1000000ull
#define SEC (1000 * MS)
#define NOW (100 * SEC)

#define KB 1000ull
#define MB (1000 * KB)

/* What was so many ms before NOW. */
#define AGO(ms) (NOW - (ms) * MS)

static const struct {
	const char *name;
	struct tcpx_path path;
	struct tcpx_path_others others;
	bool lost;
} path_cases[] = {
	{ "silent for a sixth, others move", { AGO(1700), AGO(1700), 0, AGO(1700), true },
	  { AGO(1), 0, 100 * MB, 300 * MB }, true },
	{ "not yet", { AGO(1600), AGO(1600), 0, AGO(1600), true }, { AGO(1), 0, 100 * MB, 300 * MB }, false },
	{ "idle for long before, sent just now", { AGO(10), AGO(10), 0, AGO(60000), true },
	  { AGO(1), 0, 100 * MB, 300 * MB }, false },
	{ "all are silent", { AGO(9000), AGO(9000), 0, AGO(9000), true },
	  { AGO(9000), 0, 100 * MB, 300 * MB }, false },
	{ "others moved a little longer only", { AGO(9000), AGO(9000), 0, AGO(9000), true },
	  { AGO(8500), 0, 100 * MB, 300 * MB }, false },
	{ "last chunk: others idle, the peer answers", { AGO(2000), AGO(2000), 0, AGO(2000), false },
	  { 0, AGO(300), MB, 0 }, true },
	{ "last chunk: others idle, the peer is silent", { AGO(2000), AGO(2000), 0, AGO(2000), false },
	  { 0, AGO(2100), MB, 0 }, false },
	{ "the peer's kernel has had all until now: its engine is busy",
	  { AGO(9000), AGO(9000), AGO(400), AGO(9000), true }, { AGO(1), AGO(1), MB, 300 * MB }, false },
	{ "bytes trickle, others wait for it", { AGO(2000), AGO(2000), 0, AGO(100), true },
	  { AGO(1), AGO(1), 5 * MB, 300 * MB }, true },
	{ "messages trickle, others wait for it", { AGO(300), AGO(1700), 0, AGO(10), true },
	  { AGO(200), AGO(100), 5 * MB, 300 * MB }, true },
	{ "... and not for so long", { AGO(300), AGO(1600), 0, AGO(10), true },
	  { AGO(200), AGO(100), 5 * MB, 300 * MB }, false },
	{ "... and the peer's kernel had all not so long ago", { AGO(300), AGO(1700), AGO(1600), AGO(10), true },
	  { AGO(200), AGO(100), 5 * MB, 300 * MB }, false },
	{ "messages trickle, others have as much to do", { AGO(300), AGO(1700), 0, AGO(10), true },
	  { AGO(1), 0, 300 * MB, 300 * MB }, false },
	{ "slow from the start, and in time", { AGO(300), AGO(1000), 0, AGO(10), true },
	  { AGO(1), AGO(1), 100 * KB, 300 * MB }, false },
	{ "bytes trickle, its rate is unknown", { AGO(3300), AGO(3300), 0, AGO(100), false },
	  { AGO(1), AGO(1), 512 * KB, 300 * MB }, false },
	{ "... and for a third of the deadline", { AGO(3400), AGO(3400), 0, AGO(100), false },
	  { AGO(1), AGO(1), 512 * KB, 300 * MB }, true },
};

static const struct {
	const char *name;
	struct tcpx_packet oldest;
	uint16_t carries;
} packet_cases[] = {
	{ "the first full packet of a connection", { 9000, 2, 750 * MS, 100 * MS, false, false }, 1500 },
	{ "sent again once", { 9000, 1, 750 * MS, 100 * MS, false, false }, 0 },
	{ "not for long", { 9000, 3, 599 * MS, 100 * MS, false, false }, 0 },
	{ "the peer was heard before alone: it is gone, or the path", { 9000, 5, 1500 * MS, 1200 * MS, false, true }, 0 },
	{ "... and since then", { 9000, 5, 1500 * MS, 1100 * MS, false, true }, 1500 },
	{ "as large ones came through, and the peer is heard elsewhere", { 9000, 4, SEC, 0, true, false }, 0 },
	{ "... and between the same NICs: the path is another now", { 9000, 4, SEC, 0, true, true }, 1500 },
	{ "made for 1500", { 1500, 4, SEC, 0, false, true }, 1280 },
	{ "a message a little longer", { 1501, 4, SEC, 0, false, true }, 1500 },
	{ "made for 1280", { 1280, 4, SEC, 0, false, true }, 576 },
	{ "a small packet does not pass either", { 576, 9, 9 * SEC, 0, false, true }, 0 },
	{ "the loopback's", { 65535, 2, SEC, 0, false, true }, 1500 },
};

TEST(packets_that_vanish_by_size_are_known_by_those_that_pass)
{
	for (size_t i = 0; i < ARRAY_LEN(packet_cases); i++)
		check(packet_cases[i].name, "carries", tcpx_path_carries(&packet_cases[i].oldest, 10 * SEC),
		      packet_cases[i].carries);
	check("a shorter deadline", "carries",
	      tcpx_path_carries(&(struct tcpx_packet){ 9000, 3, 350 * MS, 0, false, true }, 4 * SEC), 1500);
}

TEST(paths_are_judged_against_others)
{
	for (size_t i = 0; i < ARRAY_LEN(path_cases); i++)
		check(path_cases[i].name, "lost",
		      tcpx_path_is_lost(&path_cases[i].path, &path_cases[i].others, 10 * SEC, NOW),
		      path_cases[i].lost);
}

/* Messages pass one after the other, at any rate: at looks that are a 24th of the deadline apart it is lost where
 * one takes a sixth, and soon after that. */
TEST(a_slow_path_is_found_when_a_message_takes_too_long)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	for (int i = 0; i < 100000; i++) {
		uint64_t look_ns = 10 * SEC / 24, each_ns = tcpx_rng_between(&rng, 1, i % 2 ? SEC / 4 : 3 * SEC);
		uint64_t count = tcpx_rng_between(&rng, 1, 16), phase_ns = tcpx_rng_between(&rng, 0, look_ns);
		struct tcpx_path p = { .known = true };
		uint64_t at_ns = NOW + phase_ns, lost_ns = 0;

		for (; at_ns < NOW + count * each_ns && !lost_ns; at_ns += look_ns) {
			struct tcpx_path_others o = { at_ns, at_ns, MB, 100 * MB };

			p.since_ns = at_ns - (at_ns - NOW) % each_ns;
			p.heard_ns = at_ns;
			p.oldest_ns = NOW; /* all were picked at once */
			if (tcpx_path_is_lost(&p, &o, 10 * SEC, at_ns))
				lost_ns = at_ns - NOW;
		}
		if (count * each_ns <= 10 * SEC / 6)
			check_random(seed, lost_ns == 0);
		else if (count * each_ns >= 10 * SEC / 6 + look_ns)
			check_random(seed, lost_ns >= 10 * SEC / 6 && lost_ns < 10 * SEC / 6 + look_ns);
	}
}

TEST(a_silence_counts_from_the_newest_sign_of_life)
{
	static const struct tcpx_path p[] = { { .since_ns = NOW, .clear_ns = 1, .heard_ns = 2 },
					      { .since_ns = 1, .clear_ns = NOW, .heard_ns = 2 },
					      { .since_ns = 1, .clear_ns = 2, .heard_ns = NOW } };

	for (size_t i = 0; i < ARRAY_LEN(p); i++)
		assert_int_equal(tcpx_path_due_ns(&p[i], 12 * SEC), NOW + 2 * SEC);
}

TEST(what_delivered_is_opened_again_at_once)
{
	struct tcpx_heal h = { .proven = true, .wasted = 3, .failed = 2 };

	tcpx_heal_lost(&h, NOW);
	assert_int_equal(h.at_ns, NOW);
	assert_int_equal(h.wasted, 0);
	assert_int_equal(h.failed, 0);
	assert_false(h.proven);
}

TEST(what_delivered_nothing_waits_longer_each_time)
{
	static const uint64_t waits[] = { 1, 2, 4, 8, 16, 32, 32, 32 };
	struct tcpx_heal h = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		tcpx_heal_lost(&h, NOW);
		assert_int_equal(h.at_ns, NOW + waits[i] * SEC);
	}
}

TEST(where_no_channel_is_left_nothing_waits_long)
{
	struct tcpx_heal h = { .at_ns = NOW + 32 * SEC };

	tcpx_heal_urgent(&h, 8 * SEC, NOW);
	assert_int_equal(h.at_ns, NOW + SEC);
	tcpx_heal_urgent(&h, 8 * SEC, NOW + SEC / 2);
	assert_int_equal(h.at_ns, NOW + SEC); /* never later */
}

TEST(attempts_that_fail_wait_at_most_a_second)
{
	static const uint64_t waits[] = { 100, 200, 400, 800, 1000, 1000 };
	struct tcpx_heal h = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		tcpx_heal_failed(&h, NOW);
		assert_int_equal(h.at_ns, NOW + waits[i] * MS);
	}
}

TEST(looks_grow_rare)
{
	assert_int_equal(tcpx_heal_look_ns(0), MS / 5);
	assert_int_equal(tcpx_heal_look_ns(4 * MS), MS / 2);
	assert_int_equal(tcpx_heal_look_ns(165 * MS), 20 * MS);
	assert_int_equal(tcpx_heal_look_ns(3600 * SEC), SEC);
}
