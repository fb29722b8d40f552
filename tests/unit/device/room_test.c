/* SPDX-License-Identifier: Apache-2.0 */
/* A ring's places: none overlaps another in use, none wraps. */
#include "cases.h"

#include <string.h>

#include "base/rng.h"
#include "device/room.h"

#define SIZE 100

TEST(an_empty_ring_has_room_for_all_of_it)
{
	struct tcpx_room r = { .size = SIZE };
	uint64_t at;

	for (int i = 0; i < 50; i++) {
		assert_true(tcpx_room_take(&r, 7, &at));
		tcpx_room_free(&r, r.head);
		assert_true(tcpx_room_take(&r, SIZE, &at));
		assert_int_equal(at, 0);
		assert_false(tcpx_room_take(&r, 1, &at));
		tcpx_room_free(&r, r.head);
	}
	assert_false(tcpx_room_take(&r, SIZE + 1, &at));
}

TEST(places_in_use_never_overlap)
{
	struct tcpx_rng rng = tcpx_rng_seed(3);
	struct tcpx_room r = { .size = SIZE };
	struct {
		uint64_t at, n, end;
	} used[SIZE];
	size_t first = 0, count = 0, taken = 0;
	uint8_t map[SIZE] = { 0 };

	for (int step = 0; step < 20000; step++) {
		uint64_t n = tcpx_rng_between(&rng, 1, 30), at;

		if (count && tcpx_rng_below(&rng, 2)) {
			memset(map + used[first % SIZE].at, 0, used[first % SIZE].n);
			tcpx_room_free(&r, used[first % SIZE].end);
			first++;
			count--;
		} else if (tcpx_room_take(&r, n, &at)) {
			assert_true(at + n <= SIZE);
			for (uint64_t i = at; i < at + n; i++)
				assert_int_equal(map[i]++, 0);
			used[(first + count) % SIZE].at = at;
			used[(first + count) % SIZE].n = n;
			used[(first + count++) % SIZE].end = r.head;
			taken++;
		} else {
			assert_true(count > 0);
		}
	}
	assert_true(taken > 5000);
}
