/* SPDX-License-Identifier: Apache-2.0 */
/* Who of those that wait goes. */
#include "base_test.h"

#include "base/admit.h"
#include "base/clock.h"

#define SPARE_NS (50 * TCPX_MS)
#define NOW_NS   (100 * TCPX_SEC)

/* Guests as "ADDRESS AGE_MS [known]", and the address and age of the one that goes. */
static const struct {
	const char *name;
	struct {
		const char *from;
		uint32_t age_ms;
		bool known;
	} guest[6];
	int victim;
} rows[] = {
	{ "nobody", { { NULL, 0, false } }, -1 },
	{ "all have just come", { { "10.0.0.1", 49, false }, { "10.0.0.1", 1, false } }, -1 },
	{ "the oldest",
	  { { "10.0.0.1", 60, false }, { "10.0.0.1", 900, false }, { "10.0.0.1", 300, false } }, 1 },
	{ "of the address with most",
	  { { "10.0.0.9", 4000, false }, { "10.0.0.1", 60, false }, { "10.0.0.1", 70, false } }, 2 },
	{ "of equals the older", { { "10.0.0.1", 60, false }, { "10.0.0.2", 70, false } }, 1 },
	{ "not a known one", { { "10.0.0.1", 900, true }, { "10.0.0.1", 60, false } }, 1 },
	{ "known ones alone", { { "10.0.0.1", 900, true } }, -1 },
	{ "known ones have no share",
	  { { "10.0.0.1", 900, true }, { "10.0.0.1", 800, true },
	    { "10.0.0.1", 60, false }, { "10.0.0.2", 90, false } }, 3 },
	{ "a network of IPv6 is one",
	  { { "fd00::1", 60, false }, { "fd00::2", 70, false }, { "10.0.0.2", 900, false } }, 1 },
	{ "most are young",
	  { { "10.0.0.1", 1, false }, { "10.0.0.1", 2, false }, { "10.0.0.2", 60, false } }, 2 },
};

TEST(one_goes)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tcpx_admit_guest g[6];
		uint32_t n = 0;

		for (; n < 6 && rows[i].guest[n].from; n++) {
			char text[64];

			snprintf(text, sizeof(text), strchr(rows[i].guest[n].from, ':') ? "[%s]:1" :
				 "%s:1", rows[i].guest[n].from);
			assert_int_equal(tcpx_addr_parse(text, &g[n].from), 0);
			g[n].since_ns = NOW_NS - rows[i].guest[n].age_ms * TCPX_MS;
			g[n].known = rows[i].guest[n].known;
		}
		check(rows[i].name, "victim", tcpx_admit_victim(g, n, SPARE_NS, NOW_NS), rows[i].victim);
	}
}

/* A flood from few addresses never costs another its place, if each of them comes again. */
TEST(a_flood_displaces_itself)
{
	uint64_t seed = test_seed(), honest_lost = 0;
	struct tcpx_admit_guest g[256];
	struct tcpx_rng rng = tcpx_rng_seed(seed);

	memset(g, 0, sizeof(g));
	for (int i = 0; i < 256; i++)
		g[i] = (struct tcpx_admit_guest){ .from = { .family = 4, .ip = { 10, 0, 0,
						  i < 10 ? 100 + i : (int)tcpx_rng_below(&rng, 4) } } };
	for (uint64_t t = 1; t < 2000; t++) {
		int v = tcpx_admit_victim(g, 256, 10, 1000 + t);

		check_random(seed, v >= 0);
		honest_lost += v < 10;
		g[v].since_ns = 1000 + t;
	}
	check_random(seed, honest_lost == 0);
}

TEST(an_eighth_of_the_descriptors_may_wait)
{
	assert_int_equal(tcpx_admit_room(1024, 1, 256), 128);
	assert_int_equal(tcpx_admit_room(1024, 4, 256), 32);
	assert_int_equal(tcpx_admit_room(1 << 20, 4, 256), 256);
	assert_int_equal(tcpx_admit_room(64, 4, 256), 8);
	assert_int_equal(tcpx_admit_room(UINT64_MAX, 0, 256), 256);
}
