/* SPDX-License-Identifier: Apache-2.0 */
/* The cores that a group may have: which they are, their order, and parts of them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/plan.h"

/* Puts small cores first, in their order. */
static int
sort_kinds(struct tcpx_plan_cores *pool)
{
	struct tcpx_plan_core *sorted;
	unsigned small = 0, at = 0;

	for (unsigned i = 0; i < pool->count; i++)
		small += pool->at[i].small;
	pool->small = pool->count - small >= 2 ? small : 0;
	if (!pool->small)
		return 0;
	sorted = malloc(pool->count * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	for (unsigned kind = 0; kind < 2; kind++)
		for (unsigned i = 0; i < pool->count; i++)
			if (pool->at[i].small == !kind)
				sorted[at++] = pool->at[i];
	free(pool->at);
	pool->at = sorted;
	return 0;
}

int
tcpx_plan_cores_of(const struct tcpx_machine *m, int node, bool all,
		   const struct tcpx_cpuset *usable, bool first_threads,
		   struct tcpx_plan_cores *pool, bool *partial)
{
	*pool = (struct tcpx_plan_cores){ .count = 0 };
	pool->at = calloc(m->core_count ? m->core_count : 1, sizeof(*pool->at));
	if (!pool->at)
		return -ENOMEM;
	for (unsigned i = 0; i < m->core_count; i++) {
		const struct tcpx_machine_core *from = &m->cores[i];
		struct tcpx_plan_core *to = &pool->at[pool->count];

		if (!all && from->node != node)
			continue;
		to->count = 0;
		for (unsigned k = 0; k < from->cpu_count; k++)
			if (tcpx_cpuset_has(usable, from->cpu[k]))
				to->cpu[to->count++] = from->cpu[k];
		if (!to->count)
			continue;
		*partial |= to->count < from->cpu_count;
		to->use = first_threads ? 1 : to->count;
		to->small = from->small;
		pool->count++;
	}
	if (sort_kinds(pool)) {
		free(pool->at);
		return -ENOMEM;
	}
	return 0;
}

/* Copies part @part of @parts of @count cores; the first parts have the extra ones. Returns
 * their number. */
static unsigned
copy_part(const struct tcpx_plan_core *at, unsigned count, unsigned part, unsigned parts,
	  struct tcpx_plan_core *out)
{
	unsigned each = count / parts, over = count % parts;
	unsigned from = part * each + (part < over ? part : over);

	memcpy(out, at + from, (each + (part < over)) * sizeof(*out));
	return each + (part < over);
}

int
tcpx_plan_slice(const struct tcpx_plan_cores *pool, unsigned part, unsigned parts,
		struct tcpx_plan_cores *out)
{
	out->at = malloc(pool->count * sizeof(*out->at));
	if (!out->at)
		return -ENOMEM;
	out->small = copy_part(pool->at, pool->small, part, parts, out->at);
	out->count = out->small + copy_part(pool->at + pool->small, pool->count - pool->small, part,
					    parts, out->at + out->small);
	return 0;
}
