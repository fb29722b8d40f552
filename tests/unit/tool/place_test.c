/* SPDX-License-Identifier: Apache-2.0 */
/* Places of memory are read, printed back the same, and refused if meaningless. */
#include "cases.h"

#include <errno.h>
#include <string.h>

#include "tool/gpu/place.h"
#include "tool/tool.h"

static const struct {
	const char *text, *again;
	unsigned gpus;
	int last;
} good[] = {
	{ "host", "host", 0, 0 },
	{ "cuda", "cuda:0", 1, 0 },
	{ "cuda:3", "cuda:3", 1, 3 },
	{ "cuda:0-3", "cuda:0-3", 4, 3 },
	{ "cuda:0,2", "cuda:0,2", 2, 2 },
	{ "cuda:0-15", "cuda:0-15", 16, 15 },
	{ "cuda:0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30",
	  "cuda:0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30", 16, 30 },
};

TEST(a_place_is_read_and_printed)
{
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		char again[PLACE_TEXT];
		struct place p;

		assert_int_equal(place_parse(good[i].text, &p), 0);
		assert_int_equal(p.gpus, good[i].gpus);
		if (p.gpus)
			assert_int_equal(p.gpu[p.gpus - 1], good[i].last);
		assert_string_equal(place_format(&p, again), good[i].again);
	}
}

static const char *const bad[] = {
	"", "cuda:", "cuda:x", "cuda:-1", "cuda:3-1", "cuda:0-16", "cuda0", "gpu:0", "hosts", "CUDA:0",
	"cuda:0 ", "cuda:99999", "host:0",
};

TEST(what_is_no_place_is_refused)
{
	struct place p = { .gpus = 7 };

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (place_parse(bad[i], &p) != -EINVAL)
			fail_msg("\"%s\" was accepted", bad[i]);
	assert_int_equal(p.gpus, 7);
}
