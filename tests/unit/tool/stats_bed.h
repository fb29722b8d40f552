/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of statistics sockets, and what the engines in it say. */
#ifndef TEST_STATS_BED_H
#define TEST_STATS_BED_H

#include <jansson.h>

#include "../core/rig.h"

struct bed {
	char dir[64], setting[96];
	const char *settings[8];
};

/* cmocka set-up and teardown; the state is a struct bed. Teardown asserts that no socket is left. */
int bed_setup(void **state);
int bed_teardown(void **state);
/* The report of all engines in the bed. */
json_t *bed_look(const struct bed *b);
/* The engine of that name in the report; NULL: there is none. */
const json_t *engine_named(const json_t *doc, const char *name);

#endif
