/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy engine does one copy after another at the full rate of the bus, so that the first is
 * done early and can go on; kernels of several loops share the bus and end together. So what
 * lies together goes by the engine, what is scattered by a kernel. A kernel that writes to the
 * host and an engine that reads from it share the bus well (94 GB/s together), two kernels do
 * not (57 to 66): while a GPU packs, what is scattered is unpacked by engine and bounce memory.
 */
#include "device/route.h"

#include <stdbool.h>

/* Entries that are one copy, cut without need. */
static struct tcpx_route_run
whole(const struct tcpx_copy *list, size_t count)
{
	struct tcpx_route_run run = { TCPX_ROUTE_ENGINE, 1, list->len };

	while (run.count < count && list[run.count].src == list->src + run.len &&
	       list[run.count].dst == list->dst + run.len)
		run.len += list[run.count++].len;
	return run;
}

enum tcpx_route
tcpx_route_batch(const struct tcpx_copy *list, size_t count, enum tcpx_flow flow,
		 uint64_t other_ns)
{
	struct tcpx_route_run run = { .len = 0 };

	if (count)
		run = whole(list, count);
	if (count && run.count == count &&
	    (run.len <= TCPX_ROUTE_SMALL_BYTES || run.len >= TCPX_ROUTE_ENGINE_BYTES))
		return TCPX_ROUTE_ENGINE;
	if (flow == TCPX_FLOW_UNPACK && other_ns <= TCPX_ROUTE_BUSY_NS)
		return TCPX_ROUTE_RUNS;
	return TCPX_ROUTE_KERNEL;
}

/* Entries that follow each other where they come from, and lie apart where they go. */
static struct tcpx_route_run
gathered(const struct tcpx_copy *list, size_t count)
{
	struct tcpx_route_run run = { TCPX_ROUTE_BOUNCE, 1, list->len };

	while (run.count < count && list[run.count].src == list->src + run.len &&
	       list[run.count].len < TCPX_ROUTE_ENGINE_BYTES &&
	       run.len + list[run.count].len <= TCPX_ROUTE_BOUNCE_BYTES)
		run.len += list[run.count++].len;
	return run;
}

struct tcpx_route_run
tcpx_route_run(const struct tcpx_copy *list, size_t count)
{
	struct tcpx_route_run run = whole(list, count);

	if (run.len >= TCPX_ROUTE_ENGINE_BYTES)
		return run;
	run = gathered(list, count);
	if (run.len < TCPX_ROUTE_ENGINE_BYTES)
		run.route = TCPX_ROUTE_KERNEL;
	return run;
}
