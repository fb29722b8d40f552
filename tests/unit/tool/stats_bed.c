/* SPDX-License-Identifier: Apache-2.0 */
#include "stats_bed.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/top/top.h"

int
bed_setup(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	strcpy(b->dir, "/tmp/stats-test-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	snprintf(b->setting, sizeof(b->setting), "TCPX_STATS=%s", b->dir);
	b->settings[0] = b->setting;
	*state = b;
	return 0;
}

int
bed_teardown(void **state)
{
	struct bed *b = *state;

	assert_int_equal(rmdir(b->dir), 0);
	free(b);
	return 0;
}

json_t *
bed_look(const struct bed *b)
{
	const struct top_where where = { .dir = b->dir, .patience_ms = WAIT_MS };
	json_t *doc = top_look(&where);

	assert_non_null(doc);
	assert_int_equal(json_array_size(json_object_get(doc, "silent")), 0);
	return doc;
}

const json_t *
engine_named(const json_t *doc, const char *name)
{
	json_t *e;
	size_t i;

	json_array_foreach(json_object_get(doc, "engines"), i, e)
		if (!strcmp(top_string(e, "name"), name))
			return e;
	return NULL;
}
