/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/env/env_roles.h"

#include <stdio.h>
#include <string.h>

#include "host/machine.h"
#include "tool/tool.h"

bool
env_roles_data(const struct env_roles *roles, const char *ifname)
{
	for (unsigned i = 0; i < roles->count; i++)
		if (!strcmp(roles->data[i]->ifname, ifname))
			return true;
	return false;
}

/* "Iface Destination Gateway Flags RefCnt Use Metric Mask ...", numbers hexadecimal but the
 * metric; 0000 is the default. */
void
env_route_default(const char *route, char *ifname, size_t cap)
{
	unsigned best = ~0u;

	*ifname = '\0';
	for (const char *at = route; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		unsigned to, flags, metric, mask;
		char name[16];

		if (sscanf(at, "%15s %x %*x %x %*d %*d %u %x", name, &to, &flags, &metric,
			   &mask) == 5 && to == 0 && mask == 0 && flags & 1 && metric < best) {
			best = metric;
			snprintf(ifname, cap, "%s", name);
		}
	}
}

static void
add(struct env_roles *roles, const struct tcpx_host_nic *nic)
{
	unsigned i = roles->count;

	if (!nic || nic->loopback || env_roles_data(roles, nic->ifname))
		return;
	for (; i > 0 && tcpx_machine_name_compare(nic->ifname, roles->data[i - 1]->ifname) < 0; i--)
		roles->data[i] = roles->data[i - 1];
	roles->data[i] = nic;
	roles->count++;
}

/* All NICs at a GPU's least distance, so that two on one switch are both its own. */
static void
add_near(struct env_roles *roles, const struct machine *m, const struct tcpx_host_gpu *gpu)
{
	enum tcpx_distance least = TCPX_DISTANCE_UNKNOWN;

	machine_nearest(m, gpu, &least);
	if (m->nic_count == 0 || least >= TCPX_CROSS_NODE)
		return;
	for (unsigned i = 0; i < m->nic_count; i++)
		if (tcpx_host_distance(&m->nics[i], gpu) == least)
			add(roles, &m->nics[i]);
}

static const struct tcpx_host_nic *
fit(const struct machine *m, const char *ifname)
{
	for (unsigned i = 0; i < m->all_count; i++)
		if (!strcmp(m->all[i].ifname, ifname) && m->all[i].up && m->all[i].addr.family)
			return &m->all[i];
	return NULL;
}

static void
find_control(const struct machine *m, const char *control, const char *route,
	     struct env_roles *out)
{
	char ifname[16];

	env_route_default(route, ifname, sizeof(ifname));
	if (control) {
		out->control = fit(m, control);
		out->why = "as asked for";
		return;
	}
	out->control = *ifname ? fit(m, ifname) : NULL;
	out->why = "it has the default route";
	if (out->control && (!out->by_gpu || !env_roles_data(out, ifname)))
		return;
	for (unsigned i = 0; i < m->nic_count; i++) {
		if (out->by_gpu && env_roles_data(out, m->nics[i].ifname))
			continue;
		out->control = &m->nics[i];
		out->why = out->by_gpu ? "no GPU is next to it" : "it is the first";
		return;
	}
	if (!out->control && out->count)
		out->control = out->data[0];
	out->why = "there is no other";
}

void
env_roles_find(const struct machine *m, const char *control, const char *route,
	       struct env_roles *out)
{
	*out = (struct env_roles){ .why = "" };
	for (unsigned i = 0; i < m->gpu_count; i++)
		add_near(out, m, &m->gpus[i]);
	out->by_gpu = out->count > 0;
	for (unsigned i = 0; i < m->nic_count && !out->by_gpu; i++)
		add(out, &m->nics[i]);
	for (unsigned i = 0; i < m->nic_count && !out->count; i++)
		out->data[out->count++] = &m->nics[i]; /* only the loopback */
	find_control(m, control, route, out);
}
