/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy engine makes one copy after another at the full rate of the bus, so the first is done
 * early. Kernels of several loops share the bus and end together. So contiguous data takes the
 * engine, scattered data a kernel. A kernel that writes to the host and an engine that reads
 * from it share the bus well (94 GB/s together); two kernels do not (57 to 66). So while a GPU
 * packs, scattered data is unpacked by engine and bounce memory.
 */
#include "device/route.h"

#include <stdbool.h>

/* Counts the entries that are contiguous on both sides: one copy. */
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

/* Counts the entries that are contiguous at the source and scattered at the destination. */
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
