/* SPDX-License-Identifier: Apache-2.0 */
#include "host/home.h"

#include <limits.h>

#include "host/place.h"

/* True: two cores of the node have a CPU that may be used. */
static bool
has_two(const struct tcpx_machine *m, const struct tcpx_cpuset *usable, int node)
{
	unsigned count = 0;

	for (unsigned i = 0; i < m->core_count && count < 2; i++) {
		const struct tcpx_machine_core *core = &m->cores[i];
		unsigned k = 0;

		if (core->node != node)
			continue;
		while (k < core->cpu_count && !tcpx_cpuset_has(usable, core->cpu[k]))
			k++;
		count += k < core->cpu_count;
	}
	return count == 2;
}

int
tcpx_home_of_node(const struct tcpx_machine *m, const struct tcpx_cpuset *usable, int node)
{
	int from = tcpx_machine_node_find(m, node), best = -1, least = INT_MAX;

	if (m->node_count < 2)
		return m->node_count ? m->nodes[0].id : -1;
	if (node < 0 || has_two(m, usable, node))
		return node;
	for (unsigned i = 0; i < m->node_count; i++) {
		int distance = from < 0 ? 0 : m->nodes[from].distance[i];

		if (!distance)
			distance = UINT8_MAX; /* unknown */
		if (distance < least && has_two(m, usable, m->nodes[i].id)) {
			best = m->nodes[i].id;
			least = distance;
		}
	}
	return best;
}

void
tcpx_homes(const struct tcpx_machine *m, const struct tcpx_cpuset *usable, const bool *taken,
	   int *out)
{
	for (unsigned i = 0; i < m->nic_count; i++)
		out[i] = tcpx_home_of_node(m, usable, m->nics[i].place.numa);
	for (unsigned i = 0; i < m->nic_count; i++) {
		int near = -1;

		for (unsigned k = 0; m->nics[i].place.numa < 0 && k < m->nic_count; k++) {
			int depth = (int)tcpx_place_common(m->nics[i].place.path, m->nics[k].place.path);

			if (!taken[k] || m->nics[k].place.numa < 0 || out[k] < 0 || depth <= near)
				continue;
			near = depth;
			out[i] = out[k];
		}
	}
}
