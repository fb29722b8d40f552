/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of slabs do not touch each other, and the memory of each slab goes back with its last one. */
#include "base_test.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fake/slabs.h"

enum { PIECES = 200, STEPS = 50000 };

struct piece {
	uint8_t *at; /* NULL: none */
	size_t len;
	uint8_t fill;
};

static bool
intact(const struct piece *p)
{
	for (size_t i = 0; i < p->len; i++)
		if (p->at[i] != p->fill)
			return false;
	return true;
}

TEST(pieces_keep_their_bytes_whatever_comes_and_goes)
{
	uint64_t seed = test_seed();
	struct tcpx_rng rng = tcpx_rng_seed(seed);
	struct piece all[PIECES] = { { NULL, 0, 0 } };
	struct tcpx_slab *place = NULL;

	for (int step = 0; step < STEPS; step++) {
		struct piece *p = &all[tcpx_rng_below(&rng, PIECES)];

		if (p->at) {
			check_random(seed, intact(p));
			tcpx_slab_free(p->at);
			p->at = NULL;
			continue;
		}
		p->len = tcpx_rng_below(&rng, step % 1000 ? 9000 : TCPX_SLAB_MOST + 1);
		p->fill = (uint8_t)step;
		p->at = tcpx_slab_take(&place, p->len);
		assert_non_null(p->at);
		assert_int_equal((uintptr_t)p->at % _Alignof(max_align_t), 0);
		memset(p->at, p->fill, p->len);
	}
	tcpx_slab_leave(&place);
	assert_null(place);
	for (int i = 0; i < PIECES; i++) { /* pieces outlive their place */
		check_random(seed, !all[i].at || intact(&all[i]));
		tcpx_slab_free(all[i].at);
	}
	assert_int_equal(slabs, 0);
}

TEST(a_slab_goes_back_with_its_last_piece)
{
	struct tcpx_slab *place = NULL;
	uint8_t *at[64], *first;
	int mapped;

	for (int i = 0; i < 64; i++)
		at[i] = tcpx_slab_take(&place, 12000);
	mapped = slabs;
	assert_in_range(mapped, 64 * 12000 / TCPX_SLAB_BYTES + 1, 8);
	for (int i = 0; i < 63; i++)
		tcpx_slab_free(at[i]);
	assert_int_equal(slabs, 1);
	tcpx_slab_free(at[63]);
	assert_int_equal(slabs, 1); /* the next ones go there, from its beginning */
	first = tcpx_slab_take(&place, 100);
	for (int i = 0; i < 10000; i++) {
		tcpx_slab_free(first);
		assert_ptr_equal(tcpx_slab_take(&place, 100), first);
	}
	assert_int_equal(slabs, 1);
	tcpx_slab_leave(&place);
	assert_int_equal(slabs, 1);
	tcpx_slab_free(first);
	assert_int_equal(slabs, 0);
	tcpx_slab_leave(&place);
	tcpx_slab_free(NULL);
}

TEST(there_is_no_piece_without_memory_or_too_long)
{
	struct tcpx_slab *place = NULL;
	void *one;

	assert_null(tcpx_slab_take(&place, TCPX_SLAB_MOST + 1));
	no_slabs = true;
	assert_null(tcpx_slab_take(&place, 1));
	no_slabs = false;
	one = tcpx_slab_take(&place, TCPX_SLAB_MOST);
	assert_non_null(one);
	tcpx_slab_free(one);
	tcpx_slab_leave(&place);
	assert_int_equal(slabs, 0);
}

static void *
free_all(void *arg)
{
	void **at = arg;

	for (int i = 0; i < PIECES; i++)
		tcpx_slab_free(at[i]);
	return NULL;
}

/* Pieces that one thread takes are given back by others. */
TEST(any_thread_frees_pieces)
{
	static void *at[4][PIECES];
	struct tcpx_slab *place = NULL;
	pthread_t t[4];

	for (int k = 0; k < 4; k++) {
		for (int i = 0; i < PIECES; i++)
			at[k][i] = tcpx_slab_take(&place, 3000);
		assert_int_equal(pthread_create(&t[k], NULL, free_all, at[k]), 0);
	}
	for (int k = 0; k < 4; k++)
		pthread_join(t[k], NULL);
	assert_int_equal(slabs, 1);
	tcpx_slab_leave(&place);
	assert_int_equal(slabs, 0);
}
