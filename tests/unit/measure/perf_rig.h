/* SPDX-License-Identifier: Apache-2.0 */
/* A job of perf with one row, for what is made of its figures. */
#ifndef UNIT_TOOL_PERF_RIG_H
#define UNIT_TOOL_PERF_RIG_H

#include <stdlib.h>

#include "measure/perf/figures.h"
#include "tool/tool.h"

struct rig {
	struct perf_args args;
	struct perf perf;
	struct load load;
	struct load_slot slot[1];
	struct load_stats *stats;
	struct result result;
	struct row *row;
};

static inline struct rig *
rig_new(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	r->stats = calloc(1, sizeof(*r->stats));
	r->perf.args = &r->args;
	tcpx_hist_init(&r->stats->hist);
	result_init(&r->result);
	r->row = result_add_row(&r->result);
	*state = r;
	return r;
}

static inline int
rig_drop(void **state)
{
	struct rig *r = *state;

	result_fini(&r->result);
	free(r->stats);
	free(r);
	return 0;
}

#endif
